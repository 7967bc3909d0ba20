"""A ranking of results from comparisons of two, with its uncertainty."""

from collections.abc import Iterable
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
    """One comparison, as the history keeps it."""

    @property
    def winner(self) -> str:
        """The job that was preferred; any of the two of a tie."""

    @property
    def loser(self) -> str:
        """The other one."""

    @property
    def tie(self) -> bool:
        """Whether neither was preferred."""


def bradley_terry(preferences: Iterable[Preferred] | pd.DataFrame) -> pd.DataFrame:
    """Rank items by who was preferred to whom (Bradley-Terry model).

    An item beats another one with the odds exp(difference of their strengths); a tie
    counts as half a win for both. A weak prior (normal, mean 0, standard deviation 2)
    keeps an item that never lost finite. Items that no chain of comparisons connects
    have different values of `group`, and their strengths cannot be compared.

    Args:
        preferences: The comparisons: objects with `winner`, `loser` and `tie`, or a
            frame with these columns, of which `tie` (boolean) may be missing.

    Returns:
        One row an item, the strongest first: item (str), strength, low and high
        (float64, log-odds around 0; the 90 % interval), wins, losses and ties (int64),
        group (int64, from 0). No rows but the same dtypes without a comparison.

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
    strength, variance = _strengths(won, lost, np.where(ties, 0.5, 1.0), len(names))
    group = _groups(won, lost, len(names))
    # The strengths of a group are around 0: how far the prior lets all of them move
    # together is no uncertainty of theirs.
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
    return frame.sort_values("strength", ascending=False, kind="stable").reset_index(
        drop=True
    )


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
    """Find the most likely strengths by Newton's method, and their variances."""
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
    return strength, np.diag(np.linalg.inv(curve))


def _groups(won: Wholes, lost: Wholes, items: int) -> Wholes:
    """Number the sets of items that comparisons connect, in order of appearance."""
    group = np.arange(items)
    while True:
        smaller = np.minimum(group[won], group[lost])
        merged = group.copy()
        np.minimum.at(merged, won, smaller)
        np.minimum.at(merged, lost, smaller)
        if (merged == group).all():
            return pd.factorize(group)[0].astype("int64")
        group = merged
