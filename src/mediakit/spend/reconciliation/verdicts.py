"""The verdicts: each part of a month's spend agrees, or differs for a reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import reduce


class Verdict(StrEnum):
    """The outcome of a comparison."""

    MATCH = "match"
    """Both sides agree."""
    PENDING = "pending"
    """A job in this history ended, but its charge is not read yet."""
    ELSEWHERE = "elsewhere"
    """Another API key was charged."""
    MISSING_HERE = "missing_here"
    """The service reports more than this history has."""
    MISSING_THERE = "missing_there"
    """This history has more than the service reports."""
    RATE_CHANGED = "rate_changed"
    """Both sides agree, but the charge differs from the estimate."""


class Reason(StrEnum):
    """Why a part has its verdict; its note explains it."""

    SAME = "same"
    NEAR = "near"
    CAME_IN = "came_in"
    WENT_OUT = "went_out"
    RATE = "rate"
    RESTATED = "restated"
    PENDING = "pending"
    ELSEWHERE = "elsewhere"
    NO_LOCAL_JOB = "no_local_job"
    TWICE = "twice"
    NOT_THERE = "not_there"
    DAILY = "daily"
    MONTHLY = "monthly"
    CSV = "csv"
    TOTAL = "total"
    BALANCE = "balance"
    UNREAD = "unread"
    UNASSIGNED = "unassigned"


_VERDICTS = {
    Reason.SAME: Verdict.MATCH,
    Reason.NEAR: Verdict.MATCH,
    Reason.CAME_IN: Verdict.MATCH,
    Reason.WENT_OUT: Verdict.MATCH,
    Reason.RATE: Verdict.RATE_CHANGED,
    Reason.RESTATED: Verdict.RATE_CHANGED,
    Reason.PENDING: Verdict.PENDING,
    Reason.ELSEWHERE: Verdict.ELSEWHERE,
    Reason.NO_LOCAL_JOB: Verdict.MISSING_HERE,
    Reason.TWICE: Verdict.MISSING_THERE,
    Reason.NOT_THERE: Verdict.MISSING_THERE,
}


@dataclass(frozen=True)
class Part:
    """One part of the spend of a function; amounts are micro-USD.

    Parts add up: the sum of a column over all parts is that side's total.

    Args:
        reason: Why it has its verdict.
        path: The function, `vendor/model/function`; None for all of them.
        key: The API key; None if it is unknown or does not apply.
        days: The days that it covers, in order.
        history: The amount in the history.
        daily: The amount in the daily report.
        monthly: The amount in the monthly report.
        csv: The amount in the month's CSV.
        difference: Service minus history; for a changed rate, charge minus estimate.
        job_ids: The jobs that it names.
        bound: The most that open jobs may cost; None if there is no bound.
        detail: Additional text for the note.
    """

    reason: Reason
    path: str | None
    key: str | None = None
    days: tuple[date, ...] = ()
    history: int = 0
    daily: int = 0
    monthly: int = 0
    csv: int = 0
    difference: int = 0
    job_ids: tuple[str, ...] = ()
    bound: int | None = 0
    detail: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Return the verdict; for two reports that differ, by the sign.

        None if something could not be read, or the API key is not known.
        """
        verdict = _VERDICTS.get(self.reason)
        if self.reason in (Reason.UNREAD, Reason.UNASSIGNED):
            return None
        if verdict is None:
            is_more = self.difference > 0
            verdict = Verdict.MISSING_HERE if is_more else Verdict.MISSING_THERE
        return verdict

    @property
    def day(self) -> date | None:
        """Return the first day that it covers."""
        return self.days[0] if self.days else None


def by_month(parts: Iterable[Part]) -> list[Part]:
    """Merge the parts that differ only by day.

    Within a month, it does not matter on which day a charge settles.
    """
    groups: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        if part.reason is Reason.NEAR:
            part = replace(part, reason=Reason.SAME, job_ids=())
        which = (part.path, part.key, part.reason, part.verdict, part.detail)
        groups.setdefault(which, []).append(part)
    return in_order(reduce(_sum, group) for group in groups.values())


def in_order(parts: Iterable[Part]) -> list[Part]:
    """Order parts by function, reason, key and day; those without a function last."""
    reasons = list(Reason)
    return sorted(
        parts,
        key=lambda part: (
            part.path is None,
            part.path or "",
            reasons.index(part.reason),
            part.key or "",
            part.days,
        ),
    )


def _sum(one: Part, other: Part) -> Part:
    unbound = one.bound is None or other.bound is None
    return replace(
        one,
        days=tuple(sorted({*one.days, *other.days})),
        history=one.history + other.history,
        daily=one.daily + other.daily,
        monthly=one.monthly + other.monthly,
        csv=one.csv + other.csv,
        difference=one.difference + other.difference,
        job_ids=tuple(dict.fromkeys((*one.job_ids, *other.job_ids))),
        bound=None if unbound else (one.bound or 0) + (other.bound or 0),
    )
