"""The plots of a month as pictures for both themes, each with the frame behind it."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from mediakit import plots
from mediakit.errors import MediakitError
from mediakit.safe_text import NO_HTML
from mediakit.widgets.dashboard.figures import named
from mediakit.widgets.dashboard.month_data import By, MonthReading
from mediakit.widgets.toolkit.styles import data_url

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mediakit.plots import Theme

INCHES = (5.5, 2.7)
DPI = 140

Line = tuple[str, str, str]  # the text, colour and shape of a legend entry
Draw = Callable[["Axes", "Theme"], "Axes"]
_drawing = threading.Lock()  # matplotlib's fonts are shared by all threads


@dataclass(frozen=True)
class Swatch:
    """One entry of a legend.

    Args:
        text: The text.
        light: The colour on a light background.
        dark: The colour on a dark one.
        shape: "patch", "line" or "dashed".
    """

    text: str
    light: str
    dark: str
    shape: str = "patch"

    @property
    def sign(self) -> Markup:
        """Return the swatch as a tag; a style sheet selects the theme's colour."""
        colours = f"--mk-light:{self.light};--mk-dark:{self.dark}"
        return Markup('<i class="mk-{}" style="{}" aria-hidden="true"></i>').format(
            self.shape, colours
        )


@dataclass(frozen=True, eq=False)
class Panel:
    """A plot.

    Args:
        title: The heading.
        alt: The text alternative.
        light: The picture for a light background, as PNG; empty for none.
        dark: The picture for a dark one.
        legend: Its legend.
        frame: The plotted data; None if there is none.
        trouble: Why there is no picture, as a sentence.
    """

    title: str
    alt: str = ""
    light: bytes = field(default=b"", repr=False)
    dark: bytes = field(default=b"", repr=False)
    legend: tuple[Swatch, ...] = ()
    frame: pd.DataFrame | None = field(default=None, repr=False)
    trouble: str = ""

    def uri(self, theme: Theme) -> str:
        """Return the picture as a `data:` URI."""
        return data_url(self.light if theme == "light" else self.dark, "image/png")

    def picture(self, theme: Theme, attributes: Markup = NO_HTML) -> Markup:
        """Return the picture as a tag, with its text alternative."""
        tag = Markup('<img src="{}" alt="{}" {}>')
        return tag.format(self.uri(theme), self.alt, attributes)


def day_panel(reading: MonthReading) -> Panel:
    """Draw the spend by day; blocks."""
    daily = named(reading.daily)

    def by_day(ax: Axes, theme: Theme) -> Axes:
        return plots.spend_by_day(daily, by=reading.by.column, ax=ax, theme=theme)

    return panel_of("By day", by_day)


def budget_panel(reading: MonthReading) -> Panel:
    """Draw the month against its budget, with the forecast; blocks."""
    budget, forecast, days = reading.budget, reading.forecast, reading.daily
    if reading.budget_days is not None:
        days = reading.budget_days
        if budget.period is None:
            forecast = None  # the burn-down is longer than the month

    def cumulative(ax: Axes, theme: Theme) -> Axes:
        return plots.cumulative(
            days, budget=budget, forecast=forecast, ax=ax, theme=theme
        )

    return panel_of(_budget_title(reading), cumulative)


def _budget_title(reading: MonthReading) -> str:
    if reading.budget is not None:
        return "Against the budget"
    return "Month so far" if reading.is_current else "Over the month"


def further_panels(reading: MonthReading) -> tuple[Panel, ...]:
    """Draw the plots under "More plots"; blocks."""
    by = reading.by.column
    daily, before = named(reading.daily), named(reading.before)
    charges = named(reading.charges)
    by_charges = "function" if reading.by is By.KEY else by

    def share(ax: Axes, theme: Theme) -> Axes:
        return plots.share(daily, by=by, ax=ax, theme=theme)

    def estimates(ax: Axes, theme: Theme) -> Axes:
        return plots.estimates(charges, ax=ax, theme=theme)

    def keepers(ax: Axes, theme: Theme) -> Axes:
        return plots.cost_per_keeper(charges, by=by_charges, ax=ax, theme=theme)

    def changes(ax: Axes, theme: Theme) -> Axes:
        return plots.changes(before, daily, by=by, ax=ax, theme=theme)

    return (
        panel_of(f"Share by {reading.by.name_of_daily}", share),
        panel_of("Charge against estimate", estimates),
        panel_of("Cost per kept result", keepers),
        panel_of(f"Change from {reading.before_name}", changes),
    )


def panel_of(title: str, draw: Draw) -> Panel:
    """Draw a plot for both themes; an error is shown in its place.

    Args:
        title: The heading.
        draw: Draws on an Axes in a theme.
    """
    try:
        with _drawing:
            light, axes, legend = _drawn(draw, "light")
            dark, _, dark_legend = _drawn(draw, "dark")
    except MediakitError as error:
        return Panel(title, trouble=str(error))
    swatches = (
        Swatch(text, colour, dark_colour, shape)
        for (text, colour, shape), (_, dark_colour, _) in zip(
            legend, dark_legend, strict=True
        )
    )
    frame: Any = getattr(axes, "frame", None)
    return Panel(title, plots.alt_text(axes), light, dark, tuple(swatches), frame)


def _drawn(draw: Draw, theme: Theme) -> tuple[bytes, Axes, list[Line]]:
    # pyplot would keep the figure, and belongs to the thread of the kernel.
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, dpi=DPI, layout="constrained")
    figure.patch.set_alpha(0)
    axes = draw(figure.add_subplot(), theme)
    axes.set_title("", loc="left")  # the heading stands above the picture
    legend = _taken_legend(axes)
    return _png(figure), axes, legend


def _taken_legend(axes: Axes) -> list[Line]:
    """Move the legend out of the picture, so that it can wrap as text."""
    legend = axes.get_legend()
    if legend is None:
        return []
    signs = [_sign_of(handle) for handle in legend.legend_handles]
    known = [sign for sign in signs if sign is not None]
    if len(known) < len(signs):
        return []
    texts = [" ".join(text.get_text().split()) for text in legend.get_texts()]
    legend.remove()
    # Entries are listed from the top of the stack, that is, smallest first.
    return [(t, *sign) for t, sign in zip(texts, known, strict=True)][::-1]


def _sign_of(handle: Any) -> tuple[str, str] | None:
    """Return the colour and shape of a legend handle; None for other types."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(handle, Patch):
        return to_hex(handle.get_facecolor(), keep_alpha=True), "patch"
    if isinstance(handle, Line2D) and handle.get_linestyle() != "None":
        shape = "line" if handle.get_linestyle() == "-" else "dashed"
        return to_hex(handle.get_color()), shape
    return None


def _png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", transparent=True)
    return content.getvalue()
