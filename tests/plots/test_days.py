from hypothesis import given
from hypothesis import strategies as st

from mediakit.plots import alt_text, spend_by_day, spend_by_day_frame
from tests.plots.drawn import legend, micro_usd, title
from tests.plots.made_frames import SOME_KINDS, categories, daily

AMOUNTS = st.lists(st.integers(-(10**12), 10**12), min_size=3, max_size=3)


def test_functions_are_shown_under_their_short_names():
    axes = spend_by_day(daily({"r1": [3_000_000], "keyframes": [1_000_000]}))
    assert legend(axes) == ["$1.00  keyframes", "$3.00  r1"]


def test_two_functions_of_one_kind_stay_apart_under_their_paths():
    frame = daily({"r1": [3_000_000], "keyframes": [1_000_000]})
    axes = spend_by_day(frame.assign(kind=categories(["r1", "r1"])))
    shown = ["$1.00  sandbox/keyframes-model", "$3.00  sandbox/r1-model"]
    assert legend(axes) == shown


def test_a_function_without_a_short_name_keeps_its_path():
    frame = daily({"r1": [3_000_000], "keyframes": [1_000_000]})
    axes = spend_by_day(frame.assign(kind=categories(["r1", None])))
    assert legend(axes) == ["$1.00  sandbox/keyframes-model", "$3.00  r1"]


def test_the_key_may_be_called_key():
    axes = spend_by_day(daily({"r1": [3_000_000]}), by="key")
    assert legend(axes) == ["$3.00  key_1"]
    assert list(axes.frame.columns) == ["day", "key", "charge_micro_usd"]


@given(st.dictionaries(st.sampled_from([*SOME_KINDS, *"abcdefgh"]), AMOUNTS))
def test_the_drawn_frame_sums_to_the_frame_exactly_each_day(amounts):
    frame = daily(amounts)
    drawn = spend_by_day_frame(frame)
    by_day = [sum(day) for day in zip(*amounts.values(), strict=True)]
    found = drawn.groupby("day")["charge_micro_usd"].sum().tolist()
    assert found == by_day
    assert drawn["charge_micro_usd"].dtype == "int64"
    assert str(drawn["day"].dtype) == "datetime64[us, UTC]"


def test_the_axes_carries_exactly_what_is_drawn():
    frame = daily({"r1": [3_000_000, 1, 0], "keyframes": [0, 2_000_000, 5]})
    axes = spend_by_day(frame)
    assert axes.frame.equals(spend_by_day_frame(frame))
    tops = [layer.get_paths()[0].vertices[:, 1].max() for layer in axes.collections]
    assert list(map(micro_usd, tops)) == [3_000_000, 3_000_000]
    r1, keyframes = (
        part["charge_micro_usd"].tolist()
        for _, part in axes.frame.groupby("function", observed=True)
    )
    assert (r1, keyframes) == ([3_000_000, 1, 0], [0, 2_000_000, 5])


def test_the_title_says_which_days():
    one = daily({"r1": [1]})
    assert title(spend_by_day(one)) == "Spend by day, 1 October 2026"
    many = daily({"r1": [1] * 93})
    assert title(spend_by_day(many)) == "Spend by day, 1 October 2026 to 1 January 2027"
    some = daily({"r1": [1] * 40})
    assert title(spend_by_day(some)) == "Spend by day, 1 October to 9 November 2026"


def test_the_plot_can_be_read_aloud():
    frame = daily({"r1": [3_000_000, 1_000_000], "keyframes": [0, 2_500_001]})
    assert alt_text(spend_by_day(frame)) == (
        "Spend by day, 1 to 2 October 2026: $6.500001 by function. r1 $4.00; "
        "keyframes $2.500001. Most on 2 October 2026: $3.500001."
    )
    assert spend_by_day_frame(frame.iloc[:0]).attrs["alt_text"] == "No spend."
