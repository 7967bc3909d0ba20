"""Identifies the outputs of a cell, so that a rerun replaces them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from mediakit.widgets.toolkit.cell_outputs import NotebookCell

MAX_ANONYMOUS_RUNS = 20
"""The number of runs whose displays stay if the notebook does not identify cells."""


class CellPlace(NamedTuple):
    """The place of one of several similar objects: a cell, and its number there."""

    cell: str = ""
    number: int = 0


class Closable(Protocol):
    """Something that a cell displays."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)
Key = tuple[Any, CellPlace]
"""The kind of an object, and its place among objects of that kind."""


class ReplacedByCell(Generic[C]):
    """The latest objects that cells made, by place; a rerun replaces them."""

    def __init__(self) -> None:
        self._made: dict[tuple[Hashable, str], tuple[str, int]] = {}
        self._things: dict[Key, C] = {}

    def next_key(self, kind: Any, cell: NotebookCell | None) -> Key:
        """Return the place of the next object of a kind."""
        if cell is None:
            return kind, CellPlace()
        name = cell.id if cell.is_known else ""
        run, count = self._made.get((kind, name), (cell.run, 0))
        return kind, CellPlace(name, count if run == cell.run else 0)

    def key(self, kind: Any, cell: NotebookCell | None) -> Key:
        """Return the place of a new object, and count it."""
        key = self.next_key(kind, cell)
        if cell is not None:
            self._made[kind, key[1].cell] = (cell.run, key[1].number + 1)
        return key

    def replace(self, key: Key, thing: C) -> C | None:
        """Put an object in its place; return the previous one."""
        before = self._things.get(key)
        self._things[key] = thing
        return before

    def remove(self, key: Key, thing: C) -> None:
        """Forget a closed object, unless another has replaced it."""
        if self._things.get(key) is thing:
            del self._things[key]

    def at(self, key: Key) -> C | None:
        return self._things.get(key)

    def all(self) -> tuple[C, ...]:
        return tuple(self._things.values())


class ShownByCell(Generic[C]):
    """What the latest run of each cell displays; earlier outputs are closed."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[str, list[C]]] = {}

    def now(self, cell: NotebookCell) -> list[C]:
        """Return the views displayed by this run of a cell."""
        run, shown = self._shown.get(cell.id, ("", []))
        return shown if run == cell.run else []

    def all(self) -> list[C]:
        """Return the views displayed by the latest runs of all cells."""
        return [each for _, shown in self._shown.values() for each in shown]

    def add(self, cell: NotebookCell, thing: C) -> None:
        now = [each for each in self.now(cell) if each is not thing]
        _, before = self._shown.pop(cell.id, ("", []))
        self._shown[cell.id] = (cell.run, [*now, thing])
        gone = [each for each in before if each not in now and each is not thing]
        untold = [name for name, (run, _) in self._shown.items() if name == run]
        for name in untold[:-MAX_ANONYMOUS_RUNS]:
            gone += self._shown.pop(name)[1]
        for each in gone:
            each.close()
