"""Identifies what a cell makes, so that a rerun of the cell replaces it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from mediakit.widgets.toolkit.cell_outputs import Cell


class CellPlace(NamedTuple):
    """A place among things that are alike.

    Args:
        cell: The cell; empty where the notebook does not tell it, as if all its cells
            were one.
        number: Which one of that cell, in the order of being made, from 0.
    """

    cell: str = ""
    number: int = 0


class CellPlaces:
    """Counts what each run of a cell makes, so that a rerun finds the same places."""

    def __init__(self) -> None:
        self._made: dict[tuple[Hashable, str], tuple[str, int]] = {}

    def next(self, kind: Hashable, cell: Cell | None) -> CellPlace:
        """Return where the next thing of a kind would stand.

        Args:
            kind: What is counted for itself.
            cell: The cell that makes it; None outside of any.
        """
        if cell is None:
            return CellPlace()
        name = cell.id if cell.is_known else ""
        run, count = self._made.get((kind, name), (cell.run, 0))
        return CellPlace(name, count if run == cell.run else 0)

    def take(self, kind: Hashable, cell: Cell | None) -> CellPlace:
        """Return the same, and count it."""
        place = self.next(kind, cell)
        if cell is not None:
            self._made[kind, place.cell] = (cell.run, place.number + 1)
        return place
