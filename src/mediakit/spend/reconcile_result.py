"""The result of comparing a month's bill with the history: a sentence and frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import pandas as pd

from mediakit.history.frames import text_array
from mediakit.money import format_usd
from mediakit.safe_text import html_text
from mediakit.spend.bill import NAMES
from mediakit.spend.dates import month_name

MOST_NAMED = 3
EXPLAINED = ("same", "rate", "restated", "came_in", "went_out", "waiting")

# The verdict and the sentence of each reason.
SAID: dict[str, tuple[str | None, str]] = {
    "same": ("match", "{amount} is in this history"),
    "rate": (
        "rate_changed",
        "{amount} is in this history at another rate, {more} than estimated{jobs}",
    ),
    "restated": (
        "rate_changed",
        "{amount} is in this history and restated, {more} than first read{jobs}",
    ),
    "came_in": (
        "month_edge",
        "{amount} is in this history under another date{jobs}",
    ),
    "open": ("pending", "{amount} may be jobs that are not settled here yet{jobs}"),
    "other_key": ("elsewhere", "{amount} was charged to other API keys ({keys})"),
    "unknown_key": (
        None,
        "{amount} was charged to {keys} and is not in this history{note} "
        "(if they are yours, pass own_keys=[...])",
    ),
    "missing_here": (
        "missing_here",
        "{amount}{what} is missing here{on}{note} (client.history.rebuild(...) can "
        "restore it)",
    ),
    "credit": (
        "missing_here",
        "{amount}{what} is a credit that is not in this history",
    ),
    "too_much": (
        "missing_here",
        "{amount} too much{what} {where} (contact the service)",
    ),
    "too_little": (
        "missing_there",
        "{amount} too little{what} {where} (contact the service)",
    ),
    "missing_there": (
        "missing_there",
        "{amount}{what} is missing in the service's reports{on}{jobs}",
    ),
    "twice": ("missing_there", "{amount}{what} is counted twice here{jobs}"),
    "went_out": (
        "month_edge",
        "{amount} is dated in this month here and counted in another{jobs}",
    ),
    "waiting": ("pending", "the charge of {ids} has not been read yet"),
    "unread": (None, "{amount} was not compared with this history"),
}


@dataclass(frozen=True)
class Part:
    """Amounts with one reason, micro-USD.

    Each report has the charged amount, except those that `reported` names.
    """

    reason: str
    path: str | None = None
    history_micro_usd: int = 0
    charged_micro_usd: int = 0
    difference_micro_usd: int = 0
    job_ids: tuple[str, ...] = ()
    some: str = ""
    keys: tuple[str, ...] = ()
    days: tuple[date, ...] = ()
    may_be: tuple[str, ...] = ()
    where: str = ""
    reported: Mapping[str, int] = field(default_factory=dict)

    @property
    def verdict(self) -> str | None:
        """Return the verdict; None where it is not known."""
        return SAID[self.reason][0]

    @property
    def micro_usd(self) -> int:
        """Return the amount that its sentence names."""
        here_only = abs(self.history_micro_usd or self.difference_micro_usd)
        return self.charged_micro_usd or here_only


@dataclass(frozen=True)
class Reconciliation:
    """One month's bill compared with this history.

    Args:
        month: The month, "YYYY-MM" in UTC.
        charged_micro_usd: The monthly report's total, or the daily report's if that
            cannot be read; None if neither can be.
        own_keys: The IDs of the API keys that were named as this history's.
        is_so_far: Whether the month is still running.
    """

    month: str
    charged_micro_usd: int | None
    own_keys: tuple[str, ...]
    is_so_far: bool
    _parts: tuple[Part, ...] = field(repr=False)
    _kinds: Mapping[str, str] = field(repr=False)
    _refusals: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        amounts = sum(part.charged_micro_usd for part in self._parts)
        if self.charged_micro_usd not in (None, amounts):
            raise AssertionError(f"{amounts} is not {self.charged_micro_usd}")

    @property
    def history_micro_usd(self) -> int:
        """The charges in this history, each in the month in which it is counted."""
        return sum(part.history_micro_usd for part in self._parts)

    @property
    def is_explained(self) -> bool:
        """Whether every report was read and every amount has its reason.

        It is false if anything is, or may be, missing on either side, and if another
        API key was charged.
        """
        return not self._refusals and all(
            part.reason in EXPLAINED and not part.may_be for part in self._parts
        )

    @property
    def text(self) -> str:
        """One sentence; the amounts before "beyond it" add up to the charge."""
        month = f"{month_name(self.month)}{' so far' if self.is_so_far else ''}"
        unread = listed(text.rstrip(".") for text in self._refusals.values())
        if self.charged_micro_usd is None:
            return f"{month} cannot be reconciled: {unread}."
        if not (self._parts or self.charged_micro_usd or unread):
            nothing = "and this history has no charge for it"
            return f"Nothing was charged in {month}, {nothing}."
        charged, beyond = (
            listed(self._texts(has_charge=has_charge), most=None)
            for has_charge in (True, False)
        )
        reasons = {part.reason for part in self._parts if part.charged_micro_usd}
        is_all_here = self.is_explained and reasons == {"same"}
        said = [
            f"{format_usd(self.charged_micro_usd)} charged in {month}",
            "; all of it is explained" if self.is_explained else "",
            f": {charged}" if charged and not is_all_here else "",
            f"; beyond it, {beyond}" if beyond else "",
            f"; not everything could be compared: {unread}" if unread else "",
        ]
        return f"{''.join(said)}."

    def __repr__(self) -> str:
        return f"<reconciliation of {self.month}: {self.text}>"

    def _repr_html_(self) -> str:
        table = self.frame()._repr_html_()  # type: ignore[operator]
        return f"<p>{html_text(self.text)}</p>{table}"

    def _texts(self, *, has_charge: bool) -> Iterator[str]:
        """Say each reason once, or for its largest functions and the rest of them."""
        groups: dict[tuple[str, str], list[Part]] = defaultdict(list)
        for part in sorted(self._parts, key=lambda part: -abs(part.micro_usd)):
            if bool(part.charged_micro_usd) is has_charge:
                groups[part.reason, part.where].append(part)
        for reason, where in sorted(groups, key=lambda key: list(SAID).index(key[0])):
            group = groups[reason, where]
            alone = MOST_NAMED if "{what}" in SAID[reason][1] else 0
            alone -= len(group) > alone > 0
            said = [*([part] for part in group[:alone]), group[alone:]]
            yield from (_said(parts, self._kinds) for parts in said if parts)

    def frame(self) -> pd.DataFrame:
        """Return the details behind the sentence, one row per function and reason.

        Returns:
            function, kind and api_key_id (str), history_micro_usd, charged_micro_usd,
            daily_micro_usd, monthly_micro_usd, csv_micro_usd and difference_micro_usd
            (Int64), verdict and note (str), job_ids (lists of str). The sum of a column
            is that side's total. The difference is the charge minus the history's
            amount; for rate_changed, the charge minus the estimate, or minus the first
            charge if the service restated it; if reports differ, the odd one minus the
            others. What could not be read is <NA>, and so is a verdict that is not
            known.
        """
        parts = self._parts
        amounts: dict[str, list[int | None]] = {
            "history": [part.history_micro_usd for part in parts],
            "charged": [part.charged_micro_usd for part in parts],
        }
        for name in NAMES:
            is_read = name not in self._refusals
            amounts[name] = [
                part.reported.get(name, part.charged_micro_usd) if is_read else None
                for part in parts
            ]
        amounts["difference"] = [part.difference_micro_usd for part in parts]
        keys = [part.keys[0] if len(part.keys) == 1 else None for part in parts]
        notes = ["" if p.reason == "same" else _said([p], self._kinds) for p in parts]
        return pd.DataFrame(
            {
                "function": text_array(part.path for part in parts),
                "kind": text_array(self._kinds.get(p.path or "") for p in parts),
                "api_key_id": text_array(keys),
                **{f"{n}_micro_usd": pd.array(amounts[n], "Int64") for n in amounts},
                "verdict": text_array(part.verdict for part in parts),
                "note": text_array(notes),
                "job_ids": pd.Series([[*p.job_ids] for p in parts], dtype="object"),
            }
        )


def _said(parts: Sequence[Part], kinds: Mapping[str, str]) -> str:
    """Say functions with one reason together, without a full stop."""
    first = parts[0]
    more = sum(part.difference_micro_usd for part in parts)
    ids = [job_id for part in parts for job_id in part.job_ids]
    jobs = listed([*ids, *filter(None, [part.some for part in parts])])
    may_be = listed([jobs for part in parts for jobs in part.may_be])
    name = kinds.get(first.path or "", first.path)
    what = name if len(parts) == 1 else f"{len(parts)} functions"
    return SAID[first.reason][1].format(
        amount=format_usd(sum(part.micro_usd for part in parts)),
        what=f" for {what}" if what else "",
        ids=jobs,
        jobs=f" ({jobs})" if jobs else "",
        keys=listed(dict.fromkeys(key for part in parts for key in part.keys)),
        on=f" on {listed(map(str, first.days))}" if what == name and first.days else "",
        more=f"{format_usd(abs(more))} {'more' if more > 0 else 'less'}",
        where=first.where,
        note=f", some of which may be {may_be}" if may_be else "",
    )


def listed(items: Iterable[str], most: int | None = MOST_NAMED) -> str:
    """Join items into a phrase; items beyond `most` are only counted."""
    shown = list(items)
    if most is not None and len(shown) > most:
        shown[most:] = [f"{len(shown) - most} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
