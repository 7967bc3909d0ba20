"""Rankings by pairwise preferences, and the next pair to compare."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.sweep.frame_columns import Wholes

NORMAL_90 = 1.644854
PRIOR_SD = 2.0
SMALLEST_STEP = 1e-9
MOST_STEPS = 100

Floats = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def bradley_terry(preferences: Iterable[Any] | pd.DataFrame) -> pd.DataFrame:
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
        strength, low and high (float64, log-odds around 0; the 90% interval), wins,
        losses and ties (int64), group (int64, from 0). Without comparisons, no rows but
        the same dtypes.

    Raises:
        InputError: An item was compared with itself.
    """
    winners, losers, ties = _comparisons(preferences)
    items = np.array([*winners, *losers], dtype=object)
    numbers, names = pd.factorize(items)
    won, lost = numbers[: len(winners)], numbers[len(winners) :]
    if (won == lost).any():
        raise InputError(
            "preferences",
            got=str(names[won[won == lost][0]]),
            accepted="comparisons of two different items",
            then="",
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
            "low": strength - NORMAL_90 * error,
            "high": strength + NORMAL_90 * error,
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
    preferences: Iterable[Any] | pd.DataFrame, items: Sequence[str]
) -> tuple[str, str] | None:
    """Return the pair of items whose comparison is most informative.

    Its outcome is the most uncertain, given the strengths and their uncertainty. None
    if every pair was compared.
    """
    winners, losers, ties = _comparisons(preferences)
    compared = pd.Index(dict.fromkeys([*items, *winners, *losers]))
    won, lost = (compared.get_indexer(pd.Index(each)) for each in (winners, losers))
    weights = np.where(ties, 0.5, 1.0)
    strength, covariance = _strengths(won, lost, weights, len(compared))
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
    places = np.argwhere(gains >= best - SMALLEST_STEP)
    one, other = places[np.random.default_rng(len(winners)).integers(len(places))]
    return items[one], items[other]


def _comparisons(
    preferences: Iterable[Any] | pd.DataFrame,
) -> tuple[list[Any], list[Any], Flags]:
    """Return the winners, the losers, and whether each is a tie."""
    pairs: Any = preferences
    if not isinstance(pairs, pd.DataFrame):
        rows = [(each.winner, each.loser, each.tie) for each in pairs]
        pairs = pd.DataFrame(rows, columns=["winner", "loser", "tie"])
    ties = pairs.get("tie", pd.Series(data=False, index=pairs.index)).to_numpy("bool")
    return list(pairs["winner"]), list(pairs["loser"]), ties


def _strengths(
    won: Wholes, lost: Wholes, weight: Floats, items: int
) -> tuple[Floats, Floats]:
    """Fit the most likely strengths by Newton's method; return their covariances."""
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
    """Number the groups of connected items, in order of appearance."""
    group = np.arange(items)
    while True:
        smaller = np.minimum(group[won], group[lost])
        merged = group.copy()
        np.minimum.at(merged, won, smaller)
        np.minimum.at(merged, lost, smaller)
        if (merged == group).all():
            return pd.factorize(group)[0].astype("int64")
        group = merged
