"""Statistics of results, held against truths that are known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.sweep.rankings import (
    bradley_terry,
    cost_of_keeper,
    next_pair,
    pareto,
)
from tests.support.frames import TEXT, types
from tests.support.soak import trials

SIMULATED = trials(20, soak=150)
NO_FLOAT_HOLDS_IT = 2**53 + 1
COLUMNS: dict[str, tuple[Any, Any]] = {
    "take": ("int64", 1),
    "status": (TEXT, "completed"),
    "charge_micro_usd": ("Int64", None),
    "runtime_s": ("float64", None),
    "rating": ("Int64", None),
    "keep": ("boolean", None),
    "job_id": (TEXT, None),
    "parent_job_id": (TEXT, None),
}


@dataclass(frozen=True)
class Choice:
    winner: str
    loser: str
    tie: bool = False


def results(rows: Iterable[dict[str, Any]], *axes: str) -> pd.DataFrame:
    """Return a frame as results give it; a row without a job id gets one."""
    numbered = [{"job_id": f"media_{n}", **row} for n, row in enumerate(rows)]
    columns: dict[str, Any] = {
        axis: pd.Categorical([row[axis] for row in numbered]) for axis in axes
    }
    for name, (dtype, default) in COLUMNS.items():
        values = [row.get(name, default) for row in numbered]
        columns[name] = pd.array(values, dtype=dtype)
    return pd.DataFrame(columns)


def cell(charge: int | None, **more: Any) -> dict[str, Any]:
    return {"charge_micro_usd": charge, **more}


# -- ranking --------------------------------------------------------------------------


def judged(
    strength: np.ndarray[Any, Any],
    comparisons: int,
    seed: int,
    ties: float = 0.0,
) -> list[Choice]:
    """Let a judge with these strengths in mind compare items at random."""
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


def test_the_pair_that_teaches_most_is_asked_next_and_none_twice() -> None:
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


def test_fewer_answers_rank_as_well_as_pairs_in_any_order() -> None:
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


# -- the cost of a keeper -------------------------------------------------------------


def test_what_a_keeper_cost_is_all_that_was_spent_for_each_that_was_kept() -> None:
    rows = [
        cell(340_000, resolution="720p", keep=True),
        cell(340_000, resolution="720p", keep=False),
        cell(0, resolution="720p", status="failed"),
        cell(750_000, resolution="1080p"),
        cell(None, resolution="1080p", status="running"),
        cell(None, resolution="1080p", status="unsent", job_id=None),
    ]
    found: Any = cost_of_keeper(results(rows, "resolution"), by="resolution")

    assert found["resolution"].tolist() == ["720p", "1080p"]
    assert found["cells"].tolist() == [3, 2]
    assert found["unsettled"].tolist() == [0, 1]
    assert found["charged_micro_usd"].tolist() == [680_000, 750_000]
    assert found["kept"].tolist() == [1, 0]
    assert found["cost_micro_usd_per_keeper"].tolist() == [680_000, pd.NA]
    assert found["high"].isna().all()
    whole = cost_of_keeper(results(rows, "resolution"))
    assert whole["charged_micro_usd"].tolist() == [1_430_000]
    assert whole["cost_micro_usd_per_keeper"].tolist() == [1_430_000]


def test_repairs_belong_to_the_cell_that_they_repair_however_deep() -> None:
    rows = [
        cell(340_000, prompt="a", job_id="first"),
        cell(30_000, prompt=None, job_id="fix", parent_job_id="first", keep=False),
        cell(30_000, prompt=None, job_id="again", parent_job_id="fix", keep=True),
        cell(340_000, prompt="b", job_id="second", keep=True),
        cell(70_000, prompt="b", job_id="third", parent_job_id="not here"),
    ]
    rows = [rows[2], *rows[:2], *rows[3:]]  # a child may come before its parent
    found: Any = cost_of_keeper(results(rows, "prompt"), by="prompt").set_index(
        "prompt"
    )

    assert found.loc["a", "charged_micro_usd"] == 400_000
    assert found.loc["a", ["cells", "kept"]].tolist() == [1, 1]
    assert found.loc["b", "charged_micro_usd"] == 410_000
    assert found.loc["b", ["cells", "kept"]].tolist() == [2, 1]
    assert len(found) == 2


def test_a_job_in_two_frames_put_together_is_counted_once() -> None:
    frame = results([cell(340_000, keep=True), cell(340_000)])
    found: Any = cost_of_keeper(pd.concat([frame, frame]))

    assert found["charged_micro_usd"].tolist() == [680_000]
    assert found["kept"].tolist() == [1]


def test_money_is_exact_beyond_what_a_float_can_hold() -> None:
    found: Any = cost_of_keeper(results([cell(NO_FLOAT_HOLDS_IT, keep=True), cell(0)]))

    assert found["charged_micro_usd"].tolist() == [NO_FLOAT_HOLDS_IT]
    assert found["cost_micro_usd_per_keeper"].tolist() == [NO_FLOAT_HOLDS_IT]
    rows = [cell(NO_FLOAT_HOLDS_IT, keep=True) for _ in range(8)]
    same: Any = cost_of_keeper(results(rows))
    assert same.loc[0, ["low", "high"]].tolist() == [NO_FLOAT_HOLDS_IT] * 2


@settings(max_examples=trials(8, soak=40))
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(0, 10**9),
            st.none() | st.booleans(),
            st.sampled_from("xyz"),
            st.integers(0, 20),
        ),
        max_size=25,
    )
)
def test_the_parts_of_every_axis_sum_to_the_whole(
    drawn: list[tuple[int | None, bool | None, str, int]],
) -> None:
    rows = [
        cell(charge, keep=keep, prompt=prompt, parent_job_id=f"media_{parent}")
        if parent < number
        else cell(charge, keep=keep, prompt=prompt)
        for number, (charge, keep, prompt, parent) in enumerate(drawn)
    ]
    frame = results(rows, "prompt")
    before = frame.copy()
    whole, parts = cost_of_keeper(frame), cost_of_keeper(frame, by="prompt")

    for name in ("cells", "unsettled", "charged_micro_usd", "kept"):
        assert whole[name].sum() == parts[name].sum()
    assert whole["charged_micro_usd"][0] == sum(row[0] or 0 for row in drawn)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_series_equal(whole.dtypes, parts.dtypes.drop("prompt"))
    known = parts.dropna(subset=["low", "high"])
    assert (known["low"] <= known["high"]).all()


def test_one_keeper_in_few_cells_has_no_upper_end_and_the_seed_decides() -> None:
    frame = results([cell(340_000, keep=n == 0) for n in range(8)])
    found: Any = cost_of_keeper(frame, seed=1)

    assert found["high"].isna().all()
    assert found["low"][0] < found["cost_micro_usd_per_keeper"][0] == 2_720_000
    pd.testing.assert_frame_equal(found, cost_of_keeper(frame, seed=1))


def test_several_axes_give_a_row_for_each_of_their_combinations() -> None:
    both = product(["720p", "1080p"], ["a", "b", "c"], [1, 2])
    rows = [cell(1, resolution=r, prompt=p, take=t) for r, p, t in both]
    found: Any = cost_of_keeper(
        results(rows, "resolution", "prompt"), by=["prompt", "resolution"]
    )

    assert list(found.columns[:2]) == ["prompt", "resolution"]
    assert found["cells"].tolist() == [2] * 6
    with pytest.raises(InputError, match="one of resolution, prompt, take"):
        cost_of_keeper(results(rows, "resolution", "prompt"), by="colour")


# -- rating against charge ------------------------------------------------------------


def test_only_what_nothing_beats_is_on_the_front() -> None:
    points: dict[str, Any] = {
        "cheap": (100, [2, 3]),
        "beaten": (300, [2, 2]),
        "dear": (900, [5, 5]),
        "equal": (900, [5, 5]),
        "unrated": (50, [None, None]),
    }
    rows = [
        cell(charge, prompt=name, rating=rating, take=take)
        for name, (charge, ratings) in points.items()
        for take, rating in enumerate(ratings, 1)
    ]
    rows.append(cell(None, prompt="unsettled", rating=5))
    found: Any = pareto(results(rows, "prompt")).set_index("prompt")

    assert found["on_front"].to_dict() == {
        "cheap": True,
        "beaten": False,
        "dear": True,
        "equal": True,
        "unrated": False,
        "unsettled": False,
    }
    assert found.loc["cheap", "rating"] == 2.5
    assert found.loc["cheap", "charge_micro_usd"] == 100
    assert found.loc["unsettled", "charge_micro_usd"] is pd.NA
    assert found.loc["unrated", "rated"] == 0


def test_a_mean_charge_has_the_repairs_and_leaves_failed_cells_out() -> None:
    rows = [
        cell(300, resolution="720p", prompt="a", job_id="one", rating=2),
        cell(30, resolution=None, prompt=None, parent_job_id="one", rating=4),
        cell(301, resolution="720p", prompt="b", rating=5),
        cell(0, resolution="720p", prompt="c", status="failed"),
    ]
    frame = results(rows, "resolution", "prompt")
    [point] = pareto(frame, by="resolution").to_dict("records")

    assert point["charge_micro_usd"] == 316  # 631 / 2, rounded half up
    assert point["rating"] == 4.5
    assert point["cells"] == 2
    assert len(pareto(frame)) == 2


@given(
    st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(1, 5)), max_size=12)
)
def test_the_front_is_all_that_is_rated_and_that_no_other_beats(
    drawn: list[tuple[int, int | None]],
) -> None:
    rows = [
        cell(charge, prompt=f"p{n}", rating=rating)
        for n, (charge, rating) in enumerate(drawn)
    ]
    found: Any = pareto(results(rows, "prompt"), by="prompt")

    for on_front, (charge, rating) in zip(found["on_front"], drawn, strict=True):
        beaten = any(
            r is not None
            and rating is not None
            and (r >= rating and c <= charge)
            and (r, c) != (rating, charge)
            for c, r in drawn
        )
        assert on_front == (rating is not None and not beaten)
