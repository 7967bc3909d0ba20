"""A timeline as a still picture, for a copy of the notebook without a kernel."""

from __future__ import annotations

from html import escape

from mediakit.markup import html_text
from mediakit.widgets.timeline.layout import Block, Row, seconds, timeline_of
from mediakit.widgets.timeline.model import Axis

# Written into each element: a saved notebook has no style sheet of ours. Where a page
# drops styles too, the words remain, one line each.
ROW = "display:flex;align-items:center;gap:8px;margin:2px 0"
HEAD = "flex:0 0 120px;overflow-wrap:anywhere"
LANE = "position:relative;flex:1 1 auto;min-width:240px;height:34px"
BLOCK = (
    "position:absolute;top:0;bottom:0;box-sizing:border-box;overflow:hidden;"
    "white-space:nowrap;padding:0 5px;font-size:11px;"
    "border:1px solid var(--jp-brand-color1,Highlight);border-radius:3px"
)


def still_html(axis: Axis, value: object) -> str:
    """Write a field's timeline to scale; no block is no picture.

    Args:
        axis: Where the stretches are.
        value: The field's value.
    """
    shown = timeline_of(axis, value)
    if not shown.end_ms:
        return ""
    rows = "".join(_row_html(row, shown.end_ms) for row in shown.rows)
    return f'<div style="min-width:420px;text-align:left">{rows}</div>'


def _row_html(row: Row, end_ms: float) -> str:
    blocks = "".join(_block_html(block, end_ms) for block in row.blocks)
    head = f"<b>{html_text(row.name)}</b> {html_text(row.kind)}"
    return (
        f'<div style="{ROW}"><div style="{HEAD}">{head}</div>'
        f'<div style="{LANE}">{blocks}</div></div>'
    )


def _block_html(block: Block, end_ms: float) -> str:
    left, width = (100 * ms / end_ms for ms in (block.start_ms, block.length_ms))
    until = seconds(block.start_ms + block.length_ms)
    times = f"{seconds(block.start_ms)} to {until} s"
    place = f"left:{left:.3f}%;width:{width:.3f}%"
    return (
        f'<div style="{BLOCK};{place}" title="{escape(block.url, quote=True)}">'
        f"{html_text(block.label)}<br>{times}</div>"
    )
