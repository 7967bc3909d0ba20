"""The order in which a sweep sends its cells, so that any part is comparable.

All cells of one unit, such as a shot, are sent before the next. A budget that runs out
early has then paid for the same shots of each version.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mediakit.money import format_usd
from mediakit.prompt_templates import NamedText

PROMPT = "prompt"


def key_of(value: object) -> str:
    """Return a string that distinguishes the values of an axis.

    1 and True are equal in Python, but different values of a field. The repr of a large
    array is abbreviated, so arrays are compared by identity.
    """
    if isinstance(value, NamedText):
        return f"{value.label} {value!r}"
    value_text = id(value) if hasattr(value, "ndim") else repr(value)
    return f"{type(value).__name__} {value_text}"


def unit_of(axes: Mapping[str, Sequence[object]], slots: Collection[str]) -> str | None:
    """Return the axis whose values are sent one after the other; None for any order.

    The axis is the longest of those that fill slots of a prompt, or of all axes if
    there are no slots.
    """
    counts = {name: len({*map(key_of, values)}) for name, values in axes.items()}
    if len(counts) < 2:
        return None
    chosen = [name for name in counts if name in slots] or [*counts]
    return max(reversed(chosen), key=lambda name: (counts[name], name == PROMPT))


def in_sending_order(
    cells: Sequence[Any], unit: str | None, seed: int | None = None
) -> list[int]:
    """Return the numbers of cells sorted by take, unit, and the rest.

    A seed shuffles the units; without units, the points.
    """
    names = [
        key_of(cell.axes[unit])
        if unit is not None
        else " ".join(map(key_of, cell.axes.values()))
        if seed is not None
        else ""
        for cell in cells
    ]
    order = [*dict.fromkeys(names)]
    if seed is not None:
        random.Random(seed).shuffle(order)
    places = {name: place for place, name in enumerate(order)}
    return sorted(
        range(len(cells)),
        key=lambda number: (cells[number].take, places[names[number]]),
    )


def units_lines(new: Sequence[Any], unit: str | None) -> list[str]:
    """Return a line on how a budget below the full price is used, if any."""
    prices: dict[str, list[int]] = {}
    for cell in new:
        if unit is not None and cell.take == 1:
            unit_prices = prices.setdefault(key_of(cell.axes[unit]), [])
            unit_prices.append(cell.estimate.high or 0)
    if len(prices) < 2 or max(map(len, prices.values())) < 2:
        return []
    dearest = format_usd(max(map(sum, prices.values())))
    return [
        f"Cells are sent one {unit} at a time, for up to {dearest} each, so a smaller "
        "budget still completes whole pairs"
    ]
