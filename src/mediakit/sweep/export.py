"""Exports a sweep: its outputs with readable names, a manifest and a report."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import url2pathname

from mediakit.client.download_targets import (
    DownloadTarget,
    LocalTarget,
    target_of,
    write_whole,
)
from mediakit.errors import InputError
from mediakit.extras import missing_modules
from mediakit.media import local_file, poster_jpeg, result_suffix
from mediakit.safe_text import spreadsheet_text, with_shown_urls
from mediakit.sweep.embedding import (
    FetchedOutput,
    embedded,
    fetched,
    left_out_text,
)
from mediakit.sweep.report import report_html
from mediakit.sweep.report_evidence import evidence_html
from mediakit.sweep.scoring import Fetch, ScoredOutput, problem_of
from mediakit.web_urls import parts_of

if TYPE_CHECKING:
    import pandas as pd

MANIFEST, PARQUET = "manifest.csv", "manifest.parquet"
REPORT = "report.html"
PAGE_SUFFIXES = (".html", ".htm")
POSTERS = "posters"
FILES_AT_ONCE = 8
POSTER_PX = 640
LONGEST_VALUE, LONGEST_STEM, ID_DIGITS = 24, 80, 8
LONGEST_FIELD = 200


@dataclass(frozen=True)
class Exported:
    """The result of an export.

    Args:
        place: The folder, or the page that is one file: a path or a URL.
        report: The path or URL of the report.
        files: The number of outputs in it.
        written: The number of files written by this export.
        notes: The parts left out, as sentences.
        manifest: The manifest as a frame, with unescaped texts; None for a page.
    """

    place: Path | str
    report: Path | str
    files: int
    written: int
    notes: tuple[str, ...] = ()
    manifest: pd.DataFrame | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        files = "1 file" if self.files == 1 else f"{self.files:,} files"
        new = "" if self.written == self.files else f", {self.written:,} of them new"
        text = f"{files} saved in {self.place}{new}."
        return " ".join([text, *self.notes])


@dataclass(frozen=True)
class _Output:
    """An output to save, and the name of its file."""

    output: ScoredOutput
    name: str
    medium: str | None


@dataclass(frozen=True)
class _File:
    """The file of a cell and its URLs in the page; `name` is None without a file."""

    name: str | None = None
    size_bytes: int | None = None
    src: str | None = None
    poster: str | None = None
    is_new: bool = False
    problem: str | None = None


def export(
    rows: pd.DataFrame,
    where: str | Path,
    *,
    ranking: pd.DataFrame,
    scores: Mapping[str, str],
    fields: Mapping[str, Mapping[str, object]],
    values: Sequence[str],
    fetch: Fetch,
    plan_code: str,
    title: str,
    axes: Sequence[str],
    numbers: Mapping[str, object],
) -> Exported:
    """Write the outputs of a sweep, a manifest and a report; see `results.export`.

    `scores` has the scores of each job as text, `fields` the sent fields, and `values`
    the columns of ratings and scores. `fetch` is called on several threads. Figures
    named `..._micro_usd` are money.
    """
    target = _target_of(where)
    is_page = target.name != MANIFEST
    place = target.place
    if not is_page:
        place = place.parent if isinstance(place, Path) else place.rpartition("/")[0]
    try:
        (target if is_page else target.sibling(f"{POSTERS}/any")).make_folder()
    except OSError as error:
        raise _unwritable(place, error) from None
    rows = _ranked(rows, ranking)
    columns = [*axes, *(["take"] if rows["take"].nunique() > 1 else [])]
    records = [*_records(rows)]
    sent = [_field_texts(fields.get(row["job_id"], {})) for row in records]
    named = [[(axis, value_text(row.get(axis))) for axis in columns] for row in records]
    outputs: dict[str, _Output] = {}
    # A page embeds kept results first.
    order = zip(records, named, strict=True)
    for row, its in sorted(order, key=lambda pair: is_page and not pair[0]["keep"]):
        if row["job_id"] is not None and row["output_url"] is not None:
            output = ScoredOutput(row["job_id"], row["output_url"])
            # Leave out the take, so that a file keeps its name when the plan gets more
            # takes.
            name = file_name(its[: len(axes)], output, row["media_type"])
            outputs[output.job_id] = _Output(output, name, row["media_type"])
    save = _embedded if is_page else partial(_saved_beside, target)
    by_job = dict(zip(outputs, save(fetch, outputs.values()), strict=True))
    files = [by_job.get(row["job_id"], _File()) for row in records]
    cells = [
        {
            **row,
            "values": its,
            "scores": scores.get(row["job_id"], ""),
            "fields": texts,
            "file": file.name,
            "size_bytes": file.size_bytes,
            "src": file.src,
            "poster": file.poster,
            "problem": row["problem"] or file.problem,
        }
        for row, its, texts, file in zip(records, named, sent, files, strict=True)
    ]
    plain = {axis: [value_text(row[axis]) for row in records] for axis in axes}
    cell_names = {
        row["job_id"]: ", ".join(value for _, value in its)
        for row, its in zip(records, named, strict=True)
    }
    available = {file.name: file for file in files if file.name}
    left_out = sum(file.src is None for file in available.values())
    failed = sum(file.problem is not None for file in files)
    where_why = "the page" if is_page else MANIFEST
    why = f"{failed:,} could not be saved; see {where_why} for the reasons."
    notes = [left_out_text(left_out, len(available)), why if failed else ""]
    page = report_html(
        title,
        cells,
        numbers,
        evidence_html(rows.assign(**plain), axes, values, ranking, cell_names),
        with_shown_urls(plan_code),
        note=notes[0],
    )
    report = target if is_page else target.sibling(REPORT)
    manifest = None if is_page else _manifest(rows, files, sent)
    try:
        if manifest is not None:
            write_whole(target, _csv(manifest).encode())
            if not missing_modules("parquet"):
                write_whole(target.sibling(PARQUET), _parquet(manifest))
        write_whole(report, page.encode())
    except OSError as error:
        raise _unwritable(place, error) from None
    return Exported(
        place=place,
        report=report.place,
        files=len(available) - left_out,
        written=sum(file.is_new for file in available.values()),
        notes=tuple(filter(None, notes)),
        manifest=manifest,
    )


# -- the folder or the page -----------------------------------------------------------


def _target_of(where: Any) -> DownloadTarget:
    """Return the page, or the manifest of a folder."""
    is_place = isinstance(where, str | Path) and bool(str(where))
    if not is_place or "\0" in str(where):
        accepted = "a folder, a file that ends in .html, or a URL, as text or as a Path"
        raise InputError("where", got=where, accepted=accepted)
    if isinstance(where, str) and where.startswith("file://"):
        where = url2pathname(parts_of(where).path)
    is_page = str(where).lower().endswith(PAGE_SUFFIXES)
    if isinstance(where, str) and "://" in where:
        return target_of(where if is_page else f"{where.rstrip('/')}/", MANIFEST)
    local = local_file(where)
    return LocalTarget(local if is_page else local / MANIFEST)


def _unwritable(place: Path | str, error: OSError) -> InputError:
    got = f"{place} ({error.strerror or type(error).__name__})"
    accepted = "a folder or a page that can be written, with room for the files"
    sent = "The outputs are still available at the service."
    return InputError("where", got=got, accepted=accepted, then=sent)


def _embedded(fetch: Fetch, outputs: Iterable[_Output]) -> Iterator[_File]:
    """Yield the outputs as parts of a page, as far as it has room."""

    def read(each: _Output) -> FetchedOutput | str:
        try:
            return fetched(Path(fetch(each.output)), each.name, each.medium)
        except Exception as error:  # noqa: BLE001 - it is the problem of one cell
            return f"It could not be saved: {problem_of(error)}"

    with ThreadPoolExecutor(FILES_AT_ONCE) as threads:
        results = list(threads.map(read, outputs))
    urls = iter(embedded([each for each in results if not isinstance(each, str)]))
    for each in results:
        if isinstance(each, str):
            yield _File(problem=each)
            continue
        src, poster = next(urls)
        is_new = src is not None
        yield _File(each.name, each.size_bytes, src, poster, is_new=is_new)


def _saved_beside(
    manifest: DownloadTarget, fetch: Fetch, outputs: Iterable[_Output]
) -> list[_File]:
    """Save the outputs in the folder of the manifest."""
    with ThreadPoolExecutor(FILES_AT_ONCE) as threads:
        return [*threads.map(partial(_saved, manifest, fetch), outputs)]


def _saved(manifest: DownloadTarget, fetch: Fetch, each: _Output) -> _File:
    """Save an output under its name, unless it exists already."""
    target, local = manifest.sibling(each.name), None
    try:
        size_bytes = target.size_bytes()
        if size_bytes is None:
            local = Path(fetch(each.output))
            write_whole(target, local)
        is_clip = each.medium == "video"
        poster = _poster(manifest, each.name, local) if is_clip else None
        written_bytes = size_bytes or target.size_bytes()
    except Exception as error:  # noqa: BLE001 - it is the problem of one cell
        return _File(problem=f"It could not be saved: {problem_of(error)}")
    src, is_new = quote(each.name), size_bytes is None
    poster_link = quote(poster) if poster else None
    return _File(each.name, written_bytes, src, poster_link, is_new=is_new)


def _poster(manifest: DownloadTarget, name: str, local: Path | None) -> str | None:
    """Make the poster of a clip while its local file is available."""
    poster = poster_name(name)
    if manifest.sibling(poster).size_bytes() is not None:
        return poster
    if local is None:
        return None
    try:
        write_whole(manifest.sibling(poster), poster_jpeg(local, POSTER_PX))
    except Exception:  # noqa: BLE001 - the clip is shown without it
        return None
    return poster


# -- names ----------------------------------------------------------------------------


def value_text(value: object) -> str:
    """Format the value of an axis; a job as its id, None as empty text.

    URLs lose passwords and signatures, because exports are shared.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=value_text)
        return with_shown_urls(text)
    return with_shown_urls(str(getattr(value, "id", value)))


def file_name(
    values: Sequence[tuple[str, str]], output: ScoredOutput, media_type: str | None
) -> str:
    """Return the file name of an output: the values of its axes, and its job."""
    words = [_word(axis, value) for axis, value in values]
    stem = "_".join(filter(None, words))[:LONGEST_STEM].rstrip("_-.")
    digits = hashlib.sha256(output.job_id.encode()).hexdigest()[:ID_DIGITS]
    suffix = result_suffix(output.source, media_type or "")
    return "_".join(filter(None, [stem, digits])) + suffix


def poster_name(name: str) -> str:
    """Return the path of the still of an exported clip, relative to the folder."""
    return f"{POSTERS}/{Path(name).stem}.jpg"


def _word(axis: str, value: str) -> str:
    with suppress(ValueError):
        return _slug(axis) + f"{float(value):g}"
    if value in ("true", "false"):
        return f"{_slug(axis)}-{value}"
    if "://" in value:
        value = PurePosixPath(parts_of(value).path).stem
    slug = _slug(value)
    if len(slug) <= LONGEST_VALUE:
        return slug
    return slug[: LONGEST_VALUE + 1].rpartition("-")[0] or slug[:LONGEST_VALUE]


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


# -- the manifest and the report ------------------------------------------------------


def _records(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows as dicts, with None for missing values."""
    plain = rows.astype(object)
    for row in plain.where(plain.notna(), None).to_dict("records"):
        yield {str(name): value for name, value in row.items()}


def _ranked(rows: pd.DataFrame, ranking: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with rank and strength of each result."""
    by_job = ranking.set_index("item")
    place = by_job.groupby("group").cumcount() + 1
    table = rows.copy()
    table["rank"] = table["job_id"].map(place).astype("Int64")
    table["strength"] = table["job_id"].map(by_job["strength"]).astype("float64")
    return table


def _field_texts(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the sent fields as text; only the prompt may be long."""
    texts = {name: value_text(value) for name, value in sorted(fields.items())}
    return {
        name: text
        if name == "prompt" or len(text) <= LONGEST_FIELD
        else f"{text[:LONGEST_FIELD]}…"
        for name, text in texts.items()
    }


def _manifest(
    rows: pd.DataFrame, files: Sequence[_File], sent: Sequence[Mapping[str, str]]
) -> pd.DataFrame:
    """Return the frame of the results with files and sent fields, as plain values."""
    import pandas as pd

    rows = rows.reset_index(drop=True)
    problems = pd.Series([file.problem for file in files], dtype="object")
    rows["problem"] = rows["problem"].astype("object").fillna(problems)
    rows.insert(0, "file", [file.name for file in files])
    sizes = pd.Series([file.size_bytes for file in files], dtype="Int64")
    rows.insert(1, "size_bytes", sizes)
    for name in dict.fromkeys(name for texts in sent for name in texts):
        column = pd.Series([texts.get(name) for texts in sent], dtype="object")
        # The name of a prompt version differs from the text that was sent.
        if name not in rows:
            rows[name] = column
        elif [*column.fillna("")] != [*_plain(rows[name]).map(str, na_action="ignore")]:
            rows[f"param_{name}"] = column
    return pd.DataFrame({str(name): _plain(rows[name]) for name in rows})


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return numbers unchanged, and anything else as text."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        return column
    return column.astype(object).map(value_text, na_action="ignore")


def _csv(frame: pd.DataFrame) -> str:
    """Format a manifest as CSV, with formulas escaped."""
    import pandas as pd

    cells = {
        spreadsheet_text(str(name)): column
        if pd.api.types.is_numeric_dtype(column)
        else column.map(spreadsheet_text, na_action="ignore")
        for name, column in frame.items()
    }
    return pd.DataFrame(cells).to_csv(index=False, lineterminator="\n")


def _parquet(frame: pd.DataFrame) -> bytes:
    """Format a manifest as Parquet, with its types and unescaped text."""
    from mediakit.history.frames import text_array

    content, texts = BytesIO(), frame.select_dtypes(exclude=["number", "bool"])
    plain = texts.astype(object).where(texts.notna(), None)
    typed = frame.assign(**{str(name): text_array(plain[name]) for name in plain})
    typed.to_parquet(content, index=False)
    return content.getvalue()
