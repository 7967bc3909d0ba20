"""Plots against small stored pictures; `tests/plots/pictures.py` writes them anew."""

import matplotlib as mpl
import pytest
from PIL import Image

from tests.plots.pictures import (
    PLOTS,
    THEMES,
    TOLERANCE,
    difference,
    picture,
    reference,
    series,
)

EVERY = pytest.mark.parametrize("name", PLOTS)
BOTH = pytest.mark.parametrize("theme", THEMES)
MOST_BYTES = 30_000


def stored(name, theme):
    path = reference(name, theme)
    assert path.stat().st_size <= MOST_BYTES
    with Image.open(path) as image:
        return image.convert("RGB")


@EVERY
@BOTH
def test_a_plot_looks_as_its_reference(name, theme):
    assert difference(picture(name, theme), stored(name, theme)) < TOLERANCE


@EVERY
@pytest.mark.parametrize("setting", [{"font.family": "serif"}, {"font.size": 13}])
def test_another_font_does_not_make_it_another_picture(name, setting):
    with mpl.rc_context(setting):
        found = picture(name, "light")
    assert difference(found, stored(name, "light")) < TOLERANCE


def count_of_series(name):
    counts = []
    picture(name, "light", lambda axes: counts.append(len(series(axes))))
    return counts[0]


@EVERY
@BOTH
def test_without_any_one_series_it_is_another_picture(name, theme):
    count = count_of_series(name)
    assert count >= 2
    for place in range(count):
        found = picture(name, theme, lambda axes, n=place: series(axes)[n].remove())
        assert difference(found, stored(name, theme)) > TOLERANCE, place


def swap_colours(axes):
    pair = series(axes)[-2:]
    colours = [
        each.get_facecolor() if each in axes.collections else each.get_color()
        for each in pair
    ]
    for each, colour in zip(pair, reversed(colours), strict=True):
        each.set_color(colour)


@pytest.mark.parametrize("name", ["spend_by_day", "cumulative", "estimates"])
@BOTH
def test_with_two_series_in_each_others_colour_it_is_another_picture(name, theme):
    found = picture(name, theme, swap_colours)
    assert difference(found, stored(name, theme)) > TOLERANCE


def swap_lengths(axes):
    one, *_, other = axes.patches
    lengths = one.get_width(), other.get_width()
    other.set_width(lengths[0])
    one.set_width(lengths[1])


@pytest.mark.parametrize("name", ["share", "cost_per_keeper", "changes"])
@BOTH
def test_with_two_bars_in_each_others_place_it_is_another_picture(name, theme):
    found = picture(name, theme, swap_lengths)
    assert difference(found, stored(name, theme)) > TOLERANCE
