"""Compares one month of reports with the history: frames in, a result out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from mediakit.spend.reconciliation.charge_matching import FunctionSides, Span, explained
from mediakit.spend.reconciliation.messages import MISSING, REPORTS, sentence
from mediakit.spend.reconciliation.missing_rows import corrected
from mediakit.spend.reconciliation.own_api_keys import own_keys
from mediakit.spend.reconciliation.report_checks import (
    Odd,
    ReportSums,
    odd_balance,
    odd_reports,
    odd_total,
)
from mediakit.spend.reconciliation.result import Reconciliation
from mediakit.spend.reconciliation.service_and_history import (
    Daily,
    Ours,
    Spent,
    daily_side,
    history_side,
    report_side,
    whole_names,
)
from mediakit.spend.reconciliation.verdicts import Part, Reason, Verdict, by_month

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sources:
    """The inputs of one month's comparison.

    Args:
        month: The month, "YYYY-MM".
        read: The days that `daily` covers: the month and a margin on each side.
        today: Today by the service's clock.
        history: As `client.history.frame()` returns it.
        daily: As `client.spend.daily(...)` returns it; None if it could not be read.
        monthly: As `client.spend.monthly(...)` returns it; None likewise.
        csv: As `client.spend.monthly_csv(...)` returns it; None likewise.
        kinds: mediakit's function names, by path.
        own_keys: The IDs of this history's API keys; None to infer them.
        ahead: How far the service's clock is ahead of this machine's.
        refusals: The sentences that say why a report could not be read, by "daily",
            "monthly" or "csv".
    """

    month: str
    read: Span
    today: date
    history: pd.DataFrame
    daily: pd.DataFrame | None
    monthly: pd.DataFrame | None
    csv: pd.DataFrame | None
    kinds: Mapping[str, str] = field(default_factory=dict)
    own_keys: tuple[str, ...] | None = None
    ahead: timedelta = timedelta()
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def span(self) -> Span:
        """Return the month's days."""
        return month_span(self.month)


def month_span(month: str) -> Span:
    """Return the first and the last day of a month, "YYYY-MM"."""
    first = date.fromisoformat(f"{month}-01")
    after = (first + timedelta(days=31)).replace(day=1)
    return Span(first, after - timedelta(days=1))


def compared(sources: Sources) -> Reconciliation:
    """Compare a month's history, daily report, monthly report, CSV and balance."""
    sources = _read_whole(sources)
    read = sources.read
    ours = history_side(sources.history, read.first - timedelta(days=1), read.last)
    sides = _named_alike(sources, ours)
    keys = sources.own_keys
    if keys is None:
        keys = own_keys(sides.daily, sides.ours)
    ours = _with_functions(sides.ours, sides.daily, keys)
    sides = replace(sides, ours=ours)
    if sources.daily is None:
        parts = _without_daily(sources, ours)
    else:
        parts = _with_daily(sources, sides, keys)
    parts += list(_unread(sources))
    return _result(sources, sides, parts, keys)


@dataclass(frozen=True)
class _Sides:
    """Both sides, under the same names; a report that could not be read is None."""

    ours: Ours
    daily: Daily
    monthly: ReportSums | None
    csv: ReportSums | None


def _read_whole(sources: Sources) -> Sources:
    """Drop the reports of which a part could not be read: its sums are too small."""
    frames = {"daily": sources.daily, "monthly": sources.monthly, "csv": sources.csv}
    unread: dict[str, str] = {}
    for name, frame in frames.items():
        if frame is None:
            continue
        texts = list(frame.attrs["unread"])
        if name == "daily" and (days := int(frame["day"].isna().sum())):
            rows = "row" if days == 1 else "rows"
            texts.append(f"{days} {rows} of the daily report without a readable day.")
        if texts:
            unread[name] = texts[0]
    return replace(
        sources,
        daily=None if "daily" in unread else sources.daily,
        monthly=None if "monthly" in unread else sources.monthly,
        csv=None if "csv" in unread else sources.csv,
        refusals={**sources.refusals, **unread},
    )


def _named_alike(sources: Sources, ours: Ours) -> _Sides:
    """Read both sides, and give each function its whole name in all of them."""
    daily = {} if sources.daily is None else daily_side(sources.daily)
    monthly, csv = _sums(sources.monthly), _sums(sources.csv)
    known = {
        charge.path for charge in ours.charges if not charge.is_of_unknown_function
    }
    paths = {*known, *_open(ours), *(path for _, _, path in daily)}
    for sums in filter(None, (monthly, csv)):
        paths |= set(sums.by_path)
    whole = whole_names(paths, sources.kinds)
    cells: Daily = defaultdict(Spent)
    for (day, key, path), spent in daily.items():
        cells[day, key, whole.get(path, path)].add(spent.micro_usd, spent.jobs)
    return _Sides(ours, dict(cells), _renamed(monthly, whole), _renamed(csv, whole))


def _renamed(sums: ReportSums | None, whole: Mapping[str, str]) -> ReportSums | None:
    if sums is None:
        return None
    by_path: dict[str, int] = defaultdict(int)
    for path, micro_usd in sums.by_path.items():
        by_path[whole.get(path, path)] += micro_usd
    return ReportSums(by_path, sums.stated)


def _with_functions(ours: Ours, daily: Daily, keys: tuple[str, ...]) -> Ours:
    """Assign charges of unknown functions to functions that lack that amount."""
    unknown = [charge for charge in ours.charges if charge.is_of_unknown_function]
    missing: dict[str, int] = defaultdict(int)
    for (_, key, path), spent in daily.items():
        missing[path] += spent.micro_usd if key in keys else 0
    known = [charge for charge in ours.charges if not charge.is_of_unknown_function]
    for charge in known:
        missing[charge.path] -= charge.micro_usd
    for charge in sorted(unknown, key=lambda charge: -charge.micro_usd):
        room = {path: more - charge.micro_usd for path, more in missing.items()}
        able = [(more, path) for path, more in room.items() if more >= 0]
        # Prefer an exact match; else the function that lacks the most.
        more, path = min(able, default=(0, charge.path))
        path = max(able)[1] if more else path
        missing[path] -= charge.micro_usd
        known.append(replace(charge, path=path))
    return replace(ours, charges=tuple(known))


def _result(
    sources: Sources, sides: _Sides, parts: list[Part], keys: tuple[str, ...]
) -> Reconciliation:
    charged = _charged(sources, sides)
    text = sentence(
        by_month(parts),
        month=sources.month,
        charged_micro_usd=charged,
        is_so_far=sources.today in sources.span,
        kinds=sources.kinds,
        inferred_keys=keys if sources.own_keys is None else (),
    )
    read = {
        Reason.DAILY: sources.daily,
        Reason.MONTHLY: sources.monthly,
        Reason.CSV: sources.csv,
    }
    return Reconciliation(
        month=sources.month,
        is_explained=all(map(_is_explained, parts)),
        text=text,
        charged_micro_usd=charged,
        history_micro_usd=sum(part.history for part in parts),
        own_keys=keys,
        _parts=tuple(parts),
        _kinds=sources.kinds,
        _unread=frozenset(reason for reason, frame in read.items() if frame is None),
    )


def _is_explained(part: Part) -> bool:
    is_others = part.verdict is Verdict.ELSEWHERE and bool(part.daily)
    return part.verdict is not None and part.verdict not in MISSING and not is_others


def _charged(sources: Sources, sides: _Sides) -> int | None:
    sums = sides.monthly
    if sums is not None:
        return sums.total if sums.stated is None else sums.stated
    if sources.daily is None:
        return None
    cells = sides.daily.items()
    return sum(c.micro_usd for (day, _, _), c in cells if day in sources.span)


def _sums(frame: pd.DataFrame | None) -> ReportSums | None:
    if frame is None:
        return None
    return ReportSums(report_side(frame), frame.attrs.get("total_micro_usd"))


# -- with the daily report -------------------------------------------------------------


def _with_daily(sources: Sources, sides: _Sides, keys: tuple[str, ...]) -> list[Part]:
    ours, daily, monthly, csv = sides.ours, sides.daily, sides.monthly, sides.csv
    sums: dict[str, int] = defaultdict(int)
    for (day, _, path), spent in daily.items():
        sums[path] += spent.micro_usd if day in sources.span else 0
    odd = list(odd_reports(sums, monthly, csv))
    wrong = {one.path: one.difference for one in odd if one.reason is Reason.DAILY}
    parts: list[Part] = []
    is_spent = any(spent.micro_usd for spent in daily.values())
    is_unassigned = sources.own_keys is None and not keys and is_spent
    for path in sorted(
        {*sums, *(charge.path for charge in ours.charges), *_open(ours)}
    ):
        if is_unassigned:
            parts += _unassigned(sources, sides, path)
            if path in wrong:
                parts.append(Part(Reason.DAILY, path, difference=wrong[path]))
            continue
        function = _function(sources, ours, daily, keys, path)
        elsewhere = _others(daily, keys, path, sources.span)
        if path in wrong:
            function, elsewhere, part = corrected(function, elsewhere, wrong[path])
            parts.append(part)
        is_sure = sources.own_keys is not None or not any(elsewhere.values())
        parts += (_as_sure(part, is_sure=is_sure) for part in explained(function))
        parts += _elsewhere(elsewhere, path)
    parts = [replace(part, monthly=part.daily, csv=part.daily) for part in parts]
    parts = [_as_reported(part) for part in parts]
    parts += _twice(ours, sources.span)
    parts += _reports(sources, odd, monthly, csv)
    return parts


def _unassigned(sources: Sources, sides: _Sides, path: str) -> Iterator[Part]:
    """List what both sides have of a function, when no key is known to be ours."""
    for (day, key, its_path), spent in sorted(sides.daily.items()):
        if its_path == path and day in sources.span and spent.micro_usd:
            yield Part(
                Reason.UNASSIGNED, path, key=key, days=(day,), daily=spent.micro_usd
            )
    for charge in sides.ours.charges:
        if charge.path == path and charge.day in sources.span and charge.micro_usd:
            yield Part(
                Reason.UNASSIGNED, path, days=(charge.day,), history=charge.micro_usd
            )


def _as_sure(part: Part, *, is_sure: bool) -> Part:
    """Accuse the service of nothing that another choice of keys may explain."""
    if part.reason is not Reason.NOT_THERE or is_sure:
        return part
    return replace(part, reason=Reason.UNASSIGNED, job_ids=(), detail="")


def _open(ours: Ours) -> Iterator[str]:
    return (job.path for job in ours.open_jobs)


def _as_reported(part: Part) -> Part:
    """Keep the monthly report and CSV unchanged if the daily report is wrong."""
    if part.reason is not Reason.DAILY:
        return part
    if part.days:
        return replace(part, monthly=0, csv=0)
    # The row's owner is unknown: show the difference on the other two reports.
    return replace(part, monthly=-part.difference, csv=-part.difference)


def _function(
    sources: Sources, ours: Ours, daily: Daily, keys: tuple[str, ...], path: str
) -> FunctionSides:
    cells: dict[date, Spent] = defaultdict(Spent)
    for (day, key, its_path), spent in daily.items():
        if its_path == path and key in keys:
            cells[day].add(spent.micro_usd, spent.jobs)
    return FunctionSides(
        path=path,
        cells=dict(cells),
        charges=tuple(charge for charge in ours.charges if charge.path == path),
        open_jobs=tuple(job for job in ours.open_jobs if job.path == path),
        month=sources.span,
        read=sources.read,
        ahead=sources.ahead,
    )


def _others(
    daily: Daily, keys: tuple[str, ...], path: str, span: Span
) -> dict[tuple[date, str], int]:
    return {
        (day, key): spent.micro_usd
        for (day, key, its_path), spent in daily.items()
        if its_path == path and key not in keys and day in span
    }


def _elsewhere(cells: Mapping[tuple[date, str], int], path: str) -> Iterator[Part]:
    for (day, key), micro_usd in sorted(cells.items()):
        yield Part(
            Reason.ELSEWHERE,
            path,
            key=key,
            days=(day,),
            daily=micro_usd,
            difference=micro_usd,
        )


def _twice(ours: Ours, span: Span) -> Iterator[Part]:
    for charge in ours.twice:
        if charge.day in span and charge.micro_usd:
            yield Part(
                Reason.TWICE,
                charge.path,
                days=(charge.day,),
                history=charge.micro_usd,
                difference=-charge.micro_usd,
                job_ids=(charge.job_id,),
            )


def _reports(
    sources: Sources,
    odd: Iterable[Odd],
    monthly: ReportSums | None,
    csv: ReportSums | None,
) -> Iterator[Part]:
    """Yield a part for each difference between the month's reports."""
    over: dict[Reason, int] = defaultdict(int)
    for one in odd:
        over[one.reason] += one.difference
        if one.reason is Reason.MONTHLY:
            yield Part(
                one.reason,
                one.path,
                monthly=one.difference,
                difference=one.difference,
            )
        elif one.reason is Reason.CSV:
            yield Part(
                one.reason, one.path, csv=one.difference, difference=one.difference
            )
    if csv is not None:
        yield from odd_total(Reason.CSV, csv, over[Reason.CSV])
    if monthly is not None and sources.monthly is not None:
        yield from odd_total(Reason.MONTHLY, monthly, over[Reason.MONTHLY])
        right = monthly.total - over[Reason.MONTHLY]
        yield from odd_balance(sources.monthly.attrs.get("report", {}), right)


# -- what could not be read ------------------------------------------------------------


def _without_daily(sources: Sources, ours: Ours) -> list[Part]:
    """List the history's charges when there is no daily report to compare with."""
    sums: dict[str, int] = defaultdict(int)
    for charge in ours.charges:
        if charge.day in sources.span:
            sums[charge.path] += charge.micro_usd
    detail = _refusal(sources, Reason.DAILY)
    return [
        Part(Reason.UNREAD, path, history=micro_usd, detail=detail)
        for path, micro_usd in sorted(sums.items())
    ]


def _unread(sources: Sources) -> Iterator[Part]:
    frames = {
        Reason.DAILY: sources.daily,
        Reason.MONTHLY: sources.monthly,
        Reason.CSV: sources.csv,
    }
    for reason, frame in frames.items():
        if frame is None:
            yield Part(Reason.UNREAD, None, detail=_refusal(sources, reason))


def _refusal(sources: Sources, reason: Reason) -> str:
    unknown = f"The {REPORTS[reason.value]} could not be read."
    return sources.refusals.get(reason.value, unknown)
