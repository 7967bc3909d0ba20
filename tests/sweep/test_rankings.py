"""Statistics of results, held against truths that are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.sweep.comparison import compare, compare_sweeps
from mediakit.sweep.rankings import (
    bradley_terry,
    cost_of_keeper,
    next_pair,
    pareto,
)
from tests.support.frames import TEXT, types
from tests.support.rows import assert_each
from tests.support.soak import trials

SIMULATED = trials(20, soak=150)
NO_FLOAT_HOLDS_IT = 2**53 + 1
COLUMNS: dict[str, tuple[Any, Any]] = {
    "take": ("int64", 1),
    "status": (TEXT, "completed"),
    "charge_micro_usd": ("Int64", None),
    "runtime_s": ("float64", None),
    "rating": ("Int8", None),
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


def test_a_simulated_ranking_is_recovered_and_its_intervals_hold_the_truth() -> None:
    covered, correlations = [], []
    for seed in range(25):
        truth = np.random.default_rng(100 + seed).normal(0.0, 1.0, 12)
        found = bradley_terry(judged(truth, 300, seed)).set_index("item")
        found = found.loc[[f"i{n}" for n in range(12)]]
        centred = truth - truth.mean()
        covered += list((found["low"] <= centred) & (centred <= found["high"]))
        correlations.append(np.corrcoef(found["strength"], centred)[0, 1])

    assert np.median(correlations) > 0.93
    assert 0.84 < np.mean(covered) < 0.97


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


@settings(max_examples=trials(8, soak=100))
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


def test_nine_intervals_in_ten_hold_the_true_cost() -> None:
    random = np.random.default_rng(7)
    held = []
    for _ in range(trials(40, soak=150)):
        kept = random.random(60) < 0.3
        charges = np.where(random.random(60) < 0.1, 0, 340_000)
        frame = results(
            cell(int(c), keep=bool(k)) for c, k in zip(charges, kept, strict=True)
        )
        found = cost_of_keeper(frame).iloc[0]
        truth = 0.9 * 340_000 / 0.3
        held.append(bool(found["low"] <= truth <= found["high"]))

    assert 0.82 < np.mean(held) < 0.97


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


# -- differences ----------------------------------------------------------------------


def rated(
    seed: int,
    *,
    better: float = 0.0,
    values: int = 2,
    prompts: int = 20,
    takes: int = 1,
    interaction: float = 0.0,
) -> pd.DataFrame:
    """Let somebody rate a sweep in whole stars.

    Args:
        seed: Of the chance in it.
        better: Stars by which each value of the axis is better than the one before.
        values: Of the axis `resolution`.
        prompts: Of the other axis; they differ by 0.7 stars or so.
        takes: Draws of each cell, whose seeds the cells of a take share.
        interaction: Stars by which a value suits some prompts more than others.
    """
    random = np.random.default_rng(seed)
    of_prompt = random.normal(0, 0.7, prompts)
    of_pair = random.normal(0, interaction, (prompts, values))
    of_seed = random.normal(0, 0.5, (prompts, takes))
    rows = []
    for prompt, level, take in product(range(prompts), range(values), range(takes)):
        stars = 3 + of_prompt[prompt] + of_pair[prompt, level] + of_seed[prompt, take]
        stars += better * level + random.normal(0, 0.5)
        names = {"resolution": f"r{level}", "prompt": f"p{prompt}"}
        rating = int(np.clip(round(stars), 1, 5))
        rows.append(cell(340_000, **names, take=take + 1, rating=rating))
    return results(rows, "resolution", "prompt")


def told_share(runs: int, **chances: Any) -> float:
    """Return how often a comparison tells a difference from chance."""
    frames = (rated(seed, **chances) for seed in range(runs))
    told = [
        (compare(frame, "resolution").frame["verdict"] == "exceeds").any()
        for frame in frames
    ]
    return float(np.mean(told))


@pytest.mark.parametrize(
    "chances",
    [
        {"takes": 1},
        *(
            pytest.param(chances, marks=pytest.mark.soak)
            for chances in (
                {"takes": 2},
                {"takes": 1, "interaction": 0.5},
                {"takes": 2, "interaction": 0.5},
                {"takes": 2, "values": 5},
                {"prompts": 1, "takes": 8},
            )
        ),
    ],
    ids=str,
)
def test_without_a_true_difference_a_winner_is_named_once_in_twenty_times(
    chances: dict[str, Any],
) -> None:
    # Of 150 runs at 5%, 99 in 100 have at most 14 false alarms.
    assert told_share(trials(40, soak=150), **chances) <= 0.1


def test_twenty_prompts_with_one_take_tell_a_difference_of_most_of_a_star() -> None:
    assert told_share(trials(20, soak=50), better=0.8) > 0.9
    assert told_share(trials(20, soak=50), better=0.8, interaction=0.5, takes=2) > 0.8


def styles(
    column: str, prompts: Sequence[str], **values: Sequence[float]
) -> pd.DataFrame:
    """Return one cell for each style and prompt, with these values of a column."""
    rows = [
        cell(200_000, style=style, prompt=prompt) | {column: value}
        for style, its in values.items()
        for prompt, value in zip(prompts, its, strict=True)
    ]
    return results(rows, "style", "prompt")


PROMPTS = [f"p{n}" for n in range(20)]
TAKES = [
    cell(1, style=style, take=take, rating=stars)
    for style, ratings in (("720p", (2, 3, 2, 3)), ("1080p", (4, 5, 4, 5)))
    for take, stars in enumerate(ratings, 1)
]
ZIPPED = [
    cell(1, style=style, prompt=f"a kite in {style}", take=take, rating=3)
    for style in ("ink", "oil", "chalk")
    for take in (1, 2)
]
# A column, a frame, the verdicts, and what the text begins with.
COMPARED: list[tuple[str, pd.DataFrame, list[str], str]] = [
    (
        "rating",
        styles("rating", PROMPTS, ink=[2, 3] * 10, oil=[3, 4] * 10),
        ["exceeds"],
        "Over 20 prompts, oil is 1.0 stars higher than ink (0.81 stars to 1.2 stars): "
        "more than chance explains.",
    ),
    # A standard deviation of 0.577 stars takes about 10.5 pairs to tell 0.5 stars.
    (
        "rating",
        styles("rating", PROMPTS[:4], ink=[3, 4, 2, 4], oil=[4, 4, 2, 5]),
        ["within"],
        "Over 4 prompts, oil is 0.5 stars higher than ink, possibly by chance. "
        "About 7 more prompts would settle it, for about $2.80.",
    ),
    (
        "rating",
        styles("rating", PROMPTS[:4], ink=[1, 1, 1, 1], oil=[4, 3, 3, 1]),
        ["within"],
        "Over 4 prompts, oil is 1.8 stars higher than ink, possibly by chance. "
        "About one more would settle it",
    ),
    (
        "rating",
        results(TAKES, "style"),
        ["exceeds"],
        "Over 4 takes, 1080p is 2.0 stars higher than 720p",
    ),
    (
        "rating",
        styles("rating", PROMPTS[:1], ink=[2], oil=[5]),
        ["unknown"],
        "ink and oil differ by 3.0 stars in one pair, which says nothing about others",
    ),
    (
        "rating",
        results(ZIPPED, "style", "prompt"),
        ["unknown"] * 3,
        "The values of style cannot be compared: no cells with a rating share all "
        "other settings.",
    ),
    # Equal differences of whole stars vary at least as rounding does.
    (
        "rating",
        styles("rating", PROMPTS[:2], ink=[3, 3], oil=[4, 4]),
        ["within"],
        "Over 2 prompts, oil is 1.0 stars higher than ink, possibly by chance.",
    ),
    (
        "runtime_s",
        styles("runtime_s", PROMPTS[:4], ink=[61, 62, 63, 64], oil=[91, 92, 94, 94]),
        ["exceeds"],
        "Over 4 prompts, oil is 30.2 s higher than ink",
    ),
    (
        "charge_micro_usd",
        styles("charge_micro_usd", PROMPTS[:4], ink=[10**5] * 4, oil=[250_000] * 4),
        ["exceeds"],
        "Over 4 prompts, oil is $0.15 higher than ink",
    ),
]


def test_a_comparison_says_what_its_pairs_show() -> None:
    def check(row: tuple[str, pd.DataFrame, list[str], str]) -> None:
        value, frame, verdicts, text = row
        found: Any = compare(frame, "style", value)
        assert found.frame["verdict"].tolist() == verdicts
        assert found.text.startswith(text)
        is_told = found.frame["verdict"] == "exceeds"
        more = found.frame.loc[is_told, ["more_pairs", "more_micro_usd"]]
        assert more.isna().all(axis=None)
        is_unknown = found.frame["verdict"] == "unknown"
        unknown = found.frame.loc[is_unknown, ["low", "high", "p"]]
        assert unknown.isna().all(axis=None)
        assert repr(found).split() == found.text.split()
        assert max(map(len, repr(found).splitlines())) <= 88

    assert_each(COMPARED, check)


def test_p_values_are_those_of_printed_tables_and_corrected_after_holm() -> None:
    two = styles("runtime_s", PROMPTS[:3], a=[0, 10, 20], b=[1, 12, 23])
    seconds: dict[str, Sequence[float]] = {
        "a": [0.0, 10, 20],
        "b": [1, 12, 23],
        "c": [0, 10, 20.1],
    }
    three = styles("runtime_s", PROMPTS[:3], **seconds)

    # Two degrees of freedom: t is 3.46 for a and b, 1 for a and c, 3.58 for b and c.
    found = compare(two, "style", "runtime_s").frame["p"]
    assert found.tolist() == [pytest.approx(0.0742, abs=1e-4)]
    smallest = pytest.approx(3 * 0.0698, abs=3e-4)
    found = compare(three, "style", "runtime_s").frame["p"]
    assert found.tolist() == [smallest, pytest.approx(0.4226, abs=1e-4), smallest]


def test_two_sweeps_are_compared_over_what_both_have() -> None:
    def version(prompt: str, stars: int) -> pd.DataFrame:
        rows = [
            cell(1, prompt=prompt, subject=f"s{n}", rating=stars + n % 2)
            for n in range(8)
        ]
        return results(rows, "prompt", "subject")

    first, second = version("a {subject}", 2), version("one {subject}, close", 3)
    found: Any = compare_sweeps(first, second, by="subject")

    assert found.frame.loc[0, ["first", "second"]].tolist() == ["before", "after"]
    assert (found.frame["pairs"][0], found.frame["difference"][0]) == (8, 1)
    assert "after is 1.0 stars higher than before" in found.text
    same: Any = compare_sweeps(first, first, by="subject")
    assert same.text == "Over 8 pairs that share all else, before and after are equal."
    with pytest.raises(InputError, match="colour"):
        compare_sweeps(first, second, by="colour")


def test_many_values_are_summed_up_and_the_largest_differences_named() -> None:
    some = compare(rated(2, better=0.8, values=6), "resolution")
    none = compare(rated(2, values=4), "resolution")

    told = int((some.frame["verdict"] == "exceeds").sum())
    assert told > 5
    assert some.text.startswith(f"{told} of the 15 differences between values")
    assert "r5 is" in some.text.split(". ")[1]

    assert none.text.startswith("None of the 6 differences between values of")


def test_cells_without_a_value_and_repairs_are_left_out_and_counted() -> None:
    frame = rated(3)
    frame.loc[[0, 7], "rating"] = pd.NA
    fix = frame.iloc[[1]].assign(
        parent_job_id=frame["job_id"][1], job_id="fix", rating=5
    )
    found: Any = compare(pd.concat([frame, fix], ignore_index=True), "resolution")

    assert found.text.endswith("2 cells without a rating are left out.")
    assert found.frame["pairs"].tolist() == [18]
    pd.testing.assert_frame_equal(found.frame, compare(frame, "resolution").frame)


def test_a_comparison_of_nothing_has_its_types_and_says_so() -> None:
    frame = rated(1)
    found: Any = compare(frame[frame["resolution"] == "r0"], "resolution")
    whole = compare(frame, "resolution")

    assert len(found.frame) == 0
    assert "fewer than two values of resolution have a rating" in found.text
    pd.testing.assert_series_equal(found.frame.dtypes, whole.frame.dtypes)


@pytest.mark.parametrize(
    ("axis", "value", "words"),
    [
        ("colour", "rating", "one of resolution, prompt"),
        ("take", "rating", "one of resolution, prompt"),
        ("resolution", "sharpness", "a column of numbers"),
        ("resolution", "status", "a column of numbers"),
        ("prompt", "rating", "prompt with 101 values"),
    ],
)
def test_what_cannot_be_compared_is_refused(axis: str, value: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        compare(rated(1, prompts=101), axis, value)
