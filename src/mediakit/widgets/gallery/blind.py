"""A blind comparison: the next pair, and the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mediakit.history import Preference
from mediakit.sweep.rankings import bradley_terry


@dataclass
class Sitting:
    """One session of a person who compares results."""

    jobs: list[str]
    count: int = 0

    def pairs_left(self, preferences: Sequence[Preference]) -> int:
        jobs = set(self.jobs)
        pairs = (frozenset((each.winner, each.loser)) for each in preferences)
        compared = {pair for pair in pairs if pair <= jobs}
        return len(jobs) * (len(jobs) - 1) // 2 - len(compared)

    def ranking(self, preferences: Sequence[Preference]) -> list[dict[str, Any]]:
        """Return the compared jobs, group by group, the strongest of each first."""
        frame = bradley_terry(preferences)
        frame = frame[frame["item"].isin(self.jobs)].rename(columns={"item": "job"})
        rows = frame[["job", "strength", "low", "high", "group"]].to_dict("records")
        return [{str(name): value for name, value in row.items()} for row in rows]
