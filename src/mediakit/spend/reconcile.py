"""Compares a month's bill with the history, by function and API key (spec 4.19).

The service reports sums by day, API key and function, and names no jobs. The history
dates a charge by when it was first read as settled, and does not know the ID of its API
key. So only sums are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pandas as pd

from mediakit.api_models import JobStatus
from mediakit.estimates import EstimateKind
from mediakit.history import EntryState
from mediakit.history.frames import text_array
from mediakit.money import format_usd
from mediakit.safe_text import html_text
from mediakit.spend.billing_responses import DAILY, MONTHLY
from mediakit.spend.dates import ONE_DAY, month_name
from mediakit.spend.function_names import function_names
from mediakit.spend.service_bill import ALL_KEYS, NO_KEY, Bill

# A charge read within an hour of midnight may have been settled on either day.
NEAR_MIDNIGHT = timedelta(hours=1)
BOUNDED = (EstimateKind.EXACT, EstimateKind.UPPER_BOUND)
UNKNOWN = ""  # the function of a job that was restored by its ID alone
MOST_NAMED = 3
AMOUNTS = ("history", "history_least", "history_most", "daily", "monthly", "difference")
AGAINST = "{charged}{what} against {history} in this history"
TIMING = (
    "that are not settled, that are close to the start or end of the month, or that "
    "were restored without a date"
)
# The phrases for verdicts, or for more specific reasons, in order.
SENTENCES = {
    "equal": "{charged} is in this history",
    "reports differ": "{charged}{what} is in this history, {daily} in the daily report",
    "timing": f"{AGAINST} ({{difference}} may be charges {TIMING}: {{jobs}})",
    "other key": "{charged} was charged to other API keys ({keys})",
    "missing_here": f"{AGAINST} ({{difference}} is missing here; {{remedy}})",
    "other_key": f"{AGAINST} ({{difference}} may be charges of other API keys)",
    "missing_there": f"{AGAINST} ({{difference}} is missing in the service's reports)",
    "unmatched": (
        "{charged}{what} cannot be compared, because no known function has that name"
    ),
    "not reported": f"{AGAINST} cannot be compared, because no report names it",
    "one report": (
        "{charged}{what} is the difference between the monthly and the daily report"
    ),
    "one total": (
        "{charged} is the difference between the monthly report's total and its rows"
    ),
}


def month_entries(history: pd.DataFrame, bill: Bill) -> pd.DataFrame:
    """Return the part of `client.history.frame()` for a month, one row per job.

    The columns are function and job_id and, in micro-USD (Int64), likely, least and
    most: the likely amount, and the least and the most that the service may count in
    the month; <NA> means no limit.
    """
    jobs = history[~history["job_id"].duplicated() | history["job_id"].isna()]
    start, end = (pd.Timestamp(day, tz="UTC") for day in bill.days)
    end += ONE_DAY
    read, ended, created = (jobs[f"{n}_at"] for n in ("settled", "finished", "created"))
    began = jobs["submitted_at"].fillna(ended).fillna(created.where(read.isna()))
    earliest = began + min(bill.ahead, timedelta()) - NEAR_MIDNIGHT
    latest = read + max(bill.ahead, timedelta()) + NEAR_MIDNIGHT
    is_unanswered = jobs["state"] == EntryState.UNANSWERED
    latest = latest.fillna((earliest + 2 * ONE_DAY).where(is_unanswered))
    first = jobs["charge_micro_usd"]
    now = jobs["restated_charge_micro_usd"].fillna(first)
    is_refused = jobs["state"] == EntryState.REFUSED
    is_open = first.isna() & ~is_refused & (jobs["status"] != JobStatus.FAILED)
    # A job that was restored by its ID alone can be of any day, and of any function.
    may_be = ~(earliest >= end) & ~(latest < start)
    may_be &= is_open | (first.fillna(0) != 0) | (now.fillna(0) != 0)
    function = jobs["function"].astype("object").fillna(UNKNOWN)
    is_named = function.str.contains("/", regex=False)
    is_sure = (earliest >= start) & (latest < end) & is_named
    likely_at = read.where(read - began <= ONE_DAY, began.fillna(read))
    is_in = (likely_at >= start) & (likely_at < end) & is_named
    least, most = now.where(now < first, first), now.where(now > first, first)
    upper = jobs["estimate_high_micro_usd"].where(jobs["estimate_kind"].isin(BOUNDED))
    columns = {
        "function": function.where(is_named, UNKNOWN),
        "job_id": jobs["job_id"].fillna(jobs["key"]),
        "likely": now.where(is_in).fillna(0),
        "least": least.where(is_sure, least.clip(upper=0)).fillna(0),
        "most": most.where(is_sure, most.clip(lower=0)).fillna(upper),
    }
    return pd.DataFrame(columns)[may_be.astype("bool")]


def reconciled(
    bill: Bill,
    history: pd.DataFrame,
    kinds: Mapping[str, str],
    own_keys: Sequence[str] | None = None,
) -> Reconciliation:
    """Compare a bill with `client.history.frame()`; `kinds` are by function path."""
    entries = month_entries(history, bill)
    paths = {*entries["function"]} - {UNKNOWN}
    names, unmatched = function_names(bill.functions, paths, kinds)
    bill = bill.renamed(names)
    entries["function"] = [names.get(path, path) for path in entries["function"]]
    kinds = {**{name: kinds[p] for p, name in names.items() if p in kinds}, **kinds}
    if own_keys is not None and (why := _keys_refusal(bill, entries, own_keys)):
        own_keys = None
        bill = replace(bill, refusals={**bill.refusals, "keys": why})
    rows = _rows(bill, entries, own_keys, unmatched)
    return Reconciliation(
        month=bill.month,
        charged_micro_usd=bill.total,
        own_keys=tuple(own_keys or ()),
        is_so_far=bill.days[0] <= bill.today <= bill.days[1],
        _rows=tuple(row for row in rows if row.charged or row.daily or row.history),
        _kinds=kinds,
        _refusals=tuple(bill.refusals.values()),
    )


def _keys_refusal(bill: Bill, entries: pd.DataFrame, own_keys: Sequence[str]) -> str:
    """Return why the given keys cannot be compared; "" if they can."""
    keys = {key for (_, key), micro_usd in bill.daily.items() if micro_usd}
    # If no key is ours, most likely keys or names were passed instead of IDs.
    is_none_ours = keys.isdisjoint(own_keys) and bool(entries["likely"].any())
    if not keys or not (NO_KEY in keys or is_none_ours):
        return ""
    names = listed(sorted(keys))
    return f"own_keys could not be applied: the daily report has {names}."


def _rows(
    bill: Bill,
    entries: pd.DataFrame,
    own_keys: Sequence[str] | None,
    unmatched: set[str],
) -> Iterator[ComparedSums]:
    has_daily, has_monthly = DAILY not in bill.refusals, MONTHLY not in bill.refusals
    if has_monthly:
        # The monthly report may name functions differently.
        own_names = unmatched - {path for path, _ in bill.daily}
        if has_daily and own_names:
            has_monthly, unmatched = False, unmatched - own_names
        in_rows = (bill.monthly if has_monthly else bill.daily).total()
        yield ComparedSums(None, monthly=bill.total - in_rows, reason="one total")
    for function in sorted({*bill.functions, *entries["function"]} - {UNKNOWN}):
        by_key = {key: n for (path, key), n in bill.daily.items() if path == function}
        own = [key for key in by_key if own_keys is None or key in own_keys]
        total = sum(by_key.values())
        rows = entries[entries["function"].isin([function, UNKNOWN])]
        history, daily = int(rows["likely"].sum()), sum(by_key[key] for key in own)
        # A difference between the reports belongs to no key, unless the history agrees.
        rest = bill.monthly[function, ALL_KEYS] - total if has_monthly else 0
        is_ours = not has_daily or history == daily + rest
        reason = "reports differ" if has_daily and is_ours and rest else ""
        if unmatched and function not in bill.functions:
            reason = "not reported"
        yield ComparedSums(
            function,
            tuple(sorted(own)),
            daily if has_daily else None,
            daily + rest * is_ours if has_monthly else None,
            history,
            int(rows["least"].sum()),
            None if rows["most"].isna().any() else int(rows["most"].sum()),
            tuple(rows["job_id"][(rows["most"] != rows["least"]).fillna(value=True)]),
            elsewhere=total - daily,
            reason="unmatched" if function in unmatched else reason,
        )
        for key in sorted(by_key.keys() - own):
            daily = by_key[key]
            monthly = daily if has_monthly else None
            yield ComparedSums(function, (key,), daily, monthly, reason="other key")
        if not is_ours:
            yield ComparedSums(function, monthly=rest, reason="one report")


@dataclass(frozen=True)
class ComparedSums:
    """The charges for a function and its API keys on both sides, in micro-USD."""

    function: str | None  # None for all functions
    keys: tuple[str, ...] = ()  # empty for charges that only the monthly report has
    daily: int | None = 0  # None if unreadable or not comparable
    monthly: int | None = 0
    history: int = 0  # the likely amount
    # The least and the most of `history` that the service may count in this month, and
    # the jobs that make the difference.
    history_least: int = 0
    history_most: int | None = 0  # None means no limit
    job_ids: tuple[str, ...] = ()
    elsewhere: int = 0  # charges of the function to API keys that are not ours
    reason: str = ""  # the key in SENTENCES, if more specific than the verdict

    @property
    def charged(self) -> int:
        """Return the charge; the monthly report takes precedence."""
        return (self.daily or 0) if self.monthly is None else self.monthly

    @property
    def difference(self) -> int:
        """Return the charge minus the likely sum of the history."""
        return self.charged - self.history

    @property
    def verdict(self) -> str | None:
        """Return the verdict; None if the sums cannot be compared."""
        if self.reason in ("unmatched", "not reported"):
            return None
        if self.reason == "other key":
            return "other_key"
        if not self.difference:
            return "equal"
        is_limited = self.history_most is not None and self.charged > self.history_most
        if self.history_least <= self.charged and not is_limited:
            return "timing"
        if self.difference > 0:
            return "missing_here"
        is_elsewhere = -self.difference <= self.elsewhere
        return "other_key" if is_elsewhere else "missing_there"


@dataclass(frozen=True)
class Reconciliation:
    """One month's bill compared with this history.

    Args:
        month: The month, "YYYY-MM" in UTC.
        charged_micro_usd: The monthly report's total, or the daily report's if that
            cannot be read.
        own_keys: The IDs of the API keys that were named as this history's.
        is_so_far: Whether the month is still running.
    """

    month: str
    charged_micro_usd: int
    own_keys: tuple[str, ...]
    is_so_far: bool
    _rows: tuple[ComparedSums, ...] = field(repr=False)
    _kinds: Mapping[str, str] = field(repr=False)
    _refusals: tuple[str, ...] = field(repr=False)

    @property
    def history_micro_usd(self) -> int:
        """The charges in this history that likely belong to the month."""
        return sum(row.history for row in self._rows)

    @property
    def is_explained(self) -> bool:
        """Whether both reports were read and the history has the same sums."""
        reasons = {row.reason or row.verdict for row in self._rows}
        return not self._refusals and reasons <= {"equal"}

    @property
    def text(self) -> str:
        """One sentence, whose amounts add up to both totals."""
        month = f"{month_name(self.month)}{' so far' if self.is_so_far else ''}"
        unread = listed(text.rstrip(".") for text in self._refusals)
        if not self._rows and not unread:
            return f"Nothing was charged in {month}, in this history or at the service."
        text = f"{format_usd(self.charged_micro_usd)} charged in {month}"
        if self.is_explained:
            return f"{text}; all of it is explained."
        text += f": {'; '.join(self._phrases())}" if self._rows else ""
        text += f"; not everything could be compared: {unread}" if unread else ""
        return f"{text}."

    def __repr__(self) -> str:
        return f"<reconciliation of {self.month}: {self.text}>"

    def _repr_html_(self) -> str:
        table = self.frame()._repr_html_()  # type: ignore[operator]
        return f"<p>{html_text(self.text)}</p>{table}"

    def _phrases(self) -> Iterator[str]:
        """Yield a phrase for each row, or one for many rows with the same reason."""
        for reason, sentence in SENTENCES.items():
            rows = [row for row in self._rows if (row.reason or row.verdict) == reason]
            is_each = "{what}" in sentence and len(rows) <= MOST_NAMED
            groups = [[row] for row in rows] if is_each else [rows]
            yield from (self._phrase(sentence, group) for group in groups if group)

    def _phrase(self, sentence: str, rows: Sequence[ComparedSums]) -> str:
        what = self._kinds.get(rows[0].function or "", rows[0].function)
        what = what if len(rows) == 1 else f"{len(rows)} functions"
        keys = listed(sorted({key for row in rows for key in row.keys}))
        remedy = f"{keys} was charged; name your own keys with own_keys=[...]"
        if self.own_keys:
            remedy = "client.history.rebuild(...) can restore it"
        elif NO_KEY in keys or not keys:
            remedy = "the report does not say which API key was charged"
        return sentence.format(
            charged=format_usd(sum(row.charged for row in rows)),
            history=format_usd(sum(row.history for row in rows)),
            daily=format_usd(sum(row.daily or 0 for row in rows)),
            difference=format_usd(sum(abs(row.difference) for row in rows)),
            what=f" for {what}" if what else "",
            keys=keys,
            jobs=listed(dict.fromkeys(job for row in rows for job in row.job_ids)),
            remedy=remedy,
        )

    def frame(self) -> pd.DataFrame:
        """Return the sums behind the sentence, one row per function and API key.

        Returns:
            function, kind and api_key_id (str; keys of this history are joined by
            commas), history_micro_usd, history_least_micro_usd and
            history_most_micro_usd (Int64: the likely sum, and what the service may
            count of it), daily_micro_usd, monthly_micro_usd and difference_micro_usd
            (Int64: the charge less the likely sum), verdict (str) and job_ids (lists of
            str: jobs that may or may not be counted in this month). What could not be
                read or compared, or has no limit, is <NA>.
        """
        rows = self._rows
        amounts = {name: [getattr(row, name) for row in rows] for name in AMOUNTS}
        return pd.DataFrame(
            {
                "function": text_array(row.function for row in rows),
                "kind": text_array(self._kinds.get(row.function or "") for row in rows),
                "api_key_id": text_array(", ".join(row.keys) or None for row in rows),
                **{f"{n}_micro_usd": pd.array(amounts[n], "Int64") for n in amounts},
                "verdict": text_array(row.verdict for row in rows),
                "job_ids": pd.Series([[*r.job_ids] for r in rows], dtype="object"),
            }
        )


def listed(items: Iterable[str]) -> str:
    """Join items with commas; those after the third are only counted."""
    names = list(items)
    more_n = len(names) - MOST_NAMED
    return ", ".join([*names[:MOST_NAMED], *([f"{more_n} more"] if more_n > 0 else [])])
