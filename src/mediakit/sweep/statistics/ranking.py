"""Rank results by pairwise comparisons, with uncertainty."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.sweep.statistics.cells import Flags, Floats, Wholes

PRIOR_SD = 2.0
SMALLEST_STEP = 1e-9
MOST_STEPS = 100
NORMAL_95 = 1.644854


class Preferred(Protocol):
    """One comparison, as in the history."""

    @property
    def winner(self) -> str:
        """The preferred job; for a tie, either of the two."""

    @property
    def loser(self) -> str:
        """The other job."""

    @property
    def tie(self) -> bool:
        """Whether neither was preferred."""


def bradley_terry(preferences: Iterable[Preferred] | pd.DataFrame) -> pd.DataFrame:
    """Rank items by pairwise preferences (Bradley-Terry model).

    An item beats another one with the odds exp(difference of their strengths); a tie
    counts as half a win for both. A weak prior (normal, mean 0, standard deviation 2)
    keeps the strength of an item that never lost finite. Items that no chain of
    comparisons connects are in different groups; their strengths cannot be compared.

    Args:
        preferences: The comparisons: objects with `winner`, `loser` and `tie`, or a
            frame with these columns; the column `tie` (boolean) is optional.

    Returns:
        One row per item, group by group, the strongest of each first: item (str),
        strength, low and high (float64, log-odds around 0; the 90 % interval), wins,
        losses and ties (int64), group (int64, from 0). Without comparisons, no rows but
        the same dtypes.

    Raises:
        InputError: An item was compared with itself.
    """
    winners, losers, ties = _comparisons(preferences)
    codes, names = pd.factorize(np.array([*winners, *losers], dtype=object))
    won, lost = codes[: len(winners)], codes[len(winners) :]
    if (won == lost).any():
        raise InputError(
            "preferences",
            got=str(names[won[won == lost][0]]),
            accepted="comparisons of two different items",
        )
    weights = np.where(ties, 0.5, 1.0)
    strength, covariance = _strengths(won, lost, weights, len(names))
    variance = np.diag(covariance)
    group = _groups(won, lost, len(names))
    # The strengths of a group are around 0: the prior lets all of them shift together,
    # which is not part of their uncertainty.
    error = np.sqrt(variance - PRIOR_SD**2 / np.bincount(group)[group])
    frame = pd.DataFrame(
        {
            "item": pd.array([str(name) for name in names], dtype="str"),
            "strength": strength,
            "low": strength - NORMAL_95 * error,
            "high": strength + NORMAL_95 * error,
            "wins": np.bincount(won[~ties], minlength=len(names)),
            "losses": np.bincount(lost[~ties], minlength=len(names)),
            "ties": np.bincount(np.append(won[ties], lost[ties]), minlength=len(names)),
            "group": group,
        }
    )
    return frame.sort_values(
        ["group", "strength"],
        ascending=[True, False],
        kind="stable",
        ignore_index=True,
    )


def next_pair(
    preferences: Iterable[Preferred] | pd.DataFrame, items: Sequence[str]
) -> tuple[str, str] | None:
    """Return the two items whose comparison teaches most about the ranking.

    It is the pair whose answer is the least certain, by the strengths and by how
    uncertain these are; of several such pairs, any.

    Args:
        preferences: The comparisons so far, as for `bradley_terry`.
        items: The items that may be compared.

    Returns:
        A pair that was not compared yet; None if every pair was.
    """
    winners, losers, ties = _comparisons(preferences)
    known = pd.Index(dict.fromkeys([*items, *winners, *losers]))
    won, lost = (known.get_indexer(pd.Index(each)) for each in (winners, losers))
    weights = np.where(ties, 0.5, 1.0)
    strength, covariance = _strengths(won, lost, weights, len(known))
    variance = np.diag(covariance)
    of_difference = variance[:, None] + variance[None, :] - 2 * covariance
    chance = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
    gain = chance * (1.0 - chance) * of_difference
    gain[won, lost] = gain[lost, won] = -np.inf
    count = len(items)
    pairs = np.triu(np.ones((count, count), dtype=bool), 1)
    gains = np.where(pairs, gain[:count, :count], -np.inf)
    best = gains.max(initial=-np.inf)
    if best == -np.inf:
        return None
    found = np.argwhere(gains >= best - SMALLEST_STEP)
    one, other = found[np.random.default_rng(len(winners)).integers(len(found))]
    return items[one], items[other]


def _comparisons(
    preferences: Iterable[Preferred] | pd.DataFrame,
) -> tuple[list[Any], list[Any], Flags]:
    if isinstance(preferences, pd.DataFrame):
        winners, losers = list(preferences["winner"]), list(preferences["loser"])
        ties = preferences["tie"] if "tie" in preferences else [False] * len(winners)
        return winners, losers, np.array(ties, dtype=bool)
    listed = list(preferences)
    winners, losers = [each.winner for each in listed], [each.loser for each in listed]
    return winners, losers, np.array([each.tie for each in listed], dtype=bool)


def _strengths(
    won: Wholes, lost: Wholes, weight: Floats, items: int
) -> tuple[Floats, Floats]:
    """Find the most likely strengths by Newton's method, and their covariances."""
    wins = np.zeros((items, items))
    np.add.at(wins, (won, lost), weight)
    np.add.at(wins, (lost, won), 1.0 - weight)
    compared = wins + wins.T
    strength = np.zeros(items)
    for _ in range(MOST_STEPS):
        chance = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
        slope = (wins - compared * chance).sum(axis=1) - strength / PRIOR_SD**2
        spread = compared * chance * (1.0 - chance)
        curve = np.diag(spread.sum(axis=1) + 1 / PRIOR_SD**2) - spread
        step = np.linalg.solve(curve, slope)
        largest = np.abs(step).max(initial=0.0)
        strength = strength + step / max(1.0, largest)
        if largest < SMALLEST_STEP:
            break
    return strength, np.asarray(np.linalg.inv(curve), dtype=np.float64)


def _groups(won: Wholes, lost: Wholes, items: int) -> Wholes:
    """Number the sets of connected items, in order of appearance."""
    group = np.arange(items)
    while True:
        smaller = np.minimum(group[won], group[lost])
        merged = group.copy()
        np.minimum.at(merged, won, smaller)
        np.minimum.at(merged, lost, smaller)
        if (merged == group).all():
            return pd.factorize(group)[0].astype("int64")
        group = merged
