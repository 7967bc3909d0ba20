"""Find the cells that already have a job in the history, so none is paid for twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from anyio import to_thread

from mediakit.catalog import Function
from mediakit.client import Service
from mediakit.client.idempotency import draw_keys, was_rejected
from mediakit.client.requests import plain_body
from mediakit.errors import InputError
from mediakit.history import EntryState, OwnedDraw, tuning
from mediakit.records import JobStatus
from mediakit.schema import canonical_json, text_json
from mediakit.sweep.checking import Sources, fields_at
from mediakit.sweep.parameter_grid import FIRST_SEED, Grid, Source

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient

UNREADABLE = object()
Texts = list[str | None]
"""The JSON of each named value: "" for an omitted value, None for a file that cannot
be read."""


class CellState(StrEnum):
    """The state of a cell before the run."""

    NEW = "new"
    """It will be sent and charged."""
    OWNED = "owned"
    """It already has a job, which costs nothing more."""
    FAILED = "failed"
    """Its job failed; `results.retry()` submits it again."""
    LOST = "lost"
    """It has a job, but the output was erased or is no longer known to the service."""
    INVALID = "invalid"
    """It cannot be sent."""


STATES = tuple(CellState)


@dataclass(frozen=True)
class Draws:
    """How takes differ: by the take number, or by a seed that all cells share.

    Args:
        seed_field: The field of the seed; None if the take number counts.
        first_seed: The seed of take 1; each further take adds 1.
    """

    seed_field: str | None = None
    first_seed: int = FIRST_SEED

    def fields_of(self, take: int) -> dict[str, object]:
        """Return the fields that distinguish a take from the others."""
        if self.seed_field is None:
            return {}
        return {self.seed_field: self.first_seed + take - 1}

    def take_of(self, take: int) -> int:
        """Return the take number to send."""
        return take if self.seed_field is None else 1


def draws_of(function: Function, sources: Mapping[str, Source]) -> Draws:
    """Return how takes differ.

    If a function has a seed, all cells of take 1 share one seed, those of take 2 the
    next, and so on, so that differences between cells are not due to the seed. A seed
    that varies itself, or is negative, is sent as given.

    Args:
        function: The function.
        sources: The sources of its fields' values.
    """
    seeds = [name for name, spec in function.fields.items() if spec.seed]
    if not seeds:
        return Draws()
    given = sources.get(seeds[0], Source((), (FIRST_SEED,)))
    first = given.values[0]
    is_fixed = not given.dimensions and isinstance(first, int) and first >= 0
    return Draws(seeds[0], int(str(first))) if is_fixed else Draws()


class Keys:
    """The key of each cell's request as it is given: see `Submission.asked_key`.

    The JSON of each value is written once; a cell's body joins these texts.

    Args:
        service: The service.
        function: The function.
        sources: The sources of the values, with jobs and local files by name.
        grid: The grid.
        draws: How takes differ.
    """

    def __init__(
        self,
        service: Service,
        function: Function,
        sources: Sources,
        grid: Grid,
        draws: Draws,
    ) -> None:
        self._function = function
        self._sources = sources
        self._grid = grid
        self._draws = draws
        self._key_of = draw_keys(service.identity, function.path)
        self._is_plain = function.tag is None
        self._texts: dict[str, Texts] = {}
        if self._is_plain:
            defaults = function.canonical_body({}).items()
            self._texts = {name: [_text(name, value)] for name, value in defaults}
            self._texts |= {name: self._texts_of(name) for name in sources}
        self._looked_up: tuple[Set[str], list[tuple[int, str]]] = (set(), [])

    def _texts_of(self, name: str) -> Texts:
        found: Texts = []
        for value in self._sources[name].values:
            given = {} if value is UNREADABLE else {name: value}
            body = self._function.canonical_body(plain_body(self._function, given))
            text = _text(name, body[name]) if name in body else ""
            found.append(None if value is UNREADABLE else text)
        return found

    def of(self, cell: int) -> str | None:
        """Return the key of a cell's request; None if a file cannot be read."""
        take = self._grid.take_of(cell)
        if not self._is_plain:
            return self._key_of_fields(cell, take)
        parts = self._parts(take)
        return self._key([t[self._grid.code_of(cell, d)] for d, t in parts])

    def cells_of(self, keys: Set[str]) -> list[tuple[int, str]]:
        """Return the cells whose key is one of these, with their keys, in order.

        Cells that were found before stay in the list. If no key is new, nothing is
        computed again.

        Args:
            keys: Keys in the history.
        """
        looked_up, found = self._looked_up
        if not keys <= looked_up:
            found = list(self._found(keys))
            self._looked_up = (keys, found)
        return found

    def _found(self, keys: Set[str]) -> Iterator[tuple[int, str]]:
        points = self._grid.point_count
        is_shared = self._draws.seed_field is None
        shared = self._points_of(keys, 1) if is_shared else []
        for take in range(1, self._grid.takes + 1):
            found = shared if is_shared else self._points_of(keys, take)
            yield from ((point + (take - 1) * points, key) for point, key in found)

    def _points_of(self, keys: Set[str], take: int) -> list[tuple[int, str]]:
        all_keys = enumerate(self._keys_in(take))
        return [(p, key) for p, key in all_keys if key is not None and key in keys]

    def _keys_in(self, take: int) -> Iterator[str | None]:
        """Yield the key of every point in one take."""
        points = self._grid.point_count
        if not self._is_plain:
            cells = range((take - 1) * points, take * points)
            return (self._key_of_fields(cell, take) for cell in cells)
        columns: list[Iterable[str | None]] = []
        for dimensions, texts in self._parts(take):
            codes = self._grid.codes(dimensions)[:points]
            varying = np.array(texts, dtype=object)
            columns.append(varying[codes] if dimensions else repeat(texts[0], points))
        return map(self._key, zip(*columns, strict=True))

    def _parts(self, take: int) -> list[tuple[tuple[int, ...], Texts]]:
        """Return the texts of each field in body order, and their dimensions."""
        seeds = self._draws.fields_of(take).items()
        texts = dict(self._texts)
        texts |= {name: [_text(name, seed)] for name, seed in seeds}
        fixed = Source((), ())
        return [
            (self._sources.get(name, fixed).dimensions, texts[name])
            for name in sorted(texts)
        ]

    def _key(self, texts: Collection[str | None]) -> str | None:
        if None in texts:
            return None
        return self._key_of(f"{{{','.join(filter(None, texts))}}}")

    def _key_of_fields(self, cell: int, take: int) -> str | None:
        """Return the key of a cell in which one field's value decides about others."""
        values = {
            name: source.values[self._grid.code_of(cell, source.dimensions)]
            for name, source in self._sources.items()
        }
        if any(value is UNREADABLE for value in values.values()):
            return None
        seed = self._draws.fields_of(take)
        body = plain_body(self._function, {**values, **seed})
        return self._key_of(
            canonical_json(self._function.canonical_body(body)).decode()
        )


def _text(name: str, value: object) -> str:
    return f"{text_json(name)}:{canonical_json(value).decode()}"


async def keys_of(
    client: AsyncClient, function: Function, sources: Sources, grid: Grid, draws: Draws
) -> Keys:
    """Return the keys of all cells; None where a file cannot be read."""
    given = await named_sources(client, function, sources, grid)
    return await to_thread.run_sync(Keys, client.service, function, given, grid, draws)


async def named_sources(
    client: AsyncClient, function: Function, sources: Sources, grid: Grid
) -> dict[str, Source]:
    """Return the sources with jobs and local files by name; this uploads nothing.

    A file that cannot be read is `UNREADABLE`.
    """
    found: dict[str, Source] = {}
    for name, source in sources.items():
        values = []
        for code, value in enumerate(source.values):
            fields = fields_at(sources, grid, source.dimensions, code)
            values.append(await _named(client, function, fields, name, value))
        found[name] = replace(source, values=tuple(values))
    return found


async def _named(
    client: AsyncClient,
    function: Function,
    fields: Mapping[str, object],
    name: str,
    value: object,
) -> object:
    if not function.may_name_media:
        return value
    if not function.media(plain_body(function, {name: value})):
        return value
    try:
        request = await client.components.requests.validated(
            function.path, fields, price_only=True
        )
        named = await client.components.requests.named(request)
        files = {path: file.url for path, file in named.sent.items()}
    except (InputError, OSError):
        return UNREADABLE
    return function.with_media(request.body, request.names | files).get(name)


async def owned_draws(
    client: AsyncClient, function: Function
) -> dict[tuple[str, int], OwnedDraw]:
    """Read the draws of a function from the history, by key and take.

    A URL that the user gives may be that of a job or a file that was sent before, so
    each draw has the key of its exact content, too.
    """
    rows = await client.components.account_history.ask(
        tuning.owned_draws, service=client.service.identity, function=function.path
    )
    exact = {(row.draw_key, row.take): row for row in rows}
    return exact | {(row.asked_key, row.take): row for row in rows}


def state_of(draw: OwnedDraw | None) -> CellState:
    """Return the state of a cell, given its draw in the history or None."""
    if draw is None or draw.state in (EntryState.REFUSED, EntryState.UNANSWERED):
        # An unanswered request is sent again, and may be charged then.
        return CellState.NEW
    if draw.status == JobStatus.FAILED:
        # A request rejected on submission made no job: the next call submits it again.
        return CellState.NEW if was_rejected(draw) else CellState.FAILED
    is_lost = draw.gone_at is not None or draw.deleted_at is not None
    return CellState.LOST if is_lost else CellState.OWNED
