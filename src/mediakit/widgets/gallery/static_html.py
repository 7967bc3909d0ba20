"""A wall as static HTML for a saved notebook."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from io import BytesIO
from itertools import groupby

from markupsafe import Markup

from mediakit.client.job_texts import STATE_WORDS
from mediakit.media_html import data_url, link_html, medium_html, tile_html
from mediakit.safe_text import NO_HTML, html_text
from mediakit.widgets.gallery.cells import (
    WallCell,
    WallSummary,
    header_of,
    is_embedded,
    price_text,
    shown_poster,
)
from mediakit.widgets.gallery.page import Wall
from mediakit.widgets.gallery.text_differences import Marked
from mediakit.widgets.job.card import BAD, LINE, QUIET, as_of_html
from mediakit.widgets.job.player import WHAT, browser_url
from mediakit.widgets.job.text import as_of_text, shortened

# Leaves room for code in a notebook of 0.3 MB.
WALL_BYTES = 275_000
PAGE_BYTES = 140_000
POSTERS_BYTES = 100_000
POSTER_WIDTHS_PX = (240, 192, 160, 128, 96, 72)
JPEG_QUALITY = 60
TEXT_SHOWN = 160
PROMPT_SHOWN = 280
NOTE_SHOWN = 300
# A narrower player shows none of its controls.
TILE_PX, LEAST_TILE_PX, PAGE_PX = 220, 160, 1_000

# Untrusted copies and exports strip style sheets and classes.
TABLE = "border-collapse:collapse;margin:6px 0;font-size:12px"
CELL = f"vertical-align:top;text-align:left;padding:4px;border:1px solid {LINE}"
HEAD = f"{CELL};font-weight:normal;max-width:{TILE_PX}px;{QUIET}"


def static_html(
    wall: Wall, summary: WallSummary | None = None, as_of: datetime | None = None
) -> Markup:
    """Write a wall as HTML that stays readable whatever is stripped from it.

    `as_of` is the time of writing, shown on a wall whose cells may change.
    """
    saved = _SavedWall(wall)
    page = _header_html(wall.cells, summary or WallSummary())
    page += as_of_html(as_of if _may_change(wall.cells) else None) + saved.table_html()
    if wall.title:
        title = html_text(_brief(wall.title))
        page = Markup("<div><b>{}</b></div>{}").format(title, page)
    room = WALL_BYTES - len(page.encode()) - page.count('"')
    return page + saved.later_html(room)


def static_text(
    cells: Sequence[WallCell],
    title: str = "",
    summary: WallSummary | None = None,
    as_of: datetime | None = None,
) -> str:
    header = header_of(cells, summary or WallSummary())
    figures = (f"{figure} {name}" for figure, name in header.figures)
    written = as_of_text(as_of) if _may_change(cells) else ""
    lines = (title, ", ".join(figures), header.progress, written)
    return "\n".join(filter(None, lines))


def _may_change(cells: Sequence[WallCell]) -> bool:
    return any(cell.status in ("planned", "queued", "running") for cell in cells)


def _header_html(cells: Sequence[WallCell], summary: WallSummary) -> Markup:
    header = header_of(cells, summary)
    pair = Markup('<b>{}</b> <span style="{}">{}</span>')
    figures = Markup(" &nbsp; ").join(
        pair.format(html_text(figure), QUIET, html_text(name))
        for figure, name in header.figures
    )
    html = Markup("<div>{}</div>").format(figures)
    if header.progress:
        progress = Markup('<div style="{}">{}</div>')
        html += progress.format(QUIET, html_text(header.progress))
    return html


class _SavedWall:
    """A wall as HTML: its first page, and the other cells as rows."""

    def __init__(self, wall: Wall) -> None:
        self._wall, self._cells = wall, wall.cells
        self._at = arrangement = wall.arrangement
        pages = arrangement.pages()
        self._page = page = pages[0] if pages else []
        self._later = [position for page in pages[1:] for position in page]
        cols = {arrangement.places[at][1] for at in page}
        fitting_px = PAGE_PX // max(1, len(cols))
        self._tile_px = max(LEAST_TILE_PX, min(TILE_PX, fitting_px))
        done = [wall.cells[at] for at in page if wall.cells[at].status == "completed"]
        room = PAGE_BYTES - 2 * sum(len(cell.url or "") for cell in done)
        # Each poster is written twice: for the player, and for copies without the
        # player.
        room = max(0, min(room, POSTERS_BYTES)) // 2
        self._posters = small_posters([cell.poster for cell in done], room)

    def table_html(self) -> Markup:
        if not self._page:
            return Markup('<div style="{}">There are no cells.</div>').format(QUIET)
        if self._at.col_axis is None and self._at.row_axis is None:
            return self._flow_html(self._page)
        cols = sorted({self._at.places[at][1] for at in self._page})
        body = NO_HTML.join(
            self._row_html(row, list(group), cols)
            for row, group in groupby(self._page, lambda at: self._at.places[at][0])
        )
        table = Markup('<table style="{}">{}{}</table>')
        return table.format(TABLE, self._head_html(cols), body)

    def _head_html(self, cols: Sequence[int]) -> Markup:
        if self._at.col_axis is None:
            return NO_HTML
        heads = NO_HTML.join(_head_html(self._at.cols[col], "col") for col in cols)
        corner = Markup("<td></td>") if self._at.row_axis is not None else NO_HTML
        return Markup("<thead><tr>{}</tr></thead>").format(corner + heads)

    def _row_html(self, row: int, page: list[int], cols: Sequence[int]) -> Markup:
        at_col = {
            col: [at for at in page if self._at.places[at][1] == col] for col in cols
        }
        head = _head_html(self._at.rows[row], "row") if self._at.row_axis else ""
        write = self._flow_html if self._at.col_axis is None else self._tiles_html
        td = Markup('<td style="{}">{}</td>')
        tiles = NO_HTML.join(td.format(CELL, write(group)) for group in at_col.values())
        return Markup("<tr>{}{}</tr>").format(head, tiles)

    def _tiles_html(self, positions: Sequence[int]) -> Markup:
        return NO_HTML.join(map(self._tile_html, positions))

    def _flow_html(self, positions: Sequence[int]) -> Markup:
        flow = Markup('<div style="display:flex;flex-wrap:wrap;gap:10px">{}</div>')
        return flow.format(self._tiles_html(positions))

    def _tile_html(self, position: int) -> Markup:
        cell = self._cells[position]
        facts_text = [
            self._prompt_html(cell),
            _quiet_html(self._at.captions[position]),
            _quiet_html(_brief(" ".join(f"#{tag}" for tag in cell.tags))),
            _quiet_html(_brief(cell.note, NOTE_SHOWN)),
            _quiet_html(_brief(cell.scores, NOTE_SHOWN)),
        ]
        medium = self._media_html(cell, position)
        facts = [html_text(price_text(cell))]
        rows = tile_html(medium, cell.rating, facts, facts_text, keep=cell.keep)
        tile = Markup('<div style="width:{}px;margin:0 0 4px">{}</div>')
        return tile.format(self._tile_px, rows)

    def _media_html(self, cell: WallCell, position: int) -> Markup:
        if cell.status != "completed" or cell.address is None:
            return _state_html(cell)
        src = browser_url(cell.address, self._wall.environment)
        name = self._at.names[position]
        medium = cell.media_type or ""
        medium_part = medium_html(src, medium, name, poster=self._poster(cell))
        if medium == "image":
            return medium_part  # a link already
        words = f"Open the {WHAT[medium]}" if medium in WHAT else name
        return medium_part + Markup("<div>{}</div>").format(link_html(src, words))

    def _poster(self, cell: WallCell) -> str:
        poster = self._posters.get(cell.poster or "", "")
        if poster and not is_embedded(poster):
            poster = browser_url(poster, self._wall.environment)
        return poster

    def _prompt_html(self, cell: WallCell) -> Markup:
        if not (self._at.shows_prompt and cell.prompt):
            return NO_HTML
        return marked_html(_shortened(self._wall.prompts[cell.prompt]))

    def later_html(self, room: int) -> Markup:
        if not self._later:
            return NO_HTML
        written: list[Markup] = []
        for position in self._later:
            row = self._plain_row(position)
            room -= len(row.encode())
            if room < 0:
                break
            written.append(row)
        left = len(self._later) - len(written)
        more = Markup("<div>{:,} more cells are not shown here.</div>").format(left)
        return Markup(
            "<details><summary>{:,} more cells, after the first page of "
            "{}</summary><table><tr><th>Cell<th>Judged<th>USD{}</table>{}</details>"
        ).format(
            len(self._later),
            len(self._page),
            NO_HTML.join(written),
            more if left else "",
        )

    def _plain_row(self, position: int) -> Markup:
        # Single quotes save bytes: JSON escapes double quotes.
        cell = self._cells[position]
        name = html_text(_brief(self._at.names[position]))
        if cell.address is not None:
            link = Markup("<a href='{}'>{}</a>")
            name = link.format(browser_url(cell.address, self._wall.environment), name)
        facts = [
            STATE_WORDS[cell.status] if cell.status != "completed" else "",
            f"{cell.rating}★" if cell.rating else "",
            "kept" if cell.keep else "",
            _brief(cell.problem),
        ]
        facts_part = html_text(" ".join(filter(None, facts)))
        price = price_text(cell).replace("$", "")
        return Markup("<tr><td>{}<td>{}<td>{}").format(name, facts_part, price)


def small_posters(posters: Sequence[str | None], most_bytes: int) -> Mapping[str, str]:
    sources = [shown for poster in posters if (shown := shown_poster(poster))]
    embedded = Counter(poster for poster in sources if is_embedded(poster))
    small = {poster: poster for poster in sources if not is_embedded(poster)}
    for width_px in POSTER_WIDTHS_PX:
        drawn = {poster: _small(poster, width_px) for poster in embedded}
        if sum(len(drawn[poster]) * embedded[poster] for poster in drawn) <= most_bytes:
            return small | {poster: text for poster, text in drawn.items() if text}
    return small


@lru_cache(maxsize=512)
def _small(poster: str, width_px: int) -> str:
    from PIL import Image

    try:
        content = b64decode(poster.partition(";base64,")[2], validate=True)
        with Image.open(BytesIO(content), formats=("JPEG",)) as image:
            image.draft("RGB", (width_px, width_px))
            picture = image.convert("RGB")
    except (OSError, ValueError, NoBase64, Image.DecompressionBombError):
        return ""
    picture.thumbnail((width_px, width_px))
    out = BytesIO()
    picture.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return data_url(out.getvalue())


def _shortened(pieces: Marked, most: int = PROMPT_SHOWN) -> Marked:
    short: Marked = []
    for text, differs in pieces:
        short.append((_brief(text, most), differs))
        most -= len(text)
        if most <= 0:
            break
    return short


def marked_html(pieces: Marked) -> Markup:
    bold = Markup("<b>{}</b>").format
    return NO_HTML.join(
        bold(html_text(text)) if differs else html_text(text)
        for text, differs in pieces
    )


def _head_html(text: str, scope: str) -> Markup:
    head = Markup('<th scope="{}" style="{}">{}</th>')
    return head.format(scope, HEAD, html_text(_brief(text)))


def _state_html(cell: WallCell) -> Markup:
    state_part = _quiet_html(STATE_WORDS[cell.status])
    if not cell.reason:
        return state_part
    tone = BAD if cell.status == "failed" else QUIET
    return state_part + Markup(' <span style="{}">{}</span>').format(
        tone, html_text(_brief(cell.reason))
    )


def _quiet_html(text: str) -> Markup:
    if not text:
        return NO_HTML
    return Markup('<span style="{}">{}</span>').format(QUIET, html_text(text))


def _brief(text: str | None, length: int = TEXT_SHOWN) -> str:
    return shortened(text or "", length)
