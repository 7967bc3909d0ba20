"""How often verdicts are wrong, differences found, and intervals right, simulated."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mediakit as mk
from mediakit.sweep.comparison import compare
from mediakit.sweep.rankings import agreement, bradley_terry, cost_of_keeper
from tests.sweep.rated_sweeps import rated
from tests.sweep.test_rankings import cell, judged, results

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


@pytest.mark.parametrize(
    ("draw", "compared"),
    [
        (stars, compared_together),
        (passed, compared_apart),
        *(
            pytest.param(draw, compared, marks=pytest.mark.soak)
            for draw, compared in (
                *product(
                    (three_levels, whole_numbers, mostly_passed), [compared_together]
                ),
                (passed, compared_together),
                (measured, compared_together),
                (stars, compared_apart),
                (measured, compared_apart),
            )
        ),
    ],
)
def test_without_a_true_difference_at_most_one_sweep_in_twenty_reports_one(
    draw: Draw, compared: Callable[[Floats], pd.DataFrame]
) -> None:
    random = np.random.default_rng(20)
    tries = 2
    alarms = 0
    sizes = [*product((2, 3, 5), (2, 3, 4, 6, 8, 12, 20, 40))]
    for versions, prompts in sizes:
        reported = sum(
            bool(
                (
                    compared(draw(random, prompts, versions))["verdict"] == "exceeds"
                ).any()
            )
            for _ in range(tries)
        )
        assert reported <= (at_most(0.05, tries) if prompts > 3 else 0), prompts
        alarms += reported
    assert alarms <= at_most(0.05, tries * len(sizes))


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


@pytest.mark.parametrize(
    "draw", [whole_numbers, pytest.param(measured, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("versions", [2, 4])
def test_at_least_95_in_100_intervals_of_a_difference_hold_the_true_one(
    draw: Draw, versions: int
) -> None:
    random = np.random.default_rng(95)
    held, tries = [], 6
    for prompts, _ in product((4, 6, 12), range(tries)):
        better = 2.0 * np.arange(versions)
        frame: Any = compared_together(draw(random, prompts, versions) + better)
        truth = [
            better[int(b[1:])] - better[int(a[1:])]
            for a, b in zip(frame["first"], frame["second"], strict=True)
        ]
        held += list((frame["low"] <= truth) & (truth <= frame["high"]))
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
