import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.plots import alt_text, estimates
from tests.plots.drawn import figure_of, legend, micro_usd, notes, said, title
from tests.plots.made_frames import charge, charges
from tests.support.soak import trials

EXACT = charge("r1", 1_210_000, 1_210_000, 1_210_000)
NOMINAL = charge("r2", 130_000, 100_000, 100_000, estimate_kind="nominal")
BOUND = charge("r5", 400_000, 200_000, 900_000, estimate_kind="upper_bound")
FREE = charge("r6", 0, 0, 0)
UNKNOWN = charge("r4", 500_000, None, None, estimate_kind="unknown")
OPEN = charge("r4", 500_000, 100_000, None, estimate_kind="upper_bound")
MONEY = st.integers(0, 10**12)


def points(axes, label):
    """The estimates and charges that are drawn of what a legend's line begins with."""
    (found,) = (each for each in axes.lines if each.get_label().startswith(label))
    return [
        (micro_usd(x), micro_usd(y))
        for x, y in zip(found.get_xdata(), found.get_ydata(), strict=True)
    ]


def test_a_job_stands_at_its_estimate_and_its_charge():
    axes = estimates(charges(EXACT, NOMINAL, BOUND))
    assert points(axes, "exact") == [(1_210_000, 1_210_000)]
    assert points(axes, "nominal") == [(100_000, 130_000)]
    assert points(axes, "upper bound") == [(900_000, 400_000)]


def test_the_legend_counts_jobs_and_says_by_how_much_they_missed():
    axes = estimates(charges(EXACT, EXACT, NOMINAL, BOUND))
    assert legend(axes) == [
        "charge = estimate",
        "exact: 2 jobs, as estimated",
        "nominal: 1 job, +$0.03",
        "upper bound: 1 job, -$0.50",
    ]
    assert title(axes) == "Charge against estimate: -$0.47"


def test_of_twelve_functions_eight_have_a_colour_and_the_rest_is_other():
    rows = [charge(f"f{n:02d}", 10 + n) for n in range(12) for _ in range(20 - n)]
    drawn = estimates(charges(*rows), by="function").frame
    counts = drawn["function"].value_counts(sort=False)
    assert counts.index.tolist() == [*(f"f{n:02d}" for n in range(8)), "other (4)"]
    assert counts["other (4)"] == 12 + 11 + 10 + 9


def test_free_jobs_are_drawn_at_zero():
    axes = estimates(charges(EXACT, FREE, charge("r1", 0, 1_000_000, 1_000_000)))
    assert (0, 0) in points(axes, "exact")
    assert (1_000_000, 0) in points(axes, "exact")
    low, _ = axes.get_ylim()
    assert low < 0
    assert next(text.get_text() for text in axes.get_yticklabels()) == "$0.00"
    axes.figure.draw_without_rendering()


def test_jobs_without_an_upper_estimate_are_counted_in_a_note_and_not_drawn():
    axes = estimates(charges(EXACT, UNKNOWN, OPEN))
    assert len(axes.frame) == 1
    assert notes(axes) == ["2 rows without an estimate or a charge not drawn"]


@pytest.mark.parametrize(
    "size", [(5, 3), pytest.param((9, 3.6), marks=pytest.mark.soak)]
)
@settings(max_examples=trials(8, soak=100))
@given(st.lists(st.tuples(MONEY, MONEY, MONEY), min_size=1, max_size=5))
def test_every_job_is_inside_and_its_amounts_are_exact(size, amounts):
    frame = charges(*(charge("r1", each, *sorted(bounds)) for each, *bounds in amounts))
    axes = estimates(frame, ax=figure_of(size).subplots())
    low, high = axes.get_xlim()
    drawn = points(axes, "exact")
    assert all(low < x / 1e6 < high and low < y / 1e6 < high for x, y in drawn)
    assert axes.frame["charge_micro_usd"].tolist() == [each for each, *_ in amounts]
    differences = [each - max(bounds) for each, *bounds in amounts]
    assert axes.frame["variance_micro_usd"].tolist() == differences
    ticks = axes.get_xticks()
    assert 1 <= len(ticks) <= 11
    assert all(low <= tick <= high for tick in ticks)


def test_the_frame_is_what_is_drawn():
    frame = charges(EXACT, UNKNOWN, BOUND)
    drawn = estimates(frame).frame
    assert list(drawn.columns) == [
        *("job_id", "estimate_kind", "estimate_low_micro_usd"),
        *("estimate_high_micro_usd", "charge_micro_usd", "variance_micro_usd"),
    ]
    assert {str(drawn[name].dtype) for name in drawn.columns[2:]} == {"int64"}
    assert drawn["job_id"].tolist() == [EXACT["job_id"], BOUND["job_id"]]


def test_without_estimates_the_plot_says_so():
    assert said(estimates(charges(UNKNOWN))) == (
        "No charges with an estimate\n1 row without an estimate or a charge not drawn"
    )


def test_the_plot_can_be_read_aloud():
    assert alt_text(estimates(charges(EXACT, NOMINAL))) == (
        "Charge against estimate: +$0.03. 2 jobs were charged $1.34. "
        "exact 1 job, as estimated; nominal 1 job, +$0.03."
    )
