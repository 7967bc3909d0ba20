"""Frames of a million rows of daily spend, compared with plain ways to make them.

mediakit reads a response of unknown shape, checks its total, names the functions and
marks complete days. The plain way knows every column in advance, builds it by hand and
types the texts. `pandas.json_normalize` is the obvious way. Limits: at most 1.3 times
the plain columns, and at least 1.5 times as fast as `json_normalize`, as medians of
rounds in turn.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

from mediakit.catalog import Catalog
from mediakit.spend import daily_frame
from mediakit.spend.days.function_names import kinds_of, with_column

ROWS = 1_000_000
ROUNDS = 5
PLAIN_LIMIT, NORMALIZE_LIMIT = 1.3, 1.5
FIRST, DAYS, KEYS = date(2026, 1, 1), 365, 40
TEXTS = ("api_key_id", "model", "function", "model_id")


def answer() -> Any:
    """Return a year of daily spend as parsed JSON."""
    paths = [function.path for function in Catalog.default()]
    draw = random.Random(1)
    rows = []
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
    total = sum(row["charge_micro_usd"] for row in rows)
    return json.loads(json.dumps({"rows": rows, "total_micro_usd": total}))


def ours(body: Any) -> pd.DataFrame:
    frame = daily_frame(body)
    with_column(frame, "kind", kinds_of(frame, Catalog.default()))
    today = pd.Timestamp(FIRST + timedelta(days=DAYS), tz="UTC")
    with_column(frame, "complete", frame["day"] < today)
    return frame


def plain(body: Any) -> pd.DataFrame:
    rows = body["rows"]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    codes, days = pd.factorize(np.array(columns["date"], dtype="object"))
    instants = np.array(days, dtype="datetime64[us]")[codes]
    made: dict[str, Any] = {"day": pd.DatetimeIndex(instants).tz_localize("UTC")}
    for name in TEXTS:
        made[name] = pd.array(columns[name], dtype="str")
    for name in ("jobs", "charge_micro_usd"):
        made[name] = np.array(columns[name], dtype="int64")
    return pd.DataFrame(made)


def normalized(body: Any) -> pd.DataFrame:
    frame = pd.json_normalize(body["rows"])
    frame["date"] = pd.to_datetime(frame["date"], utc=True)
    return frame


WAYS: dict[str, Callable[[Any], pd.DataFrame]] = {
    "daily spend": ours,
    "plain columns": plain,
    "pandas.json_normalize": normalized,
}


def seconds(way: Callable[[Any], pd.DataFrame], body: Any) -> float:
    started = time.perf_counter()
    frame = way(body)
    taken = time.perf_counter() - started
    assert int(frame["charge_micro_usd"].sum()) == body["total_micro_usd"]
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
        print(f"  {name:26} {median:5.2f} s ({min(times):.2f} to {max(times):.2f})")
    of_plain = statistics.median(mine / by_hand for mine, by_hand, _ in rounds)
    of_normalize = statistics.median(usual / mine for mine, _, usual in rounds)
    print(f"  {of_plain:.2f} of the plain columns (limit {PLAIN_LIMIT})")
    print(f"  {of_normalize:.1f} times as fast as json_normalize ({NORMALIZE_LIMIT})")
    return 0 if of_plain <= PLAIN_LIMIT and of_normalize >= NORMALIZE_LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
