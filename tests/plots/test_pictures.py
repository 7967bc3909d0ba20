"""Plots against small stored pictures; `tests/plots/pictures.py` writes them anew."""

import pytest
from PIL import Image

from tests.plots.pictures import PLOTS, TOLERANCE, difference, picture, reference

MOST_BYTES = 30_000


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_looks_as_its_reference(name):
    path = reference(name)
    assert path.stat().st_size <= MOST_BYTES
    with Image.open(path) as stored:
        assert difference(picture(name), stored.convert("RGB")) < TOLERANCE
