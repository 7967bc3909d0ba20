"""Divides daily spend among the projects in the history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Any

from mediakit.spend.days.function_names import CHARGE, with_column

if TYPE_CHECKING:
    import pandas as pd

SEVERAL_KEYS = (
    "Several keys charged the same function on a day; the history does not know "
    "which of them a project used, so these charges are shown without a project."
)
# Project, jobs, micro-USD.
Share = tuple[str | None, int | None, int | None]


@dataclass
class Remainder:
    """The unassigned remainder of one service row.

    Args:
        jobs: Jobs; None if the service does not count them.
        micro_usd: Micro-USD.
        shares: Jobs and micro-USD by project.
    """

    jobs: int | None
    micro_usd: int
    shares: dict[str, tuple[int, int]] = field(default_factory=dict)

    def fits(self, charge_micro_usd: int) -> bool:
        """Tell whether a job with this charge fits in the remainder."""
        return self.jobs != 0 and charge_micro_usd <= self.micro_usd

    def assign(self, project: str, charge_micro_usd: int) -> None:
        """Count a job for a project."""
        jobs, micro_usd = self.shares.get(project, (0, 0))
        self.shares[project] = (jobs + 1, micro_usd + charge_micro_usd)
        self.jobs = None if self.jobs is None else self.jobs - 1
        self.micro_usd -= charge_micro_usd

    def parts(self) -> list[Share]:
        """Return the shares of the row, with the remainder last."""
        found: list[Share] = [
            (name, *self.shares[name]) for name in sorted(self.shares)
        ]
        if not found or self.jobs != 0 or self.micro_usd:
            found.append((None, self.jobs, self.micro_usd))
        return found


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

    remainders, several = _remainders(frame)
    _fill(remainders, charges)
    by_row = {row: rest for days in remainders.values() for row, rest in days.values()}
    amounts = zip(_whole(frame["jobs"]), _whole(frame[CHARGE]), strict=True)
    parts = [
        by_row[row].parts() if row in by_row else [(None, *amount)]
        for row, amount in enumerate(amounts)
    ]
    places = [row for row, shares in enumerate(parts) for _ in shares]
    shares = list(chain.from_iterable(parts))
    divided = frame.iloc[places].reset_index(drop=True)
    divided["jobs"] = pd.array([jobs for _, jobs, _ in shares], dtype="Int64")
    micro_usd = pd.Series([amount for _, _, amount in shares], dtype="Int64")
    divided[CHARGE] = micro_usd.astype(frame[CHARGE].dtype)
    projects = text_array([project for project, _, _ in shares])
    with_column(divided, "project", projects)
    divided.attrs = dict(frame.attrs)
    if several:
        divided.attrs["notes"] = [*frame.attrs["notes"], SEVERAL_KEYS]
    return divided


Remainders = dict[str, dict[int, tuple[int, Remainder]]]


def _remainders(frame: pd.DataFrame) -> tuple[Remainders, bool]:
    """Return each row by path and day, if it is the only one with these."""
    remainders: Remainders = defaultdict(dict)
    seen: set[tuple[str, int]] = set()
    several = False
    rows = zip(_paths(frame), _day_numbers(frame["day"]), strict=True)
    amounts = zip(_whole(frame["jobs"]), _whole(frame[CHARGE]), strict=True)
    for row, (place, amount) in enumerate(zip(rows, amounts, strict=True)):
        path, day = place
        if path is None:
            continue
        if (path, day) in seen:
            several = True
            remainders[path].pop(day, None)
        elif amount[1] is not None and amount[1] >= 0:
            remainders[path][day] = (row, Remainder(amount[0], amount[1]))
        seen.add((path, day))
    return remainders, several


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


def _fill(remainders: Remainders, charges: pd.DataFrame) -> None:
    """Count each completed job on a day that it fits on."""
    for path, project, micro_usd, first, last in _jobs(charges):
        days = remainders.get(path, {})
        for day in range(first, last + 1):
            if day in days and days[day][1].fits(micro_usd):
                days[day][1].assign(project, micro_usd)
                break


def _jobs(charges: pd.DataFrame) -> Iterator[tuple[str, str, int, int, int]]:
    """Yield path, project, charge, and the days of end and settlement, oldest first."""
    is_job = (charges["status"] == "completed") & charges["project"].notna()
    rows = charges[is_job].iloc[::-1]
    settled = _day_numbers(rows["settled_at"])
    ended = _day_numbers(rows["finished_at"].fillna(rows["settled_at"]))
    yield from zip(
        rows["function"].astype("object"),
        rows["project"].astype("object"),
        rows[CHARGE].tolist(),
        ended,
        settled,
        strict=True,
    )


def _day_numbers(instants: pd.Series) -> list[int]:
    """Return the days of instants in UTC as ordinals; 0 for a missing one."""
    days = instants.dt.date.where(instants.notna(), date.min)
    return [day.toordinal() for day in days]


def _whole(column: pd.Series) -> list[int | None]:
    import pandas as pd

    values: list[Any] = column.astype("Int64").tolist()
    return [None if value is pd.NA else int(value) for value in values]
