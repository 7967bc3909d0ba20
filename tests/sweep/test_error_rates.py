"""Simulated error rates of verdicts, power of tests and coverage of intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mediakit as mk
from mediakit.sweep.agreement import agreement
from mediakit.sweep.comparison import compare
from mediakit.sweep.costs import cost_of_keeper
from mediakit.sweep.paired_tests import paired_tests, step_of
from mediakit.sweep.rankings import bradley_terry
from tests.support.soak import trials
from tests.sweep.rated_sweeps import cell, rated, results
from tests.sweep.test_rankings import judged

Random = np.random.Generator
Floats = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[Random, int, int], Floats]
"""Draws a value for each prompt and version; no version is better than another."""


def stars(random: Random, prompts: int, versions: int) -> Floats:
    of_prompt = random.normal(3.2, 0.8, (prompts, 1))
    noise = random.normal(0, 0.7, (prompts, versions))
    return np.clip(np.rint(of_prompt + noise), 1, 5)


def three_levels(random: Random, prompts: int, versions: int) -> Floats:
    return random.integers(1, 4, (prompts, versions)).astype("float64")


def whole_numbers(random: Random, prompts: int, versions: int) -> Floats:
    of_prompt = random.normal(60, 15, (prompts, 1))
    return np.rint(of_prompt + random.normal(0, 10, (prompts, versions)))


def passed(random: Random, prompts: int, versions: int) -> Floats:
    return (random.random((prompts, versions)) < 0.5).astype("float64")


def mostly_passed(random: Random, prompts: int, versions: int) -> Floats:
    return (random.random((prompts, versions)) < 0.85).astype("float64")


def measured(random: Random, prompts: int, versions: int) -> Floats:
    return random.normal(0, 1, (prompts, versions))


def frame_of(values: Floats) -> pd.DataFrame:
    """Return a sweep of versions and shots with these scores."""
    shots, versions = values.shape
    return pd.DataFrame(
        {
            "version": np.tile([f"v{n}" for n in range(versions)], shots),
            "shot": np.repeat([f"s{n}" for n in range(shots)], versions),
            "take": 1,
            "score": values.ravel(),
        }
    )


def compared_together(values: Floats) -> pd.DataFrame:
    return compare(frame_of(values), "version", "score").frame


def compared_apart(values: Floats) -> pd.DataFrame:
    """Compare sweeps of one version each, which were put together afterwards."""
    parts = [
        frame_of(column[:, None]).assign(
            version=f"v{n}", job_id=[f"{n}-{row}" for row in range(len(column))]
        )
        for n, column in enumerate(values.T)
    ]
    both = mk.concat(part.set_index("version") for part in parts)
    names = [part["version"] for part in parts]
    both = both.assign(version=pd.concat(names, ignore_index=True))
    return mk.compare(both, "version", "score", by="shot").frame


def at_most(share: float, tries: int) -> float:
    """Return the largest number of cases that a share makes plausible."""
    return tries * share + 3 * math.sqrt(tries * share * (1 - share))


def at_least(share: float, tries: int) -> float:
    return tries * share - 3 * math.sqrt(tries * share * (1 - share))


def differences_of(values: Floats) -> list[dict[str, Any]]:
    """Test the columns of values without a frame, which is much faster."""
    costs = np.full(values.shape[1], np.nan)
    return paired_tests(values, np.ones(values.shape), step_of(values.ravel()), costs)


SIZES = [*product((2, 3, 5), (2, 3, 4, 6, 8, 12, 20, 40))]
DRAWS = (stars, three_levels, whole_numbers, passed, mostly_passed, measured)


@pytest.mark.parametrize("compared", [compared_together, compared_apart])
@pytest.mark.parametrize("draw", DRAWS)
def test_a_comparison_tests_the_values_of_its_frame(
    draw: Draw, compared: Callable[[Floats], pd.DataFrame]
) -> None:
    random = np.random.default_rng(12)
    for versions, prompts in ((2, 3), (3, 8)):
        values = draw(random, prompts, versions)
        rows = pd.DataFrame(
            differences_of(values), columns=["verdict", "p", "low", "high"]
        )
        pd.testing.assert_frame_equal(
            compared(values)[[*rows]], rows, check_dtype=False, check_categorical=False
        )


@pytest.mark.parametrize("draw", DRAWS)
def test_without_a_true_difference_at_most_one_sweep_in_twenty_reports_one(
    draw: Draw,
) -> None:
    random = np.random.default_rng(20)
    tries = trials(20, soak=60)
    alarms = {
        (versions, prompts): sum(
            any(
                row["verdict"] == "exceeds"
                for row in differences_of(draw(random, prompts, versions))
            )
            for _ in range(tries)
        )
        for versions, prompts in SIZES
    }
    for size, reported in alarms.items():
        assert reported <= (at_most(0.05, tries) if size[1] > 3 else 0), size
    assert sum(alarms.values()) <= at_most(0.05, tries * len(SIZES))


@pytest.mark.parametrize(
    "chances",
    [
        {"takes": 2, "interaction": 0.5},
        *(
            pytest.param(chances, marks=pytest.mark.soak)
            for chances in (
                {"takes": 2},
                {"takes": 1, "interaction": 0.5},
                {"prompts": 1, "takes": 8},
            )
        ),
    ],
    ids=str,
)
def test_takes_and_prompts_that_suit_a_version_give_no_more_false_alarms(
    chances: dict[str, Any],
) -> None:
    tries = 20
    assert reported_n(tries, **chances) <= at_most(0.05, tries)


def reported_n(tries: int, **chances: Any) -> int:
    """Return in how many sweeps a difference of ratings is reported."""
    frames = (rated(seed, **chances) for seed in range(tries))
    verdicts = (compare(frame, "resolution").frame["verdict"] for frame in frames)
    return sum(bool((verdict == "exceeds").any()) for verdict in verdicts)


@pytest.mark.parametrize(
    ("chances", "power"),
    # As in the table of docs/prompt_tuning.md.
    [
        ({"better": 0.8, "interaction": 0.5}, 0.84),
        *(
            pytest.param(chances, power, marks=pytest.mark.soak)
            for chances, power in (
                ({"better": 0.5}, 0.68),
                ({"better": 0.8}, 0.98),
                ({"better": 0.5, "takes": 2}, 0.94),
            )
        ),
    ],
    ids=str,
)
def test_twenty_prompts_find_a_difference_as_often_as_is_documented(
    chances: dict[str, Any], power: float
) -> None:
    tries = 30
    found = reported_n(tries, **chances)
    assert at_least(power, tries) <= found <= at_most(power, tries)


@pytest.mark.parametrize("draw", [stars, whole_numbers, passed, measured])
@pytest.mark.parametrize("versions", [2, 4])
def test_at_least_95_in_100_intervals_of_a_difference_hold_the_true_one(
    draw: Draw, versions: int
) -> None:
    random = np.random.default_rng(95)
    held, tries = [], trials(40, soak=150)
    # The answers are whole numbers, so the difference is, too.
    better = 2.0 * np.arange(versions)
    truths = [second - first for first, second in combinations(better, 2)]
    for prompts, _ in product((4, 6, 12, 40), range(tries)):
        rows = differences_of(draw(random, prompts, versions) + better)
        held += [
            row["low"] <= truth <= row["high"]
            for row, truth in zip(rows, truths, strict=True)
            if "low" in row
        ]
    assert sum(held) >= at_least(0.95, len(held))


@pytest.mark.parametrize(
    "cells", [30, *(pytest.param(n, marks=pytest.mark.soak) for n in (12, 60))]
)
def test_nine_intervals_in_ten_hold_the_true_cost_of_a_keeper(cells: int) -> None:
    random = np.random.default_rng(7)
    held, tries = 0, 0
    while tries < 30:
        kept = random.random(cells) < 0.3
        charges = np.where(random.random(cells) < 0.1, 0, 340_000)
        frame = results(
            cell(int(c), keep=bool(k)) for c, k in zip(charges, kept, strict=True)
        )
        row: Any = cost_of_keeper(frame).iloc[0]
        if row["low"] is pd.NA:
            continue  # nothing was kept, and no interval is printed
        tries += 1
        high = math.inf if row["high"] is pd.NA else row["high"]
        held += bool(row["low"] <= 0.9 * 340_000 / 0.3 <= high)
    assert held >= at_least(0.87, tries)


def test_nine_intervals_in_ten_hold_the_true_strength_of_a_ranking() -> None:
    held: list[bool] = []
    for seed in range(25):
        truth = np.random.default_rng(100 + seed).normal(0.0, 1.0, 12)
        frame = bradley_terry(judged(truth, 300, seed)).set_index("item")
        frame = frame.loc[[f"i{n}" for n in range(12)]]
        centred = truth - truth.mean()
        held += list((frame["low"] <= centred) & (centred <= frame["high"]))
    assert 0.86 < np.mean(held) < 0.95


@pytest.mark.parametrize(
    ("outputs", "correlation"),
    [
        (12, 0.6),
        *(
            pytest.param(*each, marks=pytest.mark.soak)
            for each in product((6, 12, 40), (0.0, 0.6, 0.9))
        ),
    ],
)
def test_95_in_100_intervals_of_an_agreement_hold_the_true_one(
    outputs: int, correlation: float
) -> None:
    random = np.random.default_rng(5)
    truth = 6 / math.pi * math.asin(correlation / 2)  # Spearman's of normal values
    cells = results(cell(1, prompt=f"p{n}") for n in range(outputs))
    held, tries = 0, 40
    for _ in range(tries):
        covariance = [[1, correlation], [correlation, 1]]
        both = random.multivariate_normal([0, 0], covariance, outputs)
        frame = cells.assign(judge=both[:, 0], rating=both[:, 1])
        found = agreement(frame, "judge")
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert held >= at_least(0.93, tries)
