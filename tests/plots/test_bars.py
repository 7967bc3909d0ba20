"""Bars: shares of spend, changes from month to month, and the cost of a keeper."""

from fractions import Fraction

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from mediakit.plots import alt_text, changes, cost_per_keeper, share
from mediakit.plots.style import LIGHT
from tests.plots.drawn import bars, figure_of, notes, ticks, title
from tests.plots.made_frames import charge, charges, daily, monthly
from tests.support.soak import trials

NAMES = st.text("abcdefghijklmnop", min_size=1, max_size=2)
AMOUNTS = st.dictionaries(NAMES, st.integers(-(10**12), 10**12), max_size=20)
TWELVE = {f"f{n:02d}": n * 1_000_000 for n in range(1, 13)}

# -- shares -----------------------------------------------------------------------

FRAME = daily({"keyframes": [1_000_001, 0], "r1": [2_000_000, 4_000_000]})


def test_the_largest_is_on_top_with_its_sum_and_part():
    axes = share(FRAME)
    assert bars(axes) == [
        ("r1", 6_000_000, "$6.00  85.7%"),
        ("keyframes", 1_000_001, "$1.00  14.3%"),
    ]
    assert title(axes) == "Spend by function: $7.00"
    assert axes.yaxis_inverted()
    own = [LIGHT.functions[name] for name in ("r1", "keyframes")]
    assert [to_hex(bar.get_facecolor()) for bar in axes.patches] == own
    assert alt_text(axes) == (
        "Spend by function: $7.00. r1 $6.00  85.7%; keyframes $1.00  14.3%."
    )


@settings(max_examples=trials(8, soak=30))
@given(AMOUNTS)
def test_the_bars_sum_to_the_frame_exactly(amounts):
    plt.close("all")  # of the example before
    frame = daily({name: [amount] for name, amount in amounts.items()})
    drawn = share(frame).frame
    assert drawn["charge_micro_usd"].sum() == sum(amounts.values())
    assert drawn["charge_micro_usd"].dtype == "int64"
    assert len(drawn) == min(len(amounts), 9)


def test_of_twelve_eight_have_a_bar_and_the_rest_is_other_at_the_end():
    drawn = bars(share(daily({name: [amount] for name, amount in TWELVE.items()})))
    assert [name for name, *_ in drawn] == [*[*TWELVE][:3:-1], "other (4)"]
    assert drawn[-1][1] == 10_000_000


def test_with_a_credit_there_are_no_parts_of_the_whole():
    axes = share(daily({"r1": [3_000_000], "credit": [-1_000_000]}))
    assert bars(axes) == [
        ("r1", 3_000_000, "$3.00"),
        ("credit", -1_000_000, "-$1.00"),
    ]
    assert axes.get_xlim()[0] < -1


def test_rows_without_a_charge_or_a_name_are_counted_in_a_note():
    frame = daily({"r1": [3_000_000, None]}).drop(columns="kind")
    axes = share(frame.assign(project=[None, "a"]), by="project")
    assert [name for name, *_ in bars(axes)] == ["no project"]
    assert notes(axes) == ["1 row without a charge not drawn"]


# -- changes ----------------------------------------------------------------------

BEFORE = monthly("2026-09", r1=80_000_000, keyframes=9_000_000, r2=4_000_000, r3=5)
AFTER = monthly("2026-10", r1=93_400_001, keyframes=7_000_000, r5=1_000_000, r3=5)


def test_differences_go_from_more_to_less_in_two_colours():
    axes = changes(BEFORE, AFTER)
    assert bars(axes) == [
        ("r1", 13_400_001, "+$13.40  +16.8%"),
        ("r5", 1_000_000, "+$1.00  new"),
        ("keyframes", -2_000_000, "-$2.00  -22.2%"),
        ("r2", -4_000_000, "-$4.00  stopped"),
    ]
    assert title(axes) == "October 2026 against September 2026: +$8.40"
    assert notes(axes) == ["1 unchanged, not drawn"]
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert alt_text(axes).endswith(
        "+$8.40. " + "; ".join(f"{name} {says}" for name, _, says in bars(axes)) + "."
    )


@settings(max_examples=trials(8, soak=30))
@given(AMOUNTS, AMOUNTS)
def test_the_differences_sum_to_the_difference_of_the_months_exactly(before, after):
    plt.close("all")  # of the example before
    drawn = changes(monthly("2026-09", **before), monthly("2026-10", **after)).frame
    total = sum(after.values()) - sum(before.values())
    assert drawn["difference_micro_usd"].sum() == total
    assert drawn["difference_micro_usd"].dtype == "int64"
    sides = drawn["after_micro_usd"] - drawn["before_micro_usd"]
    assert (sides == drawn["difference_micro_usd"]).all()
    own = drawn["difference_micro_usd"].tolist()[:8]
    assert own == sorted(own, reverse=True)
    assert len(drawn) <= 9


def test_the_days_of_two_months_can_be_compared_too():
    before, after = daily({"r1": [5, 6]}), daily({"r1": [5, None, 9]})
    axes = changes(before, after)
    assert title(axes) == "Against the month before: +$0.000003"
    assert bars(axes)[0][1] == 3
    assert notes(axes) == ["1 row without a charge not drawn"]


# -- the cost of a keeper ---------------------------------------------------------

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
        ("keyframes", 0, "$0.07, none of 1 kept"),
    ]
    assert title(axes) == "Cost per kept result, by function"
    assert notes(axes) == ["1 of 6 jobs not rated"]
    assert alt_text(axes) == (
        "Cost per kept result, by function. r2 $3.00  2 of 2 kept; r1 $4.00  1 of 3 "
        "kept; keyframes $0.07, none of 1 kept. 1 of 6 jobs not rated."
    )


def test_a_rated_job_counts_as_judged_without_a_decision_to_keep_it():
    rated = charge("r1", 500_000, rating=4)
    assert notes(cost_per_keeper(charges(KEPT, rated))) == []
    frame = charges(KEPT, UNRATED).drop(columns="rating")
    assert notes(cost_per_keeper(frame)) == ["1 of 2 jobs not rated"]


def test_failed_jobs_at_no_charge_are_counted_in_a_note_and_not_drawn():
    failed = charge("r1", 0, keep=None, status="failed")
    axes = cost_per_keeper(charges({**KEPT, "status": "completed"}, failed))
    assert notes(axes) == ["1 failed job at no charge not drawn"]


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


@settings(max_examples=trials(8, soak=30))
@given(st.lists(ROW, max_size=40))
def test_charges_and_counts_are_exact_and_the_cost_is_rounded_once(rows):
    plt.close("all")  # of the example before
    frame = charges(*(charge(name, amount, keep=keep) for name, amount, keep in rows))
    drawn = cost_per_keeper(frame).frame
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


def test_a_small_plot_says_less():
    axes = figure_of((5, 3)).subplots()
    (bar, *_) = bars(cost_per_keeper(charges(KEPT, UNRATED), ax=axes))
    assert bar == ("r1", 1_500_000, "$1.50  1 of 2")


def test_without_a_keeper_the_axis_has_amounts_that_people_pay():
    axes = cost_per_keeper(charges(charge(keep=False), charge(keep=False)))
    assert ticks(axes.xaxis)[:3] == ["$0.00", "$0.50", "$1.00"]
