"""Pictures of a sweep: ratings by two axes, differences, rankings, and the frontier."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from mediakit.plots import alt_text, forest, frontier, heatmap, ranking
from mediakit.plots.style import percent
from mediakit.sweep.comparison import compare
from mediakit.sweep.costs import pareto
from mediakit.sweep.rankings import bradley_terry
from tests.plots.drawn import figure_of, legend, notes, ticks, title


def results(*rows):
    """A frame of results: prompt, resolution, rating and charge of each job."""
    names = ["prompt", "resolution", "rating", "charge_micro_usd"]
    frame = pd.DataFrame(rows, columns=names).astype({"rating": "Int64"})
    frame.insert(2, "take", 1)
    frame["keep"] = (frame["rating"] >= 4).where(frame["rating"].notna())
    return frame.assign(job_id=[f"media_{n}" for n in range(len(frame))])


ROWS = [
    ("a gull", "720p", 4, 300_000),
    ("a gull", "720p", 5, 300_000),
    ("a gull", "1080p", 3, 500_000),
    ("a heron", "1080p", None, 500_000),
    ("a heron", "480p", 1, 100_000),
]
RESULTS = results(*ROWS)


def cells(axes):
    return [text.get_text() for text in axes.texts]


# -- heatmap ----------------------------------------------------------------------


def test_a_cell_has_its_mean_and_count_and_an_empty_one_is_visible():
    axes = heatmap(RESULTS, "resolution", "prompt")
    empty = "\N{EN DASH}"
    assert cells(axes) == [
        *(empty, "4.5\nn=2", "3.0\nn=1"),
        *("1.0\nn=1", empty, "no value\n(1)"),
    ]
    assert [patch.get_hatch() for patch in axes.patches] == ["///"] * 3
    assert title(axes) == "Mean rating by prompt and resolution"
    assert alt_text(axes) == (
        "Mean rating by prompt and resolution. 4 results in 3 of 6 cells. Highest for "
        "a gull and 720p: 4.5."
    )


def test_sizes_and_numbers_are_in_order_and_texts_as_they_appear():
    axes = heatmap(RESULTS, "resolution", "prompt")
    assert ticks(axes.xaxis) == ["480p", "720p", "1080p"]
    assert ticks(axes.yaxis) == ["a gull", "a heron"]
    assert axes.yaxis_inverted()
    by_number = heatmap(RESULTS.assign(cfg=[9, 7, 11, 7, 9]), "cfg", "prompt")
    assert ticks(by_number.xaxis) == ["7", "9", "11"]
    k = RESULTS.assign(resolution=["4k", "720p", "2k", "1080p", "2k"])
    assert ticks(heatmap(k, "resolution", "prompt").xaxis) == [
        *("720p", "1080p", "2k", "4k")
    ]


def test_the_drawn_means_are_those_of_pandas():
    frame = heatmap(RESULTS, "resolution", "prompt").frame
    table = RESULTS.astype({"rating": "float64"}).pivot_table(
        "rating", "prompt", "resolution"
    )
    known = frame.dropna().set_index(["prompt", "resolution"])["mean"]
    assert {k: known[k] for k in known.index} == table.stack().dropna().to_dict()
    assert frame["count"].sum() == 4
    assert frame["rows"].sum() == len(RESULTS)


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ("keep", "100%\nn=2"),
        ("charge_micro_usd", "$0.30\nn=2"),
        ("sharpness", "0.125\nn=2"),
    ],
)
def test_any_number_can_be_averaged_with_its_unit(value, first):
    axes = heatmap(RESULTS.assign(sharpness=0.125), "resolution", "prompt", value=value)
    assert cells(axes)[1] == first


# -- forest -----------------------------------------------------------------------


def test_differences_have_their_intervals_and_the_largest_is_on_top():
    rows = [
        (f"prompt {n}", resolution, stars, 1)
        for n in range(8)
        for resolution, stars in (("480p", 1 + n % 2), ("720p", 4), ("1080p", 4))
    ]
    comparison = compare(results(*rows), "resolution")
    axes = forest(comparison)
    frame = axes.frame
    assert frame["difference"].tolist() == [2.5, 2.5, 0.0]
    low_high = frame[["low", "high"]].to_numpy()
    segments = [line[:, 0].tolist() for line in axes.collections[0].get_segments()]
    assert np.allclose(segments, low_high)
    assert [name.split(" − ") for name in ticks(axes.yaxis)] == [  # noqa: RUF001
        [row.second, row.first] for row in frame.itertuples()
    ]
    assert title(axes) == "2 of 3 differences exceed chance"
    assert cells(axes)[0].startswith("+2.5  (+")
    assert cells(axes)[0].endswith("n=8")
    filled = axes.collections[1].get_facecolors()
    assert (filled[0] == filled[1]).all()
    assert (filled[0] != filled[2]).any()


def test_one_pair_has_no_interval():
    comparison = compare(results(ROWS[0], ROWS[2]), "resolution", by="prompt")
    assert "(" not in cells(forest(comparison))[0]


def test_too_few_pairs_are_noted_beside_their_difference():
    rows = [
        (f"prompt {n}", resolution, stars, 1)
        for n in range(3)
        for resolution, stars in (("720p", 1), ("1080p", 5))
    ]
    axes = forest(compare(results(*rows), "resolution"))
    assert cells(axes)[0].endswith("n=3, too few")
    assert title(axes) == "0 of 1 differences exceed chance"


PROMPTS = [
    "An espresso cup on a marble counter, morning light, 35 mm",
    "Espresso, close-up of crema, soft window light, slow push-in",
    "A hand that puts an espresso cup on the counter, handheld",
]
SHOTS = [
    *("slow dolly in from the left", "top-down, rotating", "macro of the crema"),
    *("steam against the window", "hand enters the frame", "pull back to the café"),
]
REAL = results(
    *(
        (p, s, 1 + (n * m) % 5, 1)
        for n, p in enumerate(PROMPTS)
        for m, s in enumerate(SHOTS)
    )
)
MANY_SHOTS = results(
    *((p, f"{s}, {n}", 3, 1) for p in PROMPTS for s in SHOTS for n in range(5))
)


@pytest.mark.parametrize("frame", [REAL, MANY_SHOTS], ids=["six shots", "thirty"])
@pytest.mark.parametrize("size", [(9, 3.6), (4.5, 3.6), None], ids=str)
def test_no_two_names_of_a_heatmap_touch(frame, size):
    ax = None if size is None else figure_of(size, layout="constrained").subplots()
    axes = heatmap(frame, "resolution", "prompt", ax=ax)
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(boxes) == len(frame) / 3
    for left, right in pairwise(sorted(boxes, key=lambda box: box.x0)):
        assert left.x1 <= right.x0
    written = [text.get_window_extent() for text in axes.texts]
    assert not any(
        one.overlaps(other) for n, one in enumerate(written) for other in written[:n]
    )


def test_intervals_have_most_of_the_width_beside_long_prompts():
    wins = pd.DataFrame({"winner": PROMPTS, "loser": PROMPTS[1:] + PROMPTS[:1]})
    for axes in (
        forest(compare(REAL, "prompt")),
        ranking(bradley_terry(wins)),
    ):
        figure = axes.figure
        figure.draw_without_rendering()
        assert axes.get_window_extent().width > 0.6 * figure.bbox.width
        boxes = [text.get_window_extent() for text in axes.texts]
        assert all(figure.bbox.x0 <= b.x0 <= b.x1 <= figure.bbox.x1 for b in boxes)
        assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[:n])


CHINESE = [
    "一只白色的陶瓷咖啡杯放在雪地上清晨的阳光",
    "一只白色的陶瓷咖啡杯放在沙滩上傍晚的阳光电影感",
    "意式浓缩咖啡的微距镜头奶泡缓缓流动浅景深",
]


@pytest.mark.parametrize("prompts", [CHINESE, PROMPTS], ids=["Chinese", "English"])
def test_long_names_of_a_small_plot_touch_neither_each_other_nor_the_amounts(prompts):
    rows = REAL.replace({"prompt": dict(zip(PROMPTS, prompts, strict=True))})
    wins = pd.DataFrame({"winner": prompts, "loser": prompts[1:] + prompts[:1]})
    for draw in (
        lambda ax: forest(compare(rows, "prompt"), ax=ax),
        lambda ax: ranking(bradley_terry(wins), ax=ax),
    ):
        axes = draw(figure_of((5, 3), layout="constrained").subplots())
        axes.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in axes.texts]
        assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[:n])
        names = [text for text in axes.texts if text.get_position()[0] == 0.0]
        assert len(names) == 3
        right = axes.get_window_extent().x1
        assert all(name.get_window_extent().x1 <= right for name in names)


# -- ranking ----------------------------------------------------------------------

WINS = pd.DataFrame(
    {"winner": ["a", "a", "b", "x"], "loser": ["b", "b", "a", "y"], "tie": False}
)


def test_a_ranking_has_intervals_and_groups_stay_apart():
    axes = ranking(bradley_terry(WINS))
    assert ticks(axes.yaxis) == ["a", "b", "x", "y"]
    assert cells(axes)[0] == "2 won, 1 lost"
    assert notes(axes) == [
        "rows on opposite sides of a dotted line were never compared"
    ]
    assert [line.get_ydata()[0] for line in axes.lines] == [1.5]
    segments = [line[:, 0].tolist() for line in axes.collections[0].get_segments()]
    assert np.allclose(segments, axes.frame[["low", "high"]].to_numpy())
    assert alt_text(axes).startswith("Ranking by blind comparisons. a 2 won, 1 lost;")


def test_items_may_have_other_names():
    ranked = bradley_terry(WINS).assign(prompt=["gull", "heron", "owl", "owl"])
    assert ticks(ranking(ranked, by="prompt").yaxis) == ["gull", "heron", "owl", "owl"]


# -- frontier ---------------------------------------------------------------------


def test_the_frontier_is_numbered_and_listed_from_the_cheapest():
    axes = frontier(RESULTS, by="resolution")
    assert legend(axes) == [
        "480p\n1.0 stars for $0.10, n=1",
        "720p\n4.5 stars for $0.30, n=2",
    ]
    assert cells(axes) == ["1", "2"]
    assert title(axes) == "Mean rating against mean charge: 2 of 3 on the frontier"
    (line,) = axes.lines
    assert line.get_drawstyle() == "steps-post"
    assert axes.frame.equals(frontier(pareto(RESULTS, "resolution")).frame)


def test_settings_can_be_combined():
    axes = frontier(RESULTS, by=["prompt", "resolution"])
    assert legend(axes)[0].startswith("a heron, 480p")


def test_no_plot_has_a_negative_zero() -> None:
    scores = pd.DataFrame(
        {
            "resolution": ["720p", "720p", "1080p"],
            "prompt": ["a", "b", "a"],
            "score": [-0.0, -0.0, 0.5],
            "rating": [-0.04, 3.0, 4.0],
            "cost_usd": [-0.0, 0.0, -1.5],
        }
    )
    for value, texts in {
        "score": ["0", "0", "0.5"],
        "rating": ["0.0", "3.0", "4.0"],
        "cost_usd": ["$0.00", "$0.00", "-$1.50"],
    }.items():
        axes = heatmap(scores, "resolution", "prompt", value=value)
        drawn = [text.split("\n")[0] for text in cells(axes)]
        assert sorted(drawn) == sorted([*texts, "\N{EN DASH}"])
    assert percent(-1, 10_000) == "0.0%"
