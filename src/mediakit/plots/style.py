"""The style of the plots: two themes, a palette, titles and legends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from mediakit.errors import InputError
from mediakit.plots.names import drawable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.text import Text

Theme = Literal["light", "dark"]

# Paul Tol's muted scheme, which people with any colour vision can distinguish.
COLOURS = (
    "#332288",
    "#88ccee",
    "#cc6677",
    "#117733",
    "#ddcc77",
    "#882255",
    "#44aa99",
    "#999933",
)
# The same hues in the same order, light enough for a dark background.
DARK_COLOURS = (
    "#7468e0",
    "#9adcff",
    "#e0808e",
    "#2c9150",
    "#eedd88",
    "#b8508c",
    "#4cc4b0",
    "#a3a33a",
)
MOST_NAMES = len(COLOURS)

_NOTEBOOK_SIZE = (9.0, 3.6)  # inches
_COMPACT_BELOW = 5.0  # inches of an Axes; a dashboard's are narrower
_FRAME = "frame"
_LONGEST_NAME = 40
_LONGEST_COMPACT_NAME = 20


@dataclass(frozen=True)
class Palette:
    """The colours of a theme.

    Args:
        ink: Of titles and names.
        quiet: Of labels, ticks and notes.
        grid: Of grid lines.
        colours: One for each of the largest.
        other: Of the "other" group.
        accent: Of a single line or of bars that mean the same.
        up: Of an increase, and of a limit.
        down: Of a decrease.
    """

    ink: str
    quiet: str
    grid: str
    colours: tuple[str, ...]
    other: str
    accent: str
    up: str
    down: str

    def series(self, count: int) -> list[str]:
        """Return colours for a number of names; the ninth is "other"."""
        return [*self.colours, self.other][:count]


# Orange-red and blue can be distinguished with any colour vision.
_PALETTES = {
    "light": Palette(
        ink="#212121",
        quiet="#555555",
        grid="#dddddd",
        colours=COLOURS,
        other="#bbbbbb",
        accent="#1976d2",
        up="#c4501b",
        down="#1976d2",
    ),
    "dark": Palette(
        ink="#eeeeee",
        quiet="#bdbdbd",
        grid="#444444",
        colours=DARK_COLOURS,
        other="#8a8a8a",
        accent="#64b5f6",
        up="#ff9466",
        down="#64b5f6",
    ),
}


@dataclass(frozen=True)
class Canvas:
    """An Axes and its theme.

    Args:
        axes: Where to draw.
        palette: The theme's colours.
        compact: Whether the Axes is small, as in a dashboard.
    """

    axes: Axes
    palette: Palette
    compact: bool

    @property
    def text_size(self) -> float:
        """Return the size of labels, in points."""
        return 8 if self.compact else 9

    def name(self, text: str, *, keep: Literal["begin", "end"] = "end") -> str:
        """Shorten an external name to fit, using characters that can be drawn.

        Args:
            text: The name.
            keep: Which end of a long name to keep: paths differ at the end, prompts at
                the beginning.
        """
        longest = _LONGEST_COMPACT_NAME if self.compact else _LONGEST_NAME
        if len(text) > longest:
            begin, end = text[: longest - 1].rstrip(), text[1 - longest :].lstrip()
            text = f"{begin}…" if keep == "begin" else f"…{end}"
        return text if text.isascii() else drawable(text)

    def title(self, text: str) -> None:
        """Draw the title, aligned left above the plot."""
        size = 9 if self.compact else 11
        shown = self.axes.set_title(
            text, loc="left", color=self.palette.ink, fontsize=size, fontweight="bold"
        )
        as_written([shown])

    def label_x(self, text: str, notes: Sequence[str] = ()) -> None:
        """Label the x axis, with notes on omitted rows below."""
        lines = "\n".join([text, *notes])
        shown = self.axes.set_xlabel(
            lines, color=self.palette.quiet, fontsize=self.text_size
        )
        as_written([shown])

    def label_y(self, text: str) -> None:
        """Label the y axis."""
        self.axes.set_ylabel(text, color=self.palette.quiet, fontsize=self.text_size)

    def quiet_frame(self, *sides: str) -> None:
        """Hide all spines except these, and colour ticks and labels."""
        for side, spine in self.axes.spines.items():
            spine.set_visible(side in sides)
            spine.set_color(self.palette.quiet)
        self.axes.tick_params(
            length=0, labelsize=self.text_size, labelcolor=self.palette.quiet
        )
        self.axes.set_axisbelow(True)

    def legend(
        self, title: str | None = None, handles: Sequence[Artist] | None = None
    ) -> None:
        """Draw the legend beside the plot.

        Args:
            title: The legend title.
            handles: The entries, from the top; all labelled artists when None.
        """
        listed = {} if handles is None else {"handles": handles}
        legend = self.axes.legend(
            **listed,
            title=title,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            alignment="left",
            handlelength=1.2,
            handleheight=0.9,
            handletextpad=0.6,
            labelspacing=0.35 if self.compact else 0.5,
            borderaxespad=0.2,
        )
        texts = [*legend.get_texts(), legend.get_title()]
        for text in texts:
            text.set_color(self.palette.ink)
            text.set_fontsize(self.text_size)
        as_written(texts)

    def show_message(self, text: str) -> None:
        """Show in the middle of an empty plot why it is empty."""
        shown = self.axes.text(
            0.5,
            0.5,
            text,
            transform=self.axes.transAxes,
            ha="center",
            va="center",
            color=self.palette.quiet,
            fontsize=self.text_size + 1,
            wrap=True,
        )
        as_written([shown])
        self.axes.set_xticks([])
        self.axes.set_yticks([])
        for spine in self.axes.spines.values():
            spine.set_visible(False)

    def with_frame(self, frame: pd.DataFrame) -> Axes:
        """Attach the plotted frame to the Axes as `frame`, and return the Axes."""
        setattr(self.axes, _FRAME, frame)
        return self.axes


def canvas_on(ax: Axes | None, theme: Theme) -> Canvas:
    """Prepare an Axes, or a new figure of notebook size.

    Args:
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark".

    Raises:
        InputError: There is no such theme.
    """
    if theme not in get_args(Theme):
        raise InputError("theme", got=theme, accepted='"light" or "dark"')
    axes = _new_axes() if ax is None else ax
    axes.patch.set_alpha(0)
    inches = axes.get_window_extent().width / axes.figure.dpi
    return Canvas(axes, _PALETTES[theme], inches < _COMPACT_BELOW)


def _new_axes() -> Axes:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=_NOTEBOOK_SIZE, layout="constrained")
    figure.patch.set_alpha(0)
    return axes


def as_written(texts: Iterable[Text]) -> None:
    """Escape dollar signs so that matplotlib does not read them as math."""
    for text in texts:
        text.set_parse_math(False)


def alt_text(ax: Axes) -> str:
    """Return the text alternative of a plot, for people who cannot see it.

    Args:
        ax: An Axes that a plot in this package returned.

    Raises:
        InputError: The Axes has no plot from this package.
    """
    frame = getattr(ax, _FRAME, None)
    text = getattr(frame, "attrs", {}).get("alt_text")
    if text is None:
        raise InputError("ax", got=ax, accepted="an Axes that mediakit.plots drew on")
    return str(text)
