"""Which cells the history holds already: nothing owned is bought again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from anyio import to_thread

from mediakit.catalog import Function
from mediakit.client import AsyncClient, Service
from mediakit.client.orders import REJECTIONS, draw_key_of
from mediakit.client.prepare import plain_body
from mediakit.errors import InputError
from mediakit.history import EntryState, OwnedDraw
from mediakit.media import is_url
from mediakit.records import JobStatus
from mediakit.schema import canonical_json, text_json
from mediakit.sweep.axes import FIRST_SEED, Grid, Source
from mediakit.sweep.checking import Sources, fields_at

NOT_UPLOADED = ""


class CellState(StrEnum):
    """What a cell is before the run."""

    NEW = "new"
    """It will be sent and paid for."""
    OWNED = "owned"
    """It was bought before, or is being made; it costs nothing more."""
    FAILED = "failed"
    """It failed before; `results.retry()` asks again."""
    LOST = "lost"
    """It was bought, and its output was erased or is not known any more."""
    INVALID = "invalid"
    """It cannot be sent."""


STATES = tuple(CellState)


@dataclass(frozen=True)
class Draws:
    """How takes differ: by the history's take, or by a seed that all cells share.

    Args:
        seed_field: The field of the seed; None where the history's take counts.
        first_seed: The seed of take 1; each further take has the next one.
    """

    seed_field: str | None = None
    first_seed: int = FIRST_SEED

    def fields_of(self, take: int) -> dict[str, object]:
        """Return the fields that tell a take from the others."""
        if self.seed_field is None:
            return {}
        return {self.seed_field: self.first_seed + take - 1}

    def take_of(self, take: int) -> int:
        """Return the take that is sent."""
        return take if self.seed_field is None else 1


def draws_of(function: Function, sources: Mapping[str, Source]) -> Draws:
    """Return how takes differ.

    Where a function has a seed, take 1 of all cells shares one seed, take 2 the next:
    what differs between two cells is then not the luck of the draw. A seed that varies
    itself, or is negative, is sent as given.

    Args:
        function: The function.
        sources: Where the values of its fields come from.
    """
    seeds = [name for name, spec in function.fields.items() if spec.seed]
    if not seeds:
        return Draws()
    given = sources.get(seeds[0], Source((), (FIRST_SEED,)))
    first = given.values[0]
    is_fixed = not given.dimensions and isinstance(first, int) and first >= 0
    return Draws(seeds[0], int(str(first))) if is_fixed else Draws()


class Keys:
    """What the history calls the request of each cell.

    The JSON of each value is written once, and a cell's body joined from these texts.

    Args:
        service: The service.
        function: The function.
        sources: Where the values come from, local files by their URLs.
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
        self._service = service
        self._function = function
        self._sources = sources
        self._grid = grid
        self._draws = draws
        self._is_plain = function.request_type.one_of is None
        self._texts = {name: self._texts_of(name) for name in sources}
        defaults = function.canonical_body({}) if self._is_plain else {}
        self._defaults = {
            name: _text(name, value)
            for name, value in defaults.items()
            if name not in sources
        }

    def _texts_of(self, name: str) -> list[str | None]:
        if not self._is_plain:
            return []
        found: list[str | None] = []
        for value in self._sources[name].values:
            body = self._function.canonical_body(
                plain_body(self._function, {name: value})
            )
            found.append(_text(name, body[name]) if name in body else None)
        return found

    def of(self, cell: int) -> str | None:
        """Return the key of a cell's request; None while a file is not uploaded."""
        codes = {
            name: self._grid.code_of(cell, source.dimensions)
            for name, source in self._sources.items()
        }
        return self._key(codes, self._grid.take_of(cell))

    def all(self) -> Iterator[str | None]:
        """Give the key of every cell, in order."""
        names = list(self._sources)
        columns = [self._grid.codes(self._sources[name].dimensions) for name in names]
        points = self._grid.point_count
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for cell, row in enumerate(rows):
            yield self._key(dict(zip(names, row, strict=True)), cell // points + 1)

    def _key(self, codes: Mapping[str, int], take: int) -> str | None:
        for name, code in codes.items():
            if self._sources[name].values[code] is NOT_UPLOADED:
                return None
        service = self._service
        content = self._content(codes, take).encode()
        return draw_key_of(
            service.identity, service.account, self._function.path, content
        )

    def _content(self, codes: Mapping[str, int], take: int) -> str:
        seed = self._draws.fields_of(take)
        if not self._is_plain:
            values = {n: self._sources[n].values[code] for n, code in codes.items()}
            body = plain_body(self._function, {**values, **seed})
            return canonical_json(self._function.canonical_body(body)).decode()
        texts: dict[str, str | None] = dict(self._defaults)
        for name, code in codes.items():
            texts[name] = self._texts[name][code]
        for name, value in seed.items():
            texts[name] = _text(name, value)
        found = [text for _, text in sorted(texts.items()) if text is not None]
        return f"{{{','.join(found)}}}"


def _text(name: str, value: object) -> str:
    return f"{text_json(name)}:{canonical_json(value).decode()}"


async def uploaded_sources(
    client: AsyncClient, function: Function, sources: Sources, grid: Grid
) -> dict[str, Source]:
    """Return the sources with local files as the URLs of their uploads.

    A file whose bytes were not uploaded is `NOT_UPLOADED`; nothing is uploaded here.
    """
    found: dict[str, Source] = {}
    for name, source in sources.items():
        values = []
        for code, value in enumerate(source.values):
            fields = fields_at(sources, grid, source.dimensions, code)
            values.append(await _uploaded(client, function, fields, name, value))
        found[name] = replace(source, values=tuple(values))
    return found


async def _uploaded(
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
        prepared = await client._prepared(function.path, fields, None, price_only=True)
        urls = await client._uploads.known(prepared)
    except InputError:
        return NOT_UPLOADED
    body = function.with_media(prepared.body, urls)
    its_media = function.media({name: body.get(name)})
    return body.get(name) if all(is_url(m.value) for m in its_media) else NOT_UPLOADED


async def owned_draws(
    client: AsyncClient, function: Function
) -> dict[tuple[str, int], OwnedDraw]:
    """Read what the history holds of a function, by draw key and take."""
    owner = {"service": client.service.identity, "account": client.service.account}
    read = client.store.owned_draws
    rows = await to_thread.run_sync(lambda: read(**owner, function=function.path))
    return {(row.draw_key, row.take): row for row in rows}


def state_of(draw: OwnedDraw | None) -> CellState:
    """Return what a cell is whose request the history holds; None: it does not."""
    if draw is None or draw.state == EntryState.REFUSED:
        return CellState.NEW
    if draw.status == JobStatus.FAILED:
        # A rejection at the door made nothing: the same call asks again.
        rejected = draw.error_code in REJECTIONS
        return CellState.NEW if rejected else CellState.FAILED
    is_lost = draw.gone_at is not None or draw.deleted_at is not None
    return CellState.LOST if is_lost else CellState.OWNED
