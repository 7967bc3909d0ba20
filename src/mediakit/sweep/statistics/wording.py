"""Describe the result of a comparison in sentences."""

import math
from typing import Any

import pandas as pd

from mediakit.money import format_usd

SENTENCES = 5
LENGTH = 40


def comparison_text(
    found: pd.DataFrame, *, axis: str, value: str, left_out: int, shared_seeds: bool
) -> str:
    """Describe the result of a comparison in plain sentences.

    Args:
        found: The frame of a `Comparison`.
        axis: The axis that was compared.
        value: The column that was compared.
        left_out: The number of cells without a value.
        shared_seeds: Whether cells were compared take by take.
    """
    if not len(found):
        parts = [
            f"There is nothing to compare: fewer than two values of {axis} have a "
            f"{value}."
        ]
    elif not found["pairs"].any():
        parts = [_nothing_shared(found, axis, value)]
    elif found["spread"].isna().all():
        parts = [_drawn_once(found, axis, value)]
    else:
        pairs = "of the same take" if shared_seeds else "of cells"
        parts = _verdicts(found, axis, value, pairs)
    if left_out:
        parts.append(
            f"{left_out:,} {_plural('cell', left_out)} without a {value} "
            f"{'is' if left_out == 1 else 'are'} left out."
        )
    return " ".join(parts)


def _nothing_shared(found: pd.DataFrame, axis: str, value: str) -> str:
    values = (
        f"{_name(found['first'][0])} and {_name(found['second'][0])}"
        if len(found) == 1
        else f"The values of {axis}"
    )
    shared = f"no cells with a {value} share all other settings"
    return f"{values} cannot be compared: {shared}."


def _drawn_once(found: pd.DataFrame, axis: str, value: str) -> str:
    of_two = f" ({_difference(found.iloc[0], value)})" if len(found) == 1 else ""
    between = (
        f"the difference between {_name(found['first'][0])} and "
        f"{_name(found['second'][0])}{of_two}"
        if len(found) == 1
        else f"the {len(found)} differences between the values of {axis}"
    )
    return (
        f"Each cell has one take (takes=1), so the spread between takes is unknown, "
        f"and nothing can be said about {between}. Use takes=2 or more to compare them."
    )


def _verdicts(found: pd.DataFrame, axis: str, value: str, pairs: str) -> list[str]:
    if len(found) == 1:
        return [_sentence(found.iloc[0], value, pairs)]
    compared = found[found["verdict"] != "unknown"]
    unknown = len(found) - len(compared)
    if not len(compared):
        return [_not_compared(unknown, axis)]
    exceed = found[found["verdict"] == "exceeds"]
    verb = "exceed" if len(exceed) > 1 else "exceeds"
    summary = (
        f"{len(exceed) or 'None'} of the {len(compared)} differences between values of "
        f"{axis} {verb} what chance explains."
    )
    shown = exceed if len(exceed) else compared
    largest = shown["difference"].abs().sort_values(ascending=False).index
    listed = found.loc[largest[: SENTENCES if len(exceed) else 1]]
    more = len(exceed) - len(listed)
    return [
        summary,
        *(_sentence(row, value, pairs) for _, row in listed.iterrows()),
        *([f"{more} more are in the frame."] if more > 0 else []),
        *([_not_compared(unknown, axis)] if unknown else []),
    ]


def _not_compared(count: int, axis: str) -> str:
    if count == 1:
        return f"One pair of values of {axis} could not be compared."
    return f"{count} pairs of values of {axis} could not be compared."


def _sentence(row: "pd.Series[Any]", value: str, pairs: str) -> str:
    first, second = _name(row["first"]), _name(row["second"])
    if row["verdict"] == "unknown":
        return (
            f"The difference between {first} and {second} ({_difference(row, value)}) "
            "is based on one take per cell, so nothing can be said about it."
        )
    chance = (
        f"With {row['pairs']:,} {_plural('pair', row['pairs'])} {pairs}, whose takes "
        f"differ by {amount_text(row['spread'], value)}, chance alone explains up to "
        f"{amount_text((row['high'] - row['low']) / 2, value)}"
    )
    between = f"The difference between {first} and {second} is"
    if row["verdict"] == "within":
        return f"{between} {_difference(row, value)}. {chance}, so this is no evidence."
    higher = second if row["difference"] > 0 else first
    return f"{between} {_difference(row, value)}: {higher} is higher. {chance}."


def _difference(row: "pd.Series[Any]", value: str) -> str:
    return amount_text(row["difference"], value)


def amount_text(number: object, value: str) -> str:
    """Format a difference with its unit: stars, seconds or US dollars.

    Args:
        number: The number; its sign is omitted.
        value: The column of the number.
    """
    size = abs(float(number))  # type: ignore[arg-type]
    if math.isnan(size):
        return "unknown"
    if value.endswith("_micro_usd"):
        return format_usd(round(size))
    written = f"{size:.1f}" if size >= 1 or size == 0 else f"{size:.2g}"
    if value == "rating":
        return f"{written} stars"
    return f"{written} s" if value.endswith("_s") else written


def _name(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LENGTH else f"{text[: LENGTH - 1]}…"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
