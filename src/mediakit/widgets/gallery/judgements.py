"""Recent ratings that the cells of a wall do not contain yet; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mediakit.widgets.gallery.cells import Judgement, WallCell


@dataclass
class _Mark:
    """What was judged, and what cells said of it before."""

    before: list[object]
    after: object


class Judged:
    """Judgements that were stored, and may be newer than cells that are given.

    A sweep reads its cells, a person rates one, and the cells that were read are shown:
    they still say what they said before, and the rating must stay. Cells that say
    something else are newer, and count.
    """

    def __init__(self) -> None:
        self._marks: dict[str, dict[str, _Mark]] = {}

    def judge(
        self, cells: Sequence[WallCell], job_id: str, changes: Judgement
    ) -> tuple[WallCell, ...]:
        """Return the cells with a job judged, and remember it.

        Args:
            cells: The cells that are shown.
            job_id: The job; several cells may show it.
            changes: What changed.
        """
        return tuple(
            self._judge(cell, job_id, changes) if cell.job_id == job_id else cell
            for cell in cells
        )

    def _judge(self, cell: WallCell, job_id: str, changes: Judgement) -> WallCell:
        marks = self._marks.setdefault(job_id, {})
        for name, value in changes.items():
            before = [*marks[name].before] if name in marks else []
            marks[name] = _Mark([*before, getattr(cell, name)], value)
        return replace(cell, **changes)

    def over(self, cells: Sequence[WallCell]) -> tuple[WallCell, ...]:
        """Return cells with the judgements that they do not know of yet."""
        if not self._marks:
            return tuple(cells)
        return tuple(self._over(cell) for cell in cells)

    def _over(self, cell: WallCell) -> WallCell:
        marks = self._marks.get(cell.job_id or "", {})
        for name, mark in tuple(marks.items()):
            said = getattr(cell, name)
            if said == mark.after or said not in mark.before:
                del marks[name]
        newer = {name: mark.after for name, mark in marks.items()}
        return replace(cell, **newer) if newer else cell  # type: ignore[arg-type] # they were checked when they came
