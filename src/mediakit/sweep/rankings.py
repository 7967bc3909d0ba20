"""Statistics of results: cost per keeper, rankings, and agreement of judges.

The functions take frames of results and do not change them. The axes are left of
`take`. A repair has its own row, with the repaired job as `parent_job_id`, and belongs
to the cell of that job.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.money import divide_half_up
from mediakit.rules import ValueDescription

CHARGE = "charge_micro_usd"
NAME_LENGTH = 40
LINE_WIDTH = 88  # Jupyter breaks longer lines inside words
NORMAL_90, NORMAL_95 = 1.644854, 1.96

Floats = np.ndarray[Any, np.dtype[np.float64]]
Wholes = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
By = str | Sequence[str] | None

NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal", "empty")
"""The types that pandas infers for columns of numbers, including booleans."""


# -- cells and their repairs ----------------------------------------------------------


def axes_of(frame: pd.DataFrame) -> list[str]:
    """Return the axes of a frame of results: the columns to the left of `take`."""
    names = list(frame.columns)
    if "take" not in names:
        got = ValueDescription(
            f"the columns {', '.join(map(str, names))}" if names else "none"
        )
        accepted = "a frame that has the column take"
        raise InputError("frame", got=got, accepted=accepted, then="")
    return names[: names.index("take")]


def columns_of(frame: pd.DataFrame, by: By, field: str = "by") -> list[str]:
    """Return the named columns; none for None."""
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in frame:
            accepted = f"one of {', '.join(map(str, frame.columns))}"
            raise InputError(field, got=name, accepted=accepted, then="")
    return names


def numbers_of(frame: pd.DataFrame, name: str, field: str) -> "pd.Series[float]":
    """Return a column of numbers as floats, whatever its dtype; NaN means unknown.

    True and false are 1 and 0. Categories, decimals, and an object column from joined
    frames are numbers, too; strings are not.
    """
    column = frame[name] if name in frame else pd.Series("", frame.index)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("object")
    if column.dtype == "object":
        if pd.api.types.infer_dtype(column, skipna=True) not in NUMBERS:
            raise InputError(field, got=name, accepted="a column of numbers", then="")
        column = column.map(float, na_action="ignore")
    elif not pd.api.types.is_numeric_dtype(column.dtype):
        raise InputError(field, got=name, accepted="a column of numbers", then="")
    return column.astype("Float64").astype("float64")


def short_name(value: object) -> str:
    """Shorten a value to a name within a sentence, in one line."""
    text = " ".join(str(value).split())
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1]}…"


def jobs_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a job, each job once."""
    if "job_id" in frame:
        frame = frame[frame["job_id"].notna() & ~frame["job_id"].duplicated()]
    return frame.reset_index(drop=True)


def roots(jobs: pd.DataFrame) -> Wholes:
    """Return the row of each row's cell; a repair belongs to the repaired cell."""
    own = np.arange(len(jobs))
    if "job_id" not in jobs or "parent_job_id" not in jobs:
        return own
    places = pd.Series(own, index=jobs["job_id"])
    parent = jobs["parent_job_id"].map(places).fillna(-1).to_numpy("int64")
    root = np.where(parent < 0, own, parent)
    for _ in range(len(jobs).bit_length()):
        root = root[root]
    return root


def _with_repairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per sent cell, combined with its repairs.

    Adds _charge (int64, micro-USD), _unsettled (int64, jobs), _keep (bool) and _rating
    (float64, the last one).
    """
    jobs = jobs_once(frame)
    missing = pd.Series(pd.NA, jobs.index, "object")
    charge = jobs.get(CHARGE, missing).astype("Int64")
    own = pd.DataFrame(
        {
            "_charge": charge.fillna(0).astype("int64"),
            "_unsettled": charge.isna().astype("int64"),
            "_keep": jobs.get("keep", missing).astype("boolean").fillna(value=False),
            "_rating": jobs.get("rating", missing).astype("Float64").astype("float64"),
        }
    ).astype({"_keep": "bool"})
    cells = own.groupby(roots(jobs)).agg(
        {"_charge": "sum", "_unsettled": "sum", "_keep": "any", "_rating": "last"}
    )
    whole: pd.DataFrame = jobs.loc[cells.index].join(cells)
    return whole


def _by_value(cells: pd.DataFrame, axes: Sequence[str]) -> Any:
    """Group cells by the values of axes in order of appearance, or all together."""
    number = pd.Series(0, cells.index)
    if axes:
        its = cells.groupby(list(axes), sort=False, observed=True, dropna=False)
        number = its.ngroup()
    return cells.groupby(number.to_numpy("int64"))


def _with_axes(
    found: pd.DataFrame, groups: Any, cells: pd.DataFrame, axes: Sequence[str]
) -> pd.DataFrame:
    """Insert the columns of the axes before the results."""
    first: pd.DataFrame = cells.loc[groups.head(1).index, list(axes)]
    both = [first.reset_index(drop=True), found.reset_index(drop=True)]
    return pd.concat(both, axis=1)


def _means(sums: Iterable[Any], counts: Iterable[Any]) -> Any:
    """Divide whole numbers, rounding half up; <NA> for a divisor of zero."""
    pairs = zip(sums, counts, strict=True)
    means = [divide_half_up(int(total), int(n)) if n else None for total, n in pairs]
    return pd.array(means, "Int64")


# -- the cost of a kept result --------------------------------------------------------

DRAWS = 2_000
FEWEST_DRAWS = 200
DRAWN_NUMBERS = DRAWN_AT_ONCE = 4_000_000
FEWEST_CELLS = 5
BEYOND = 0.05
NEVER = np.iinfo("int64").max


def cost_of_keeper(frame: pd.DataFrame, by: By = None, seed: int = 0) -> pd.DataFrame:
    """Compute the cost per kept result, including all charges spent to find it.

    A cell and its repairs count as one: their charges are added, and the cell is kept
    if any of them is. A job in two rows is counted once. Amounts are added and divided
    as integers.

    Args:
        frame: Results: the columns `charge_micro_usd` and `keep`, and `job_id` and
            `parent_job_id` if known.
        by: An axis, or several; None for all cells together.
        seed: The seed of the resampling.

    Returns:
        One row per value of the axis, in order of appearance: the axis as in `frame`,
        cells (int64, those that were sent), unsettled (int64, jobs with an unknown
        charge, which no sum includes), charged_micro_usd (int64), kept (int64),
        cost_micro_usd_per_keeper (Int64, <NA> without a keeper), low and high (Int64,
        micro-USD, the 90% interval by bootstrap; <NA> with fewer than five cells or
        no keeper; high is also <NA> if one resample in twenty has no keeper).

    Raises:
        InputError: The frame has no such column.
    """
    axes = columns_of(frame, by)
    cells = _with_repairs(frame)
    groups = _by_value(cells, axes)
    sums = groups.agg(
        cells=("_charge", "size"),
        unsettled=("_unsettled", "sum"),
        charged_micro_usd=("_charge", "sum"),
        kept=("_keep", "sum"),
    ).astype("int64")
    ends = [_interval(part["_charge"], part["_keep"], seed) for _, part in groups]
    if not axes and sums.empty:
        sums, ends = sums.reindex([0], fill_value=0), [(None, None)]
    cost = _means(sums["charged_micro_usd"], sums["kept"])
    sums["cost_micro_usd_per_keeper"] = cost
    sums["low"] = pd.array([low for low, _ in ends], "Int64")
    sums["high"] = pd.array([high for _, high in ends], "Int64")
    return _with_axes(sums, groups, cells, axes)


def _interval(
    charges: "pd.Series[int]", kept: "pd.Series[bool]", seed: int
) -> tuple[int | None, int | None]:
    """Return the 90% bootstrap interval of the cost per keeper."""
    if len(charges) < FEWEST_CELLS or not kept.any():
        return None, None
    pairs = np.column_stack((charges, kept))
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    draws = int(np.clip(DRAWN_NUMBERS // len(kinds), FEWEST_DRAWS, DRAWS))
    random = np.random.default_rng(seed)
    shares, step = counts / len(charges), max(1, DRAWN_AT_ONCE // len(kinds))
    sums, keepers = np.concatenate(
        [
            random.multinomial(len(charges), shares, size=min(step, draws - done))
            @ kinds.astype("int64")
            for done in range(0, draws, step)
        ]
    ).T
    costs = np.full(draws, NEVER)
    some = keepers > 0
    costs[some] = (2 * sums[some] + keepers[some]) // (2 * keepers[some])
    costs.sort()
    beyond = int(draws * BEYOND)
    low, high = int(costs[beyond]), int(costs[-1 - beyond])
    return low, None if high == NEVER else high


# -- rating against charge ------------------------------------------------------------


def pareto(frame: pd.DataFrame, by: By = None) -> pd.DataFrame:
    """Compare the mean rating with the mean charge, and mark the Pareto front.

    A cell and its repairs count as one, with all their charges and the rating of the
    last rated row. Failed cells are left out.

    Args:
        frame: Results: the columns `charge_micro_usd` and `rating`.
        by: An axis, or several; None for each combination of all axes.

    Returns:
        One row per value of the axis, in order of appearance: the axis as in `frame`,
        cells and rated (int64), rating (float64, the mean in stars; NaN if nothing is
        rated), charge_micro_usd (Int64, the mean, <NA> while none is settled), on_front
        (bool): no other value has at least the same rating for at most the same charge,
        and is better in one of the two.

    Raises:
        InputError: The frame has no such column.
    """
    axes = axes_of(frame) if by is None else columns_of(frame, by)
    cells = _with_repairs(frame)
    if "status" in cells:
        cells = cells[cells["status"] != "failed"]
    is_settled = cells["_unsettled"] == 0
    cells = cells.assign(_settled=is_settled, _paid=cells["_charge"] * is_settled)
    groups = _by_value(cells, axes)
    points = groups.agg(
        cells=("_charge", "size"),
        rated=("_rating", "count"),
        rating=("_rating", "mean"),
        settled=("_settled", "sum"),
        paid=("_paid", "sum"),
    )
    points[CHARGE] = _means(points.pop("paid"), points.pop("settled"))
    is_known = points["rating"].notna() & points[CHARGE].notna()
    points["on_front"] = False
    points.loc[is_known, "on_front"] = _front(
        points.loc[is_known, "rating"].to_numpy("float64"),
        points.loc[is_known, CHARGE].to_numpy("int64"),
    )
    return _with_axes(points, groups, cells, axes)


def _front(rating: Floats, charge: Wholes) -> Flags:
    """Return which points are on the Pareto front."""
    charges, place = np.unique(charge, return_inverse=True)
    best = np.full(len(charges), -np.inf)
    np.maximum.at(best, place, rating)
    of_cheaper = np.concatenate(([-np.inf], np.maximum.accumulate(best)))[:-1]
    on_front: Flags = (rating == best[place]) & (rating > of_cheaper[place])
    return on_front


# -- rankings -------------------------------------------------------------------------

PRIOR_SD = 2.0
SMALLEST_STEP = 1e-9
MOST_STEPS = 100


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


# -- judges against people ------------------------------------------------------------

FEWEST_PAIRS = 5
STARS = (1, 5)


@dataclass(frozen=True, repr=False)
class Agreement:
    """How well scores agree with ratings.

    Args:
        frame: One row for each output that has both, the largest disagreement first:
            the axes, `take`, the score, the rating and `job_id`, and `reason` if the
            judge gave one.
        pairs: How many outputs have both.
        rank_correlation: Spearman's, from -1 to 1; None if there are fewer than 5
            pairs, or if all scores or all ratings are equal.
        low: The lower end of its 95% interval; None if unknown.
        high: The upper end of its 95% interval; None if unknown.
        weighted_kappa: Cohen's kappa with quadratic weights, from -1 to 1: it also
            counts how far apart score and rating are; None if it is unknown, or unless
            both are from 1 to 5.
        text: The same in sentences, as plain text.
    """

    frame: pd.DataFrame
    pairs: int
    rank_correlation: float | None
    low: float | None
    high: float | None
    weighted_kappa: float | None
    text: str

    def __repr__(self) -> str:
        return fill(self.text, LINE_WIDTH)


def agreement(frame: pd.DataFrame, score: str, rating: str = "rating") -> Agreement:
    """Compare the scores of a judge with the ratings of people."""
    jobs = jobs_once(frame)
    numbers = {
        score: numbers_of(jobs, score, "score"),
        rating: numbers_of(jobs, rating, "rating"),
    }
    values = pd.DataFrame(numbers).dropna()
    both = jobs.loc[values.index]
    ranks = values.rank(pct=True)
    distance = (ranks[score] - ranks[rating]).abs()
    reasons = ["reason"] if "reason" in both else []
    columns = [*axes_of(frame), "take", score, rating, *reasons, "job_id"]
    order = distance.sort_values(ascending=False, kind="stable").index
    side_by_side = both.loc[order, list(dict.fromkeys(columns))].reset_index(drop=True)
    pairs = len(both)
    are = "output has" if pairs == 1 else "outputs have"
    lead = f"{pairs:,} {are} both {score} and {rating}"
    if pairs < FEWEST_PAIRS or (values.nunique() < 2).any():
        text = f"{lead}; at least 5 that differ are needed to say how far they agree."
        return Agreement(side_by_side, pairs, None, None, None, None, text)
    rho = float(ranks[score].corr(ranks[rating]))
    low, high = _correlation_interval(rho, pairs)
    kappa = _weighted_kappa(values[score], values[rating])
    by_chance = "more than chance explains" if low > 0 else "possibly by chance"
    if high < 0:
        by_chance = "they disagree more than chance explains"
    text = (
        f"{lead}. Their rank correlation is {rho:z.2f} (95% interval {low:z.2f} to "
        f"{high:z.2f}): {by_chance}."
    )
    if kappa is not None:
        text += f" Their weighted kappa is {kappa:z.2f}."
    return Agreement(side_by_side, pairs, rho, low, high, kappa, text)


def _correlation_interval(rho: float, pairs: int) -> tuple[float, float]:
    """Return the 95% interval of a rank correlation, after Bonett and Wright."""
    if abs(rho) > 1 - SMALLEST_STEP:
        # As if two neighbours were exchanged: equal ranks do not make the correlation
        # certain.
        nearest = 1 - 12 / (pairs * (pairs**2 - 1))
        low, _ = _correlation_interval(nearest, pairs)
        return (low, 1.0) if rho > 0 else (-1.0, -low)
    margin = NORMAL_95 * math.sqrt((1 + rho**2 / 2) / (pairs - 3))
    middle = math.atanh(rho)
    return math.tanh(middle - margin), math.tanh(middle + margin)


def _weighted_kappa(
    scores: "pd.Series[float]", ratings: "pd.Series[float]"
) -> float | None:
    if not pd.concat([scores, ratings]).between(*STARS).all():
        return None
    one, other = scores.to_numpy(), ratings.to_numpy()
    by_chance = one.var() + other.var() + (one.mean() - other.mean()) ** 2
    return float(1 - np.square(one - other).mean() / by_chance)
