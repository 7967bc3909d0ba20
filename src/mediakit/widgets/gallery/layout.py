"""The layout of a wall: the position and caption of each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mediakit.errors import InputError
from mediakit.widgets.gallery.cells import PROMPT_AXIS, TAKE_AXIS, WallCell
from mediakit.widgets.job.text import shortened

PAGE_CELLS = 48
CAPTION_LENGTH, NAME_LENGTH = 40, 80
BARE_WORDS = ("true", "false", "none")

Place = tuple[int, int]
"""A row and a column, from 0."""


@dataclass(frozen=True)
class Arrangement:
    """The rows and columns of a wall, and their cells."""

    row_axis: str | None
    col_axis: str | None
    rows: tuple[str, ...]
    cols: tuple[str, ...]
    places: tuple[Place, ...]
    families: tuple[int, ...]  # equal for a result and the results made from it
    captions: tuple[str, ...]
    names: tuple[str, ...]
    shows_prompt: bool

    def pages(self, positions: Iterable[int] | None = None) -> list[list[int]]:
        """Split cells into pages of whole rows, of 48 cells at most."""
        chosen = range(len(self.places)) if positions is None else positions
        pages: list[list[int]] = []
        by_row: dict[int, list[int]] = {}
        order = zip(self.places, self.families, strict=True)
        ranks = [(*rank, at) for at, rank in enumerate(order)]
        for position in sorted(chosen, key=ranks.__getitem__):
            by_row.setdefault(self.places[position][0], []).append(position)
        for row in by_row.values():
            if pages and len(pages[-1]) + len(row) <= PAGE_CELLS:
                pages[-1].extend(row)
                continue
            starts = range(0, len(row), PAGE_CELLS)
            pages.extend(row[start : start + PAGE_CELLS] for start in starts)
        return pages


def arranged(
    cells: Sequence[WallCell], rows: str | None = None, cols: str | None = None
) -> Arrangement:
    axes = list(dict.fromkeys(axis for cell in cells for axis in cell.labels))
    _check(cells, axes, rows, cols)
    row_of = _numbers(cells, rows)
    col_of = _numbers(cells, cols)
    places = tuple(
        (row_of[cell.text(rows)] if rows else 0, col_of[cell.text(cols)] if cols else 0)
        for cell in cells
    )
    shows_prompt = _needs_prompt(cells, places, rows, cols)
    varying = [
        axis for axis in dict.fromkeys((*axes, TAKE_AXIS)) if _varies(cells, axis)
    ]
    naming = varying or [PROMPT_AXIS] * _varies(cells, PROMPT_AXIS)
    captioned = [axis for axis in varying if axis not in (rows, cols, PROMPT_AXIS)]
    if shows_prompt:
        captioned = [axis for axis in captioned if not _is_in_prompt(cells, axis)]
    return Arrangement(
        row_axis=rows,
        col_axis=cols,
        rows=tuple(_named(rows, text) for text in row_of),
        cols=tuple(_named(cols, text) for text in col_of),
        places=places,
        families=_families(cells),
        captions=tuple(_words(cell, captioned, " · ") for cell in cells),
        names=tuple(
            _words(cell, naming, ", ", NAME_LENGTH) or f"cell {cell.index + 1}"
            for cell in cells
        ),
        shows_prompt=shows_prompt,
    )


def _families(cells: Sequence[WallCell]) -> tuple[int, ...]:
    # A result made from another result follows it and has the same labels.
    first: dict[object, int] = {}
    families = []
    for at, cell in enumerate(cells):
        labels = tuple(cell.labels.items())
        if cell.is_extra:
            families.append(first.get((labels, cell.take), first.get(labels, at)))
        else:
            first.setdefault(labels, at)
            first.setdefault((labels, cell.take), at)
            families.append(at)
    return tuple(families)


def _check(
    cells: Sequence[WallCell], axes: list[str], rows: str | None, cols: str | None
) -> None:
    names = [*axes, *(axis for axis in (TAKE_AXIS, PROMPT_AXIS) if axis not in axes)]
    accepted = f"one of the axes {', '.join(names)}"
    for name, axis in (("rows", rows), ("cols", cols)):
        if axis is not None and cells and axis not in names:
            raise InputError(name, got=axis, accepted=accepted)
    if rows is not None and rows == cols:
        raise InputError("cols", got=cols, accepted="a different axis from rows")


def _numbers(cells: Sequence[WallCell], axis: str | None) -> Mapping[str, int]:
    if axis is None:
        return {}
    texts = dict.fromkeys(cell.text(axis) for cell in cells)
    if axis == TAKE_AXIS:
        texts = dict.fromkeys(sorted(texts, key=lambda text: (len(text), text)))
    return {text: number for number, text in enumerate(texts)}


def _varies(cells: Sequence[WallCell], axis: str) -> bool:
    return len({cell.text(axis) for cell in cells}) > 1


def _needs_prompt(
    cells: Sequence[WallCell],
    places: Sequence[Place],
    rows: str | None,
    cols: str | None,
) -> bool:
    if PROMPT_AXIS in (rows, cols) or not _varies(cells, PROMPT_AXIS):
        return False
    seen: dict[Place, str | None] = {}
    return any(
        seen.setdefault(place, cell.prompt) != cell.prompt
        for place, cell in zip(places, cells, strict=True)
    )


def _is_in_prompt(cells: Sequence[WallCell], axis: str) -> bool:
    return all(cell.text(axis) in (cell.prompt or "") for cell in cells)


def _words(
    cell: WallCell, axes: Sequence[str], between: str, most: int = CAPTION_LENGTH
) -> str:
    return between.join(text for axis in axes if (text := _word(cell, axis, most)))


def _word(cell: WallCell, axis: str, most: int) -> str:
    return _named(axis, shortened(cell.text(axis), most))


def _named(axis: str | None, text: str) -> str:
    # Numbers and booleans alone are unclear, so add the name of the axis.
    bare = text.replace(".", "", 1).isdigit() or text.lower() in BARE_WORDS
    return f"{axis} {text}" if bare else text
