import subprocess
import sys
from datetime import date, timedelta
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.plots import COLOURS, day_labels, spend_by_day
from mediakit.plots.stack import daily_stack
from mediakit.spend import daily_frame

mpl.use("Agg")

FIRST = date(2026, 10, 1)


@pytest.fixture(autouse=True)
def _close_figures():
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


def row(day=0, charge_micro_usd=1_000_000, function="text-to-video", **fields):
    return {
        "date": str(FIRST + timedelta(days=day)),
        "function": function,
        "model": f"sandbox/{function}",
        "charge_micro_usd": charge_micro_usd,
        **fields,
    }


def stack(frame, by="function", most_names=8):
    return daily_stack(frame, by, most_names=most_names)


def answer(*rows, start="2026-10-01", end="2026-10-31"):
    total = sum(row["charge_micro_usd"] for row in rows)
    around = {"start_date": start, "end_date": end, "total_micro_usd": total}
    return daily_frame({**around, "rows": list(rows)})


def layers(axes):
    """The corners of each filled layer, in data units."""
    return [layer.get_paths()[0].vertices for layer in axes.collections]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def ticks(axis):
    axis.figure.draw_without_rendering()
    return [label.get_text() for label in axis.get_ticklabels()]


# -- what is summed ---------------------------------------------------------------


def test_days_without_spend_are_zero_and_not_left_out():
    summed = stack(daily_frame([row(0), row(4, 5)]))
    assert summed.days == [FIRST + timedelta(days=n) for n in range(5)]
    assert summed.micro_usd.tolist() == [[1_000_000, 0, 0, 0, 5]]


def test_the_days_that_were_asked_for_are_all_there():
    summed = stack(answer(row(13)))
    assert (summed.days[0], summed.days[-1]) == (FIRST, date(2026, 10, 31))
    assert summed.total_micro_usd == 1_000_000


def test_a_selection_of_an_answer_does_not_call_the_days_it_left_out_free():
    frame = answer(row(3), row(5), row(20))
    summed = stack(frame[frame["day"] < "2026-10-10"])
    assert (summed.days[0], summed.days[-1]) == (date(2026, 10, 4), date(2026, 10, 6))


def test_days_that_were_asked_for_in_unknown_words_are_not_used():
    assert len(stack(answer(row(), start="lately", end="now")).days) == 1


def test_the_largest_come_first_and_equals_in_the_order_of_their_names():
    rows = [row(0, amount, name) for name, amount in [("b", 1), ("c", 9), ("a", 1)]]
    assert stack(daily_frame(rows)).names == ("c", "a", "b")


@given(
    spent=st.lists(
        st.tuples(
            st.integers(0, 40), st.sampled_from("abcdefghijkl"), st.integers(0, 10**15)
        ),
        min_size=1,
    )
)
def test_gathering_the_rest_as_other_keeps_the_exact_sum_of_every_day(spent):
    summed = stack(daily_frame([row(day, amount, name) for day, name, amount in spent]))
    first = min(day for day, _, _ in spent)
    by_day = [0] * (max(day for day, _, _ in spent) - first + 1)
    for day, _, amount in spent:
        by_day[day - first] += amount
    assert summed.micro_usd.sum(axis=0).tolist() == by_day
    assert len(summed.names) == min(len({name for _, name, _ in spent}), 9)


def test_twelve_functions_are_eight_and_the_rest():
    rows = [row(0, 100 - n, f"f{n:02d}") for n in range(12)]
    summed = stack(daily_frame(rows))
    assert summed.names[:8] == tuple(f"f{n:02d}" for n in range(8))
    assert summed.names[8] == "other (4)"
    assert summed.micro_usd[8].tolist() == [92 + 91 + 90 + 89]


def test_a_day_is_not_moved_by_the_zone_of_its_column():
    frame = daily_frame([row(0)])
    frame["day"] = frame["day"].dt.tz_localize(None).dt.tz_localize("Pacific/Auckland")
    assert stack(frame).days == [FIRST]


def test_rows_without_a_day_or_a_charge_are_counted_and_not_drawn_as_zero():
    frame = daily_frame([row(), row(date="?"), row(charge_micro_usd=None)])
    assert stack(frame).left_out == 2
    label = spend_by_day(frame).get_xlabel()
    assert label == "day in UTC\n2 rows without a day or a charge not drawn"


def test_spend_without_a_name_is_shown_as_not_named():
    assert stack(daily_frame([row(function=None)])).names == ("not named",)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        daily_frame([row()]).drop(columns="function"),
        daily_frame([row()]).astype({"day": "str"}),
        daily_frame([row()]).astype({"charge_micro_usd": "float64"}),
    ],
)
def test_a_frame_that_is_no_daily_spend_is_refused_in_words(frame):
    with pytest.raises(InputError, match=r"frame must be .*a daily spend frame"):
        spend_by_day(frame)


# -- what is drawn ----------------------------------------------------------------


def test_it_draws_on_the_axes_it_is_given_and_returns_them():
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    assert spend_by_day(daily_frame([row()]), ax=right) is right
    assert not left.collections
    assert right.collections
    assert plt.get_fignums() == [figure.number]


def test_one_day_is_a_bar_of_that_day_with_room_beside_it():
    axes = spend_by_day(daily_frame([row()]))
    (corners,) = layers(axes)
    day = (FIRST - date(1970, 1, 1)).days
    filled = corners[corners[:, 1] > 0]
    assert (filled[:, 0].min(), filled[:, 0].max()) == (day + 0.1, day + 0.9)
    assert corners[:, 1].max() == 1.0
    left, right = axes.get_xlim()
    assert right - left >= 7
    assert ticks(axes.xaxis) == ["1 Oct\n2026"]
    assert axes.get_xticks().tolist() == [day + 0.5]


def test_layers_are_stacked_and_days_between_are_at_zero():
    frame = daily_frame(
        [row(0, 3_000_000, "a"), row(0, 1_000_000, "b"), row(2, 5, "b")]
    )
    lower, upper = layers(spend_by_day(frame))
    day = (FIRST - date(1970, 1, 1)).days
    assert height_at(lower, day + 0.5) == (0.0, 3.0)
    assert height_at(upper, day + 0.5) == (3.0, 4.0)
    assert height_at(upper, day + 1.5) == (0.0, 0.0)
    assert height_at(upper, day + 2.5) == (0.0, 0.000005)


def height_at(corners, x):
    """Where an upright line at `x` enters and leaves a layer."""
    crossed = [
        float(a[1])
        for a, b in pairwise(corners)
        if min(a[0], b[0]) < x < max(a[0], b[0])
    ]
    return min(crossed), max(crossed)


def test_a_year_of_twelve_functions_is_nine_layers_with_months_underneath():
    amounts = [10_000 * (n + 1) for n in range(12)]
    days = range(365)
    rows = [row(day, amount, f"f{amount}") for day in days for amount in amounts]
    axes = spend_by_day(daily_frame(rows))
    assert len(axes.collections) == 9
    last = (FIRST - date(1970, 1, 1)).days + 364
    top = sum(amounts) / 1_000_000
    assert height_at(layers(axes)[-1], last + 0.5)[1] == pytest.approx(top)
    assert ticks(axes.xaxis) == [
        "Oct\n2026",
        *("Nov", "Dec"),
        "Jan\n2027",
        *("Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep"),
    ]


def test_credits_are_stacked_below_zero():
    axes = spend_by_day(daily_frame([row(0, 3_000_000), row(0, -1_000_000, "credit")]))
    assert min(corners[:, 1].min() for corners in layers(axes)) == -1.0
    assert max(corners[:, 1].max() for corners in layers(axes)) == 3.0
    assert axes.get_ylim()[0] < -1
    assert legend(axes) == ["-$1.00  credit", "$3.00  text-to-video"]


def test_the_legend_tells_exact_sums_from_the_top_down_beside_the_plot():
    frame = daily_frame([row(0, 1_020_000), row(1, 340_001, "keyframes"), row(2)])
    axes = spend_by_day(frame)
    assert legend(axes) == ["$0.340001  keyframes", "$2.020000  text-to-video"]
    assert axes.get_legend().get_title().get_text() == "$2.360001 by function"
    assert axes.get_legend().get_bbox_to_anchor().x0 >= axes.get_window_extent().x1


def test_spend_can_be_stacked_by_another_column():
    axes = spend_by_day(daily_frame([row()]), by="model")
    assert legend(axes) == ["$1.00  sandbox/text-to-video"]
    assert axes.get_legend().get_title().get_text() == "$1.00 by model"


@pytest.mark.parametrize("name", ["a $x$ b", "_hidden", "\\frac{", "x" * 300])
def test_a_name_from_outside_is_text_and_nothing_else(name):
    axes = spend_by_day(daily_frame([row(function=name)]))
    axes.figure.draw_without_rendering()
    (label,) = legend(axes)
    assert label == f"$1.00  {name}" or label == f"$1.00  …{'x' * 39}"


@pytest.mark.parametrize(
    ("charge_micro_usd", "labels"),
    [
        (3, ["$0.000000", "$0.000002", "$0.000004", "$0.000006", "$0.000008"]),
        (340_000, ["$0.00", "$0.10", "$0.20", "$0.30"]),
        (12_000, ["$0.0000", "$0.0025", "$0.0050", "$0.0075", "$0.0100", "$0.0125"]),
        (5_000_000_000, ["$0.00", "$1,000.00", "$2,000.00", "$3,000.00"]),
    ],
)
def test_the_axis_writes_dollars_exactly_and_alike(charge_micro_usd, labels):
    axes = spend_by_day(daily_frame([row(0, charge_micro_usd)]))
    assert ticks(axes.yaxis)[: len(labels)] == labels
    assert axes.get_ylabel() == "USD per day"
    assert axes.get_ylim()[0] == 0


def test_the_day_axis_ignores_a_zone_that_matplotlib_was_set_to():
    with mpl.rc_context({"timezone": "America/Los_Angeles"}):
        assert ticks(spend_by_day(daily_frame([row()])).xaxis) == ["1 Oct\n2026"]


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (daily_frame([]), "No spend"),
        (answer(), "No spend from 1 October 2026 to 31 October 2026"),
        (answer(start="2026-10-01", end="2026-10-01"), "No spend on 1 October 2026"),
        (daily_frame([row(0, 0)]), "No spend on 1 October 2026"),
        (
            daily_frame([row(charge_micro_usd=None)]),
            "No spend\n1 row without a day or a charge not drawn",
        ),
    ],
)
def test_without_spend_the_axes_say_so_in_words(frame, text):
    axes = spend_by_day(frame)
    assert [each.get_text() for each in axes.texts] == [text]
    assert axes.get_legend() is None
    axes.figure.draw_without_rendering()


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 31, 62, 63, 90, 365, 366, 1500])
def test_never_more_labels_than_fit(count):
    labels = day_labels([FIRST + timedelta(days=n) for n in range(count)])
    assert 1 <= len(labels) <= 13
    assert next(iter(labels.values())).endswith("\n2026")


def test_the_last_day_is_written_because_it_is_mostly_today():
    labels = day_labels([FIRST + timedelta(days=n) for n in range(31)])
    assert next(iter(labels.values())) == "3 Oct\n2026"
    assert list(labels.values())[-1] == "31 Oct"


def test_every_new_year_is_written_once():
    labels = day_labels([date(2026, 12, 30) + timedelta(days=n) for n in range(4)])
    assert list(labels.values()) == ["30 Dec\n2026", "31 Dec", "1 Jan\n2027", "2 Jan"]


def test_the_colours_differ_with_the_common_colour_blindnesses():
    """By simulated deuteranopia and protanopia (Viénot 1999), in CIE Lab."""
    for cones in (DEUTERANOPIA, PROTANOPIA):
        seen = [lab(np.clip(cones @ linear(colour), 0, 1)) for colour in COLOURS]
        distances = [
            float(np.linalg.norm(a - b))
            for place, a in enumerate(seen)
            for b in seen[:place]
        ]
        assert min(distances) > 8


DEUTERANOPIA = np.array(
    [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]
)
PROTANOPIA = np.array(
    [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]
)


def linear(colour):
    rgb = np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(to_xyz @ rgb / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_importing_plots_loads_neither_matplotlib_nor_pandas():
    script = """
import sys
import mediakit.plots
print(sorted({"pandas", "numpy", "matplotlib"} & set(sys.modules)))
"""
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"
