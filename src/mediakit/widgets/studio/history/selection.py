"""The selected jobs, and which actions apply to them; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mediakit.history import Entry
from mediakit.money import format_usd

FEWEST_COMPARED = 2


@dataclass(frozen=True)
class Selection:
    """Selected entries, in the order in which they were selected.

    They stay selected while other pages are shown.

    Args:
        entries: The entries.
    """

    entries: tuple[Entry, ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, entry: Entry) -> bool:
        return any(each.number == entry.number for each in self.entries)

    def has_all(self, entries: Iterable[Entry]) -> bool:
        """Tell whether entries are selected, all of them and at least one."""
        entries = tuple(entries)
        return bool(entries) and all(entry in self for entry in entries)

    def including(self, *entries: Entry) -> Selection:
        """Return the selection with further entries."""
        new = tuple(entry for entry in entries if entry not in self)
        return Selection((*self.entries, *new))

    def excluding(self, *entries: Entry) -> Selection:
        """Return the selection without some entries."""
        numbers = {entry.number for entry in entries}
        left = (each for each in self.entries if each.number not in numbers)
        return Selection(tuple(left))

    def renewed(self, entries: Iterable[Entry]) -> Selection:
        """Return the selection with what is now known of its entries."""
        known = {entry.number: entry for entry in entries}
        return Selection(tuple(known.get(e.number, e) for e in self.entries))

    @property
    def with_result(self) -> tuple[Entry, ...]:
        """Return the entries whose results are there, to be saved or compared."""
        return tuple(filter(has_result, self.entries))

    @property
    def erasable(self) -> tuple[Entry, ...]:
        """Return the entries whose stored media can be erased."""
        return tuple(filter(is_erasable, self.entries))

    @property
    def charged_micro_usd(self) -> int:
        """Return the sum of the charges that are settled."""
        return sum(entry.charge_micro_usd or 0 for entry in self.entries)

    @property
    def text(self) -> str:
        """Write how many are selected, and what they cost together."""
        if not self.entries:
            return ""
        open_ones = sum(map(is_unsettled, self.entries))
        words = [f"{len(self):,} selected"]
        words += [f"{format_usd(self.charged_micro_usd)} charged"]
        words += [f"{open_ones:,} not settled yet"] if open_ones else []
        return " · ".join(words)


def has_result(entry: Entry) -> bool:
    """Tell whether an entry's result is there."""
    is_there = entry.deleted_at is None and entry.gone_at is None
    return entry.output_url is not None and entry.job_id is not None and is_there


def pictured(entry: Entry) -> bool:
    """Tell whether there is a picture of an entry's result."""
    return has_result(entry) and entry.media_type != "audio"


def is_erasable(entry: Entry) -> bool:
    """Tell whether there is a job that has ended and was not erased."""
    ended = entry.status is not None and entry.status.terminal
    is_there = entry.deleted_at is None and entry.gone_at is None
    return entry.job_id is not None and ended and is_there


def is_unsettled(entry: Entry) -> bool:
    """Tell whether a job may still be charged."""
    return (
        entry.job_id is not None
        and entry.charge_micro_usd is None
        and entry.gone_at is None
    )
