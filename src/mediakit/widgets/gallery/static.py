"""A wall as it stays in a saved notebook: a static table; pure.

Like a job's card it is read without a kernel, in untrusted copies and in exports,
each of which strips something: no style sheet, no class, colours given twice. Its size
is bounded, whatever the number of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby

from mediakit.markup import html_text
from mediakit.widgets.gallery.arrangement import Arrangement, arranged
from mediakit.widgets.gallery.cells import (
    BEST_RATING,
    WallCell,
    WallSummary,
    header_of,
    price_text,
)
from mediakit.widgets.gallery.differences import Marked, marked
from mediakit.widgets.gallery.payload import NO_ADDRESS, prompts_of
from mediakit.widgets.gallery.posters import is_embedded, small_posters
from mediakit.widgets.job.card import BAD, LINE, QUIET
from mediakit.widgets.job.player import NO_ENVIRONMENT, browser_url, web_url

# A notebook of 0.3 MB has room for it, and for the code beside it.
WALL_BYTES = 275_000
PAGE_BYTES = 140_000
POSTERS_BYTES = 100_000
TEXT_SHOWN = 160
PROMPT_SHOWN = 280
NOTE_SHOWN = 300
# A player that is narrower shows none of its controls.
TILE_PX, LEAST_TILE_PX, PAGE_PX = 220, 160, 1_000

KEPT = "color:#1e7bd6;color:var(--jp-brand-color1,#1e7bd6)"
TABLE = "border-collapse:collapse;margin:6px 0;font-size:12px"
CELL = f"vertical-align:top;text-align:left;padding:4px;border:1px solid {LINE}"
HEAD = f"{CELL};font-weight:normal;max-width:{TILE_PX}px;{QUIET}"
STATUS = {
    "planned": "not sent yet",
    "queued": "queued",
    "running": "running",
    "unsent": "unsent",
    "invalid": "invalid",
    "failed": "failed",
    "completed": "completed",
}


def static_html(
    cells: Sequence[WallCell],
    rows: str | None = None,
    cols: str | None = None,
    *,
    title: str = "",
    summary: WallSummary | None = None,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
) -> str:
    """Write a wall as HTML that stays readable whatever is stripped from it.

    The first page is a table with players and small posters; further cells are rows
    of a folded table, as many as fit.

    Args:
        cells: The cells.
        rows: The axis down the side.
        cols: The axis along the top.
        title: What is above it.
        summary: The figures of the header that the cells do not tell.
        environment: See `playback.browser_url`.

    Raises:
        InputError: There is no such axis.
    """
    arrangement = arranged(cells, rows, cols)
    pages = arrangement.pages()
    first = pages[0] if pages else []
    later = [position for page in pages[1:] for position in page]
    wall = _Wall(cells, arrangement, first, environment)
    page = "".join(
        [
            f"<div><b>{html_text(_brief(title))}</b></div>" if title else "",
            _header_html(cells, summary or WallSummary()),
            wall.table_html(),
        ]
    )
    room = WALL_BYTES - len(page.encode()) - page.count('"')
    return page + _later_html(cells, arrangement, later, environment, room)


def static_text(
    cells: Sequence[WallCell], title: str = "", summary: WallSummary | None = None
) -> str:
    """Write the header of a wall as plain text."""
    header = header_of(cells, summary or WallSummary())
    figures = (f"{figure} {name}" for figure, name in header.figures)
    return "\n".join(filter(None, (title, ", ".join(figures), header.progress)))


def _header_html(cells: Sequence[WallCell], summary: WallSummary) -> str:
    header = header_of(cells, summary)
    figures = " &nbsp; ".join(
        f'<b>{html_text(figure)}</b> <span style="{QUIET}">{html_text(name)}</span>'
        for figure, name in header.figures
    )
    progress = f'<div style="{QUIET}">{html_text(header.progress)}</div>'
    return f"<div>{figures}</div>{progress if header.progress else ''}"


class _Wall:
    """The first page of a wall, being written.

    Args:
        cells: All cells.
        arrangement: Where they are.
        page: The positions of those that are written.
        environment: See `playback.browser_url`.
    """

    def __init__(
        self,
        cells: Sequence[WallCell],
        arrangement: Arrangement,
        page: Sequence[int],
        environment: Mapping[str, str],
    ) -> None:
        self._cells = cells
        self._at = arrangement
        self._page = page
        self._environment = environment
        cols = {arrangement.places[at][1] for at in page}
        fitting_px = PAGE_PX // max(1, len(cols))
        self._tile_px = max(LEAST_TILE_PX, min(TILE_PX, fitting_px))
        prompts = prompts_of(cells)
        self._prompts = dict(zip(prompts, marked(prompts), strict=True))
        shown = [cells[at] for at in page if cells[at].status == "completed"]
        room = PAGE_BYTES - 2 * sum(len(cell.url or "") for cell in shown)
        # Each is written twice: for the player, and for where a player is dropped.
        room = max(0, min(room, POSTERS_BYTES)) // 2
        self._posters = small_posters([cell.poster for cell in shown], room)

    def table_html(self) -> str:
        if not self._page:
            return f'<div style="{QUIET}">There are no cells.</div>'
        if self._at.col_axis is None and self._at.row_axis is None:
            return self._flow_html(self._page)
        cols = sorted({self._at.places[at][1] for at in self._page})
        body = "".join(
            self._row_html(row, list(group), cols)
            for row, group in groupby(self._page, lambda at: self._at.places[at][0])
        )
        return f'<table style="{TABLE}">{self._head_html(cols)}{body}</table>'

    def _head_html(self, cols: Sequence[int]) -> str:
        if self._at.col_axis is None:
            return ""
        heads = "".join(_head_html(self._at.cols[col], "col") for col in cols)
        corner = "<td></td>" if self._at.row_axis is not None else ""
        return f"<thead><tr>{corner}{heads}</tr></thead>"

    def _row_html(self, row: int, page: list[int], cols: Sequence[int]) -> str:
        at_col = {
            col: [at for at in page if self._at.places[at][1] == col] for col in cols
        }
        head = _head_html(self._at.rows[row], "row") if self._at.row_axis else ""
        flow = self._at.col_axis is None
        tiles = "".join(
            f'<td style="{CELL}">'
            f"{self._flow_html(found) if flow else self._tiles_html(found)}</td>"
            for found in at_col.values()
        )
        return f"<tr>{head}{tiles}</tr>"

    def _tiles_html(self, positions: Sequence[int]) -> str:
        return "".join(map(self._tile_html, positions))

    def _flow_html(self, positions: Sequence[int]) -> str:
        tiles = self._tiles_html(positions)
        return f'<div style="display:flex;flex-wrap:wrap;gap:10px">{tiles}</div>'

    def _tile_html(self, position: int) -> str:
        cell = self._cells[position]
        said = [
            self._media_html(cell, position),
            _facts_html(cell),
            self._prompt_html(cell),
            _quiet_html(self._at.captions[position]),
            _quiet_html(_brief(" ".join(f"#{tag}" for tag in cell.tags))),
            _quiet_html(_brief(cell.note, NOTE_SHOWN)),
        ]
        rows = "".join(f"<div>{text}</div>" for text in said if text)
        return f'<div style="width:{self._tile_px}px;margin:0 0 4px">{rows}</div>'

    def _media_html(self, cell: WallCell, position: int) -> str:
        address = web_url(cell.url) if cell.url else None
        if cell.status != "completed" or address is None:
            unopened = cell.status == "completed" and cell.url
            return _state_html(cell, NO_ADDRESS if unopened else cell.problem)
        src = escape(browser_url(address, self._environment), quote=True)
        name = escape(self._at.names[position], quote=True)
        return _TAGS.get(cell.media_type or "", _link)(src, name, self._poster(cell))

    def _poster(self, cell: WallCell) -> str:
        poster = self._posters.get(cell.poster or "", "")
        if poster and not is_embedded(poster):
            poster = browser_url(poster, self._environment)
        return escape(poster, quote=True)

    def _prompt_html(self, cell: WallCell) -> str:
        if not (self._at.shows_prompt and cell.prompt):
            return ""
        return marked_html(_shortened(self._prompts[cell.prompt]))


def _shortened(pieces: Marked, most: int = PROMPT_SHOWN) -> Marked:
    short: Marked = []
    for text, differs in pieces:
        short.append((_brief(text, most), differs))
        most -= len(text)
        if most <= 0:
            break
    return short


def marked_html(pieces: Marked) -> str:
    """Write a text with what differs in bold."""
    return "".join(
        f"<b>{html_text(text)}</b>" if differs else html_text(text)
        for text, differs in pieces
    )


def _head_html(text: str, scope: str) -> str:
    return f'<th scope="{scope}" style="{HEAD}">{html_text(_brief(text))}</th>'


def _facts_html(cell: WallCell) -> str:
    facts = [
        f"<span>{stars(cell.rating)}</span>" if cell.rating else "",
        f'<b style="{KEPT}">kept</b>' if cell.keep else "",
        html_text(price_text(cell)),
    ]
    return " ".join(fact for fact in facts if fact)


def _state_html(cell: WallCell, problem: str | None) -> str:
    word = f'<span style="{QUIET}">{STATUS[cell.status]}</span>'
    tone = BAD if cell.status == "failed" else QUIET
    said = (
        f' <span style="{tone}">{html_text(_brief(problem))}</span>' if problem else ""
    )
    return f"{word}{said}"


def _quiet_html(text: str) -> str:
    return f'<span style="{QUIET}">{html_text(text)}</span>' if text else ""


def stars(rating: int | None) -> str:
    """Write a rating as stars; those that are missing are hollow."""
    full = rating or 0
    return "★" * full + "☆" * (BEST_RATING - full)


def _brief(text: str | None, most: int = TEXT_SHOWN) -> str:
    text = text or ""
    return text if len(text) <= most else f"{text[: most - 1]}…"


_PLACE = "display:block;width:100%;height:auto;border-radius:3px"


def _video(src: str, name: str, poster: str) -> str:
    # Where a sanitiser drops the player it keeps what is inside.
    picture = f' poster="{poster}"' if poster else ""
    still = f'<img src="{poster}" alt="{name}" style="{_PLACE}">' if poster else name
    return (
        f'<video controls preload="none" playsinline src="{src}"{picture} '
        f'aria-label="{name}" style="{_PLACE}">{still}</video>'
        f"<div>{_link(src, 'Open the video')}</div>"
    )


def _image(src: str, name: str, poster: str) -> str:
    picture = (
        f'<img loading="lazy" src="{poster or src}" alt="{name}" style="{_PLACE}">'
    )
    return _link(src, picture)


def _audio(src: str, name: str, poster: str) -> str:
    tag = f'<audio controls preload="none" src="{src}" aria-label="{name}" '
    return f'{tag}style="width:100%"></audio><div>{_link(src, "Open the sound")}</div>'


def _link(src: str, content: str, poster: str = "") -> str:
    link = f'<a href="{src}" target="_blank" rel="noopener noreferrer">'
    return f"{link}{content}</a>"


_TAGS: Mapping[str, Callable[[str, str, str], str]] = {
    "video": _video,
    "image": _image,
    "audio": _audio,
}


def _later_html(
    cells: Sequence[WallCell],
    arrangement: Arrangement,
    later: Sequence[int],
    environment: Mapping[str, str],
    room: int,
) -> str:
    """Write the cells behind the first page as rows, as many as there is room for."""
    if not later:
        return ""
    written: list[str] = []
    for row in _plain_rows(cells, arrangement, later, environment):
        room -= len(row.encode())
        if room < 0:
            break
        written.append(row)
    left = len(later) - len(written)
    more = f"<div>{left:,} more cells are not written here.</div>" if left else ""
    return (
        f"<details><summary>{len(later):,} more cells, after the first page of "
        f"{len(cells) - len(later)}</summary><table><tr><th>Cell<th>Judged<th>USD"
        f"{''.join(written)}</table>{more}</details>"
    )


def _plain_rows(
    cells: Sequence[WallCell],
    arrangement: Arrangement,
    later: Sequence[int],
    environment: Mapping[str, str],
) -> Iterator[str]:
    # As few bytes as will do: double quotes would take two in a notebook's file.
    for position in later:
        cell = cells[position]
        name = html_text(_brief(arrangement.names[position]))
        address = web_url(cell.url) if cell.url else None
        if address is not None:
            src = escape(browser_url(address, environment), quote=True)
            name = f"<a href='{src}'>{name}</a>"
        facts = [
            STATUS[cell.status] if cell.status != "completed" else "",
            f"{cell.rating}★" if cell.rating else "",
            "kept" if cell.keep else "",
            _brief(cell.problem),
        ]
        said = " ".join(html_text(fact) for fact in facts if fact)
        yield f"<tr><td>{name}<td>{said}<td>{price_text(cell).replace('$', '')}"
