"""Checks that the service's reports of one month agree with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mediakit.spend.reconciliation.verdicts import Part, Reason
from mediakit.spend.responses.columns import whole_number

_MOVEMENTS = (
    "opening_balance_micro_usd",
    "credits_granted_micro_usd",
    "top_ups_micro_usd",
    "closing_balance_micro_usd",
)


@dataclass(frozen=True)
class ReportSums:
    """The sums of one report.

    Args:
        by_path: Its rows by function, micro-USD.
        stated: The total that it states; None if it states none.
    """

    by_path: Mapping[str, int]
    stated: int | None = None

    @property
    def total(self) -> int:
        """Return the sum of its rows, micro-USD."""
        return sum(self.by_path.values())


@dataclass(frozen=True)
class Odd:
    """A report that differs from the others on one function.

    Args:
        reason: Which report it is.
        path: The function; None for all of them.
        difference: Its amount minus that of the others, micro-USD.
    """

    reason: Reason
    path: str | None
    difference: int


def odd_reports(
    daily: Mapping[str, int],
    monthly: ReportSums | None,
    csv: ReportSums | None,
) -> Iterator[Odd]:
    """Find which report differs from the others, by function.

    The odd report is the one that the other two contradict. If all three differ, or
    only two are available, the daily report is taken as correct because it is the most
    detailed. A report with other names than the daily one is compared by its total.

    Args:
        daily: The daily report's sums by function over the month.
        monthly: The monthly report; None if it could not be read.
        csv: The month's CSV; None if it could not be read.
    """
    read = {Reason.MONTHLY: monthly, Reason.CSV: csv}
    others = {reason: sums for reason, sums in read.items() if sums is not None}
    for reason, sums in list(others.items()):
        if _names_differ(daily, sums.by_path):
            del others[reason]
            difference = sums.total - sum(daily.values())
            if difference:
                yield Odd(reason, None, difference)
    paths = set(daily).union(*(sums.by_path for sums in others.values()))
    for path in sorted(paths):
        said = {reason: sums.by_path.get(path, 0) for reason, sums in others.items()}
        by_day = daily.get(path, 0)
        if len(said) == len(read) and len(set(said.values())) == 1:
            (agreed,) = set(said.values())
            said = {Reason.DAILY: by_day}
            by_day = agreed
        for reason, amount in said.items():
            if amount != by_day:
                yield Odd(reason, path, amount - by_day)


def _names_differ(daily: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Tell whether each of two reports has functions that the other lacks."""
    one = {path for path, micro_usd in daily.items() if micro_usd}
    two = {path for path, micro_usd in other.items() if micro_usd}
    return bool(one - two) and bool(two - one)


def odd_total(reason: Reason, sums: ReportSums, known: int) -> Iterator[Part]:
    """Yield a part if a report's total is not the sum of its rows.

    Args:
        reason: Which report it is.
        sums: Its sums.
        known: The known excess in its rows; if that explains it, the total is right.
    """
    if sums.stated is None:
        return
    over = sums.stated - sums.total
    if over and over != -known:
        yield Part(Reason.TOTAL, None, difference=over, detail=reason.value)


def odd_balance(report: Mapping[str, Any], charged_micro_usd: int) -> Iterator[Part]:
    """Check that the balance fell by what was charged (spec 4.19).

    Only owners and admins can see balance movements; an organization that pays by
    invoice has none.

    Args:
        report: The fields of the monthly report other than its rows.
        charged_micro_usd: The amount that it says was charged.
    """
    moved = [whole_number(report.get(name)) for name in _MOVEMENTS]
    known = [amount for amount in moved if amount is not None]
    if len(known) < len(moved) or report.get("invoices"):
        return
    opening, granted, topped_up, closing = known
    fell = opening + granted + topped_up - closing
    if fell != charged_micro_usd:
        yield Part(Reason.BALANCE, None, difference=fell - charged_micro_usd)
