"""The page of a wall as JSON for the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mediakit.client.job_acts import ACTS, Act
from mediakit.client.job_texts import STATE_WORDS
from mediakit.widgets.gallery.cells import (
    WallCell,
    WallSummary,
    header_of,
    is_embedded,
    price_text,
    shown_poster,
)
from mediakit.widgets.gallery.layout import Arrangement, arranged
from mediakit.widgets.gallery.text_differences import Marked, marked
from mediakit.widgets.job.player import browser_url

COMPARED_AT_MOST = 9
SAME_FILTER = {"queued": "running", "planned": "unsent"}

Payload = dict[str, Any]


@dataclass(frozen=True)
class View:
    """The filters and the page that a person has chosen."""

    status: str = ""
    rating: int = 0
    kept: bool = False
    tag: str = ""
    text: str = ""
    page: int = 0
    selected: frozenset[int] = frozenset()

    @property
    def filters(self) -> Payload:
        every = ("status", "rating", "kept", "tag", "text")
        return {name: getattr(self, name) for name in every}

    def changed(self, changes: Mapping[str, Any]) -> View:
        """Return the view after a change; another filter begins at the first page."""
        page = {} if set(changes) <= {"page", "selected"} else {"page": 0}
        selected = frozenset(changes.get("selected", self.selected))
        return replace(self, **{**page, **changes, "selected": selected})


@dataclass(frozen=True)
class Wall:
    """All cells of a wall, laid out, with the words in which they differ."""

    cells: tuple[WallCell, ...]
    arrangement: Arrangement
    title: str
    environment: Mapping[str, str]
    prompts: Mapping[str, Marked] = field(repr=False)
    heads: tuple[list[Marked], list[Marked]] = field(repr=False)
    acts: tuple[Act, ...]

    @classmethod
    def of(
        cls,
        cells: Sequence[WallCell],
        axes: tuple[str | None, str | None],
        title: str,
        environment: Mapping[str, str],
        acts: tuple[Act, ...] = ACTS,
    ) -> Wall:
        prompts = prompts_of(cells)
        pieces = dict(zip(prompts, marked(prompts), strict=True))
        at = arranged(cells, *axes)
        heads = (_marked_heads(at.rows), _marked_heads(at.cols))
        return cls(tuple(cells), at, title, environment, pieces, heads, acts)

    def with_cells(self, cells: Sequence[WallCell]) -> Wall | None:
        is_same = len(cells) == len(self.cells) and all(
            old is new or _place(old) == _place(new)
            for old, new in zip(self.cells, cells, strict=True)
        )
        return replace(self, cells=tuple(cells)) if is_same else None

    def found(self, view: View) -> list[int]:
        return [at for at in range(len(self.cells)) if self._matches(at, view)]

    def page(self, view: View, summary: WallSummary) -> tuple[Payload, list[WallCell]]:
        pages = self.arrangement.pages(self.found(view)) or [[]]
        number = max(0, min(view.page, len(pages) - 1))
        positions = pages[number]
        chosen = self.chosen(view)
        at = self.arrangement
        rows, cols = self.heads
        places = [at.places[position] for position in positions]
        only = [*self.prompts.values()] if len(self.prompts) == 1 else []
        rest = {
            "title": self.title,
            "sentence": "" if not only or self._is_title(only[0]) else _plain(only[0]),
            "row_axis": at.row_axis or "",
            "col_axis": at.col_axis or "",
            "rows": {row: _pieces(rows[row]) for row, _ in places if rows},
            "cols": {col: _pieces(cols[col]) for _, col in places if cols},
            "cells": [*map(self.cell, positions)],
            "chosen": [*map(self.cell, chosen[:COMPARED_AT_MOST])],
            "chosen_count": len(chosen),
            "compared_at_most": COMPARED_AT_MOST,
            "candidates": len(self.candidates(view)),
            "selected": sorted(view.selected),
            "filters": view.filters,
            "tags": sorted({tag for cell in self.cells for tag in cell.tags}),
            "page": number,
            "pages": len(pages),
            "before": sum(map(len, pages[:number])),
            "found": sum(map(len, pages)),
            **asdict(header_of(self.cells, summary)),
        }
        pictured = dict.fromkeys([*positions, *chosen[:COMPARED_AT_MOST]])
        return rest, [self.cells[position] for position in pictured]

    def chosen(self, view: View) -> list[int]:
        """Return the results to compare: the selected ones, or else the kept ones."""
        seen = [at for at, cell in enumerate(self.cells) if cell.is_shown]
        if view.selected:
            return [at for at in seen if self.cells[at].index in view.selected]
        return [at for at in seen if self.cells[at].keep]

    def candidates(self, view: View) -> list[int]:
        """Return results that can be compared blindly: of one medium, one per job."""
        cells = self.cells
        pairs = {
            str(cells[at].job_id): at
            for at in self.found(view)
            if cells[at].is_shown and cells[at].job_id
        }
        chosen = [at for at in pairs.values() if cells[at].index in view.selected]
        among = chosen if len(chosen) > 1 else [*pairs.values()]
        media = [cells[at].media_type for at in among]
        most = max(media, key=media.count, default=None)
        return [at for at in among if cells[at].media_type == most]

    def _is_title(self, pieces: Marked) -> bool:
        return _plain(pieces) == self.title

    def _matches(self, position: int, view: View) -> bool:
        cell = self.cells[position]
        status = SAME_FILTER.get(cell.status, cell.status)
        if view.status not in ("", status) or (cell.rating or 0) < view.rating:
            return False
        if (view.kept and not cell.keep) or (view.tag and view.tag not in cell.tags):
            return False
        return not view.text or view.text.casefold() in self._words(position)

    def _words(self, position: int) -> str:
        cell = self.cells[position]
        at = self.arrangement
        own = (
            cell.prompt,
            cell.note,
            cell.problem,
            cell.job_id,
            cell.made,
            cell.scores,
        )
        texts = (*own, *cell.labels.values(), *cell.tags, at.captions[position])
        return "\n".join(filter(None, texts)).casefold()

    def cell_of(self, job_id: str) -> Payload:
        jobs = [cell.job_id for cell in self.cells]
        return self.cell(jobs.index(job_id))

    def cell(self, position: int) -> Payload:
        """Return a cell without unknown, empty or false values."""
        cell = self.cells[position]
        at = self.arrangement
        row, col = at.places[position]
        poster = shown_poster(cell.poster)
        linked = poster and not is_embedded(poster)
        full = {
            "job": cell.job_id,
            "prompt": _pieces(self.prompts.get(cell.prompt or "", [])),
            "shows_prompt": at.shows_prompt,
            "has_menu": cell.has_menu(self.acts),
            "made": bool(cell.made) and cell.is_extra,
            "caption": " · ".join(filter(None, (cell.made, at.captions[position]))),
            "name": ", ".join(filter(None, (at.names[position], cell.made))),
            "problem": cell.reason,
            "medium": cell.media_type,
            "url": cell.address and browser_url(cell.address, self.environment),
            "poster": browser_url(poster, self.environment) if linked else None,
            "price": price_text(cell),
            "retry": cell.retry if cell.status in ("failed", "unsent") else "",
            "runtime_s": cell.runtime_s,
            "rating": cell.rating,
            "keep": cell.keep,
            "tags": list(cell.tags),
            "note": cell.note,
            "scores": cell.scores,
        }
        rest = {
            name: value
            for name, value in full.items()
            if value is not False and value not in (None, "", [])
        }
        its = {"index": cell.index, "row": row, "col": col}
        return {
            **its,
            "status": cell.status,
            "word": STATE_WORDS[cell.status],
            **rest,
        }


def prompts_of(cells: Sequence[WallCell]) -> list[str]:
    return list(dict.fromkeys(cell.prompt for cell in cells if cell.prompt))


def _place(cell: WallCell) -> tuple[object, ...]:
    return (cell.index, cell.labels, cell.prompt, cell.take)


def _marked_heads(texts: Sequence[str]) -> list[Marked]:
    # Single words are all different, and need no mark.
    is_long = any(len(text.split()) > 2 for text in texts)
    return marked(texts) if is_long else [[(text, False)] for text in texts]


def _plain(pieces: Marked) -> str:
    return "".join(text for text, _ in pieces)


def _pieces(pieces: Marked) -> list[list[object]]:
    return [[text, int(differs)] for text, differs in pieces]
