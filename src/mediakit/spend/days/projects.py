"""Divides daily spend among the projects in the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

from mediakit.spend.days.function_names import CHARGE, with_column

if TYPE_CHECKING:
    import pandas as pd

SEVERAL_KEYS = (
    "Several keys charged the same function on a day; the history does not know "
    "which of them a project used, so these charges are shown without a project."
)


def with_projects(frame: pd.DataFrame, charges: pd.DataFrame) -> pd.DataFrame:
    """Divide each row among projects; the sums do not change.

    A job counts on the first day, from its end to when it was read as settled, on
    which the service's charges for its function can include it. Charges that are not
    in the history stay in a row without a project.

    Args:
        frame: Daily rows of the service, of all keys.
        charges: As `AsyncSpend.charges` returns them.

    Returns:
        The same columns and project (str, missing if unknown).
    """
    import pandas as pd

    from mediakit.history.frames import text_array

    places = list(zip(_paths(frame), _day_numbers(frame["day"]), strict=True))
    rows_n = Counter(place for place in places if place[0] is not None)
    row_of = {place: row for row, place in enumerate(places) if rows_n[place] == 1}
    jobs, micro_usd = _whole(frame["jobs"]), _whole(frame[CHARGE])
    shares: dict[tuple[int, str], tuple[int, int]] = {}
    for path, project, charge, first, last in _jobs(charges):
        for day in range(first, last + 1):
            row = row_of.get((path, day), -1)
            left = micro_usd[row] if row >= 0 else None
            if left is None or left < charge or jobs[row] == 0:
                continue
            micro_usd[row] = left - charge
            jobs_left = jobs[row]
            jobs[row] = None if jobs_left is None else jobs_left - 1
            share_n, share = shares.get((row, project), (0, 0))
            shares[row, project] = (share_n + 1, share + charge)
            break
    parts: list[tuple[int, str | None, int | None, int | None]] = [
        (row, project, *share) for (row, project), share in shares.items()
    ]
    divided_rows = {row for row, _ in shares}
    parts += [
        (row, None, jobs[row], micro_usd[row])
        for row in range(len(frame))
        if row not in divided_rows or jobs[row] != 0 or micro_usd[row]
    ]
    parts.sort(key=lambda part: part[0])
    divided = frame.iloc[[part[0] for part in parts]].reset_index(drop=True)
    divided["jobs"] = pd.array([part[2] for part in parts], dtype="Int64")
    charged = pd.Series([part[3] for part in parts], dtype="Int64")
    divided[CHARGE] = charged.astype(frame[CHARGE].dtype)
    with_column(divided, "project", text_array([part[1] for part in parts]))
    divided.attrs = dict(frame.attrs)
    if any(count > 1 for count in rows_n.values()):
        divided.attrs["notes"] = [*frame.attrs["notes"], SEVERAL_KEYS]
    return divided


def _paths(frame: pd.DataFrame) -> list[str | None]:
    """Return the path of each row, `vendor/model/function`."""
    names = [name for name in ("model_id", "function", "model") if name in frame]
    texts = zip(*(frame[name].astype("object") for name in names), strict=True)
    return [_path(dict(zip(names, each, strict=True))) for each in texts]


def _path(names: dict[str, Any]) -> str | None:
    texts = {n: text for n, text in names.items() if isinstance(text, str)}
    if "model_id" in texts:
        return str(texts["model_id"])
    function = texts.get("function")
    if function is None or function.count("/") > 1 or "model" not in texts:
        return function
    return f"{texts['model']}/{function}"


def _jobs(charges: pd.DataFrame) -> Iterator[tuple[str, str, int, int, int]]:
    """Yield path, project, charge, and the days of end and settlement, oldest first."""
    is_job = (charges["status"] == "completed") & charges["project"].notna()
    rows = charges[is_job].iloc[::-1]
    yield from zip(
        rows["function"].astype("object"),
        rows["project"].astype("object"),
        rows[CHARGE].tolist(),
        _day_numbers(rows["finished_at"].fillna(rows["settled_at"])),
        _day_numbers(rows["settled_at"]),
        strict=True,
    )


def _day_numbers(instants: pd.Series) -> list[int]:
    days = instants.dt.date.where(instants.notna(), date.min)
    return [day.toordinal() for day in days]


def _whole(column: pd.Series) -> list[int | None]:
    import pandas as pd

    values: list[Any] = column.astype("Int64").tolist()
    return [None if value is pd.NA else int(value) for value in values]
