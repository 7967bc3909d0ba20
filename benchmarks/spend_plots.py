"""A year of days by twelve functions as a PNG, compared with one bar per day and name.

The plain way calls `ax.bar` once for each of the same nine layers, on the same kind of
figure, with the same legend. Seconds are processor seconds, so that other processes do
not count. Limits: under 0.3 s, and at most a third of the plain way.
"""

from __future__ import annotations

import importlib.metadata as metadata
import io
import statistics
import sys
import time
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mediakit.money import MICRO_PER_USD
from mediakit.plots import COLOURS, spend_by_day
from mediakit.plots.days import sums_by_day

ROUNDS = 9
LIMIT_S, LIMIT_RATIO = 0.3, 1 / 3
DAYS, FUNCTIONS = 365, 12


def year() -> pd.DataFrame:
    """Return the daily frame of a year."""
    random = np.random.default_rng(1)
    days = pd.date_range("2026-01-01", periods=DAYS, tz="UTC").as_unit("us")
    names = [f"sandbox/model-{n:02d}" for n in range(FUNCTIONS)]
    return pd.DataFrame(
        {
            "day": days.repeat(FUNCTIONS),
            "function": pd.Categorical(names * DAYS),
            "charge_micro_usd": random.integers(0, 10**7, DAYS * FUNCTIONS),
        }
    )


def ours(frame: pd.DataFrame) -> Axes:
    return spend_by_day(frame)


def plain(frame: pd.DataFrame) -> Axes:
    sums, _ = sums_by_day(frame, "function")
    _, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    below = np.zeros(DAYS)
    colours = [*COLOURS, "#bbbbbb"]
    for name, colour in zip(sums, colours, strict=True):
        usd = sums[name].to_numpy() / MICRO_PER_USD
        axes.bar(sums.index, usd, bottom=below, width=1.0, color=colour, label=name)
        below += usd
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def seconds(draw: Callable[[pd.DataFrame], Axes], frame: pd.DataFrame) -> float:
    """Draw to a PNG; return the processor seconds it took."""
    started = time.process_time()
    # As a notebook shows it; `plt.savefig` would draw it once more.
    draw(frame).get_figure().savefig(io.BytesIO(), format="png")
    took_s = time.process_time() - started
    plt.close("all")
    return took_s


def main() -> int:
    frame = year()
    ways = {"spend_by_day": ours, "ax.bar": plain}
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):  # the first is the warm-up
        for name, draw in ways.items():
            took[name].append(seconds(draw, frame))
    print(f"{DAYS} days by {FUNCTIONS} functions to a PNG, median of {ROUNDS} rounds")
    print(", ".join(f"{k} {metadata.version(k)}" for k in ("matplotlib", "pandas")))
    medians = {name: statistics.median(times[1:]) for name, times in took.items()}
    for name, times in took.items():
        low, high = min(times[1:]), max(times[1:])
        print(f"{name:14}{medians[name]:7.3f} s  ({low:.3f} to {high:.3f})")
    ratio = medians["spend_by_day"] / medians["ax.bar"]
    print(f"ratio {ratio:.2f}, limits {LIMIT_RATIO:.2f} and {LIMIT_S} s")
    return int(ratio > LIMIT_RATIO or medians["spend_by_day"] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
