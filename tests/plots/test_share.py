import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.plots import alt_text, share, share_frame
from mediakit.plots.style import COLOURS
from tests.plots.drawn import bars, notes, said, title
from tests.plots.made_frames import charge, charges, daily, monthly

FRAME = daily({"keyframes": [1_000_001, 0], "r1": [2_000_000, 4_000_000]})


def test_the_largest_is_on_top_with_its_exact_sum_and_part():
    axes = share(FRAME)
    assert bars(axes) == [
        ("r1", 6_000_000, "$6.000000  85.7 %"),
        ("keyframes", 1_000_001, "$1.000001  14.3 %"),
    ]
    assert title(axes) == "Spend by function: $7.000001"
    low, high = axes.get_ylim()
    assert low > high  # the first is at the top


@given(
    st.dictionaries(
        st.text("abcdefghijklmnop", min_size=1, max_size=3),
        st.integers(-(10**12), 10**12),
        max_size=20,
    )
)
def test_the_bars_sum_to_the_frame_exactly(amounts):
    drawn = share_frame(daily({name: [amount] for name, amount in amounts.items()}))
    assert drawn["charge_micro_usd"].sum() == sum(amounts.values())
    assert drawn["charge_micro_usd"].dtype == "int64"
    assert len(drawn) == min(len(amounts), 9)


def test_of_twelve_eight_have_a_bar_and_the_rest_is_other_at_the_end():
    frame = daily({f"f{n:02d}": [10_000_000 * (n + 1)] for n in range(12)})
    drawn = bars(share(frame))
    assert [name for name, *_ in drawn] == [
        *(f"f{n:02d}" for n in range(11, 3, -1)),
        "other (4)",
    ]
    assert drawn[-1][1] == 100_000_000


def test_a_function_has_the_colour_that_it_has_by_day():
    from matplotlib.colors import to_hex

    colours = [to_hex(bar.get_facecolor()) for bar in share(FRAME).patches]
    assert colours == list(COLOURS[:2])


@pytest.mark.parametrize(
    ("frame", "by"),
    [
        (monthly("2026-10", r1=5, keyframes=3), "function"),
        (charges(charge("r1", 5), charge("keyframes", 3)), "kind"),
        (daily({"r1": [5], "keyframes": [3]}), "key"),
    ],
)
def test_any_spend_frame_has_shares(frame, by):
    assert sum(length for _, length, _ in bars(share(frame, by=by))) == 8


def test_with_a_credit_there_are_no_parts_of_the_whole():
    axes = share(daily({"r1": [3_000_000], "credit": [-1_000_000]}))
    assert bars(axes) == [
        ("r1", 3_000_000, "$3.00"),
        ("credit", -1_000_000, "-$1.00"),
    ]
    assert axes.get_xlim()[0] < -1


def test_rows_without_a_charge_or_a_name_are_said():
    frame = daily({"r1": [3_000_000, None]}).drop(columns="kind")
    axes = share(frame.assign(project=[None, "a"]), by="project")
    assert [name for name, *_ in bars(axes)] == ["not named"]
    assert notes(axes) == ["1 row without a charge not drawn"]


@pytest.mark.parametrize(
    "name", ["a $x$ b $y$", "_hidden", "\\frac{", "two\nlines", "日本語 🎬", "x" * 300]
)
def test_a_name_from_outside_is_text_and_nothing_else(name):
    frame = FRAME.iloc[:1].assign(project=name)
    ((shown, *_),) = bars(share(frame, by="project"))
    assert len(shown) <= 40
    assert "\n" not in shown
    if name.isascii() and len(name) < 40:
        assert shown == " ".join(name.split())


def test_without_spend_the_plot_says_so():
    for frame in (FRAME.iloc[:0], daily({"r1": [0]})):
        axes = share(frame)
        assert said(axes) == "No spend"
        assert alt_text(axes) == "No spend."


@pytest.mark.parametrize(
    ("frame", "by"),
    [
        (pd.DataFrame(), "function"),
        (FRAME, "project"),
        (FRAME.astype({"charge_micro_usd": "float64"}), "function"),
        ([1, 2], "function"),
    ],
)
def test_a_frame_that_has_no_charges_by_it_is_refused_in_words(frame, by):
    with pytest.raises(InputError, match=f"frame must be .*a spend frame: .* and {by}"):
        share(frame, by=by)


def test_the_plot_can_be_read_aloud_and_its_frame_is_what_is_drawn():
    axes = share(FRAME)
    assert alt_text(axes) == (
        "Spend by function: $7.000001. r1 $6.00  85.7 %; keyframes $1.000001  14.3 %."
    )
    assert axes.frame.equals(share_frame(FRAME))


@pytest.mark.parametrize(
    ("functions", "kinds", "names"),
    [
        (["reference-to-video"] * 2, ["r1", "r2"], ["r1", "r2"]),
        (["a/b/c", "d/e/c"], ["r1", "r1"], ["a/b/c", "d/e/c"]),
        (["reference-to-video", "c"], ["r1", None], ["r1", "c"]),
        (["c", "c"], ["r1", None], ["r1", "c"]),
        (["c", "c", "d"], ["r1", "r2", "r1"], ["d", "r1 c", "r2"]),
    ],
)
def test_functions_and_kinds_that_share_a_name_stay_apart(functions, kinds, names):
    frame = pd.DataFrame(
        {"function": functions, "kind": kinds, "charge_micro_usd": [1] * len(kinds)}
    )
    assert sorted(share_frame(frame)["function"]) == sorted(names)
