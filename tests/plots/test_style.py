import inspect
from functools import cache
from itertools import pairwise

import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from mediakit import plots
from mediakit.errors import InputError
from mediakit.plots.style import COLOURS, DARK_COLOURS
from tests.plots.drawn import figure_of
from tests.plots.made_frames import charge, charges, daily, monthly
from tests.plots.pictures import PLOTS
from tests.plots.test_plots import DEUTERANOPIA, PROTANOPIA, lab, linear

EVERY = pytest.mark.parametrize("name", PLOTS)
EMPTY = {
    "spend_by_day": lambda **k: plots.spend_by_day(daily({}), **k),
    "cumulative": lambda **k: plots.cumulative(daily({}), **k),
    "share": lambda **k: plots.share(daily({}), **k),
    "estimates": lambda **k: plots.estimates(charges(), **k),
    "cost_per_keeper": lambda **k: plots.cost_per_keeper(charges(), **k),
    "changes": lambda **k: plots.changes(monthly("2026-09"), monthly("2026-10"), **k),
}
BACKGROUNDS = {"light": "#ffffff", "dark": "#111111"}
READABLE = 4.5  # the contrast that WCAG 2.1 wants of text


def luminance(colour):
    return float(linear(to_hex(colour)) @ (0.2126, 0.7152, 0.0722))


def contrast(one, other):
    low, high = sorted(luminance(each) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def texts(figure):
    figure.draw_without_rendering()
    found = figure.findobj(lambda each: hasattr(each, "get_fontsize"))
    return [text for text in found if text.get_visible() and text.get_text()]


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
    figure = figure_of(size, layout="constrained")
    axes = PLOTS[name](ax=figure.subplots())
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
def test_without_axes_a_figure_of_notebook_size_is_made_with_no_background(name):
    axes = in_notebook(name)
    assert axes.figure.get_size_inches().tolist() == [9, 3.6]
    assert axes.figure.get_facecolor()[3] == 0
    assert axes.get_facecolor()[3] == 0


@EVERY
def test_the_figure_of_given_axes_is_left_as_it_is(name):
    figure = Figure(facecolor="#abcdef")
    left, right = figure.subplots(1, 2)
    assert PLOTS[name](ax=right) is right
    assert to_hex(figure.get_facecolor()) == "#abcdef"
    assert not left.has_data()


@EVERY
def test_another_theme_is_refused_in_words(name):
    with pytest.raises(InputError, match=r'theme must be .*"light" or "dark"'):
        PLOTS[name](theme="pink")


@EVERY
def test_an_axes_carries_its_frame_and_its_words(name):
    axes = in_notebook(name)
    assert plots.alt_text(axes) == axes.frame.attrs["alt_text"]
    assert axes.get_title(loc="left") == axes.frame.attrs["title"]
    empty = EMPTY[name]()
    assert plots.alt_text(empty).startswith(("No ", "Nothing "))
    assert not len(empty.frame)


def test_axes_of_another_plot_have_no_words():
    with pytest.raises(
        InputError, match=r"ax must be .*an Axes that mediakit.plots drew"
    ):
        plots.alt_text(Figure().subplots())


def test_every_plot_has_a_frame_and_takes_axes_and_a_theme():
    drawing = [name for name in plots.__all__ if f"{name}_frame" in plots.__all__]
    assert sorted(drawing) == sorted(PLOTS)
    for name in drawing:
        parameters = inspect.signature(getattr(plots, name)).parameters
        assert list(parameters)[-2:] == ["ax", "theme"]


def test_the_dark_colours_differ_and_stand_out():
    for cones in (DEUTERANOPIA, PROTANOPIA):
        seen = [lab((cones @ linear(each)).clip(0, 1)) for each in DARK_COLOURS]
        pairs = [(a, b) for place, a in enumerate(seen) for b in seen[:place]]
        assert min(sum((a - b) ** 2) ** 0.5 for a, b in pairs) > 8
    for colour in DARK_COLOURS:
        assert contrast(colour, BACKGROUNDS["dark"]) >= 3


def test_a_name_keeps_its_colour_in_both_themes():
    from colorsys import rgb_to_hls

    for light, dark in zip(COLOURS, DARK_COLOURS, strict=True):
        hues = [rgb_to_hls(*to_rgb(colour))[0] for colour in (light, dark)]
        assert abs((hues[0] - hues[1] + 0.5) % 1 - 0.5) < 0.06


def test_many_characters_that_no_font_has_show_no_warning():
    row = charge("r1", 5, keep=True, prompt="夜の街 🎬 \N{ZERO WIDTH JOINER} été")
    axes = plots.cost_per_keeper(charges(row), by="prompt")
    axes.figure.draw_without_rendering()
    (label,) = axes.get_yticklabels()
    assert label.get_text().endswith("été")
