import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.plots import alt_text, changes, changes_frame
from tests.plots.drawn import bars, notes, said, title
from tests.plots.made_frames import daily, monthly
from tests.support.soak import trials

BEFORE = monthly("2026-09", r1=80_000_000, keyframes=9_000_000, r2=4_000_000, r3=5)
AFTER = monthly("2026-10", r1=93_400_001, keyframes=7_000_000, r5=1_000_000, r3=5)
AMOUNTS = st.dictionaries(
    st.text("abcdefghijklmnop", min_size=1, max_size=2),
    st.integers(-(10**12), 10**12),
    max_size=20,
)


def test_differences_go_from_more_to_less():
    axes = changes(BEFORE, AFTER)
    assert bars(axes) == [
        ("r1", 13_400_001, "+$13.400001  +16.8 %"),
        ("r5", 1_000_000, "+$1.00  new"),
        ("keyframes", -2_000_000, "-$2.00  -22.2 %"),
        ("r2", -4_000_000, "-$4.00  stopped"),
    ]
    assert title(axes) == "October 2026 against September 2026: +$8.400001"


def test_more_and_less_have_two_colours():
    colours = [bar.get_facecolor() for bar in changes(BEFORE, AFTER).patches]
    assert colours[0] == colours[1]
    assert colours[2] == colours[3]
    assert colours[1] != colours[2]


def test_what_did_not_change_is_counted_and_not_drawn():
    assert notes(changes(BEFORE, AFTER)) == ["1 without a change not drawn"]


@settings(max_examples=trials(8, soak=100))
@given(AMOUNTS, AMOUNTS)
def test_the_differences_sum_to_the_difference_of_the_months_exactly(before, after):
    drawn = changes_frame(monthly("2026-09", **before), monthly("2026-10", **after))
    total = sum(after.values()) - sum(before.values())
    assert drawn["difference_micro_usd"].sum() == total
    assert drawn["difference_micro_usd"].dtype == "int64"
    sides = drawn["after_micro_usd"] - drawn["before_micro_usd"]
    assert (sides == drawn["difference_micro_usd"]).all()
    own = drawn["difference_micro_usd"].tolist()[:8]
    assert own == sorted(own, reverse=True)
    assert len(drawn) <= 9


def test_those_that_changed_least_are_gathered_at_the_end():
    after = {f"f{n:02d}": n * 1_000_000 for n in range(1, 13)}
    drawn = bars(changes(BEFORE.iloc[:0], monthly("2026-10", **after)))
    assert drawn[0][:2] == ("f12", 12_000_000)
    assert drawn[-1][:2] == ("other (4)", 10_000_000)


def test_a_month_that_is_not_known_is_not_made_up():
    frames = (frame.drop(columns="month") for frame in (BEFORE, AFTER))
    assert title(changes(*frames)) == "Against the month before: +$8.400001"


def test_the_month_of_an_empty_report_is_the_one_asked_for():
    nothing = BEFORE.iloc[:0].copy()
    nothing.attrs = {"report": {"month": "2026-09"}}
    found = title(changes(nothing, AFTER))
    assert found == "October 2026 against September 2026: +$101.400006"


def test_rows_without_a_charge_are_said():
    after = AFTER.astype({"charge_micro_usd": "Int64"})
    after.loc[0, "charge_micro_usd"] = pd.NA
    axes = changes(BEFORE, after)
    assert notes(axes)[-1] == "1 row without a charge not drawn"


def test_where_nothing_changed_the_plot_says_so():
    assert said(changes(BEFORE, BEFORE)) == "Nothing changed"
    assert said(changes(BEFORE.iloc[:0], BEFORE.iloc[:0])) == "Nothing changed"


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        (pd.DataFrame(), AFTER, "monthly_before"),
        (BEFORE, pd.DataFrame(), "monthly_after"),
        (BEFORE, AFTER.astype({"charge_micro_usd": "float64"}), "monthly_after"),
        (None, AFTER, "monthly_before"),
    ],
)
def test_what_is_no_monthly_frame_is_refused_in_words(before, after, field):
    with pytest.raises(InputError, match="must be a monthly spend frame") as refused:
        changes(before, after)
    assert refused.value.field == field


def test_the_days_of_two_months_can_be_compared_too():
    before, after = daily({"r1": [5, 6]}), daily({"r1": [5, 9]})
    assert bars(changes(before, after))[0][1] == 3


def test_the_plot_can_be_read_aloud_and_its_frame_is_what_is_drawn():
    after = monthly("2026-10", r1=93_400_000)
    axes = changes(monthly("2026-09", r1=80_000_000), after)
    assert alt_text(axes) == (
        "October 2026 against September 2026: +$13.40. r1 +$13.40  +16.8 %."
    )
    assert axes.frame.equals(changes_frame(monthly("2026-09", r1=80_000_000), after))
