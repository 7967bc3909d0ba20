"""Small frames in the shapes of the spend reports, and a forecast."""

from dataclasses import dataclass
from datetime import date, timedelta

import pandas as pd

FIRST = date(2026, 10, 1)
SOME_KINDS = ("r1", "text-to-video", "video-upscale", "keyframes")


def path(kind):
    return f"sandbox/{kind}-model"


def daily(charges, *, first=FIRST, **columns):
    """A daily frame: for each kind its charge on each day, in micro-USD."""
    rows = [
        (first + timedelta(days=day), path(kind), kind, charge)
        for kind, amounts in charges.items()
        for day, charge in enumerate(amounts)
    ]
    days, functions, kinds, amounts = zip(*rows, strict=True) if rows else ((),) * 4
    return pd.DataFrame(
        {
            "day": instants(days),
            "api_key_id": pd.Categorical(["key_1"] * len(rows)),
            "function": categories(functions),
            "kind": categories(kinds),
            "charge_micro_usd": whole(amounts),
            **columns,
        }
    )


def instants(days):
    naive = pd.to_datetime(pd.Series(list(days), dtype="object"))
    return naive.astype("datetime64[us]")


def categories(texts):
    return pd.Categorical(list(texts))


def whole(numbers):
    missing = any(number is None for number in numbers)
    return pd.array(list(numbers), dtype="Int64" if missing else "int64")


def charge(kind="r1", amount=1_000_000, low=1_000_000, high=1_000_000, **fields):
    """One row of a frame of charges."""
    return {
        "job_id": f"media_{kind}_{amount}",
        "function": path(kind),
        "kind": kind,
        "prompt": "A kite over dunes",
        "estimate_kind": "exact",
        "estimate_low_micro_usd": low,
        "estimate_high_micro_usd": high,
        "charge_micro_usd": amount,
        "rating": None,
        "keep": None,
        **fields,
    }


def charges(*rows):
    """A frame of charges, with the dtypes of `spend.charges()`, also without rows."""
    names = [*charge(), *(rows[0] if rows else ())]
    columns = {name: [row[name] for row in rows] for name in dict.fromkeys(names)}
    for name in ("function", "kind", "estimate_kind"):
        columns[name] = categories(columns[name])
    for name in ("estimate_low_micro_usd", "estimate_high_micro_usd"):
        columns[name] = pd.array(columns[name], dtype="Int64")
    columns["charge_micro_usd"] = whole(columns["charge_micro_usd"])
    columns["rating"] = pd.array(columns["rating"], dtype="Int64")
    columns["keep"] = pd.array(columns["keep"], dtype="boolean")
    return pd.DataFrame(columns)


def monthly(month, /, **charges_by_kind):
    """A monthly report: a row for each kind, whose name may have underscores."""
    kinds = [kind.replace("_", "-") for kind in charges_by_kind]
    return pd.DataFrame(
        {
            "month": categories([month] * len(kinds)),
            "function": categories(map(path, kinds)),
            "kind": categories(kinds),
            "charge_micro_usd": whole(charges_by_kind.values()),
        }
    )


@dataclass(frozen=True)
class Forecast:
    """A forecast of a month: what `frame()` gives, and no more."""

    days: pd.DataFrame
    budget: None = None
    project: str | None = None
    api_key_id: str | None = None
    has_interval: bool = True

    def frame(self):
        return self.days


def forecast(spent, ahead, *, first=FIRST, days=31):
    """A forecast of a month that has begun, with (expected, low, high) to its end."""
    rest = days - len(ahead)
    columns = zip(*([(None, None, None)] * rest + list(ahead)), strict=True)
    expected, low, high = (pd.array(column, dtype="Int64") for column in columns)
    unknown = [None] * (days - len(spent))
    return Forecast(
        pd.DataFrame(
            {
                "day": instants(first + timedelta(days=n) for n in range(days)),
                "spent_micro_usd": pd.array([*spent, *unknown], dtype="Int64"),
                "expected_micro_usd": expected,
                "low_micro_usd": low,
                "high_micro_usd": high,
            }
        )
    )
