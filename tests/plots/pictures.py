"""The reference pictures of the plots, and the distance of two pictures.

`python -m tests.plots.pictures` rewrites the references; look at them afterwards.

Only the inside of the axes is compared, at a fixed place and on white,
so that another font or its size changes nothing. Of it only pixels on which one of the
two has drawn count, so that a series of a few points is not lost in the background.
"""

from itertools import accumulate
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from mediakit import plots
from mediakit.sweep.comparison import compare
from mediakit.sweep.rankings import bradley_terry
from tests.plots.made_frames import charge, charges, daily, forecast, monthly

REFERENCES = Path(__file__).parent / "references"
TOLERANCE = 1.5  # of 255

_SIZE_INCHES, _DPI = (5.0, 3.0), 40
_INSIDE = (0.2, 0.2, 0.45, 0.7)  # left, bottom, width and height, of the figure
_DRAWN = 8  # of 255, from the background
_DAYS = range(19)

DAILY = {
    "r1": [(3 + n % 5) * 1_000_000 for n in _DAYS],
    "text-to-video": [(1 + n % 3) * 1_500_001 for n in _DAYS],
    "video-upscale": [(n % 4) * 900_000 for n in _DAYS],
    "keyframes": [(n % 2) * 1_700_000 for n in _DAYS],
}
CHARGES = [
    charge("r1", amount + n % 7 * 60_000, amount, amount, estimate_kind="nominal")
    | {"keep": n % 3 == 0, "rating": 3}
    for n, amount in enumerate([605_000, 1_210_000, 2_420_000] * 7)
] + [
    charge("video-upscale", n * 30_000, 60_000, 600_000, estimate_kind="upper_bound")
    | {"keep": n % 5 == 0 if n % 4 else None}
    for n in range(2, 20)
]
BEFORE = {"r1": 80_000_000, "text_to_video": 31_000_000, "keyframes": 9_000_000}
AFTER = {"r1": 93_400_000, "text_to_video": 24_000_000, "r5": 5_000_000}


SPENT = list(accumulate(map(sum, zip(*DAILY.values(), strict=True))))
AHEAD = [
    (SPENT[-1] + n * 9_000_000, SPENT[-1] + n * 5_000_000, SPENT[-1] + n * 13_000_000)
    for n in range(32 - len(SPENT))
]
RATED = pd.DataFrame(
    [
        {
            "prompt": f"a {bird} at dawn, wide shot",
            "resolution": resolution,
            "take": take,
            "rating": min(5, max(1, 4 - len(bird) % 3 + place - take % 2)),
            "charge_micro_usd": (100_000, 204_000, 500_000)[place],
            "job_id": f"media_{bird}_{resolution}_{take}",
        }
        for bird in ("gull", "heron", "tern", "osprey")
        for place, resolution in enumerate(["480p", "720p", "1080p"])
        for take in range(2)
        if (bird, resolution) != ("tern", "480p")
    ]
).astype({"rating": "Int64"})
WINS = pd.DataFrame(
    [
        {"winner": winner, "loser": loser, "tie": False}
        for winner, loser in [
            *[("gull", "heron")] * 5,
            *[("heron", "gull")] * 2,
            *[("heron", "tern")] * 4,
            *[("tern", "osprey")] * 3,
            *[("osprey", "tern")] * 2,
            ("kite", "owl"),
        ]
    ]
)
PLOTS = {
    "heatmap": lambda **k: plots.heatmap(RATED, "resolution", "prompt", **k),
    "forest": lambda **k: plots.forest(compare(RATED, "resolution"), **k),
    "ranking": lambda **k: plots.ranking(bradley_terry(WINS), **k),
    "frontier": lambda **k: plots.frontier(RATED, by=["prompt", "resolution"], **k),
    "spend_by_day": lambda **k: plots.spend_by_day(daily(DAILY), **k),
    "cumulative": lambda **k: plots.cumulative(
        daily(DAILY), "$180", forecast(SPENT, AHEAD), **k
    ),
    "share": lambda **k: plots.share(daily(DAILY), **k),
    "estimates": lambda **k: plots.estimates(charges(*CHARGES), **k),
    "cost_per_keeper": lambda **k: plots.cost_per_keeper(charges(*CHARGES), **k),
    "changes": lambda **k: plots.changes(
        monthly("2026-09", **BEFORE), monthly("2026-10", **AFTER), **k
    ),
}


def picture(name):
    """Draw a plot on white; return the picture."""
    figure = Figure(figsize=_SIZE_INCHES, dpi=_DPI, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    PLOTS[name](ax=figure.add_axes(_INSIDE))
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def reference(name):
    """Return the path of a plot's reference."""
    return REFERENCES / f"{name}.png"


def difference(one, other):
    """Return the mean difference of two pictures inside their axes, from 0 to 255."""
    left, right = (_inside(each) for each in (one, other))
    background = np.asarray(one.getpixel((0, 0)), dtype="int64")
    inked = [np.abs(each - background).max(axis=2) > _DRAWN for each in (left, right)]
    drawn = np.logical_or(*inked)
    return float(np.abs(left - right).max(axis=2)[drawn].mean())


def _inside(image):
    width, height = image.size
    left, bottom, wide, high = _INSIDE
    box = (left, 1 - bottom - high, left + wide, 1 - bottom)
    pixels = [
        round(part * size) for part, size in zip(box, (width, height) * 2, strict=True)
    ]
    return np.asarray(image.crop(tuple(pixels)), dtype="int64")


if __name__ == "__main__":
    REFERENCES.mkdir(exist_ok=True)
    for name in PLOTS:
        picture(name).save(reference(name), optimize=True)
