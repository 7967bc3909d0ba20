"""Days by twelve functions as a PNG, compared with one bar per day and name.

The plain way calls `ax.bar` once for each of the same nine layers, on the same kind of
figure, with the same legend. Both draw 120 days, because a longer range is drawn by
week; a year is drawn, too. Seconds are processor seconds, so that other processes do
not count. Limits: a year under 0.3 s, and 120 days in at most the time of `ax.bar`.
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
from mediakit.plots.days import MOST_DAYS, sums_by_day

ROUNDS = 9
LIMIT_S, LIMIT_RATIO = 0.3, 1.0
DAYS, FUNCTIONS = 365, 12


def daily(days_n: int) -> pd.DataFrame:
    """Return the daily frame of a number of days."""
    random = np.random.default_rng(1)
    days = pd.date_range("2026-01-01", periods=days_n).as_unit("us")
    names = [f"sandbox/model-{n:02d}" for n in range(FUNCTIONS)]
    return pd.DataFrame(
        {
            "day": days.repeat(FUNCTIONS),
            "function": pd.Categorical(names * days_n),
            "charge_micro_usd": random.integers(0, 10**7, days_n * FUNCTIONS),
        }
    )


def ours(frame: pd.DataFrame) -> Axes:
    return spend_by_day(frame)


def plain(frame: pd.DataFrame) -> Axes:
    sums, _ = sums_by_day(frame, "function")
    _, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    below = np.zeros(len(sums))
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
    year, days = daily(DAYS), daily(min(DAYS, MOST_DAYS))
    ways = {"a year": (ours, year), "120 days": (ours, days), "ax.bar": (plain, days)}
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):  # the first is the warm-up
        for name, (draw, frame) in ways.items():
            took[name].append(seconds(draw, frame))
    print(f"Days by {FUNCTIONS} functions to a PNG, median of {ROUNDS} rounds")
    print(", ".join(f"{k} {metadata.version(k)}" for k in ("matplotlib", "pandas")))
    medians = {name: statistics.median(times[1:]) for name, times in took.items()}
    for name, times in took.items():
        low, high = min(times[1:]), max(times[1:])
        print(f"{name:14}{medians[name]:7.3f} s  ({low:.3f} to {high:.3f})")
    ratio = medians["120 days"] / medians["ax.bar"]
    print(f"ratio {ratio:.2f}, limits {LIMIT_RATIO:.2f} and {LIMIT_S} s for a year")
    return int(ratio > LIMIT_RATIO or medians["a year"] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
