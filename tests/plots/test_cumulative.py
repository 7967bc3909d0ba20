from dataclasses import replace
from itertools import accumulate

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from mediakit.errors import InputError
from mediakit.plots import alt_text, cumulative
from tests.plots.drawn import legend, micro_usd, notes, said, title
from tests.plots.made_frames import daily, forecast
from tests.support.soak import trials

OCTOBER = 31
THREE_DAYS = daily({"r1": [3_000_000, 0, 1_000_000], "keyframes": [1, 2, 3]})
SPENT = [3_000_001, 3_000_003, 4_000_006]
AHEAD = [(5_000_000 + n, 4_500_000, 6_000_000 + 2 * n) for n in range(OCTOBER - 3)]


def known(drawn, column):
    return drawn[column].dropna().tolist()


def line(axes, label):
    (found,) = (each for each in axes.lines if each.get_label().startswith(label))
    return [micro_usd(y) for y in found.get_ydata()]


@settings(max_examples=trials(8, soak=30))
@given(
    st.lists(
        st.lists(st.integers(-(10**12), 10**12), min_size=OCTOBER, max_size=OCTOBER),
        min_size=1,
        max_size=3,
    )
)
def test_each_day_is_the_exact_sum_of_everything_up_to_it(amounts):
    plt.close("all")  # of the example before
    drawn = cumulative(daily(dict(zip("abc", amounts, strict=False)))).frame
    by_day = [sum(day) for day in zip(*amounts, strict=True)]
    assert drawn["spent_micro_usd"].tolist() == list(accumulate(by_day))
    assert drawn["spent_micro_usd"].dtype == "Int64"


def test_a_part_of_a_month_is_drawn_in_its_whole_month():
    drawn = cumulative(THREE_DAYS).frame
    assert len(drawn) == OCTOBER
    assert known(drawn, "spent_micro_usd") == SPENT
    assert str(drawn["day"].dtype) == "datetime64[us]"
    assert str(drawn["day"].iloc[-1].date()) == "2026-10-31"


def test_the_line_begins_at_nothing_and_a_sum_stands_at_its_days_end():
    axes = cumulative(THREE_DAYS)
    assert line(axes, "spent") == [0, *SPENT]
    (drawn,) = axes.lines
    days = [str(day)[:10] for day in drawn.get_xdata()]
    assert days == [f"2026-10-0{day}" for day in (1, 2, 3, 4)]


def test_today_is_the_last_day_where_the_frame_marks_days_as_incomplete():
    month = daily({"r1": [5] * 3 + [0] * 28}).assign(complete=[True] * 4 + [False] * 27)
    assert known(cumulative(month).frame, "spent_micro_usd") == [5, 10, 15, 15, 15]


def test_the_budget_is_a_line_and_may_be_an_amount_or_a_budget():
    axes = cumulative(THREE_DAYS)
    assert axes.get_legend() is None
    assert title(axes) == "October 2026: $4.00 spent"
    for budget in ("$200", 200):
        axes = cumulative(THREE_DAYS, budget)
        assert line(axes, "budget") == [200_000_000] * 2
        assert legend(axes) == ["spent $4.00", "budget $200.00"]
        assert title(axes) == "October 2026: $4.00 of $200.00 spent"
    assert known(axes.frame, "budget_micro_usd") == [200_000_000] * OCTOBER


def test_the_fan_opens_where_the_spend_ends():
    axes = cumulative(THREE_DAYS, forecast=forecast(SPENT, AHEAD))
    assert line(axes, "expected") == [SPENT[-1], *(expected for expected, *_ in AHEAD)]
    fan = axes.collections[0].get_paths()[0].vertices
    start, _ = axes.get_xlim()
    assert {micro_usd(y) for x, y in fan if x == start + 3} == {SPENT[-1]}
    top, bottom = fan[:, 1].max(), fan[fan[:, 0] == start + OCTOBER][:, 1].min()
    assert (micro_usd(bottom), micro_usd(top)) == AHEAD[-1][1:]
    assert legend(axes) == [
        "expected $5.00",
        "80%: $4.50 to $6.00",
        "spent $4.00",
    ]


def test_where_the_forecast_has_no_interval_the_picture_has_none():
    made = replace(forecast(SPENT, AHEAD), has_interval=False)
    axes = cumulative(THREE_DAYS, forecast=made)
    assert legend(axes) == ["expected $5.00", "spent $4.00"]
    assert "80%" not in alt_text(axes)
    assert len(axes.collections) == 1
    assert line(axes, "expected")[-1] == AHEAD[-1][0]
    assert known(axes.frame, "high_micro_usd") == []


@pytest.mark.parametrize("column", ["project", "api_key_id"])
def test_a_forecast_of_a_part_is_not_drawn_over_the_spend_of_all(column):
    made = replace(forecast(SPENT, AHEAD), **{column: "mine"})
    whole = THREE_DAYS.assign(**{column: ["mine", "other"] * 3})
    for frame in (whole, THREE_DAYS.drop(columns=column, errors="ignore")):
        with pytest.raises(InputError, match=f"only rows whose {column}"):
            cumulative(frame, forecast=made)
    mine = whole[whole[column] == "mine"]
    assert "expected $5.00" in legend(cumulative(mine, forecast=made))


def test_a_month_without_spend_but_with_a_forecast_has_its_days():
    made = forecast([0], [(2_000_000, 0, 3_000_000)] * 30)
    drawn = cumulative(THREE_DAYS.iloc[:0], "$10", made).frame
    assert known(drawn, "spent_micro_usd") == [0]
    assert len(drawn) == OCTOBER


def test_a_forecast_of_another_month_is_rejected_with_a_readable_message():
    november = forecast([1], [(1, 1, 1)] * 29, first=pd.Timestamp(2026, 11, 1), days=30)
    with pytest.raises(InputError) as refused:
        cumulative(THREE_DAYS, forecast=november)
    assert str(refused.value) == (
        "forecast must be a forecast of the days of the frame, "
        "1 to 3 October 2026 (got 'November 2026')."
    )


def test_without_spend_the_plot_says_so():
    assert said(cumulative(THREE_DAYS.iloc[:0])) == "No spend"
    nothing = daily({"r1": [0, 0]})
    axes = cumulative(nothing)
    assert said(axes) == "No spend, 1 to 2 October 2026"
    assert alt_text(axes) == "No spend, 1 to 2 October 2026."


def test_rows_without_a_charge_are_counted_in_a_note():
    frame = daily({"r1": [3_000_000, None]})
    axes = cumulative(frame)
    assert notes(axes) == ["1 row without a day or a charge not drawn"]


def test_the_plot_can_be_read_aloud():
    assert alt_text(cumulative(THREE_DAYS, "$200", forecast(SPENT, AHEAD))) == (
        "October 2026: $4.00 of $200.00 spent. $5.00 expected by 31 October 2026, "
        "80%: $4.50 to $6.00."
    )
