"""The dashboard as HTML, live and as a static copy in a saved notebook; pure.

All external text is escaped. The live part takes its colours from the theme's
variables; the static copy is readable without a style sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from mediakit.money import format_usd
from mediakit.safe_text import NO_HTML, html_text
from mediakit.widgets.dashboard.figures import Figure, figures_of, verdict_of
from mediakit.widgets.dashboard.panels import Panel, Swatch
from mediakit.widgets.dashboard.state import DashboardState
from mediakit.widgets.job.card import LINE, QUIET
from mediakit.widgets.toolkit.styles import (
    error_html,
    line_html,
    style_block,
    style_tag,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 15
LONGEST_CELL = 80
MICRO_USD = "_micro_usd"
DARK = "body[data-jp-theme-light=false]"

# The legend swatches, in the colour `--mk-c`.
SIGNS = """
i.mk-patch{background:var(--mk-c);print-color-adjust:exact;
 -webkit-print-color-adjust:exact}
i.mk-line.mk-line,i.mk-dashed.mk-dashed{height:0;width:16px;vertical-align:middle;
 border-top:2px solid var(--mk-c)}
i.mk-dashed.mk-dashed{border-top-style:dashed}
"""
CSS = f"""
.mk-spend.mk-form{{padding:8px 14px 14px;border-radius:6px;box-sizing:border-box;
 border:1px solid var(--jp-border-color2);gap:10px}}
.mk-spend.mk-form .mk-sp-top{{display:flex;flex-flow:row wrap;align-items:center;
 gap:8px 10px;width:100%}}
.mk-spend.mk-form .mk-sp-head{{flex:1 1 200px;width:auto;min-width:0}}
.mk-sp-head h3{{margin:0;font-size:16px;font-weight:600;
 color:var(--jp-ui-font-color0)}}
.mk-spend.mk-form .mk-sp-pick{{flex:0 1 auto;width:auto;min-width:0}}
.mk-spend.mk-form .mk-sp-pick select{{flex:0 1 auto;width:auto;max-width:190px}}
.mk-spend.mk-form .mk-sp-by{{flex:0 0 auto;width:auto}}
.mk-spend.mk-form .mk-sp-by .widget-toggle-button{{margin:0 0 0 -1px;min-width:0;
 border:1px solid var(--jp-border-color1);border-radius:0;
 background:var(--jp-layout-color1);color:var(--jp-ui-font-color1)}}
.mk-spend.mk-form .mk-sp-by .widget-toggle-button:first-child{{margin-left:0}}
.mk-spend.mk-form .mk-sp-by .widget-toggle-button.mod-active{{position:relative;
 z-index:1;font-weight:600;border-color:var(--jp-brand-color1);
 color:var(--jp-brand-color1);box-shadow:none;
 background:color-mix(in srgb,var(--jp-brand-color1) 12%,var(--jp-layout-color1))}}
.mk-spend.mk-form .mk-sp-by .widget-toggle-button:focus-visible{{z-index:2;
 outline:2px solid var(--jp-brand-color1);outline-offset:1px}}
.mk-sp-figures{{display:flex;flex-wrap:wrap;gap:6px 26px;margin:0 0 6px}}
.mk-sp-figures>div{{display:flex;flex-direction:column}}
.mk-sp-figures span{{font-size:12px;color:var(--jp-ui-font-color2)}}
.mk-sp-figures b,.mk-sp-figures b span{{font-size:19px;line-height:1.35;
 font-weight:600;font-variant-numeric:tabular-nums;color:var(--jp-ui-font-color0)}}
.mk-sp-verdict{{display:flex;gap:8px}}
.mk-spend .mk-good{{color:color-mix(in srgb,var(--jp-success-color1) 80%,
 var(--jp-ui-font-color0))}}
.mk-sp-loading{{display:flex;align-items:center;gap:8px;color:var(--jp-ui-font-color2)}}
.mk-sp-loading i{{width:12px;height:12px;border-radius:50%;box-sizing:border-box;
 border:2px solid var(--jp-border-color1);border-top-color:var(--jp-brand-color1);
 animation:mk-sp-turn 1s linear infinite}}
@keyframes mk-sp-turn{{to{{transform:rotate(360deg)}}}}
@media (prefers-reduced-motion:reduce){{.mk-sp-loading i{{animation:none}}}}
.mk-sp-panels{{display:grid;gap:18px 28px;align-items:start;
 grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr))}}
.mk-sp-panels figure{{margin:0;min-width:0;max-width:640px}}
.mk-sp-panels h4{{margin:0 0 4px;font-size:13px;font-weight:600;
 color:var(--jp-ui-font-color0)}}
.mk-sp-panels img{{display:block;width:100%;height:auto;max-width:none}}
.mk-sp-panels .mk-sp-dark,{DARK} .mk-sp-panels .mk-sp-light{{display:none}}
{DARK} .mk-sp-panels .mk-sp-dark{{display:block}}
.mk-sp-legend{{display:flex;flex-wrap:wrap;gap:2px 14px;margin:4px 0 0;padding:0;
 list-style:none;font-size:12px;color:var(--jp-ui-font-color2);
 font-variant-numeric:tabular-nums}}
.mk-sp-legend li{{margin:0}}
.mk-sp-legend i{{--mk-c:var(--mk-light);display:inline-block;width:10px;height:10px;
 margin-right:5px}}
{DARK} .mk-sp-legend i{{--mk-c:var(--mk-dark)}}
{SIGNS}.mk-spend details{{margin-top:6px;font-size:12px}}
.mk-sp-rows{{overflow-x:auto;max-height:300px;overflow-y:auto;margin-top:4px}}
.mk-sp-rows table{{border-collapse:collapse;font-size:12px;margin:0;
 font-variant-numeric:tabular-nums;color:var(--jp-ui-font-color1)}}
.mk-sp-rows th,.mk-sp-rows td{{padding:3px 14px 3px 0;text-align:left;
 border-bottom:1px solid var(--jp-border-color2);font-weight:400;white-space:nowrap}}
.mk-sp-rows tr,.mk-sp-rows tr:hover{{background:none!important}}
.mk-sp-rows th{{color:var(--jp-ui-font-color2);position:sticky;top:0;
 background:var(--jp-layout-color0)}}
.mk-sp-rows .mk-num{{text-align:right}}
.mk-spend.mk-form .mk-sp-export{{display:flex;flex-flow:row wrap;align-items:center;
 gap:8px;width:100%;padding:8px 10px;border-radius:4px;
 border:1px solid var(--jp-border-color2);box-sizing:border-box}}
.mk-spend.mk-form .mk-sp-export>.widget-html{{flex:1 1 100%;width:auto}}
.mk-spend.mk-form .mk-sp-export a{{color:var(--jp-content-link-color)}}
.mk-spend.mk-form .mk-sp-folder{{flex:0 1 260px;width:auto;--mk-label:48px}}
.mk-spend.mk-form>.jupyter-button{{align-self:flex-start}}
"""


def head_html(title: str) -> Markup:
    """Return the heading, with the style sheets of the dashboard."""
    return style_block() + style_tag(CSS) + Markup("<h3>{}</h3>").format(title)


def status_html(state: DashboardState) -> Markup:
    """Return the figures and the verdict, or the notice in their place."""
    if state.trouble:
        return error_html(state.trouble)
    if state.reading is None or state.reading.is_empty:
        is_loading = state.is_loading
        return _loading_html(state.notice) if is_loading else line_html(state.notice)
    return figures_html(figures_of(state.reading, state.only)) + _checks_html(state)


def _loading_html(text: str) -> Markup:
    return Markup(
        '<div class="mk-sp-loading"><i aria-hidden="true"></i>{}</div>'
    ).format(text)


def figures_html(figures: Iterable[Figure]) -> Markup:
    """Return the figures; rounded numbers show all digits in a tooltip."""
    pairs = NO_HTML.join(map(_figure_html, figures))
    return Markup('<div class="mk-sp-figures">{}</div>').format(pairs)


def _figure_html(figure: Figure) -> Markup:
    tooltip = Markup(' title="{}"').format(figure.exact) if figure.exact else ""
    return Markup("<div><b{}>{}</b> <span>{}</span></div>").format(
        tooltip, html_text(figure.text), html_text(figure.label)
    )


def _checks_html(state: DashboardState) -> Markup:
    if state.is_loading or state.reading is None:
        return _loading_html(state.notice)
    if state.is_checking:
        return _loading_html("Comparing the history with the service's reports…")
    lines = []
    verdict = verdict_of(state.reading)
    if verdict is not None:
        lines.append(
            Markup(
                '<div class="mk-sp-verdict mk-{}">'
                '<span aria-hidden="true">{}</span><span>{}</span></div>'
            ).format(verdict.tone, verdict.mark, html_text(verdict.text))
        )
    trouble = Markup("<div>{}</div>").format
    lines += [trouble(line_html(text, "warn")) for text in state.reading.troubles]
    return NO_HTML.join(lines)


def panels_html(panels: Iterable[Panel]) -> Markup:
    """Return plots side by side, in the colours of the page's theme."""
    figures = NO_HTML.join(map(_panel_html, panels))
    if not figures:
        return NO_HTML
    return Markup('<div class="mk-sp-panels">{}</div>').format(figures)


def _panel_html(panel: Panel) -> Markup:
    if panel.trouble:
        below = line_html(panel.trouble, "warn")
    else:
        below = (
            panel.picture("light", Markup('class="mk-sp-light"'))
            + panel.picture("dark", Markup('class="mk-sp-dark"'))
            + legend_html(panel, "mk-sp-legend")
            + _behind_html(panel)
        )
    figure = Markup("<figure><h4>{}</h4>{}</figure>")
    return figure.format(html_text(panel.title), below)


def legend_html(panel: Panel, style_class: str) -> Markup:
    """Return what the colours of a plot mean; nothing where there are none."""
    if not panel.legend:
        return NO_HTML
    item = Markup("<li>{}{}</li>").format
    items = NO_HTML.join(item(each.sign, html_text(each.text)) for each in panel.legend)
    return Markup('<ul class="{}">{}</ul>').format(style_class, items)


def _behind_html(panel: Panel) -> Markup:
    if panel.frame is None or panel.frame.empty:
        return NO_HTML
    count = len(panel.frame)
    rows = f"{count:,} row{'' if count == 1 else 's'}"
    return Markup(
        '<details><summary>Data ({})</summary><div class="mk-sp-rows" '
        'tabindex="0" role="region" aria-label="{}: data">{}</div></details>'
    ).format(rows, panel.title, table_html(panel.frame))


# -- frames as tables ---------------------------------------------------------------


def table_html(frame: pd.DataFrame, most_rows: int | None = MOST_ROWS) -> Markup:
    """Return the first rows of a frame, and the number of remaining rows.

    Args:
        frame: Any spend frame; amounts are shown in exact dollars.
        most_rows: The most rows to show; None for all.
    """
    names = [str(name) for name in frame.columns]
    shown = frame if most_rows is None else frame.head(most_rows)
    body = NO_HTML.join(_rows_html(shown, names))
    th = Markup("<th{}>{}</th>").format
    head = NO_HTML.join(th(_align(frame, n), html_text(_head_text(n))) for n in names)
    more = len(frame) - len(shown)
    rest = Markup('<div class="mk-quiet">and {:,} more</div>').format(more)
    return Markup(
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}"
    ).format(head, body, rest if more else "")


def _rows_html(frame: pd.DataFrame, names: list[str]) -> Iterator[Markup]:
    td, tr = Markup("<td{}>{}</td>").format, Markup("<tr>{}</tr>").format
    aligned = [_align(frame, name) for name in names]
    columns = [[_cell_text(n, v) for v in frame[n].astype(object)] for n in names]
    for values in zip(*columns, strict=True):
        pairs = zip(aligned, values, strict=True)
        yield tr(NO_HTML.join(td(how, html_text(text)) for how, text in pairs))


def _align(frame: pd.DataFrame, name: str) -> Markup:
    is_number = frame[name].dtype.kind in "iuf"
    return Markup(' class="mk-num"') if is_number else NO_HTML


def _head_text(name: str) -> str:
    return name.removesuffix(MICRO_USD).replace("_", " ")


def _cell_text(name: str, value: Any) -> str:
    import pandas as pd

    if not isinstance(value, list | dict) and pd.isna(value):
        return ""
    if name.endswith(MICRO_USD) or "_micro_usd_" in name:
        return format_usd(int(value))
    if isinstance(value, pd.Timestamp):
        midnight = value == value.normalize()
        return f"{value:%Y-%m-%d}" if midnight else f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


# -- the copy in a saved notebook ---------------------------------------------------


def kept_html(state: DashboardState) -> Markup:
    """Return the same numbers and pictures without style sheets or scripts."""
    return Markup(
        '<div style="margin:4px 0 8px"><div><b>{}</b>. '
        "Run the cell to use it.</div>{}</div>"
    ).format(html_text(state.title), NO_HTML.join(_kept_parts(state)))


def _kept_parts(state: DashboardState) -> Iterator[Markup]:
    if state.reading is None or state.notice:
        notice = Markup('<div style="{}">{}</div>')
        yield notice.format(QUIET, html_text(state.notice))
        return
    for figure in figures_of(state.reading, state.only):
        yield Markup(
            '<div style="display:inline-block;margin:6px 22px 6px 0">'
            '<b style="font-size:17px">{}</b> <span style="{}">{}</span></div>'
        ).format(html_text(figure.text), QUIET, html_text(figure.label))
    verdict = verdict_of(state.reading)
    if verdict is not None:
        yield Markup("<div>{} {}</div>").format(verdict.mark, html_text(verdict.text))
    yield from map(_kept_panel_html, state.panels)


def _kept_panel_html(panel: Panel) -> Markup:
    if not panel.light:
        return NO_HTML
    # One picture for all themes: the theme of the page is unknown here.
    style = Markup(
        'style="background:#fff;border-radius:4px;max-width:100%;width:520px"'
    )
    return Markup(
        '<div style="display:inline-block;vertical-align:top;margin:6px 18px 0 0;'
        'max-width:100%;border:1px solid {};border-radius:4px;padding:8px">'
        '<div><b>{}</b></div>{}<div style="{};max-width:520px">{}</div></div>'
    ).format(
        LINE,
        html_text(panel.title),
        panel.picture("light", style),
        QUIET,
        Markup(" ").join(map(_kept_swatch_html, panel.legend)),
    )


def _kept_swatch_html(swatch: Swatch) -> Markup:
    # Without a style sheet, the swatch is a character.
    sign = {"line": "━", "dashed": "┅"}.get(swatch.shape, "■")
    faint = ";opacity:.35" if len(swatch.light) > 7 and swatch.light[7:] != "ff" else ""
    return Markup(
        '<span style="white-space:nowrap;margin-right:10px">'
        '<span style="color:{}{}" aria-hidden="true">{}</span> {}</span>'
    ).format(swatch.light[:7], faint, sign, html_text(swatch.text))


def kept_text(state: DashboardState) -> str:
    """Return the numbers as plain text."""
    if state.reading is None or state.notice:
        return f"{state.title}: {state.notice}"
    figures = figures_of(state.reading, state.only)
    lines = [state.title, *(f"{each.text} {each.label}" for each in figures)]
    verdict = verdict_of(state.reading)
    return "\n".join([*lines, *([verdict.text] if verdict else [])])
