import subprocess
import sys
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from mediakit import plots
from mediakit.catalog.catalog import REQUEST_TYPES
from mediakit.errors import InputError
from mediakit.plots.style import COLOURS, DARK_COLOURS, LIGHT
from mediakit.sweep.comparison import compare
from mediakit.sweep.rankings import bradley_terry
from tests.plots.drawn import figure_of, said
from tests.plots.made_frames import charge, charges, daily, monthly
from tests.plots.pictures import PLOTS, RATED, WINS

EVERY = pytest.mark.parametrize("name", PLOTS)
NO_RESULTS = RATED.iloc[:0]
UNRATED = RATED.assign(rating=pd.array([None] * len(RATED), "Int64"))
SEPTEMBER = monthly("2026-09", r1=5)
EMPTY = {
    "heatmap": lambda **k: plots.heatmap(NO_RESULTS, "resolution", "prompt", **k),
    "forest": lambda **k: plots.forest(compare(NO_RESULTS, "resolution"), **k),
    "ranking": lambda **k: plots.ranking(bradley_terry(WINS.iloc[:0]), **k),
    "frontier": lambda **k: plots.frontier(NO_RESULTS, by="resolution", **k),
    "spend_by_day": lambda **k: plots.spend_by_day(daily({}), **k),
    "cumulative": lambda **k: plots.cumulative(daily({}), **k),
    "share": lambda **k: plots.share(daily({}), **k),
    "estimates": lambda **k: plots.estimates(charges(), **k),
    "cost_per_keeper": lambda **k: plots.cost_per_keeper(charges(), **k),
    "changes": lambda **k: plots.changes(monthly("2026-09"), monthly("2026-10"), **k),
}
NO_CHARGES = "No charges with an estimate"
SAYS = {
    "heatmap": "No results with a rating",
    "forest": "Nothing to compare",
    "ranking": "No comparisons",
    "frontier": "No results with a rating and a charge",
    "estimates": NO_CHARGES,
    "cost_per_keeper": "No charges",
    "changes": "Nothing changed",
}
ALSO_EMPTY = [
    (lambda: plots.share(daily({"r1": [0]})), "No spend"),
    (lambda: plots.changes(SEPTEMBER, SEPTEMBER), "Nothing changed"),
    (lambda: plots.cost_per_keeper(charges(), by="resolution"), "No charges"),
    (lambda: plots.estimates(charges(), by="resolution"), NO_CHARGES),
    (lambda: plots.heatmap(UNRATED, "take", "prompt"), SAYS["heatmap"]),
    (lambda: plots.frontier(UNRATED, by="resolution"), SAYS["frontier"]),
]
BACKGROUNDS = {"light": "#ffffff", "dark": "#111111"}
READABLE = 4.5  # the contrast that WCAG 2.1 wants of text


def luminance(colour):
    return float(linear(to_hex(colour)) @ (0.2126, 0.7152, 0.0722))


def contrast(one, other):
    low, high = sorted(luminance(each) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def texts(figure):
    """The visible texts, except those within a coloured cell or point."""
    figure.draw_without_rendering()
    found = figure.findobj(lambda each: hasattr(each, "get_fontsize"))
    shown = [text for text in found if text.get_visible() and text.get_text()]
    return [text for text in shown if text.get_gid() != "on a mark"]


@EVERY
@pytest.mark.parametrize(
    ("theme", "drawn"),
    [
        pytest.param("light", PLOTS, id="light-full"),
        pytest.param("dark", PLOTS, id="dark-full"),
        pytest.param("dark", EMPTY, id="dark-empty"),
        pytest.param("light", EMPTY, id="light-empty", marks=pytest.mark.soak),
    ],
)
def test_every_text_is_readable_on_the_themes_background(name, drawn, theme):
    figure = figure_of((5, 3))
    drawn[name](ax=figure.subplots(), theme=theme)
    shown = texts(figure)
    assert shown
    for text in shown:
        assert contrast(text.get_color(), BACKGROUNDS[theme]) >= READABLE, text


@EVERY
@pytest.mark.parametrize(
    "size",
    [
        pytest.param((5, 3), id="dashboard"),
        pytest.param((9, 3.6), id="notebook", marks=pytest.mark.soak),
    ],
)
def test_no_text_is_cut_off_and_no_two_labels_of_an_axis_touch(name, size):
    check_labels(PLOTS[name], size)


PROMPTS = ["黄金の夕暮れに飛ぶ赤い凧", "한강 위의 갈매기", "a plain kite 🪁"]
SIXTY = pd.concat(
    [
        daily({"r1": [1_000_000 + n, 2_000_000]}).assign(
            function=f"vendor/model-with-a-long-name-{n}/text-to-video", kind=None
        )
        for n in range(60)
    ],
    ignore_index=True,
)


def rated_prompts(prompts):
    return pd.concat(
        [RATED.iloc[:6].assign(prompt=prompt) for prompt in prompts], ignore_index=True
    )


IN_OTHER_SCRIPTS = rated_prompts(PROMPTS)
FORTY_FIVE = rated_prompts([f"prompt number {n} with words" for n in range(45)])
UNUSUAL = {
    "sixty functions by day": lambda **k: plots.spend_by_day(SIXTY, **k),
    "the share of sixty functions": lambda **k: plots.share(SIXTY, **k),
    "the changes of sixty functions": lambda **k: plots.changes(
        SIXTY.iloc[::2], SIXTY.iloc[1::2], **k
    ),
    "45 prompts": lambda **k: plots.heatmap(FORTY_FIVE, "resolution", "prompt", **k),
    "prompts in other scripts": lambda **k: plots.heatmap(
        IN_OTHER_SCRIPTS, "prompt", "resolution", **k
    ),
    "costs of prompts in other scripts": lambda **k: plots.frontier(
        IN_OTHER_SCRIPTS, by="prompt", **k
    ),
    "one result": lambda **k: plots.frontier(IN_OTHER_SCRIPTS[:1], by="prompt", **k),
    "one cell": lambda **k: plots.heatmap(
        IN_OTHER_SCRIPTS[:1], "prompt", "resolution", **k
    ),
    "one day": lambda **k: plots.spend_by_day(daily({"r1": [2_000_000]}), **k),
}


@pytest.mark.parametrize("size", [(5, 3), (9, 3.6)])
@pytest.mark.parametrize("name", UNUSUAL)
def test_many_functions_other_scripts_and_a_single_point_are_drawn_whole(name, size):
    check_labels(UNUSUAL[name], size)


def test_numbers_are_written_into_cells_that_are_high_enough_only():
    rooms = ((9, 3.6, FORTY_FIVE), (5, 20, FORTY_FIVE), (9, 3.6, IN_OTHER_SCRIPTS))
    for width, height, frame in rooms:
        figure = figure_of((width, height), layout="constrained")
        axes = plots.heatmap(frame, "resolution", "prompt", ax=figure.subplots())
        figure.draw_without_rendering()
        row_px = axes.get_window_extent().height / axes.get_ylim()[0]
        heights = [text.get_window_extent().height for text in axes.texts]
        assert max(heights, default=0) <= row_px
        assert bool(heights) == (row_px > 20)


def check_labels(draw, size):
    figure = figure_of(size, layout="constrained")
    axes = draw(ax=figure.subplots())
    figure.draw_without_rendering()
    inches = figure.get_tightbbox()  # of all that is drawn
    assert inches.x0 >= 0
    assert inches.y0 >= 0
    assert inches.x1 <= size[0]
    assert inches.y1 <= size[1]
    for axis, ends in ((axes.xaxis, ("x0", "x1")), (axes.yaxis, ("y0", "y1"))):
        labels = [each for each in axis.get_ticklabels() if each.get_text()]
        boxes = [each.get_window_extent() for each in labels]
        spans = sorted(tuple(getattr(box, end) for end in ends) for box in boxes)
        for (_, end), (begin, _) in pairwise(spans):
            assert begin > end


@cache
def in_notebook(name):
    """A plot as a notebook shows it, drawn once for those who only look at it."""
    return PLOTS[name]()


@EVERY
def test_without_axes_a_figure_is_made_which_a_theme_makes_transparent(name):
    assert in_notebook(name).figure.get_size_inches()[0] == 9
    assert in_notebook(name).figure.get_facecolor()[3] == 1
    themed = PLOTS[name](theme="dark")
    assert themed.figure.get_facecolor()[3] == themed.get_facecolor()[3] == 0


@EVERY
def test_the_figure_of_given_axes_is_left_as_it_is(name):
    figure = Figure(facecolor="#abcdef")
    left, right = figure.subplots(1, 2)
    assert PLOTS[name](ax=right) is right
    assert to_hex(figure.get_facecolor()) == "#abcdef"
    assert not left.has_data()


def test_an_invalid_theme_or_axes_is_rejected_with_a_readable_message():
    with pytest.raises(InputError, match=r'theme must be .*"light" or "dark"'):
        PLOTS["share"](theme="pink")
    with pytest.raises(InputError, match=r"ax must be .* that mediakit.plots drew"):
        plots.alt_text(Figure().subplots())


@EVERY
def test_an_axes_carries_its_frame_and_its_words(name):
    axes = in_notebook(name)
    assert plots.alt_text(axes) == axes.frame.attrs["alt_text"]
    assert axes.get_title(loc="left") == axes.frame.attrs["title"]
    empty = EMPTY[name]()
    assert said(empty) == SAYS.get(name, "No spend")
    assert plots.alt_text(empty) == f"{said(empty)}."
    assert not len(empty.frame)


@pytest.mark.parametrize(("draw", "text"), ALSO_EMPTY)
def test_where_nothing_can_be_drawn_the_axes_say_so(draw, text):
    assert said(draw()) == text


DAILY, CHARGED = daily({"r1": [3_000_000]}), charges(charge())
AFTER = monthly("2026-10", r1=5)
FLOATS = {"charge_micro_usd": "float64"}
MANY = pd.concat([RATED.assign(prompt=f"prompt {n}") for n in range(51)])
OTHER_FRAME: Any = SimpleNamespace(frame=RATED)
NO_FRAME: Any = [1, 2]
HALF: Any = 0.5
SPEND = "a daily spend frame: day as .*charge_micro_usd"
CHARGES = "a frame of charges: .*charge_micro_usd"
RATINGS = "a frame of results or charges"
REFUSED = [
    (lambda: plots.spend_by_day(pd.DataFrame()), "frame", SPEND),
    (lambda: plots.spend_by_day(DAILY.drop(columns="function")), "frame", SPEND),
    (lambda: plots.spend_by_day(DAILY.astype({"day": "str"})), "frame", SPEND),
    (lambda: plots.spend_by_day(DAILY.astype(FLOATS)), "frame", SPEND),
    (lambda: plots.cumulative(pd.DataFrame()), "frame", SPEND),
    (lambda: plots.cumulative(DAILY.astype(FLOATS)), "frame", SPEND),
    (lambda: plots.cumulative(NO_FRAME), "frame", SPEND),
    (lambda: plots.cumulative(DAILY, HALF), "budget", ""),
    (lambda: plots.cumulative(DAILY, "lots"), "budget", ""),
    (lambda: plots.share(pd.DataFrame()), "frame", "a spend frame: charge"),
    (lambda: plots.share(DAILY, by="project"), "frame", "a spend frame: charge"),
    (lambda: plots.share(NO_FRAME), "frame", "a spend frame: charge"),
    (
        lambda: plots.changes(pd.DataFrame(), AFTER),
        "monthly_before",
        "a monthly spend frame",
    ),
    (
        lambda: plots.changes(AFTER, AFTER.astype(FLOATS)),
        "monthly_after",
        "a monthly spend frame",
    ),
    (lambda: plots.cost_per_keeper(CHARGED.drop(columns="keep")), "frame", CHARGES),
    (lambda: plots.cost_per_keeper(CHARGED, by="resolution"), "frame", CHARGES),
    (lambda: plots.estimates(pd.DataFrame()), "frame", CHARGES),
    (lambda: plots.estimates(CHARGED.iloc[:, :4]), "frame", CHARGES),
    (lambda: plots.estimates(CHARGED.astype(FLOATS)), "frame", CHARGES),
    (lambda: plots.estimates(CHARGED, by="resolution"), "frame", CHARGES),
    (lambda: plots.estimates(NO_FRAME), "frame", CHARGES),
    (lambda: plots.heatmap(RATED, "colour", "prompt"), "frame", RATINGS),
    (lambda: plots.heatmap(RATED, "take", "prompt", value="job_id"), "value", ""),
    (lambda: plots.heatmap(MANY, "resolution", "prompt"), "frame", "at most 50"),
    (lambda: plots.forest(NO_FRAME), "comparison", "a comparison"),
    (lambda: plots.forest(OTHER_FRAME), "comparison", "a comparison"),
    (lambda: plots.ranking(RATED), "frame", "a ranking"),
    (lambda: plots.frontier(RATED), "by", "an axis, or several"),
    (lambda: plots.frontier(RATED, by="colour"), "frame", RATINGS),
]


@pytest.mark.parametrize(("draw", "field", "words"), REFUSED)
def test_invalid_data_is_rejected_with_a_readable_message(draw, field, words):
    with pytest.raises(InputError, match=rf"^{field} must be .*{words}") as refused:
        draw()
    assert refused.value.field == field


NAMES = ["a $x$ b $y$", "_hidden", "\\frac{", "two\nlines", "x" * 300]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", [plots.share, plots.spend_by_day])
def test_a_name_from_outside_is_text_and_nothing_else(draw, name):
    axes = draw(DAILY.assign(project=name), by="project")
    shown = [text.get_text() for text in texts(axes.figure)]
    expected = " ".join(name.split()) if len(name) < 40 else f"…{'x' * 39}"
    assert [text for text in shown if text.removesuffix("  $3.00") == expected]


@EVERY
def test_a_style_sheet_and_its_sizes_are_respected(name):
    with plt.style.context("dark_background"), mpl.rc_context({"font.size": 14}):
        axes = PLOTS[name]()
        shown = texts(axes.figure)
        assert to_hex(axes.figure.get_facecolor()) == "#000000"
        assert axes.title.get_fontsize() == axes._left_title.get_fontsize() > 14
    assert all(contrast(text.get_color(), "#000000") >= 3 for text in shown)


def test_the_colours_of_a_style_sheet_are_those_of_the_series():
    with plt.style.context("seaborn-v0_8-deep"):
        cycle = [entry["color"] for entry in mpl.rcParams["axes.prop_cycle"]]
        axes = PLOTS["share"]()
    drawn = [to_hex(bar.get_facecolor()) for bar in axes.patches]
    assert {*drawn} == {to_hex(colour) for colour in cycle[: len(drawn)]}


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


@pytest.mark.parametrize("colours", [COLOURS, DARK_COLOURS])
def test_the_colours_differ_with_the_common_colour_blindnesses(colours):
    """By simulated deuteranopia and protanopia (Viénot 1999), in CIE Lab."""
    if colours is DARK_COLOURS:
        assert all(contrast(each, BACKGROUNDS["dark"]) >= 3 for each in colours)
    for cones in (DEUTERANOPIA, PROTANOPIA):
        seen = [lab((cones @ linear(each)).clip(0, 1)) for each in colours]
        pairs = [(a, b) for place, a in enumerate(seen) for b in seen[:place]]
        assert min(sum((a - b) ** 2) ** 0.5 for a, b in pairs) > 8


def test_importing_plots_does_not_load_matplotlib():
    script = "import sys, mediakit.plots; print('matplotlib' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout == "False\n"


def test_each_function_of_the_catalog_declares_a_colour_of_its_own():
    declared = [each.declared.colours for each in REQUEST_TYPES.values()]
    assert None not in declared
    for colours in zip(*declared, strict=True):
        assert len({*colours}) == len(REQUEST_TYPES)


def test_a_function_has_one_colour_however_large_it_is_and_whatever_it_is_called():
    own = LIGHT.functions["r5"]
    assert LIGHT.of(["text-to-video", "r5", "other (3)"])[1:] == [own, LIGHT.other]
    assert LIGHT.of(["R5"]) == LIGHT.of(["sandbox/r5/r5"]) == [own]
    # Other names take what is left, the same whatever their order.
    named = LIGHT.of(["text-to-video", "Harbour", "Dunes"])
    assert named[:0:-1] == list(COLOURS[1:3])
    assert LIGHT.of(["Dunes", "text-to-video", "Harbour"]) == [
        *(named[2], named[0], named[1])
    ]
    paths = [f"vendor-{n}/text-to-video" for n in range(8)]
    assert len({*LIGHT.of(paths)}) == 8
    assert LIGHT.of(paths[::-1]) == LIGHT.of(paths)[::-1]


def test_a_renamed_model_has_another_colour_in_bars_and_legend_than_the_new_one():
    paths = [f"vendor-{n}/{'long-' * 12}name/text-to-video" for n in range(3)]
    rows = daily({"a": [1_000_000] * 3, "b": [2_000_000] * 3, "c": [3_000_000] * 3})
    renamed = dict(zip("abc", paths, strict=True))
    frame = rows.assign(
        function=rows["kind"].astype("str").map(renamed),
        kind="text-to-video",
    )
    for axes in (plots.spend_by_day(frame), plots.spend_by_day(frame, by="function")):
        entries = axes.get_legend().get_patches()
        assert len({patch.get_facecolor() for patch in entries}) == 3
        texts = [text.get_text() for text in axes.get_legend().get_texts()]
        names = {text.rsplit("  ", 1)[0] for text in texts}
        assert len(names) == 3
        assert all(f"vendor-{n}" in " ".join(names) for n in range(3))
    axes = plots.share(frame)
    assert len({bar.get_facecolor() for bar in axes.patches}) == 3
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(labels)) == 3


def test_a_character_without_a_font_is_a_box_and_reported_once():
    frame = RATED.assign(prompt=RATED["prompt"].map(lambda text: f"{text} 猫\t🚕\r"))
    for axes in (
        plots.heatmap(frame, "prompt", "resolution"),
        plots.forest(compare(frame, "prompt")),
        plots.frontier(frame, by="prompt"),
        plots.cost_per_keeper(charges(charge(prompt="猫")), by="prompt"),
        plots.share(DAILY.assign(猫="猫"), by="猫"),
    ):
        # A warning of matplotlib would be an error here.
        everything = "".join(text.get_text() for text in texts(axes.figure))
        assert "\N{WHITE SQUARE}" in everything
        assert not {*everything} & {*"猫🚕\t\r"}
        assert everything.count("font.family") == 1
        drawn = {**axes.frame.attrs, "frame": axes.frame.to_string()}
        assert "猫" in f"{drawn}"
    greek = plots.share(DAILY.assign(project="Ελλάδα"), by="project")
    assert "font.family" not in greek.get_xlabel()
