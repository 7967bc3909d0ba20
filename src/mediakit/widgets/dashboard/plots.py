"""The plots of a month as SVG, whose colours follow the page's theme."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from mediakit import plots
from mediakit.errors import MediakitError
from mediakit.money import format_cents
from mediakit.plots.style import DARK, LIGHT
from mediakit.safe_text import NO_HTML
from mediakit.spend.dates import day_name
from mediakit.spend.forecasting import WEEK
from mediakit.widgets.dashboard.figures import named
from mediakit.widgets.dashboard.month import CHARGE, By, MonthReading

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mediakit.plots import Theme

SIZE_IN = (4.2, 2.5)
WIDTH_PX = 436  # at this width, matplotlib's "small" is 12 pixels high
PNG_DPI = 150
MOST_SHAPES = 2_000
DAY = "day"
Draw = Callable[["Axes", "Theme"], "Axes"]

_drawing = threading.Lock()  # matplotlib's fonts are shared by all threads
_COLOUR = re.compile(r"(?<=: )#[0-9a-f]{6}")
_NEEDLESS = re.compile(r'<!--.*?-->|(?<=<g) id="[^"]*"|\n\s*', re.DOTALL)


@dataclass(frozen=True, eq=False)
class Plot:
    """A plot."""

    title: str
    alt: str = ""
    svg: Markup = field(default=NO_HTML, repr=False)
    png: bytes = field(default=b"", repr=False)
    frame: pd.DataFrame | None = field(default=None, repr=False)
    trouble: str = ""


def by_day(reading: MonthReading) -> Plot:
    daily = named(reading.daily)
    column = reading.by.column
    return drawn(
        "By day",
        lambda ax, theme: plots.spend_by_day(daily, by=column, ax=ax, theme=theme),
    )


def so_far_title(reading: MonthReading) -> str:
    if reading.budget is not None:
        return "Against the budget"
    return "Month so far" if reading.is_current else "Over the month"


def so_far(reading: MonthReading) -> Plot:
    budget, forecast, days = reading.budget, reading.forecast, reading.daily
    if forecast is not None and (
        not reading.is_current or forecast.complete_days < WEEK
    ):
        forecast = None  # nothing to expect, or too little for a range
    if reading.budget_status is not None:
        days = reading.budget_status.frame()
        if budget.period is None:
            forecast = None  # the burn-down is longer than the month
    return drawn(
        so_far_title(reading),
        lambda ax, theme: plots.cumulative(
            days, budget=budget, forecast=forecast, ax=ax, theme=theme
        ),
    )


def further(reading: MonthReading) -> tuple[Plot, ...]:
    """Draw the plots under "More plots"; blocks."""
    by = reading.by.column
    daily, before = named(reading.daily), named(reading.before)
    charges = named(reading.charges)
    kept_by = "function" if reading.by is By.KEY else by
    draws: dict[str, Draw] = {
        f"Share by {reading.by.name_of_daily}": lambda ax, theme: plots.share(
            daily, by=by, ax=ax, theme=theme
        ),
        "Charge against estimate": lambda ax, theme: plots.estimates(
            charges, ax=ax, theme=theme
        ),
        "Cost per kept result": lambda ax, theme: plots.cost_per_keeper(
            charges, by=kept_by, ax=ax, theme=theme
        ),
        f"Change from {reading.before_name}": lambda ax, theme: plots.changes(
            before, daily, by=by, ax=ax, theme=theme
        ),
    }
    return tuple(drawn(title, draw) for title, draw in draws.items())


def drawn(title: str, draw: Draw) -> Plot:
    # pyplot would keep the figure, and is not thread-safe.
    from matplotlib.figure import Figure

    try:
        with _drawing:
            figure = Figure(figsize=SIZE_IN, layout="constrained")
            figure.patch.set_alpha(0)
            axes = draw(figure.add_subplot(), "light")
            axes.set_title("", loc="left")  # the heading is above the picture
            _simplify(axes)
            alt = plots.alt_text(axes)
            frame: Any = getattr(axes, "frame", None)
            svg = svg_of(figure, alt, frame)
            return Plot(title, alt, svg, png_of(figure), frame)
    except MediakitError as error:
        return Plot(title, trouble=str(error))


def _simplify(axes: Axes) -> None:
    """Rasterise many points, because each would otherwise be a page element."""
    import numpy as np

    for line in axes.get_lines():
        line.set_rasterized(np.size(line.get_xdata()) > MOST_SHAPES)
    for collection in axes.collections:
        collection.set_rasterized(len(collection.get_paths()) > MOST_SHAPES)


def svg_of(figure: Figure, alt: str, frame: pd.DataFrame | None = None) -> Markup:
    """Return a figure as SVG, with its colours as CSS variables.

    While the mouse is over a day or a bar, the page shows its row of the frame.
    """
    content = io.StringIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    svg = content.getvalue().partition("<svg")[2].partition(">")[2]
    svg = _NEEDLESS.sub(" ", svg)
    colours = dict(colour_pairs())

    def variable(found: re.Match[str]) -> str:
        colour = found[0]
        return f"var(--mk-c-{colour[1:]},{colour})" if colour in colours else colour

    width, height = (72 * inches for inches in SIZE_IN)
    tag = Markup(
        '<svg role="img" aria-label="{}" width="{}" viewBox="0 0 {:g} {:g}" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
    ).format(alt, WIDTH_PX, width, height)
    body, end, _ = _COLOUR.sub(variable, svg).rpartition("</svg>")
    return tag + Markup(body) + _values_html(figure, frame) + Markup(end)


def _values_html(figure: Figure, frame: pd.DataFrame | None) -> Markup:
    """Return a transparent area for each day or bar, with its values as a title."""
    [axes, *_] = figure.axes
    if frame is None or frame.empty or not axes.axison:
        return NO_HTML
    areas = _days_of(frame) if DAY in frame else _bars_of(frame)
    box, points = axes.get_window_extent(), 72 / figure.dpi
    rect = Markup(
        '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" '
        'fill="transparent" pointer-events="all"><title>{}</title></rect>'
    )
    parts = list[Markup]()
    for start, end, text in areas:
        (x0, y0), (x1, y1) = axes.transData.transform([(start, start), (end, end)])
        # Each area spans a day or bar in one direction, and the whole plot in the
        # other.
        left, right, low, high = box.x0, box.x1, box.y0, box.y1
        if DAY in frame:
            left, right = max(left, x0), min(right, x1)
        else:
            low, high = max(low, min(y0, y1)), min(high, max(y0, y1))
        if left < right and low < high:
            top = figure.bbox.height - high
            sides = (left, top, right - left, high - low)
            parts.append(rect.format(*(side * points for side in sides), text))
    return NO_HTML.join(parts)


def _days_of(frame: pd.DataFrame) -> Iterator[tuple[float, float, str]]:
    """Yield the two ends of each day on the axis, and its amounts in words."""
    from matplotlib import dates

    for day in frame[DAY].unique():
        rows = frame[frame[DAY] == day]
        start = float(dates.date2num(day))  # type: ignore[no-untyped-call]
        if CHARGE in frame:
            names = [str(each) for each in frame.columns if each not in (DAY, CHARGE)]
            amounts = [int(amount) for amount in rows[CHARGE]]
            words = [
                f"{name} {format_cents(amount)}"
                for name, amount in zip(rows[names[0]], amounts, strict=True)
                if amount
            ]
            whole = format_cents(sum(amounts))
            text = f"{whole}: {', '.join(words)}" if len(words) > 1 else whole
        else:
            text = ", ".join(_amounts(rows.iloc[0]))
        if text:
            # A day is drawn from half a day before its tick to half a day after.
            yield start - 0.5, start + 0.5, f"{day_name(day.date())}: {text}"


def _bars_of(frame: pd.DataFrame) -> Iterator[tuple[float, float, str]]:
    for at, (_, row) in enumerate(frame.iterrows()):
        yield at - 0.5, at + 0.5, f"{row.iloc[0]}: {', '.join(_amounts(row))}"


def _amounts(row: pd.Series[Any]) -> Iterator[str]:
    """Yield the amounts of a row in words: "$3.40 spent"."""
    amounts = row.dropna()
    for name in amounts.index:
        what, found, _ = str(name).partition("_micro_usd")
        if found:
            yield f"{format_cents(int(amounts[name]))} {what.replace('_', ' ')}"


def png_of(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=PNG_DPI)
    return content.getvalue()


def colour_pairs() -> Iterator[tuple[str, str]]:
    """Yield each colour of the light theme with its dark counterpart."""
    for each in fields(LIGHT):
        light, dark = getattr(LIGHT, each.name), getattr(DARK, each.name)
        if isinstance(light, str):
            yield light, dark
        else:
            yield from zip(light, dark, strict=True)


def dark_colours() -> str:
    pairs = colour_pairs()
    return "".join(f"--mk-c-{light[1:]}:{dark};" for light, dark in pairs)
