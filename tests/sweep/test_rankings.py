"""Rankings by pairwise preferences, held against truths that are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.sweep.rankings import bradley_terry, next_pair
from tests.support.frames import types


@dataclass(frozen=True)
class Choice:
    winner: str
    loser: str
    tie: bool = False


def judged(
    strength: np.ndarray[Any, Any],
    comparisons: int,
    seed: int,
    ties: float = 0.0,
) -> list[Choice]:
    """Compare random pairs of items, by these strengths."""
    random = np.random.default_rng(seed)
    choices = []
    for _ in range(comparisons):
        one, other = random.choice(len(strength), 2, replace=False)
        is_won = random.random() < 1 / (1 + np.exp(strength[other] - strength[one]))
        first, second = (one, other) if is_won else (other, one)
        choices.append(Choice(f"i{first}", f"i{second}", random.random() < ties))
    return choices


def test_a_simulated_ranking_is_recovered() -> None:
    correlations = []
    for seed in range(25):
        truth = np.random.default_rng(100 + seed).normal(0.0, 1.0, 12)
        found = bradley_terry(judged(truth, 300, seed)).set_index("item")
        found = found.loc[[f"i{n}" for n in range(12)]]
        correlations.append(np.corrcoef(found["strength"], truth)[0, 1])

    assert np.median(correlations) > 0.93


def test_all_comparisons_are_counted_and_a_frame_ranks_as_a_list_does() -> None:
    choices = [Choice("b", "a"), Choice("b", "a"), Choice("a", "c"), Choice("c", "b")]
    choices.append(Choice("c", "a", tie=True))
    found: Any = bradley_terry(choices)

    assert list(found["item"]) == ["b", "c", "a"]
    assert found["strength"].is_monotonic_decreasing
    counts = found[["wins", "losses", "ties"]].to_numpy().tolist()
    assert counts == [[2, 1, 0], [1, 1, 1], [1, 2, 1]]
    rows = [(choice.winner, choice.loser, choice.tie) for choice in choices]
    frame = pd.DataFrame(rows, columns=["winner", "loser", "tie"])
    pd.testing.assert_frame_equal(bradley_terry(frame), found)
    assert bradley_terry(frame[["winner", "loser"]])["ties"].sum() == 0


def test_one_that_never_lost_has_a_finite_strength_and_a_wide_interval() -> None:
    found: Any = bradley_terry([Choice("best", "worst")] * 50).set_index("item")

    assert np.isfinite(found[["strength", "low", "high"]].to_numpy()).all()
    assert found.loc["best", "low"] > found.loc["worst", "high"]
    assert found.loc["best", "strength"] > 2
    assert found.loc["best", "high"] - found.loc["best", "low"] > 1


def test_items_that_no_comparison_connects_are_in_groups_of_their_own() -> None:
    chain = [Choice(f"a{n}", f"a{n + 1}") for n in range(30)]
    found: Any = bradley_terry([Choice("x", "y"), *chain, Choice("z", "y")])
    group: Any = found.set_index("item")["group"]

    assert group["x"] == group["y"] == group["z"] == 0
    assert {group[f"a{n}"] for n in range(31)} == {1}
    sums = found.groupby("group")["strength"].sum()
    assert np.allclose(sums, 0.0)
    # However strong its items are, a group is listed whole, after those before it.
    apart = bradley_terry([Choice("b", "a"), *[Choice("x", "y")] * 9])
    assert apart["item"].tolist() == ["b", "a", "x", "y"]


@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()).filter(
            lambda drawn: drawn[0] != drawn[1]
        ),
        max_size=40,
    )
)
def test_turning_every_comparison_round_turns_the_ranking_round(
    drawn: list[tuple[int, int, bool]],
) -> None:
    there = bradley_terry([Choice(f"i{a}", f"i{b}", tie) for a, b, tie in drawn])
    back = bradley_terry([Choice(f"i{b}", f"i{a}", tie) for a, b, tie in drawn])
    there, back = (found.set_index("item").sort_index() for found in (there, back))

    assert list(there.index) == list(back.index)
    assert np.allclose(there["strength"], -back["strength"], atol=1e-6)
    assert np.allclose(there["high"], -back["low"], atol=1e-6)
    assert there["wins"].tolist() == back["losses"].tolist()
    assert (there["low"] < there["high"]).all()


def test_an_item_against_itself_is_refused() -> None:
    with pytest.raises(InputError, match="two different items"):
        bradley_terry([Choice("a", "b"), Choice("c", "c")])


def test_a_ranking_has_the_same_types_without_a_comparison() -> None:
    with_rows, without = bradley_terry([Choice("a", "b")]), bradley_terry([])

    assert len(without) == 0
    pd.testing.assert_series_equal(with_rows.dtypes, without.dtypes)
    assert types(with_rows) == {
        "item": "str",
        **dict.fromkeys(["strength", "low", "high"], "float64"),
        **dict.fromkeys(["wins", "losses", "ties", "group"], "int64"),
    }


def test_the_most_informative_pair_is_asked_next_and_none_twice() -> None:
    assert next_pair([], ["a"]) is None
    asked: list[Choice] = []
    while (pair := next_pair(asked, ["a", "b", "c", "d"])) is not None:
        asked.append(Choice(min(pair), max(pair)))
        if len(asked) == 2:
            # Everything was seen once before anything is seen twice.
            assert {name for c in asked for name in (c.winner, c.loser)} == {*"abcd"}

    assert len({(each.winner, each.loser) for each in asked}) == len(asked) == 6
    # Of what is known well, the outcome that is open teaches more.
    known = [Choice("a", "c"), Choice("b", "c"), Choice("a", "d"), Choice("b", "d")]
    assert set(next_pair(known * 8, [*"abcd"]) or ()) in ({"a", "b"}, {"c", "d"})


def test_chosen_pairs_rank_as_well_with_fewer_answers_than_random_pairs() -> None:
    truth = np.random.default_rng(7).normal(0.0, 2.0, 10)
    names = [f"i{n}" for n in range(10)]

    def error(*, chooses: bool) -> float:
        luck = np.random.default_rng(11)
        pairs = [(names[a], names[b]) for a in range(10) for b in range(a)]
        luck.shuffle(pairs)
        asked: list[Choice] = []
        for pair in pairs[:20]:
            one, other = (chooses and next_pair(asked, names)) or pair
            wins = truth[int(one[1:])] > truth[int(other[1:])]
            asked.append(Choice(one, other) if wins else Choice(other, one))
        found: Any = bradley_terry(asked).set_index("item")["strength"]
        order = found.reindex(names, fill_value=0.0)
        return 1 - float(np.corrcoef(order.rank(), np.argsort(truth.argsort()))[0, 1])

    assert error(chooses=True) <= error(chooses=False)
