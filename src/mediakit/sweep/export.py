"""Export a sweep: its outputs under readable names, a manifest and an HTML report."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mediakit.client.download_targets import (
    DownloadTarget,
    LocalTarget,
    target_of,
    write_whole,
)
from mediakit.errors import InputError
from mediakit.media import local_file, poster_jpeg, result_suffix
from mediakit.safe_text import spreadsheet_text, with_shown_urls
from mediakit.sweep.report import MARK, report_html
from mediakit.sweep.scoring import Fetch, Output, problem_of

if TYPE_CHECKING:
    import pandas as pd

MANIFEST, PARQUET, REPORT = "manifest.csv", "manifest.parquet", "report.html"
POSTERS = "posters"
AT_ONCE = 8
POSTER_PX = 640
LONGEST_VALUE, LONGEST_STEM, ID_DIGITS = 24, 80, 8
NO_PARQUET = (
    f"{PARQUET} was left out, because pyarrow is not installed: "
    "pip install 'mediakit[parquet]'."
)


@dataclass(frozen=True)
class Exported:
    """The result of an export.

    Args:
        place: The folder: a path or a URL.
        report: The path or URL of the report.
        files: The number of media files in it.
        written: The number of files written by this export.
        notes: What was left out, as sentences.
    """

    place: Path | str
    report: Path | str
    files: int
    written: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        files = "1 file" if self.files == 1 else f"{self.files:,} files"
        text = f"{files} in {self.place}, {self.written:,} written now."
        return " ".join([text, *self.notes])


@dataclass(frozen=True)
class _File:
    """The file of a cell; the name is None if there is no file."""

    name: str | None = None
    size_bytes: int | None = None
    poster: str | None = None
    is_new: bool = False
    problem: str | None = None


def export(
    rows: pd.DataFrame,
    where: str | Path,
    *,
    ranking: pd.DataFrame,
    fetch: Fetch,
    plan_code: str,
    title: str,
    axes: Sequence[str],
    numbers: Mapping[str, object],
) -> Exported:
    """Write the outputs of a sweep, a manifest and a report to a folder.

    File names show the parameters and end in digits of the job's hash, so they never
    change. Exporting to the same folder again writes only missing files and replaces
    the manifest and the report. `fetch` is called on several threads; figures whose
    name ends in `_micro_usd` are money.
    """
    manifest = _manifest_in(where)
    place = manifest.place
    folder = place.parent if isinstance(place, Path) else place.rpartition("/")[0]
    try:
        manifest.sibling(f"{POSTERS}/any").make_folder()
        earlier = _earlier_names(manifest)
    except OSError as error:
        raise _unwritable(folder, error) from None
    rows = _ranked(rows, ranking)
    has_takes = rows["take"].nunique() > 1
    shown = [*axes, *(["take"] if has_takes and "take" not in axes else [])]
    records = [*_records(rows)]
    values = [[(axis, value_text(row.get(axis))) for axis in shown] for row in records]
    wanted: dict[str, tuple[Output, str, str | None]] = {}
    for row, its in zip(records, values, strict=True):
        if row["job_id"] is not None and row["output_url"] is not None:
            output = Output(row["job_id"], row["output_url"])
            media_type = row["media_type"]
            name = earlier.get(output.job_id) or file_name(its, output, media_type)
            wanted[output.job_id] = (output, name, media_type)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        saved = threads.map(
            lambda each: _saved(manifest, fetch, *each), wanted.values()
        )
        by_job = dict(zip(wanted, saved, strict=True))
    files = [by_job.get(row["job_id"], _File()) for row in records]
    cells = [
        {
            **row,
            "values": its,
            "file": file.name,
            "poster": file.poster,
            "problem": row["problem"] or file.problem,
        }
        for row, its, file in zip(records, values, files, strict=True)
    ]
    page = report_html(title, cells, numbers, with_shown_urls(plan_code))
    try:
        notes = [*_write_texts(manifest, _manifest(rows, files), page)]
    except OSError as error:
        raise _unwritable(folder, error) from None
    failed = sum(file.problem is not None for file in files)
    if failed:
        notes.append(f"{failed:,} could not be saved; see {MANIFEST} for the reasons.")
    return Exported(
        place=folder,
        report=manifest.sibling(REPORT).place,
        files=len({file.name for file in files if file.name}),
        written=len({file.name for file in files if file.is_new}),
        notes=tuple(notes),
    )


# -- the folder -----------------------------------------------------------------------


def _manifest_in(where: Any) -> DownloadTarget:
    is_place = isinstance(where, str | Path) and bool(str(where))
    if not is_place or "\0" in str(where):
        accepted = "a folder or a URL, as text or as a Path"
        raise InputError("where", got=where, accepted=accepted)
    if isinstance(where, str) and where.startswith("file://"):
        where = url2pathname(urlsplit(where).path)
    if isinstance(where, str) and "://" in where:
        return target_of(f"{where.rstrip('/')}/", MANIFEST)
    return LocalTarget(local_file(where) / MANIFEST)


def _earlier_names(manifest: DownloadTarget) -> dict[str, str]:
    """Return the file of each job of an earlier export, which keeps its name."""
    page, content = manifest.sibling(REPORT).read(), manifest.read() or b""
    rows = csv.DictReader(io.StringIO(content.decode("utf-8", "replace")))
    is_own = not content or {"file", "job_id"} <= set(rows.fieldnames or ())
    if not is_own or (page is not None and MARK.encode() not in page):
        name = REPORT if is_own else MANIFEST
        got = f"{manifest.sibling(name).place} (not written by an export)"
        raise InputError("where", got=got, accepted="a folder without such a file")
    # Others may write to the folder: a name in its manifest must not lead outside it.
    return {
        row["job_id"]: row["file"]
        for row in rows
        if row["file"] and not set(row["file"]) & set("/\\\0") and row["file"] != ".."
    }


def _unwritable(folder: Path | str, error: OSError) -> InputError:
    got = f"{folder} ({error.strerror or type(error).__name__})"
    accepted = "a folder that can be written, with room for the files"
    sent = "The outputs are still available at the service."
    return InputError("where", got=got, accepted=accepted, then=sent)


def _saved(
    manifest: DownloadTarget,
    fetch: Fetch,
    output: Output,
    name: str,
    media_type: str | None,
) -> _File:
    """Save an output under its name, unless it is there already."""
    target, local = manifest.sibling(name), None
    try:
        size_bytes = target.size_bytes()
        if size_bytes is None:
            local = Path(fetch(output))
            write_whole(target, local)
        poster = _poster(manifest, name, local) if media_type == "video" else None
        written_bytes = size_bytes or target.size_bytes()
    except Exception as error:  # noqa: BLE001 - it is the problem of one cell
        return _File(problem=f"It could not be saved: {problem_of(error)}")
    return _File(name, written_bytes, poster, is_new=size_bytes is None)


def _poster(manifest: DownloadTarget, name: str, local: Path | None) -> str | None:
    """Make the poster of a clip while the local file is available."""
    poster = f"{POSTERS}/{Path(name).stem}.jpg"
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

    URLs are without passwords and signatures, because exports are passed on.
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
    values: Sequence[tuple[str, str]], output: Output, media_type: str | None
) -> str:
    """Return the name of an output's file: the values of its axes, and its job."""
    words = [_word(axis, value) for axis, value in values]
    stem = "_".join(filter(None, words))[:LONGEST_STEM].rstrip("_-.")
    digits = hashlib.sha256(output.job_id.encode()).hexdigest()[:ID_DIGITS]
    suffix = result_suffix(output.source, media_type or "")
    return "_".join(filter(None, [stem, digits])) + suffix


def _word(axis: str, value: str) -> str:
    with suppress(ValueError):
        return _slug(axis) + f"{float(value):g}"
    if value in ("true", "false"):
        return f"{_slug(axis)}-{value}"
    if "://" in value:
        value = PurePosixPath(urlsplit(value).path).stem
    slug = _slug(value)
    if len(slug) <= LONGEST_VALUE:
        return slug
    return slug[: LONGEST_VALUE + 1].rpartition("-")[0] or slug[:LONGEST_VALUE]


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


# -- the manifest and the report ------------------------------------------------------


def _records(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows with None for missing values."""
    for row in rows.astype(object).to_dict("records"):
        yield {str(name): _present(value) for name, value in row.items()}


def _present(value: object) -> object:
    import pandas as pd

    is_missing = value is pd.NA or value is pd.NaT or value != value
    return None if is_missing else value


def _ranked(rows: pd.DataFrame, ranking: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the rank of each result and its strength."""
    by_job = ranking.set_index("item")
    place = by_job.groupby("group").cumcount() + 1
    found = rows.copy()
    found["rank"] = found["job_id"].map(place).astype("Int64")
    found["strength"] = found["job_id"].map(by_job["strength"]).astype("float64")
    return found


def _manifest(rows: pd.DataFrame, files: Sequence[_File]) -> pd.DataFrame:
    """Return the frame of the results with the files, in columns of plain types."""
    import pandas as pd

    frame = pd.DataFrame({name: _plain(rows[name]) for name in rows.columns})
    names = pd.Series([file.name for file in files], dtype="string")
    sizes = pd.Series([file.size_bytes for file in files], dtype="Int64")
    problems = pd.Series([file.problem for file in files], dtype="string")
    frame["problem"] = frame["problem"].fillna(problems)
    frame.insert(0, "file", names)
    frame.insert(1, "size_bytes", sizes)
    return frame


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        return column.reset_index(drop=True)
    present = [_present(value) for value in column.astype(object)]
    texts = [None if value is None else value_text(value) for value in present]
    return pd.Series(pd.array(texts, dtype="string"))


def _write_texts(
    target: DownloadTarget, manifest: pd.DataFrame, page: str
) -> Iterator[str]:
    """Write the manifest and the report; yield notes about what was left out."""
    texts = manifest.rename(columns=lambda name: spreadsheet_text(str(name)))
    for name in texts.columns[texts.dtypes.eq("string")]:
        texts[name] = texts[name].map(spreadsheet_text, na_action="ignore")
    content = texts.to_csv(index=False, lineterminator="\n")
    write_whole(target, content.encode())
    write_whole(target.sibling(REPORT), page.encode())
    if find_spec("pyarrow") is None:
        yield NO_PARQUET
        return
    parquet = manifest.to_parquet(engine="pyarrow", index=False)
    write_whole(target.sibling(PARQUET), parquet)
