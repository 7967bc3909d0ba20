"""How well the scores of a judge agree with the ratings of people."""

import math
from dataclasses import dataclass
from textwrap import fill

import numpy as np
import pandas as pd

from mediakit.sweep.frame_columns import LINE_WIDTH, axes_of, jobs_once, numbers_of

NORMAL_95 = 1.96
ALMOST_ONE = 1 - 1e-9
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
    if abs(rho) > ALMOST_ONE:
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
