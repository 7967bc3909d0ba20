"""Spend by day: its sums, and their drawing."""

from datetime import date, timedelta
from itertools import pairwise

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from mediakit.plots import alt_text, spend_by_day
from mediakit.spend import daily_frame
from tests.plots.drawn import legend, notes, said, ticks, title
from tests.plots.made_frames import categories, daily
from tests.support.soak import trials

FIRST = date(2026, 10, 1)
FIRST_NUMBER = (FIRST - date(1970, 1, 1)).days


def row(day=0, charge_micro_usd=1_000_000, function="text-to-video", **fields):
    return {
        "date": str(FIRST + timedelta(days=day)),
        "function": function,
        "model": f"the model of {function}",
        "charge_micro_usd": charge_micro_usd,
        **fields,
    }


def answer(*rows, start="2026-10-01", end="2026-10-31"):
    total = sum(row["charge_micro_usd"] for row in rows)
    around = {"start_date": start, "end_date": end, "total_micro_usd": total}
    return daily_frame({**around, "rows": list(rows)})


def sums(frame, **options):
    """The drawn names of a frame, and their daily sums."""
    axes = spend_by_day(frame, **options)
    table = axes.frame.pivot_table(
        index="day",
        columns=options.get("by", "function"),
        values="charge_micro_usd",
        aggfunc="sum",
        observed=False,
    )
    return table.astype("int64")


def height_at(layer, day):
    """Where an upright line through a day enters and leaves a layer."""
    corners, x = layer.get_paths()[0].vertices, FIRST_NUMBER + day
    crossed = [
        float(a[1])
        for a, b in pairwise(corners)
        if min(a[0], b[0]) < x < max(a[0], b[0])
    ]
    return min(crossed), max(crossed)


# -- what is summed ---------------------------------------------------------------


@settings(max_examples=trials(8, soak=30))
@given(
    spent=st.lists(
        st.tuples(
            st.integers(0, 40),
            st.sampled_from("abcdefghijkl"),
            st.integers(-(10**12), 10**12),
        ),
        min_size=1,
    )
)
def test_the_rest_is_gathered_and_each_day_sums_exactly(spent):
    plt.close("all")  # of the example before
    frame = daily_frame([row(day, amount, name) for day, name, amount in spent])
    drawn = spend_by_day(frame).frame
    first = min(day for day, _, _ in spent)
    by_day = [0] * (max(day for day, _, _ in spent) - first + 1)
    for day, _, amount in spent:
        by_day[day - first] += amount
    assert drawn.groupby("day")["charge_micro_usd"].sum().tolist() == by_day
    names = len({name for _, name, _ in spent})
    assert len(drawn["function"].cat.categories) == min(names, 9)
    assert drawn["charge_micro_usd"].dtype == "int64"
    assert str(drawn["day"].dtype) == "datetime64[us]"


def test_the_largest_come_first_and_the_ninth_is_the_rest():
    rows = [row(0, 100 - n, f"f{n:02d}") for n in range(12)]
    table = sums(daily_frame(rows))
    assert list(table) == [*(f"f{n:02d}" for n in range(8)), "other (4)"]
    assert table["other (4)"].tolist() == [92 + 91 + 90 + 89]
    equal = [row(0, amount, name) for name, amount in [("b", 1), ("c", 9), ("a", 1)]]
    assert list(sums(daily_frame(equal))) == ["c", "a", "b"]


def test_days_left_out_of_a_frame_are_not_drawn_as_free():
    frame = answer(row(3), row(5), row(20))
    table = sums(frame[frame["day"] < "2026-10-10"])
    assert [str(day.date()) for day in table.index[[0, -1]]] == [
        *("2026-10-04", "2026-10-06")
    ]


def test_a_day_is_not_moved_by_the_zone_of_its_column():
    frame = daily_frame([row(0)])
    frame["day"] = frame["day"].dt.tz_localize("Pacific/Auckland")
    assert str(sums(frame).index[0].date()) == str(FIRST)


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        (["r1", "keyframes"], ["r1", "keyframes"]),
        (["r1", None], ["r1", "sandbox/keyframes-model"]),
        (["r1", "r1"], ["r1 sandbox/r1-model", "r1 sandbox/keyframes-model"]),
    ],
)
def test_a_function_has_its_short_name_unless_two_share_it(kinds, names):
    frame = daily({"r1": [3_000_000], "keyframes": [1_000_000]})
    assert list(sums(frame.assign(kind=categories(kinds)))) == names


def test_a_row_without_a_function_says_so():
    assert list(sums(daily_frame([row(function=None)]))) == ["no function"]


def test_rows_without_a_day_or_a_charge_are_counted_in_a_note_and_not_drawn():
    frame = daily_frame([row(), row(date="?"), row(charge_micro_usd=None)])
    axes = spend_by_day(frame)
    assert notes(axes) == ["2 rows without a day or a charge not drawn"]
    assert axes.get_xlabel().startswith("day in UTC")


# -- what is drawn ----------------------------------------------------------------


def test_layers_are_stacked_and_days_between_are_at_zero():
    frame = daily_frame(
        [row(0, 3_000_000, "a"), row(0, 1_000_000, "b"), row(2, 5, "b")]
    )
    lower, upper = spend_by_day(frame).collections
    assert height_at(lower, 0) == (0.0, 3.0)
    assert height_at(upper, 0) == (3.0, 4.0)
    assert height_at(upper, 1) == (0.0, 0.0)
    assert height_at(upper, 2) == (0.0, 0.000005)


def test_a_year_of_twelve_functions_is_nine_layers_with_months_underneath():
    amounts = [10_000 * (n + 1) for n in range(12)]
    rows = [row(day, amount, f"f{amount}") for day in range(365) for amount in amounts]
    axes = spend_by_day(daily_frame(rows))
    assert len(axes.collections) == 9
    # A year is drawn by week, and nothing is lost in the first and the last one.
    top = height_at(axes.collections[-1], 100)[1]
    assert top == pytest.approx(7 * sum(amounts) / 1_000_000)
    assert axes.frame["charge_micro_usd"].sum() == 365 * sum(amounts)
    assert set(axes.frame["day"].dt.day_name()) == {"Monday"}
    assert title(axes).startswith("Spend by week, 1 October 2026 to")
    assert {"Nov", "Jan 2027", "Sep"} <= {*ticks(axes.xaxis)}


def test_the_days_of_a_month_are_numbers_behind_the_month_and_the_year_stands_once():
    axes = spend_by_day(answer(row()))
    labels = [label for label in ticks(axes.xaxis) if label]
    assert labels[0] == "1 Oct"
    assert [*map(int, labels[1:])] == sorted(map(int, labels[1:]))
    axes.figure.canvas.draw()
    assert axes.xaxis.get_offset_text().get_text() == "2026"


def test_the_day_axis_ignores_a_zone_that_matplotlib_was_set_to():
    with mpl.rc_context({"timezone": "America/Los_Angeles"}):
        axes = spend_by_day(daily_frame([row()]))
        shown = dict(zip(axes.get_xticks(), ticks(axes.xaxis), strict=True))
    assert shown[FIRST_NUMBER] == "1 Oct"


def test_few_days_are_the_only_ones_on_the_axis():
    axes = spend_by_day(daily_frame([row(0), row(1)]))
    labels = [each.get_text() for each in axes.get_xticklabels()]
    assert labels == ["1 Oct", "2"]


def test_credits_are_stacked_below_zero():
    axes = spend_by_day(daily_frame([row(0, 3_000_000), row(0, -1_000_000, "credit")]))
    up, down = axes.collections
    assert (height_at(up, 0), height_at(down, 0)) == ((0.0, 3.0), (-1.0, 0.0))
    assert axes.get_ylim()[0] < -1
    assert legend(axes) == ["credit  -$1.00", "text-to-video  $3.00"]


def test_the_legend_has_sums_in_cents_from_the_top_down_beside_the_plot():
    frame = daily_frame([row(0, 1_020_000), row(1, 340_001, "keyframes"), row(2)])
    axes = spend_by_day(frame)
    assert legend(axes) == ["keyframes  $0.34", "text-to-video  $2.02"]
    assert axes.get_legend().get_title().get_text() == "$2.36 by function"
    assert axes.get_legend().get_bbox_to_anchor().x0 >= axes.get_window_extent().x1


@pytest.mark.parametrize(
    ("charge_micro_usd", "labels"),
    [
        (3, ["$0.000000", "$0.000002", "$0.000004"]),
        (340_000, ["$0.00", "$0.10", "$0.20", "$0.30"]),
        (5_000_000_000, ["$0", "$1,000", "$2,000", "$3,000"]),
    ],
)
def test_the_axis_writes_round_dollars_alike(charge_micro_usd, labels):
    axes = spend_by_day(daily_frame([row(0, charge_micro_usd)]))
    assert ticks(axes.yaxis)[: len(labels)] == labels
    assert axes.get_ylabel() == "USD per day"
    assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (daily_frame([]), "No spend"),
        (answer(), "No spend, 1 to 31 October 2026"),
        (answer(end="2026-10-01"), "No spend on 1 October 2026"),
        (daily_frame([row(0, 0)]), "No spend on 1 October 2026"),
        (
            daily_frame([row(charge_micro_usd=None)]),
            "No spend\n1 row without a day or a charge not drawn",
        ),
    ],
)
def test_without_spend_the_axes_say_so_in_words(frame, text):
    axes = spend_by_day(frame)
    assert said(axes) == text
    assert axes.get_legend() is None
    axes.figure.draw_without_rendering()


def test_the_plot_can_be_read_aloud():
    frame = daily({"r1": [3_000_000, 1_000_000], "keyframes": [0, 2_500_001]})
    assert alt_text(spend_by_day(frame)) == (
        "Spend by day, 1 to 2 October 2026: $6.50 by function. r1 $4.00; "
        "keyframes $2.50. Most on 2 October 2026: $3.50."
    )
    assert alt_text(spend_by_day(frame.iloc[:0])) == "No spend."
