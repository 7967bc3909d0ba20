"""A million rows of daily spend, read and summed, compared with plain pandas.

mediakit reads a response of unknown shape, checks its total, names the functions and
marks complete days. The plain way knows every column in advance: a frame of the
records, with days and texts typed. Both sum the charges by day and function. Limit: at
most 1.5 times the plain way, as the median of rounds in turn.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pandas as pd

from mediakit.catalog import Catalog
from mediakit.spend import daily_frame
from mediakit.spend.column_types import with_column
from mediakit.spend.function_names import kinds_of

ROWS = 1_000_000
ROUNDS = 5
LIMIT = 1.5
FIRST, DAYS, KEYS = date(2026, 1, 1), 365, 40
TEXTS = ["api_key_id", "model", "function", "model_id"]
BY = ["day", "function"]


def answer() -> Any:
    """Return a year of daily spend as parsed JSON."""
    paths = [function.path for function in Catalog.default()]
    draw = random.Random(1)
    rows: list[dict[str, Any]] = []
    for number in range(ROWS):
        path = paths[number % len(paths)]
        model, _, function = path.rpartition("/")
        day = FIRST + timedelta(days=number * DAYS // ROWS)
        rows.append(
            {
                "date": str(day),
                "api_key_id": f"key_{draw.randrange(KEYS)}",
                "model": model,
                "function": function,
                "model_id": path,
                "jobs": draw.randrange(1, 10),
                "charge_micro_usd": draw.randrange(10_000_000),
            }
        )
    total: int = sum(row["charge_micro_usd"] for row in rows)
    return json.loads(json.dumps({"rows": rows, "total_micro_usd": total}))


def ours(body: Any) -> pd.Series[int]:
    frame = daily_frame(body)
    with_column(frame, "kind", kinds_of(frame, Catalog.default()))
    today = pd.Timestamp(FIRST + timedelta(days=DAYS))
    with_column(frame, "complete", frame["day"] < today)
    return frame.groupby(BY)["charge_micro_usd"].sum()


def plain(body: Any) -> pd.Series[int]:
    frame = pd.DataFrame(body["rows"]).rename(columns={"date": "day"})
    frame["day"] = pd.to_datetime(frame["day"])
    frame = frame.astype(dict.fromkeys(TEXTS, "str"))
    return frame.groupby(BY)["charge_micro_usd"].sum()


WAYS: dict[str, Callable[[Any], pd.Series[int]]] = {"mediakit": ours, "pandas": plain}


def seconds(way: Callable[[Any], pd.Series[int]], body: Any) -> float:
    started = time.perf_counter()
    sums = way(body)
    taken = time.perf_counter() - started
    assert int(sums.sum()) == int(body["total_micro_usd"])
    return taken


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    body = answer()
    for way in WAYS.values():
        way({"rows": body["rows"][:1000]})
    rounds = [[seconds(way, body) for way in WAYS.values()] for _ in range(ROUNDS)]
    print(f"{ROWS:,} rows, medians of {ROUNDS} rounds, pandas {pd.__version__}")
    for name, times in zip(WAYS, zip(*rounds, strict=True), strict=True):
        median = statistics.median(times)
        print(f"  {name:9} {median:5.2f} s ({min(times):.2f} to {max(times):.2f})")
    ratio = statistics.median(mine / theirs for mine, theirs in rounds)
    print(f"  {ratio:.2f} of plain pandas (limit {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
