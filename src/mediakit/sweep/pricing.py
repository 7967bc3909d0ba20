"""Price the cells: one estimate for each combination of the fields it depends on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mediakit.catalog import Function
from mediakit.client.requests import plain_body
from mediakit.errors import InputError, MediakitError
from mediakit.money import MicroUSD
from mediakit.rates import Estimate, EstimateKind
from mediakit.sweep.checking import Finding, Sources, count_of, fields_at, reads_of
from mediakit.sweep.parameter_grid import Codes, Grid

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient

KINDS = tuple(EstimateKind)
UNKNOWN = -1
AT_ONCE = 16


@dataclass(frozen=True)
class Prices:
    """The estimates of all cells.

    Args:
        low_micro_usd: The lowest price of each cell, int64 micro-USD; -1 if unknown.
        high_micro_usd: The highest price of each cell; -1 if unknown.
        hold_micro_usd: What a budget holds for each cell; -1 if unknown.
        kinds: The kind of each estimate, as an index into `KINDS`.
    """

    low_micro_usd: Codes
    high_micro_usd: Codes
    hold_micro_usd: Codes
    kinds: npt.NDArray[np.int8]

    def total(self, cells: npt.NDArray[np.bool_]) -> Estimate:
        """Sum the estimates of some cells; the least firm determines the kind.

        Args:
            cells: Which cells; if there are none, the total is exactly 0.
        """
        lows, highs = self.low_micro_usd[cells], self.high_micro_usd[cells]
        if not len(lows):
            return Estimate(MicroUSD(0), MicroUSD(0), EstimateKind.EXACT)
        is_unpriced = bool((lows < 0).all())
        is_unbounded = bool((highs < 0).any())
        return Estimate(
            None if is_unpriced else MicroUSD(int(lows[lows >= 0].sum())),
            None if is_unbounded else MicroUSD(int(highs.sum())),
            KINDS[int(self.kinds[cells].max())],
            notes=tuple(_notes(int((lows < 0).sum()))),
        )


def _notes(unpriced: int) -> Iterator[str]:
    if unpriced:
        has, is_not = ("cell has", "is") if unpriced == 1 else ("cells have", "are")
        yield f"{unpriced:,} {has} no known price and {is_not} not included."


async def prices_of(
    client: AsyncClient, function: Function, sources: Sources, grid: Grid
) -> tuple[Prices, list[Finding]]:
    """Price all cells; this reads local files and the lengths of media at URLs.

    Returns:
        The prices, and the problems found by reading the media.
    """
    dimensions = _priced_by(function, sources)
    slots = asyncio.Semaphore(AT_ONCE)

    async def at(code: int) -> Estimate | str:
        fields = fields_at(sources, grid, dimensions, code)
        async with slots:
            try:
                request = await client.components.requests.validated(
                    function.path, fields, price_only=True
                )
                return request.estimate
            except InputError as error:
                return str(error)

    codes = range(count_of(grid, dimensions))
    found = await asyncio.gather(*map(at, codes))
    media = [
        await _media_finding(client, function, sources, grid, name)
        for name in media_fields(function, sources)
    ]
    return _spread(grid, dimensions, found), [each for each in media if each.reasons]


def _priced_by(function: Function, sources: Sources) -> tuple[int, ...]:
    """Return the dimensions that affect the price."""
    names = function.declared.priced_by
    if function.rate is not None or names is None:
        fields = function.fields
        plain = {n for n, spec in fields.items() if spec.multiline or spec.seed}
        return reads_of(sources, set(sources) - plain)
    return reads_of(sources, {*names, *media_fields(function, sources)})


def media_fields(function: Function, sources: Sources) -> list[str]:
    """Return the media fields of this sweep."""
    first = {name: source.values[0] for name, source in sources.items()}
    found = {item.field for item in function.media(plain_body(function, first))}
    return [name for name in sources if name in found]


async def _media_finding(
    client: AsyncClient, function: Function, sources: Sources, grid: Grid, name: str
) -> Finding:
    """Check the media of one field, each once."""
    dimensions = sources[name].dimensions
    reasons = {}
    for code in range(count_of(grid, dimensions)) if dimensions else ():
        fields = fields_at(sources, grid, dimensions, code)
        try:
            await client.components.requests.validated(function.path, fields)
        except InputError as error:
            problems = [p for p in error.problems if p.root == name]
            if problems:
                reasons[code] = problems[0].sentence
        except MediakitError as error:
            reasons[code] = str(error)
    return Finding(dimensions, reasons)


def _spread(
    grid: Grid, dimensions: tuple[int, ...], found: list[Estimate | str]
) -> Prices:
    none = Estimate(None, None, EstimateKind.UNKNOWN)
    estimates = [none if isinstance(each, str) else each for each in found]
    codes = grid.codes(dimensions)
    lows = np.array([_whole(each.low) for each in estimates], dtype="int64")
    highs = np.array([_whole(each.high) for each in estimates], dtype="int64")
    holds = np.array([_whole(each.hold_micro_usd) for each in estimates], dtype="int64")
    kinds = np.array([KINDS.index(each.kind) for each in estimates], dtype="int8")
    return Prices(lows[codes], highs[codes], holds[codes], kinds[codes])


def _whole(amount: int | None) -> int:
    return UNKNOWN if amount is None else amount
