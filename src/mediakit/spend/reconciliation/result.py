"""The result of a reconciliation: a summary sentence and a frame of details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from mediakit.errors import InputError
from mediakit.markup import html_text
from mediakit.spend.reconciliation.messages import note
from mediakit.spend.reconciliation.verdicts import (
    Part,
    Reason,
    Verdict,
    by_month,
    in_order,
)
from mediakit.spend.responses.columns import as_category, as_days

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Reconciliation:
    """The result of comparing one month's history with the bill (spec 4.19).

    Args:
        month: The month, "YYYY-MM" in UTC.
        is_explained: Whether everything could be compared, nothing is missing on
            either side and no other API key was charged: each row is match, pending or
            rate_changed.
        text: A one-sentence summary.
        charged_micro_usd: The monthly report's total; None if it could not be read.
        history_micro_usd: The charges in this history for that month, by the service's
            settlement day; every row of the history counts.
        own_keys: The IDs of the API keys that belong to this history; empty if they
            are not known.
    """

    month: str
    is_explained: bool
    text: str
    charged_micro_usd: int | None
    history_micro_usd: int
    own_keys: tuple[str, ...]
    _parts: tuple[Part, ...] = field(repr=False)
    _kinds: Mapping[str, str] = field(repr=False)
    _unread: frozenset[Reason] = field(repr=False)

    def __repr__(self) -> str:
        return f"<reconciliation of {self.month}: {self.text}>"

    def _repr_html_(self) -> str:
        """Return the sentence and the frame, for a notebook."""
        table = self.frame()._repr_html_()  # type: ignore[operator]
        return f"<p>{html_text(self.text)}</p>{table}"

    def frame(self, by: Literal["month", "day"] = "month") -> pd.DataFrame:
        """Return the details behind the summary.

        The rows add up: the sum of a column is that side's total.

        Args:
            by: "month" for one row per function, API key and verdict; "day" for the
                same by day. A charge that was read on a different day from its
                settlement still counts as a match; the note says so.

        Returns:
            Columns day (datetime64[us, UTC], by day only), function, kind and
            api_key_id (category), history_micro_usd, daily_micro_usd,
            monthly_micro_usd, csv_micro_usd and difference_micro_usd (Int64), verdict
            (category), note (str), job_ids (lists of str). The difference is the
            service's amount minus the history's. If one report differs from the
            others, it is that report minus the others; for rate_changed, the charge
            minus the estimate, or minus the first charge if the service restated it.
            It is positive for missing_here and negative for missing_there. Amounts
            that could not be read are <NA>, and so is the verdict on what could not be
            read or may belong to another API key. By day, the amounts
            of the monthly report and the CSV are <NA>.

        Raises:
            InputError: There is no such frame.
        """
        if by not in ("month", "day"):
            raise InputError("by", got=by, accepted='"month" or "day"', spec="4.19")
        parts = by_month(self._parts) if by == "month" else _by_day(self._parts)
        return _frame(parts, self, is_by_day=by == "day")


def _by_day(parts: Sequence[Part]) -> list[Part]:
    ordered = in_order(parts)
    # A stable sort: within a day the order of the month's frame stays.
    return sorted(ordered, key=lambda part: (part.day is None, part.day or 0))


def _frame(
    parts: Sequence[Part], result: Reconciliation, *, is_by_day: bool
) -> pd.DataFrame:
    import pandas as pd

    paths = [part.path for part in parts]
    kinds = [result._kinds.get(path or "") for path in paths]
    verdicts = [part.verdict for part in parts]
    columns: dict[str, Any] = {}
    if is_by_day:
        columns["day"] = as_days([part.day for part in parts])
    columns |= {
        "function": as_category(paths),
        "kind": as_category(kinds),
        "api_key_id": as_category([part.key for part in parts]),
        "history_micro_usd": _micro_usd([part.history for part in parts]),
    }
    for reason in (Reason.DAILY, Reason.MONTHLY, Reason.CSV):
        amounts = [
            None
            if _is_unknown(part, reason, result, is_by_day)
            else _said(part, reason)
            for part in parts
        ]
        columns[f"{reason.value}_micro_usd"] = _micro_usd(amounts)
    differences = [None if part.verdict is None else part.difference for part in parts]
    columns["difference_micro_usd"] = _micro_usd(differences)
    columns["verdict"] = pd.Categorical(
        [None if verdict is None else verdict.value for verdict in verdicts],
        categories=[verdict.value for verdict in Verdict],
    )
    notes = [note(part, result.month) for part in parts]
    columns["note"] = pd.array(notes, dtype="str")
    columns["job_ids"] = pd.Series([list(p.job_ids) for p in parts], dtype="object")
    return pd.DataFrame(columns)


def _said(part: Part, reason: Reason) -> int:
    amounts = {Reason.DAILY: part.daily, Reason.MONTHLY: part.monthly}
    return amounts.get(reason, part.csv)


def _is_unknown(
    part: Part,
    reason: Reason,
    result: Reconciliation,
    is_by_day: bool,  # noqa: FBT001 - private
) -> bool:
    if reason in result._unread:
        return True
    return is_by_day and reason is not Reason.DAILY and bool(part.days)


def _micro_usd(amounts: Sequence[int | None]) -> Any:
    import pandas as pd

    return pd.array(list(amounts), dtype="Int64")
