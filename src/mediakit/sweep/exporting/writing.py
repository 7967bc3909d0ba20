"""Export a sweep: fetch missing files, and write the manifest and the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.media import poster_jpeg
from mediakit.safe_text import spreadsheet_text, with_shown_urls
from mediakit.sweep.exporting.folder import MANIFEST, PARQUET, POSTERS, REPORT, Folder
from mediakit.sweep.exporting.names import file_names, value_text
from mediakit.sweep.exporting.report import ReportCell, report_html
from mediakit.sweep.scoring import Fetch, Output, problem_of

if TYPE_CHECKING:
    import pandas as pd

AT_ONCE = 8
POSTER_PX = 640
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
class _Cell:
    """A row of the results, its displayed values, and the possible file names."""

    row: Mapping[str, Any]
    values: tuple[tuple[str, str], ...]
    output: Output | None
    names: tuple[str, ...] = ()


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
    fetch: Fetch,
    plan_code: str,
    title: str,
    axes: Sequence[str],
    numbers: Mapping[str, object],
) -> Exported:
    """Write the outputs of a sweep, a manifest and a report to a folder.

    File names show the parameters and never change. Exporting to the same folder again
    writes only missing files and replaces the manifest and the report; existing files
    are not fetched again, and files of others are not changed.

    Args:
        rows: The frame of the results, one row per cell.
        where: A folder, which is created if needed, or a URL that fsspec supports.
        fetch: Returns an output as a local file; called on several threads.
        plan_code: The code that recreates the plan.
        title: The title of the report.
        axes: The columns that vary; the report has a section for each value of the
            first.
        numbers: Figures of the plan by name; money ends in `_micro_usd`.

    Raises:
        InputError: The folder cannot be written, or has a manifest or a report that
            was not written by an export.
    """
    folder = Folder(where)
    cells = _cells(rows, axes, folder)
    files = _all_saved(folder, fetch, cells)
    manifest = _manifest(rows, files)
    shown = [_shown(cell, file) for cell, file in zip(cells, files, strict=True)]
    page = report_html(title, shown, numbers, with_shown_urls(plan_code))
    try:
        notes = list(_write_texts(folder, manifest, page))
    except OSError as error:
        raise folder.unwritable(error) from None
    return Exported(
        place=folder.place,
        report=folder.file(REPORT).place,
        files=len({file.name for file in files if file.name}),
        written=len({file.name for file in files if file.is_new}),
        notes=(*notes, *_failures(files)),
    )


def _failures(files: Iterable[_File]) -> Iterator[str]:
    failed = sum(file.problem is not None for file in files)
    if failed:
        yield f"{failed:,} could not be saved; see {MANIFEST} for the reasons."


def _cells(rows: pd.DataFrame, axes: Sequence[str], folder: Folder) -> list[_Cell]:
    has_takes = "take" in rows and rows["take"].nunique() > 1
    shown = [*axes, *(["take"] if has_takes and "take" not in axes else [])]
    owners = {name: job_id for job_id, (name, _) in folder.earlier.items()}
    cells = []
    for row in _records(rows):
        values = tuple((axis, value_text(row.get(axis))) for axis in shown)
        output = _output_of(row)
        names: tuple[str, ...] = ()
        if output is not None:
            names = _names(values, output, row.get("media_type"), folder, owners)
        cells.append(_Cell(row, values, output, names))
    return cells


def _names(
    values: Sequence[tuple[str, str]],
    output: Output,
    media_type: str | None,
    folder: Folder,
    owners: dict[str, str],
) -> tuple[str, ...]:
    """Return the possible names of a job's file, and reserve them for this job."""
    own = [folder.earlier[output.job_id][0]] if output.job_id in folder.earlier else []
    made = file_names(values, output, media_type)
    free = [n for n in made if owners.setdefault(n, output.job_id) == output.job_id]
    return tuple(dict.fromkeys([*own, *free]))


def _records(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows with None for missing values."""
    for row in rows.astype(object).to_dict("records"):
        yield {str(name): _present(value) for name, value in row.items()}


def _present(value: object) -> object:
    import pandas as pd

    is_nan = isinstance(value, float) and math.isnan(value)
    return None if is_nan or value is pd.NA or value is pd.NaT else value


def _output_of(row: Mapping[str, Any]) -> Output | None:
    if row.get("job_id") is None or row.get("output_url") is None:
        return None
    return Output(str(row["job_id"]), str(row["output_url"]))


def _all_saved(folder: Folder, fetch: Fetch, cells: Sequence[_Cell]) -> list[_File]:
    """Save the outputs, each job once; return the file of each cell."""
    by_job = {cell.output.job_id: cell for cell in cells if cell.output}
    with ThreadPoolExecutor(AT_ONCE) as threads:
        files = list(threads.map(partial(_saved, folder, fetch), by_job.values()))
    found = dict(zip(by_job, files, strict=True))
    return [found[c.output.job_id] if c.output else _File() for c in cells]


def _saved(folder: Folder, fetch: Fetch, cell: _Cell) -> _File:
    try:
        return _save(folder, fetch, cell)
    except Exception as error:  # noqa: BLE001 - it is the problem of one cell
        return _File(problem=f"It could not be saved: {problem_of(error)}")


def _save(folder: Folder, fetch: Fetch, cell: _Cell) -> _File:
    """Save an output under the first of its names that is free."""
    assert cell.output is not None
    local: Path | None = None
    for name in cell.names:
        size_bytes = folder.file(name).size_bytes()
        if size_bytes is None or size_bytes != folder.sizes.get(name):
            local = local or Path(fetch(cell.output))
            is_other = size_bytes not in (None, local.stat().st_size)
            if is_other:
                continue
        if size_bytes is None and local is not None:
            folder.write(name, local)
        return _File(
            name,
            size_bytes or folder.file(name).size_bytes(),
            _poster(folder, name, local, cell.row.get("media_type")),
            is_new=size_bytes is None,
        )
    raise FileExistsError("all its names are used by other files")


def _poster(
    folder: Folder, name: str, local: Path | None, media_type: str | None
) -> str | None:
    """Make the poster of a clip while the local file is available."""
    if media_type != "video":
        return None
    poster = f"{POSTERS}/{Path(name).stem}.jpg"
    if folder.file(poster).size_bytes() is not None:
        return poster
    if local is None:
        return None
    try:
        folder.write(poster, poster_jpeg(local, POSTER_PX))
    except Exception:  # noqa: BLE001 - the clip is shown without it
        return None
    return poster


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

    is_number = pd.api.types.is_numeric_dtype(column)
    if is_number or pd.api.types.is_datetime64_any_dtype(column):
        return column.reset_index(drop=True)
    present = [_present(value) for value in column.astype(object)]
    texts = [None if value is None else value_text(value) for value in present]
    return pd.Series(pd.array(texts, dtype="string"))


def _write_texts(folder: Folder, manifest: pd.DataFrame, page: str) -> Iterator[str]:
    """Write the manifest and the report; yield notes about what was left out."""
    texts = _harmless(manifest).to_csv(index=False, lineterminator="\n")
    folder.write(MANIFEST, texts.encode())
    folder.write(REPORT, page.encode())
    if find_spec("pyarrow") is None:
        yield NO_PARQUET
        return
    content = BytesIO()
    manifest.to_parquet(content, engine="pyarrow", index=False)
    folder.write(PARQUET, content.getvalue())


def _harmless(manifest: pd.DataFrame) -> pd.DataFrame:
    """Return the manifest without formulas, in its columns' names and texts."""
    import pandas as pd

    columns = {
        spreadsheet_text(str(name)): column.map(spreadsheet_text, na_action="ignore")
        if pd.api.types.is_string_dtype(column)
        else column
        for name, column in manifest.items()
    }
    return pd.DataFrame(columns)


def _shown(cell: _Cell, file: _File) -> ReportCell:
    row = cell.row
    return ReportCell(
        values=cell.values,
        status=str(row.get("status") or ""),
        file=file.name,
        poster=file.poster,
        media_type=row.get("media_type"),
        prompt=row.get("prompt"),
        rating=row.get("rating"),
        keep=bool(row.get("keep")),
        charge_micro_usd=row.get("charge_micro_usd"),
        problem=row.get("problem") or file.problem,
        job_id=row.get("job_id"),
    )
