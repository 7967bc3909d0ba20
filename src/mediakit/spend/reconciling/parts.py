"""The parts that a month's spend is taken apart into: each has one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import reduce


class Verdict(StrEnum):
    """What a comparison comes to."""

    MATCH = "match"
    """Both sides agree."""
    PENDING = "pending"
    """A job of this history ended, and its charge is not read yet."""
    ELSEWHERE = "elsewhere"
    """Another API key spent it."""
    MISSING_HERE = "missing_here"
    """The service reports more than this history holds."""
    MISSING_THERE = "missing_there"
    """This history holds more than the service reports."""
    RATE_CHANGED = "rate_changed"
    """Both sides agree, and the price is not the one that was promised."""


class Reason(StrEnum):
    """Why a part has its verdict; a part's note says it."""

    SAME = "same"
    NEAR = "near"
    CAME_IN = "came_in"
    WENT_OUT = "went_out"
    RATE = "rate"
    RESTATED = "restated"
    PENDING = "pending"
    ELSEWHERE = "elsewhere"
    LOST = "lost"
    TWICE = "twice"
    NOT_THERE = "not_there"
    DAILY = "daily"
    MONTHLY = "monthly"
    CSV = "csv"
    TOTAL = "total"
    BALANCE = "balance"
    UNREAD = "unread"


_VERDICTS = {
    Reason.SAME: Verdict.MATCH,
    Reason.NEAR: Verdict.MATCH,
    Reason.CAME_IN: Verdict.MATCH,
    Reason.WENT_OUT: Verdict.MATCH,
    Reason.RATE: Verdict.RATE_CHANGED,
    Reason.RESTATED: Verdict.RATE_CHANGED,
    Reason.PENDING: Verdict.PENDING,
    Reason.ELSEWHERE: Verdict.ELSEWHERE,
    Reason.LOST: Verdict.MISSING_HERE,
    Reason.TWICE: Verdict.MISSING_THERE,
    Reason.NOT_THERE: Verdict.MISSING_THERE,
}


@dataclass(frozen=True)
class Part:
    """One part of the spend of a function; amounts are micro-USD.

    Parts add up: the sum of a column over all parts is what that side says in all.

    Args:
        reason: Why it has its verdict.
        path: The function, `vendor/model/function`; None for all of them.
        key: The API key; None where it is about none or not known.
        days: The days that it is about, in order.
        history: What the history holds.
        daily: What the daily report says.
        monthly: What the monthly report says.
        csv: What the month's CSV says.
        difference: Service less history; for a changed rate charge less estimate.
        job_ids: The jobs that it names.
        bound: The most that open jobs may cost; None if there is no bound.
        detail: What a note says beyond its reason.
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
        """Return the verdict; of two reports that differ, by the sign.

        None where something could not be read: then there is nothing to judge.
        """
        verdict = _VERDICTS.get(self.reason)
        if self.reason is Reason.UNREAD:
            return None
        if verdict is None:
            is_more = self.difference > 0
            verdict = Verdict.MISSING_HERE if is_more else Verdict.MISSING_THERE
        return verdict

    @property
    def day(self) -> date | None:
        """Return the first day that it is about."""
        return self.days[0] if self.days else None


def by_month(parts: Iterable[Part]) -> list[Part]:
    """Add up the days of parts that say the same.

    Inside of a month it does not matter on which of two days a charge is settled.
    """
    groups: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        if part.reason is Reason.NEAR:
            part = replace(part, reason=Reason.SAME, job_ids=())
        which = (part.path, part.key, part.reason, part.verdict, part.detail)
        groups.setdefault(which, []).append(part)
    return in_order(reduce(_sum, group) for group in groups.values())


def in_order(parts: Iterable[Part]) -> list[Part]:
    """Order parts by day, function, verdict and key; those about all come last."""
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
