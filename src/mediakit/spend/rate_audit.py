"""Compares charges with estimates, by function and kind of estimate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.history_view import AsyncHistoryView
from mediakit.errors import InputError
from mediakit.history import Entry, History
from mediakit.money import PER_MILLION, divide_half_up, format_usd
from mediakit.rates import EstimateKind
from mediakit.records import JobStatus
from mediakit.spend.responses.columns import as_category, as_days

if TYPE_CHECKING:
    import pandas as pd

By = Literal["function", "line"]
PAGE = 1_000
_ESTIMATE, _COST = "estimate_high_micro_usd", "cost_micro_usd"


async def audited(
    history: AsyncHistoryView, catalog: Catalog, by: By = "function"
) -> pd.DataFrame:
    """Audit the rates of one service's history; see `AsyncSpend.rates`.

    Args:
        history: The request history.
        catalog: Prices requests again, to find their lines.
        by: What each row is for.
    """
    if by not in ("function", "line"):
        raise InputError("by", got=by, accepted='"function" or "line"', spec="8")
    lines = None
    if by == "line":
        service = history.scope(everywhere=False)
        read = partial(price_lines, history.store, catalog, service)
        lines = await to_thread.run_sync(read)
    frame = await history.frame()
    return await to_thread.run_sync(rate_audit, frame, lines)


def rate_audit(
    history: pd.DataFrame, lines: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Compare charges with estimates; see `AsyncSpend.rates` for the columns.

    Args:
        history: As `client.history.frame()` returns it.
        lines: The line of the price list by idempotency key; None for no lines.

    Returns:
        One row per function, line and kind of estimate. Only completed jobs whose
        charge is known count, at the restated charge if the service restated it. A job
        without an upper price has an unknown estimate.
    """
    rows = _audited_rows(history)
    by = ["function", "kind", "estimate_kind"]
    if lines is not None:
        rows["line"] = rows["key"].map(lines)
        by.insert(2, "line")
    groups = rows.groupby(by, sort=True, observed=True, dropna=False)
    return _frame([(dict(zip(by, names, strict=True)), g) for names, g in groups], by)


def _audited_rows(history: pd.DataFrame) -> pd.DataFrame:
    """Keep one row per job with a charge, typed for sums."""
    names = [
        "key",
        "job_id",
        "function",
        "kind",
        "estimate_kind",
        _ESTIMATE,
        "settled_at",
    ]
    has_cost = history["charge_micro_usd"].notna()
    rows = history[has_cost & (history["status"] != JobStatus.FAILED)]
    cost = rows["restated_charge_micro_usd"].fillna(rows["charge_micro_usd"])
    rows = rows[names].assign(**{_COST: cost})
    rows = rows[~rows.duplicated("job_id") | rows["job_id"].isna()]
    for name in ("function", "kind", "estimate_kind"):
        rows[name] = rows[name].astype("object")
    rows.loc[rows[_ESTIMATE].isna(), "estimate_kind"] = EstimateKind.UNKNOWN.value
    return rows


def _frame(
    groups: list[tuple[dict[str, Any], pd.DataFrame]], by: list[str]
) -> pd.DataFrame:
    import pandas as pd

    from mediakit.history.frames import text_array

    audits = [_Audit(names["estimate_kind"], rows) for names, rows in groups]
    columns: dict[str, Any] = {}
    for name in by:
        values = [_text(names[name]) for names, _ in groups]
        columns[name] = (text_array if name == "line" else as_category)(values)
    columns["estimate_kind"] = pd.Categorical(
        columns["estimate_kind"], categories=[kind.value for kind in EstimateKind]
    )
    columns |= {
        "jobs": pd.array([audit.jobs for audit in audits], dtype="int64"),
        "charge_micro_usd": pd.array([audit.charge for audit in audits], dtype="int64"),
        "estimate_micro_usd": _whole([audit.estimate for audit in audits]),
        "difference_micro_usd": _whole([audit.difference for audit in audits]),
        "wrong_jobs": pd.array([audit.wrong_jobs for audit in audits], dtype="int64"),
        "first_wrong_day": as_days([audit.first_wrong_day for audit in audits]),
        "better_estimate_ppm": _whole([audit.better_estimate_ppm for audit in audits]),
        "text": pd.array([audit.text for audit in audits], dtype="str"),
    }
    return pd.DataFrame(columns)


def _whole(numbers: list[int | None]) -> Any:
    import pandas as pd

    return pd.array(list(numbers), dtype="Int64")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class _Audit:
    """The sums of the jobs in one row.

    Args:
        estimate_kind: The kind of their estimates.
        rows: The jobs.
    """

    def __init__(self, estimate_kind: str, rows: pd.DataFrame) -> None:
        self._kind = EstimateKind(estimate_kind)
        self.jobs = len(rows)
        self.charge = int(rows[_COST].sum())
        is_known = self._kind is not EstimateKind.UNKNOWN
        self.estimate = int(rows[_ESTIMATE].sum()) if is_known else None
        wrong = rows[self._is_wrong(rows)] if is_known else rows[:0]
        self.wrong_jobs = len(wrong)
        self.first_wrong_day: date | None = None
        self._out_of_date_since: date | None = None
        if self.wrong_jobs:
            self.first_wrong_day = wrong["settled_at"].min().date()
            right = rows.drop(wrong.index)["settled_at"].max()
            # A rate is out of date only if every job since then is wrong.
            since = wrong[~(wrong["settled_at"] <= right)]["settled_at"]
            if len(since):
                self._out_of_date_since = since.min().date()

    def _is_wrong(self, rows: pd.DataFrame) -> pd.Series:
        if self._kind is EstimateKind.EXACT:
            return rows[_COST] != rows[_ESTIMATE]
        above = rows[_COST] > rows[_ESTIMATE]
        return above if self._kind is EstimateKind.UPPER_BOUND else above & False

    @property
    def difference(self) -> int | None:
        """Return the charges less the estimates, micro-USD."""
        return None if self.estimate is None else self.charge - self.estimate

    @property
    def better_estimate_ppm(self) -> int | None:
        """Return the correction factor for nominal estimates, in parts per million."""
        return self._ppm if self._kind is EstimateKind.NOMINAL else None

    @property
    def _ppm(self) -> int | None:
        if not self.estimate:
            return None
        return divide_half_up(self.charge * PER_MILLION, self.estimate)

    @property
    def text(self) -> str:
        """Summarize the row in a sentence."""
        say = {
            EstimateKind.EXACT: self._exact,
            EstimateKind.NOMINAL: self._nominal,
            EstimateKind.UPPER_BOUND: self._upper_bound,
            EstimateKind.UNKNOWN: self._unknown,
        }
        return say[self._kind]()

    @property
    def _jobs(self) -> str:
        return f"{self.jobs:,} job{'' if self.jobs == 1 else 's'}"

    def _exact(self) -> str:
        if not self.wrong_jobs:
            return f"{self._jobs} cost exactly what was estimated."
        text = (
            f"{self.wrong_jobs:,} of {self._jobs} did not cost the exact estimate, "
            f"{_more(self.difference or 0)} in total, first on {self.first_wrong_day}."
        )
        if self._out_of_date_since is None:
            return f"{text} Later jobs did."
        return f"{text} The rate is out of date since {self._out_of_date_since}."

    def _nominal(self) -> str:
        if self._ppm is None:
            return f"{self._jobs} cost {format_usd(self.charge)}, estimated as free."
        if not self.difference:
            return f"{self._jobs} cost exactly their nominal estimates."
        return (
            f"{self._jobs} cost {format_usd(self.charge)} for nominal estimates of "
            f"{format_usd(self.estimate)}: next time, expect {_percent(self._ppm)} of "
            "the nominal estimate."
        )

    def _upper_bound(self) -> str:
        if self._ppm is None:
            return f"{self._jobs} cost {format_usd(self.charge)}, bounded by $0.00."
        used = f"{self._jobs} used {_percent(self._ppm)} of their upper bounds"
        if not self.wrong_jobs:
            return f"{used}; none cost more."
        return (
            f"{used}; {self.wrong_jobs:,} cost more than its bound, first on "
            f"{self.first_wrong_day}."
        )

    def _unknown(self) -> str:
        return f"{self._jobs} without a known price cost {format_usd(self.charge)}."


def _more(micro_usd: int) -> str:
    if not micro_usd:
        return "no difference"
    return f"{format_usd(abs(micro_usd))} {'more' if micro_usd > 0 else 'less'}"


def _percent(ppm: int) -> str:
    whole, tenths = divmod(divide_half_up(ppm, 1_000), 10)
    return f"{whole:,}.{tenths} %"


# -- which line of the price list ------------------------------------------------------


def price_lines(
    history: History, catalog: Catalog, service: str | None
) -> dict[str, str]:
    """Return the lines of today's price list that apply to each request.

    Args:
        history: The request history.
        catalog: Prices the requests.
        service: The service; None for all.

    Returns:
        Texts by idempotency key, such as "output, $0.068 per s"; without those of
        requests that cannot be priced any more.
    """
    lines: dict[str, str] = {}
    known: dict[tuple[str, bytes], str | None] = {}
    page = history.page(limit=PAGE, service=service)
    while page:
        for entry in page:
            request = (entry.function, entry.body)
            if request not in known:
                known[request] = _line(catalog, entry)
            text = known[request]
            if text is not None:
                lines[entry.key] = text
        page = history.page(limit=PAGE, service=service, before=page[-1])
    return lines


def _line(catalog: Catalog, entry: Entry) -> str | None:
    try:
        function = catalog.function(entry.function)
        body = json.loads(entry.body)
        lines = function.estimate(body).lines if isinstance(body, dict) else ()
    except InputError:
        return None
    return "; ".join(f"{line.what}, {line.rate_text}" for line in lines) or None
