"""The data of a wall as JSON for the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mediakit.widgets.gallery.cells import (
    WallCell,
    WallSummary,
    header_of,
    price_text,
)
from mediakit.widgets.gallery.layout import PAGE_CELLS, Arrangement
from mediakit.widgets.gallery.posters import is_embedded, shown_poster
from mediakit.widgets.gallery.text_differences import Marked, marked
from mediakit.widgets.job.player import browser_url, web_url

NO_ADDRESS = "The result's address is not a web address, so it is not opened."

Payload = dict[str, Any]


def wall_payload(
    cells: Sequence[WallCell], arrangement: Arrangement, title: str
) -> Payload:
    """Return what a wall has beside its cells: headers, and prompts in pieces."""
    prompts = prompts_of(cells)
    return {
        "title": title,
        "page_cells": PAGE_CELLS,
        "row_axis": arrangement.row_axis or "",
        "col_axis": arrangement.col_axis or "",
        "rows": _heads(arrangement.rows),
        "cols": _heads(arrangement.cols),
        "prompts": [_pieces(pieces) for pieces in marked(prompts)],
        "shows_prompt": arrangement.shows_prompt,
    }


def prompts_of(cells: Sequence[WallCell]) -> list[str]:
    """Return the different prompts of cells, in order."""
    return list(dict.fromkeys(cell.prompt for cell in cells if cell.prompt))


def _heads(texts: Sequence[str]) -> list[list[list[object]]]:
    # Single words are all different, and need no mark.
    long = any(len(text.split()) > 2 for text in texts)
    pieces = marked(texts) if long else [[(text, False)] for text in texts]
    return [_pieces(each) for each in pieces]


def _pieces(pieces: Marked) -> list[list[object]]:
    return [[text, int(differs)] for text, differs in pieces]


def cell_payload(
    cell: WallCell,
    position: int,
    arrangement: Arrangement,
    prompts: Mapping[str, int],
    environment: Mapping[str, str],
) -> Payload:
    """Return a cell; what is unknown, empty or false is left out.

    Args:
        cell: The cell.
        position: Its position among all.
        arrangement: Where it is.
        prompts: The number of each prompt.
        environment: See `player.browser_url`.
    """
    address = web_url(cell.url) if cell.url else None
    row, col = arrangement.places[position]
    has_no_address = cell.status == "completed" and cell.url and address is None
    poster = shown_poster(cell.poster)
    full = {
        "job": cell.job_id,
        "prompt": prompts.get(cell.prompt or "", 0) + 1 if cell.prompt else None,
        "caption": arrangement.captions[position],
        "name": arrangement.names[position],
        "problem": NO_ADDRESS if has_no_address else cell.problem,
        "medium": cell.media_type,
        "url": browser_url(address, environment) if address else None,
        # A picture is sent when it is about to be seen.
        "poster": is_embedded(poster) or (poster and browser_url(poster, environment)),
        "price": price_text(cell),
        "runtime_s": cell.runtime_s,
        "rating": cell.rating,
        "keep": cell.keep,
        "tags": list(cell.tags),
        "note": cell.note,
        "parent": cell.parent_job_id,
    }
    known = {name: value for name, value in full.items() if value not in (None, "", [])}
    kept = {name: value for name, value in known.items() if value is not False}
    return {"index": cell.index, "row": row, "col": col, "status": cell.status, **kept}


def header_payload(cells: Sequence[WallCell], summary: WallSummary) -> Payload:
    """Return the figures of the header, the progress and the primary button's text."""
    return {**asdict(header_of(cells, summary)), "next_label": summary.next_label}
