from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.plots import alt_text, cost_per_keeper, cost_per_keeper_frame
from tests.plots.drawn import bars, figure_of, notes, said, title
from tests.plots.made_frames import charge, charges
from tests.support.soak import trials

KEPT = charge("r1", 1_000_000, keep=True)
DROPPED = charge("r1", 2_500_000, keep=False)
UNRATED = charge("r1", 500_000)
OTHERS = [
    charge("r2", 3_000_000, keep=True),
    charge("r2", 3_000_000, keep=True),
    charge("keyframes", 70_000, keep=False),
]
ROW = st.tuples(
    st.sampled_from("abcdefghijkl"),
    st.integers(0, 10**12),
    st.sampled_from([True, False, None]),
)


def test_a_keeper_costs_what_all_jobs_were_charged_by_the_results_kept():
    axes = cost_per_keeper(charges(KEPT, DROPPED, UNRATED, *OTHERS))
    assert bars(axes) == [
        ("r2", 3_000_000, "$3.00  2 of 2 kept"),
        ("r1", 4_000_000, "$4.00  1 of 3 kept"),
        ("keyframes", 0, "none of 1 kept, $0.07"),
    ]
    assert title(axes) == "Cost per kept result, by function"


def test_jobs_that_nobody_rated_are_said():
    rated = charge("r1", 500_000, rating=4)
    axes = cost_per_keeper(charges(KEPT, UNRATED, rated))
    assert notes(axes) == ["1 of 3 jobs not rated"]
    assert notes(cost_per_keeper(charges(KEPT, rated))) == []
    frame = charges(KEPT, UNRATED).drop(columns="rating")
    assert notes(cost_per_keeper(frame)) == ["1 of 2 jobs not rated"]


def test_prompts_and_parameters_have_keepers_too():
    long = charge("r1", 1_000_000, keep=True, prompt=f"A fox\n{'in the snow ' * 9}")
    axes = cost_per_keeper(charges(KEPT, long), by="prompt")
    assert [name for name, *_ in bars(axes)] == [
        "A fox in the snow in the snow in the sn…",
        "A kite over dunes",
    ]
    frame = charges(KEPT, DROPPED).assign(duration=[5, None])
    names = [name for name, *_ in bars(cost_per_keeper(frame, by="duration"))]
    assert names == ["5.0", "not set"]


@settings(max_examples=trials(8, soak=100))
@given(st.lists(ROW, max_size=40))
def test_charges_and_counts_are_exact_and_the_cost_is_rounded_once(rows):
    frame = charges(*(charge(name, amount, keep=keep) for name, amount, keep in rows))
    drawn = cost_per_keeper_frame(frame)
    assert drawn["charge_micro_usd"].sum() == sum(amount for _, amount, _ in rows)
    assert drawn["jobs"].sum() == len(rows)
    assert drawn["kept"].sum() == sum(keep is True for *_, keep in rows)
    assert drawn["unrated"].sum() == sum(keep is None for *_, keep in rows)
    assert len(drawn) <= 9
    assert drawn["cost_micro_usd_per_keeper"].dtype == "Int64"
    for _, charged, _, kept, _, cost in drawn.itertuples(index=False):
        if not kept:
            assert cost is pd.NA
        else:
            assert abs(cost - Fraction(charged, kept)) <= Fraction(1, 2)


def test_the_cheapest_is_on_top_and_those_without_a_keeper_are_last():
    frame = charges(*OTHERS, KEPT)
    drawn = cost_per_keeper(frame).frame
    assert drawn["function"].tolist() == ["r1", "r2", "keyframes"]
    assert drawn.equals(cost_per_keeper_frame(frame))


def test_a_small_plot_says_less():
    axes = figure_of((5, 3)).subplots()
    (bar, *_) = bars(cost_per_keeper(charges(KEPT, UNRATED), ax=axes))
    assert bar == ("r1", 1_500_000, "$1.50  1 of 2")


def test_without_charges_the_plot_says_so():
    for by in ("function", "resolution"):
        assert said(cost_per_keeper(charges(), by=by)) == "No charges"


@pytest.mark.parametrize(
    ("frame", "by"),
    [
        (pd.DataFrame(), "function"),
        (charges(KEPT).drop(columns="keep"), "function"),
        (charges(KEPT).astype({"charge_micro_usd": "float64"}), "function"),
        (charges(KEPT), "resolution"),
        (3, "function"),
    ],
)
def test_what_is_no_frame_of_charges_is_refused_in_words(frame, by):
    with pytest.raises(InputError, match=r"frame must be .*a frame of charges"):
        cost_per_keeper(frame, by=by)


def test_the_plot_can_be_read_aloud():
    assert alt_text(cost_per_keeper(charges(KEPT, UNRATED))) == (
        "Cost per kept result, by function. r1 $1.50  1 of 2 kept. "
        "1 of 2 jobs not rated."
    )
