"""Compares a month's bill with the history, function by function (spec 4.19).

The service reports sums by day, API key and function, and names no job. The history
has each job, dates a charge by when it was first read as settled, and does not know the
IDs of its API keys. What these cannot tell is said to be unknown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, NamedTuple

import pandas as pd

from mediakit.api_models import JobStatus
from mediakit.estimates import EstimateKind
from mediakit.history import EntryState
from mediakit.money import format_usd
from mediakit.spend.bill import NAMES, Bill, Span
from mediakit.spend.columns import plain_rows
from mediakit.spend.reconcile_result import Part, Reconciliation, listed

ONE_DAY = timedelta(days=1)
# A charge read within an hour of midnight may have been settled on either day.
NEAR_MIDNIGHT = timedelta(hours=1)


# -- the history's side ----------------------------------------------------------------


@dataclass(frozen=True)
class Charge:
    """A charge of the history, micro-USD, and the days on which it can be settled.

    Its home is the likely day, that of the submission if the charge was read days
    later. Without `first`, the job was restored by its ID alone, and may be of any day.
    Of an open job, the charge is the exact estimate, or 0, and its home is its end.
    """

    job_id: str
    path: str
    micro_usd: int
    first_micro_usd: int
    promised_micro_usd: int | None
    first: date | None
    last: date
    home: date | None

    @property
    def reason(self) -> str:
        """Return what to say of it where both sides have it."""
        if self.micro_usd != self.first_micro_usd:
            return "restated"
        return "same" if self.promised_micro_usd in (None, self.micro_usd) else "rate"

    def days(self, span: Span) -> list[date]:
        """Return the days of a span on which it can be settled."""
        first = max(self.first or span.first, span.first)
        days = (min(self.last, span.last) - first).days + 1
        return [first + day * ONE_DAY for day in range(days)]


class Ours(NamedTuple):
    """What the history has of the days of a bill; `twice` are repeated jobs."""

    charges: list[Charge]
    twice: list[Charge]
    open_jobs: list[Charge]


def ours_of(history: pd.DataFrame, bill: Bill) -> Ours:
    """Read `client.history.frame()`; what costs nothing is left out."""
    later, earlier = max(bill.ahead, timedelta()), min(bill.ahead, timedelta())
    read, ended = history["settled_at"], history["finished_at"]
    began = history["submitted_at"].fillna(ended)
    began = began.fillna(history["created_at"].where(read.isna()))
    likely = read.fillna(ended)
    frame = history.filter(regex="^(?!.*_at$)").assign(
        first=(began + earlier - NEAR_MIDNIGHT).dt.date,
        last=(read + later + NEAR_MIDNIGHT).dt.date,
        home=likely.where(likely - began <= ONE_DAY, began).dt.date,
        is_ended=likely.notna(),
    )
    # Only these rows become Python objects: a history can have a million.
    window = bill.window
    is_old = read < pd.Timestamp(window.first, tz="UTC") - later - 2 * ONE_DAY
    is_later = began >= pd.Timestamp(window.last, tz="UTC") - earlier + 2 * ONE_DAY
    ours, known = Ours([], [], []), set[str]()
    order = read[~is_old & ~is_later].sort_values().index
    for row in plain_rows(frame.loc[order]):
        charge = _charge(row, is_shifted=bool(bill.ahead))
        if row["charge_micro_usd"] is None:
            is_free = row["state"] == EntryState.REFUSED
            if not (is_free or row["status"] == JobStatus.FAILED):
                ours.open_jobs.append(charge)
        elif charge.micro_usd or charge.first_micro_usd:
            (ours.twice if charge.job_id in known else ours.charges).append(charge)
            known.add(charge.job_id)
    return ours


def _charge(row: Mapping[str, Any], *, is_shifted: bool) -> Charge:
    is_exact = row["estimate_kind"] == EstimateKind.EXACT
    is_exact = is_exact and row["status"] != JobStatus.FAILED
    promised = row["estimate_high_micro_usd"] if is_exact else None
    read, restated = row["charge_micro_usd"], row["restated_charge_micro_usd"]
    first, last = row["first"], row["last"] or date.max
    if row["state"] == EntryState.UNANSWERED:
        last = first + 2 * ONE_DAY
    is_dated = first and row["is_ended"] and "/" in row["function"]
    if is_shifted and first != last:
        is_dated = False  # the service's clock tells another time
    micro_usd = (promised or 0) if read is None else read
    return Charge(
        job_id=str(row["job_id"] or row["key"]),
        path=str(row["function"]),
        micro_usd=micro_usd if restated is None else restated,
        first_micro_usd=micro_usd,
        promised_micro_usd=promised,
        first=first,
        last=last,
        home=row["home"] if is_dated else None,
    )


# -- the comparison --------------------------------------------------------------------


def reconciled(
    bill: Bill,
    history: pd.DataFrame,
    kinds: Mapping[str, str],
    own_keys: tuple[str, ...] | None = None,
) -> Reconciliation:
    """Compare a month's bill with `client.history.frame()`.

    `kinds` are our names of the functions, by path; `own_keys` is None if they are not
    known.
    """
    ours = ours_of(history, bill)
    paths = {charge.path for charge in (*ours.charges, *ours.open_jobs)}
    bill = bill.with_whole_names(paths, kinds)
    if "daily" in bill.refusals:
        here = sum(c.first_micro_usd for c in ours.charges if c.home in bill.span)
        unread = Part("unread", None, here, bill.charged or 0)
        parts = [unread] if unread.micro_usd else []
    else:
        parts = [*_compared(bill, ours, own_keys), *_report_parts(bill)]
    return Reconciliation(
        month=bill.month,
        charged_micro_usd=bill.charged,
        own_keys=own_keys or (),
        is_so_far=bill.today in bill.span,
        _parts=tuple(sorted(parts, key=lambda part: (not part.path, part.path or ""))),
        _kinds=kinds,
        _refusals=bill.refusals,
    )


def _compared(
    bill: Bill, ours: Ours, own_keys: tuple[str, ...] | None
) -> Iterator[Part]:
    spent: dict[str, Counter[date]] = defaultdict(Counter)
    keys: dict[str, set[str]] = defaultdict(set)
    others: Counter[tuple[str, str]] = Counter()
    for (day, key, path), micro_usd in bill.daily.items():
        if own_keys is None or key in own_keys:
            spent[path][day] += micro_usd
            keys[path] |= {key} if day in bill.span else set()
        elif day in bill.span:
            others[path, key] += micro_usd
    charges: dict[str, list[Charge]] = defaultdict(list)
    for charge in ours.charges:
        # A job that was restored by its ID alone may be of any function.
        charges[charge.path if "/" in charge.path else ""].append(charge)
    nameless = charges.pop("", [])
    wrong = {path: more for name, path, more in bill.odd() if name == "daily" and path}
    for path in sorted({*spent, *wrong, *charges, *(j.path for j in ours.open_jobs)}):
        function = FunctionMonth(
            path=path,
            spent=spent[path],
            charges=[*charges[path], *nameless],
            open_jobs=[
                job
                for job in ours.open_jobs
                if job.path == path and job.days(bill.span)
            ],
            bill=bill,
            wrong_micro_usd=wrong.get(path, 0),
            keys=tuple(sorted(keys[path])),
            is_named=own_keys is not None,
            # A key that was not named may be a stranger's.
            is_sure=own_keys is not None or len(set().union(*keys.values())) <= 1,
        )
        for part in function.parts():
            yield part
            used = part.job_ids if part.reason == "came_in" else ()
            nameless = [charge for charge in nameless if charge.job_id not in used]
    for (path, key), more in others.items():
        if more:
            yield Part("other_key", path, 0, more, more, keys=(key,))
    for charge in ours.twice:
        if charge.home in bill.span:
            less = charge.first_micro_usd
            yield Part("twice", charge.path, less, 0, -less, (charge.job_id,))


@dataclass(frozen=True)
class FunctionMonth:
    """Both sides of one function; `spent` is what our keys spent, by day."""

    path: str
    spent: Counter[date]
    charges: list[Charge]
    open_jobs: list[Charge]
    bill: Bill
    wrong_micro_usd: int
    keys: tuple[str, ...]
    is_named: bool
    is_sure: bool

    def parts(self) -> Iterator[Part]:
        """Split the month into what both sides have, and what only one has."""
        span, path, wrong = self.bill.span, self.path, self.wrong_micro_usd
        here = [charge for charge in self.charges if charge.home in span]
        total = sum(amount for day, amount in self.spent.items() if day in span)
        apart = total - _sum(here)
        if apart and total == sum(charge.first_micro_usd for charge in here):
            # The bill has what was charged before it was restated.
            here = [replace(c, micro_usd=c.first_micro_usd) for c in here]
            apart = 0
        if wrong:
            # The row is ours if both sides are closer without it, else anybody's.
            is_ours = abs(apart - wrong) < abs(apart)
            apart -= wrong if is_ours else 0
            charged = 0 if is_ours else -wrong
            yield _odd_part("daily", path, wrong, charged, "is in the daily report")
        days = {} if wrong else self._sure_days(here)
        sure = sum(days.values())
        sure_more = sum(amount for amount in days.values() if amount > 0)
        coming = [c for c in self.charges if c.home not in span and c.days(span)]
        edge, jobs, some = self._edge(apart - sure, sure, coming, here)
        apart -= edge
        more = max(apart, sure_more, apart - sure + sure_more, 0)
        less = more - apart
        here = [charge for charge in here if charge.job_id not in jobs]
        unnamed = 0 if jobs else max(-edge, 0)
        credit = max(less + unnamed - _sum(here), 0)
        less -= credit
        on = tuple(day for day in days if days[day] < 0 and less == sure_more - sure)
        lost, one_of = self._lost(here, less, {day: -days[day] for day in on})
        unnamed += less - _sum(charge for charge in here if charge.job_id in lost)
        here = [charge for charge in here if charge.job_id not in lost]
        yield from self._held(here, unnamed)
        if edge > 0:
            yield Part("came_in", path, edge, edge, 0, jobs, some)
        if edge < 0:
            yield Part("went_out", path, 0, 0, edge, jobs, some)
        if less:
            yield Part("missing_there", path, less, 0, -less, lost, one_of, days=on)
        if credit:
            yield Part("credit", path, 0, -credit, -credit)
        on = tuple(day for day in days if days[day] > 0 and more == sure_more)
        yield from self._surplus(more, on, [] if on or edge else coming)

    def _sure_days(self, here: list[Charge]) -> dict[date, int]:
        """Return what differs on days of which every charge is sure."""
        span = self.bill.span
        apart = Counter({d: amount for d, amount in self.spent.items() if d in span})
        unsure = {
            day
            for charge in self.charges
            if charge.first != charge.last
            for day in charge.days(span)
        }
        for charge in here:
            if charge.home is not None:
                apart[charge.home] -= charge.micro_usd
        return {d: apart[d] for d in sorted(apart) if apart[d] and d not in unsure}

    def _edge(
        self, apart: int, sure: int, coming: list[Charge], here: list[Charge]
    ) -> tuple[int, tuple[str, ...], str]:
        """Find what was settled on the other side of the month's edge, and its jobs.

        The days around the month are then short by what the month has too much. Jobs
        without a day are taken if they cost exactly that.
        """
        undated = [charge for charge in coming if charge.home is None]
        if self.is_sure and apart and _sum(undated) == apart:
            return apart, tuple(charge.job_id for charge in undated), ""
        near = [charge for charge in self.charges if charge.home in self.bill.window]
        span = self.bill.span
        going = [c for c in here if c.first not in span or c.last not in span]
        movable = coming if apart > 0 else going
        is_kept = sum(self.spent.values()) - _sum(near) == sure
        if not apart or not is_kept or abs(apart) > _sum(movable):
            return 0, (), ""
        jobs, some = _fitting(movable, abs(apart))
        return apart, jobs, "" if jobs else some or f"some of {len(movable)} jobs"

    def _lost(
        self, here: list[Charge], less: int, days: Mapping[date, int]
    ) -> tuple[tuple[str, ...], str]:
        """Find the jobs that the service lacks, day by day if their days are sure."""
        fits = [
            _fitting([charge for charge in here if charge.home == day], days[day])
            for day in days
        ] or [_fitting(here, less)]
        if not all(ids or some for ids, some in fits):
            return (), ""
        ids = tuple(job_id for ids, _ in fits for job_id in ids)
        return ids, listed(filter(None, (some for _, some in fits)))

    def _held(self, here: list[Charge], unnamed: int) -> Iterator[Part]:
        """Yield what both sides have, less an amount of jobs that are not known."""
        for reason in ("same", "rate", "restated"):
            group = [charge for charge in here if charge.reason == reason]
            taken = min(unnamed, _sum(group))
            unnamed -= taken
            first = sum(charge.first_micro_usd for charge in group)
            promised = sum(charge.promised_micro_usd or 0 for charge in group)
            more = _sum(group) - (promised if reason == "rate" else first)
            ids = tuple(charge.job_id for charge in group if reason != "same")
            part = Part(
                reason, self.path, first - taken, _sum(group) - taken, more, ids
            )
            if part.micro_usd:
                yield part

    def _surplus(
        self, more: int, days: tuple[date, ...], able: list[Charge]
    ) -> Iterator[Part]:
        """Yield what only the service has, and our jobs that are not charged yet."""
        exact = [job for job in self.open_jobs if job.micro_usd]
        counted, some = _fitting(exact, more) if self.is_sure else ((), "")
        if counted or some:
            yield Part("open", self.path, 0, more, more, counted, some)
        elif more:
            small = [job.job_id for job in self.open_jobs if job.micro_usd <= more]
            may_be = [f"{listed(small)} (not read yet)"] if small else []
            small = [charge.job_id for charge in able if charge.micro_usd <= more]
            may_be += [f"{listed(small)} (of another date)"] if small else []
            yield Part(
                "missing_here" if self.is_named else "unknown_key",
                self.path,
                charged_micro_usd=more,
                difference_micro_usd=more,
                keys=self.keys,
                days=days,
                may_be=tuple(may_be),
            )
        waiting = [job.job_id for job in self.open_jobs if job.home in self.bill.span]
        waiting = [job_id for job_id in waiting if job_id not in counted]
        if waiting and not some:
            yield Part("waiting", self.path, job_ids=tuple(waiting))


def _report_parts(bill: Bill) -> Iterator[Part]:
    """Yield a part for each difference between the reports, and for the balance."""
    for name, sums in bill.sums.items():
        rows = [(path, more) for odd, path, more in bill.odd() if odd == name]
        is_charge = name == "monthly"
        for path, more in rows:
            where = f"is in the {NAMES[name]}"
            yield _odd_part(name, path, more, more if is_charge else 0, where)
        if more := bill.stated[name] - sums.total():
            where = f"is in the total of the {NAMES[name]}"
            yield _odd_part(name, None, more, more if is_charge else 0, where)
        if is_charge and bill.fell is not None:
            right = sums.total() - sum(more for _, more in rows)
            if more := bill.fell - right:
                yield _odd_part("", None, more, 0, "was taken from the balance")


def _odd_part(
    name: str, path: str | None, more_micro_usd: int, charged_micro_usd: int, where: str
) -> Part:
    reported = dict.fromkeys(NAMES, 0)
    if name == "daily" and charged_micro_usd:
        reported = {"daily": 0}
    elif name:
        reported[name] = more_micro_usd
    return Part(
        "too_much" if more_micro_usd > 0 else "too_little",
        path,
        charged_micro_usd=charged_micro_usd,
        difference_micro_usd=more_micro_usd,
        where=where,
        reported=reported,
    )


def _fitting(jobs: Sequence[Charge], micro_usd: int) -> tuple[tuple[str, ...], str]:
    """Find the jobs of an amount: all, or the only one; else how many it is one of.

    Jobs that only add up to it are not taken: others may do so, too.
    """
    if micro_usd and _sum(jobs) == micro_usd:
        return tuple(job.job_id for job in jobs), ""
    equal = tuple(
        job.job_id for job in jobs if micro_usd and job.micro_usd == micro_usd
    )
    if len(equal) > 1:
        return (), f"one of {len(equal)} jobs of {format_usd(micro_usd)}"
    return equal, ""


def _sum(charges: Iterable[Charge]) -> int:
    return sum(charge.micro_usd for charge in charges)
