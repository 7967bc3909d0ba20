"""The widget of a wall in the browser: its state, and the updates that it gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
from traitlets import Dict, List, Unicode

from mediakit.widgets.gallery.cells import Ranked, WallCell, WallSummary
from mediakit.widgets.gallery.layout import arranged
from mediakit.widgets.gallery.payload import (
    Payload,
    cell_payload,
    header_payload,
    prompts_of,
    wall_payload,
)
from mediakit.widgets.gallery.pending_updates import Outbox
from mediakit.widgets.gallery.posters import is_embedded
from mediakit.widgets.toolkit.browser_script import script_of
from mediakit.widgets.toolkit.widget_factory import keep_in_order

HERE = Path(__file__).parent
SCRIPTS = ("elements.js", "together.js", "sheets.js", "blind.js", "tile.js", "wall.js")


class GalleryWidget(anywidget.AnyWidget):
    """The wall in the browser.

    Its state is what a page that is loaded finds. A page that is open is sent the
    differences, by messages: setting a trait sends nothing.
    """

    _esm = script_of(HERE, *SCRIPTS)
    _css = (HERE / "gallery.css").read_text("utf-8")
    wall = Dict().tag(sync=True)
    header = Dict().tag(sync=True)
    cells: Any = List().tag(sync=True)
    posters = Dict().tag(sync=True)
    ranking: Any = List().tag(sync=True)
    can = Dict().tag(sync=True)
    hides = Unicode().tag(sync=True)

    def _should_send_property(self, key: str, value: object) -> bool:
        sent = ("wall", "header", "cells", "posters", "ranking", "can")
        return key not in sent and super()._should_send_property(key, value)


class Board:
    """Cells on a widget; only what changes is sent.

    Args:
        cells: The cells.
        axes: The axis of the rows and that of the columns.
        title: What is above them.
        environment: See `player.browser_url`.
        ask: Called when there is something to send.
    """

    def __init__(
        self,
        cells: tuple[WallCell, ...],
        *,
        axes: tuple[str | None, str | None],
        title: str,
        environment: Mapping[str, str],
        ask: Callable[[], object],
    ) -> None:
        self._axes = axes
        self._title = title
        self._environment = environment
        self.outbox = Outbox(ask)
        self.widget: Any = None
        self.cells = cells
        self._take(cells)

    def open(self, hear: Callable[..., object], **state: object) -> None:
        """Make the widget.

        Args:
            hear: Called with what people do.
            state: Values of the widget's other traits.
        """
        wall, cells = self._payloads()
        first = next(iter(self._arrangement.pages()), [])
        posters = self._posters([self.cells[at].index for at in first])
        self.widget = GalleryWidget(wall=wall, cells=cells, posters=posters, **state)
        keep_in_order(self.widget.comm)
        self.widget.on_msg(hear)

    def send(self) -> None:
        """Send the updates as one message."""
        updates = self.outbox.take()
        if updates:
            self.widget.send({"updates": updates})

    def send_copy(self, message: Mapping[str, Any], mp4: bytes) -> None:
        """Send what a view plays in place of a result that it cannot play."""
        its = {"view": message.get("view"), "number": message.get("number")}
        self.widget.send({"copy": its}, buffers=[mp4])

    def find(self, index: object) -> WallCell | None:
        """Return the cell of an index; None where there is none."""
        position = self._positions.get(index) if isinstance(index, int) else None
        return None if position is None else self.cells[position]

    def show(self, cells: tuple[WallCell, ...]) -> None:
        """Show cells in place of those shown now."""
        before = self.cells
        if not _same_places(before, cells):
            self._take(cells)
            self._tell_all()
            return
        self.cells = cells
        for position, (old, new) in enumerate(zip(before, cells, strict=True)):
            if old is not new and not new.looks_like(old):
                self._tell(position)
                if old.poster != new.poster and is_embedded(old.poster):
                    self.outbox.put_posters(self._posters([new.index]))

    def show_again(self, job_id: object) -> None:
        """Send the cells of a job as they are, where a page took them for others."""
        for position, cell in enumerate(self.cells):
            if cell.job_id is not None and cell.job_id == job_id:
                self._tell(position)

    def show_header(self, summary: WallSummary) -> None:
        """Show the header of these cells."""
        header = header_payload(self.cells, summary)
        if header != self.widget.header:
            self.widget.header = header
            self.outbox.put(header=header)

    def show_ranking(self, ranked: Sequence[Ranked]) -> None:
        """Show who came out ahead."""
        self.widget.ranking = ranking_payload(ranked)
        self.outbox.put(ranking=self.widget.ranking)

    def show_posters(self, indices: Sequence[object]) -> None:
        """Send posters that a page is about to show."""
        posters = self._posters(indices)
        self.widget.posters = {**self.widget.posters, **posters}
        self.outbox.put_posters(posters)

    def _take(self, cells: tuple[WallCell, ...]) -> None:
        self.cells = cells
        self._positions = {cell.index: at for at, cell in enumerate(cells)}
        self._arrangement = arranged(cells, *self._axes)
        self._prompts = {text: at for at, text in enumerate(prompts_of(cells))}

    def _payloads(self) -> tuple[Payload, list[Payload]]:
        cells = [self._payload(at) for at in range(len(self.cells))]
        return wall_payload(self.cells, self._arrangement, self._title), cells

    def _payload(self, position: int) -> Payload:
        return cell_payload(
            self.cells[position],
            position,
            self._arrangement,
            self._prompts,
            self._environment,
        )

    def _tell_all(self) -> None:
        wall, cells = self._payloads()
        self.widget.wall, self.widget.cells = wall, cells
        self.widget.posters = {}
        self.outbox.put_all(wall, cells)

    def _tell(self, position: int) -> None:
        payload = self._payload(position)
        self.widget.cells[position] = payload
        self.outbox.put_cell(position, payload)

    def _posters(self, indices: Sequence[object]) -> dict[str, str]:
        cells = filter(None, map(self.find, indices))
        return {
            str(cell.index): cell.poster
            for cell in cells
            if cell.poster is not None and is_embedded(cell.poster)
        }


def ranking_payload(ranked: Sequence[Ranked]) -> list[Payload]:
    """Return a ranking as it is sent to the browser."""
    return [
        {
            "job": job,
            "strength": float(strength),
            "low": float(low),
            "high": float(high),
            "group": int(group),
        }
        for job, strength, low, high, group in ranked
    ]


def _same_places(before: Sequence[WallCell], after: Sequence[WallCell]) -> bool:
    """Tell whether nothing but what stands in the cells has changed."""
    return len(before) == len(after) and all(
        old is new
        or (old.index, old.labels, old.prompt, old.take)
        == (new.index, new.labels, new.prompt, new.take)
        for old, new in zip(before, after, strict=True)
    )
