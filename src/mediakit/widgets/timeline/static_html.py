"""A timeline as static HTML, for a notebook without a kernel."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from mediakit.history.titles import NO_NAMES
from mediakit.safe_text import NO_HTML, html_text
from mediakit.widgets.timeline.layout import Block, TimelineRow, seconds, timeline_of
from mediakit.widgets.timeline.time_axis import Axis

# These are inline styles, because saved notebooks do not have our style sheets. On
# pages that drop styles, the words remain, one line each.
ROW = "display:flex;align-items:center;gap:8px;margin:2px 0"
HEAD = "flex:0 0 120px;overflow-wrap:anywhere"
LANE = "position:relative;flex:1 1 auto;min-width:240px;height:34px"
BLOCK = (
    "position:absolute;top:0;bottom:0;box-sizing:border-box;overflow:hidden;"
    "white-space:nowrap;padding:0 5px;font-size:11px;"
    "border:1px solid var(--jp-brand-color1,Highlight);border-radius:3px"
)


def still_html(
    axis: Axis, value: object, titles: Mapping[str, str] = NO_NAMES
) -> Markup:
    """Draw a field's timeline to scale; "" if it has no blocks."""
    timeline = timeline_of(axis, value, titles=titles)
    if not timeline.end_ms:
        return NO_HTML
    rows = NO_HTML.join(_row_html(row, timeline.end_ms) for row in timeline.rows)
    return Markup('<div style="min-width:420px;text-align:left">{}</div>').format(rows)


def _row_html(row: TimelineRow, end_ms: float) -> Markup:
    blocks = NO_HTML.join(_block_html(block, end_ms) for block in row.blocks)
    return Markup(
        '<div style="{}"><div style="{}"><b>{}</b> {}</div>'
        '<div style="{}">{}</div></div>'
    ).format(ROW, HEAD, html_text(row.name), html_text(row.kind), LANE, blocks)


def _block_html(block: Block, end_ms: float) -> Markup:
    left, width = (100 * ms / end_ms for ms in (block.start_ms, block.length_ms))
    until = seconds(block.start_ms + block.length_ms)
    times = f"{seconds(block.start_ms)} to {until} s"
    place = f"left:{left:.3f}%;width:{width:.3f}%"
    return Markup('<div style="{};{}" title="{}">{}<br>{}</div>').format(
        BLOCK, place, block.url, html_text(block.label), times
    )
