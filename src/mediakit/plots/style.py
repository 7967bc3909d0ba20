"""The style of the plots, and the columns and names they use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, cast

from mediakit.catalog.catalog import REQUEST_TYPES
from mediakit.errors import InputError
from mediakit.money import MICRO_PER_USD, format_cents
from mediakit.plots.glyphs import NOTE, beginning, drawable, letters_wide
from mediakit.rules import all_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

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
OTHER = "other ("  # the start of the name of a group of names

NOTEBOOK_SIZE = (9.0, 3.6)  # inches
COMPACT_NOTE_LETTERS = 32  # per line, below a small plot
COMPACT_BELOW = 5.0  # inches; Axes of dashboards are narrower
FRAME = "frame"
LONGEST_NAME, LONGEST_COMPACT_NAME = 40, 20
LEAST_TOP_USD = 10 / MICRO_PER_USD
TOP_OF_NOTHING_USD = 1.0
NAME_ABOVE = 0.42  # rows
HEADROOM = 1.05
DARK_BELOW = 0.4  # luminance


@dataclass(frozen=True)
class Palette:
    """The colours of a theme; `accent` is for single series, `up` for limits, too."""

    paper: str
    ink: str
    quiet: str
    grid: str
    colours: tuple[str, ...]
    functions: Mapping[str, str]
    other: str
    accent: str
    up: str
    down: str

    def of(self, names: Sequence[str]) -> list[str]:
        """Return a colour for each name: a function's own, or the next free one.

        If several models share a function, one has the function's own colour. The same
        names get the same colours in any order, and so in the next month, too.
        """
        own: dict[str, str] = {}
        rest = []
        for name in sorted({*names}):
            kind = name.rsplit("/", 1)[-1].lower().replace(" ", "-")
            colour = self.functions.get(kind)
            if name.startswith(OTHER):
                own[name] = self.other
            elif colour is None or colour in own.values():
                rest.append(name)
            else:
                own[name] = colour
        free = iter([colour for colour in self.colours if colour not in own.values()])
        own |= {name: next(free, self.other) for name in rest}
        return [own[name] for name in names]


def function_colours(place: int) -> dict[str, str]:
    """Return the colours of functions by kind; `place` selects the theme."""
    declared = (request_type.declared for request_type in REQUEST_TYPES.values())
    return {each.kind: each.colours[place] for each in declared if each.colours}


# Orange-red and blue can be distinguished with any colour vision.
LIGHT = Palette(
    paper="#ffffff",
    ink="#212121",
    quiet="#555555",
    grid="#dddddd",
    colours=COLOURS,
    functions=function_colours(0),
    other="#bbbbbb",
    accent="#1976d2",
    up="#c4501b",
    down="#1976d2",
)
DARK = Palette(
    paper="#111111",
    ink="#eeeeee",
    quiet="#bdbdbd",
    grid="#444444",
    colours=DARK_COLOURS,
    functions=function_colours(1),
    other="#8a8a8a",
    accent="#64b5f6",
    up="#ff9466",
    down="#64b5f6",
)
THEMES = {"light": LIGHT, "dark": DARK}


def luminance(colour: Any) -> float:
    """Return the brightness of a colour, from 0 to 1."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def setting(name: str, ours: Any) -> Any:
    """Return a matplotlib setting if `plt.style` or the user changed it, or `ours`."""
    from matplotlib import rcParams, rcParamsDefault

    set_to = cast("dict[str, Any]", rcParams)[name]
    return ours if set_to == cast("dict[str, Any]", rcParamsDefault)[name] else set_to


def _palette_of_settings() -> Palette:
    """Return our palette, with the colours that `plt.style` changes."""
    from matplotlib import rcParams

    paper = setting("axes.facecolor", LIGHT.paper)
    ours = DARK if luminance(paper) < DARK_BELOW else LIGHT
    colours = ours.colours
    if setting("axes.prop_cycle", None) is not None:
        cycle = [entry["color"] for entry in rcParams["axes.prop_cycle"]]
        colours = tuple((cycle * MOST_NAMES)[:MOST_NAMES])
        ours = replace(ours, accent=cycle[0], functions={})
    return replace(
        ours,
        paper=paper,
        ink=setting("text.color", ours.ink),
        quiet=setting("axes.labelcolor", ours.quiet),
        grid=setting("grid.color", ours.grid),
        colours=colours,
    )


@dataclass(frozen=True)
class Canvas:
    """An Axes and its colours; `compact` if it is small, as in a dashboard."""

    axes: Axes
    palette: Palette
    compact: bool
    boxed: list[str] = field(default_factory=list)
    """Texts that have a box for a character which no font has."""

    @property
    def text_size(self) -> Any:
        """The size of text in the plot, from matplotlib's `font.size`."""
        return "small" if self.compact else "medium"

    def drawable(self, text: str) -> str:
        """Return a text in one line, with boxes for characters that fonts lack."""
        line = " ".join(text.split())
        drawn = drawable(line)
        if drawn != line:
            self.boxed.append(drawn)
        return drawn

    def name(self, text: str, *, keep: Literal["begin", "end"] = "end") -> str:
        """Shorten a name to fit.

        Paths differ at the end and prompts at the beginning: `keep` says which part
        stays.
        """
        text = self.drawable(text)
        longest = LONGEST_COMPACT_NAME if self.compact else LONGEST_NAME
        if letters_wide(text) <= longest:
            return text
        if keep == "begin":
            return f"{beginning(text, longest - 1).rstrip()}…"
        return f"…{beginning(text[::-1], longest - 1)[::-1].lstrip()}"

    def names(
        self, texts: Sequence[str], *, keep: Literal["begin", "end"] = "end"
    ) -> list[str]:
        """Shorten names; those that would look alike keep the part that differs."""
        short = [self.name(text, keep=keep) for text in texts]
        by_name: dict[str, set[str]] = {}
        for text, name in zip(texts, short, strict=True):
            by_name.setdefault(name, set()).add(text)
        return [
            self._around(text, min(_differ_at(text, other, keep) for other in others))
            if (others := by_name[name] - {text})
            else name
            for text, name in zip(texts, short, strict=True)
        ]

    def _around(self, text: str, at: int) -> str:
        """Return the part of a long name around a position."""
        text = self.drawable(text)
        longest = LONGEST_COMPACT_NAME if self.compact else LONGEST_NAME
        longest = longest * len(text) // letters_wide(text)
        begin = max(0, min(at - longest // 3, len(text) - longest))
        part = text[begin : begin + longest].strip()
        dots = ("…" if begin else "", "…" if begin + longest < len(text) else "")
        return f"{dots[0]}{part}{dots[1]}"

    def label(self, x: str, y: str = "", notes: Sequence[str] = ()) -> None:
        """Label the axes, with notes on omitted rows below."""
        look: dict[str, Any] = {"color": self.palette.quiet}
        if self.compact:
            look["fontsize"] = self.text_size
        self.axes.set_xlabel("\n".join([self.drawable(x), *notes]), **look)
        if y:
            self.axes.set_ylabel(self.drawable(y), **look)

    def quiet_frame(self, *sides: str) -> None:
        """Hide all spines except the given ones, and colour ticks and labels."""
        for side, spine in self.axes.spines.items():
            spine.set_visible(side in sides)
            spine.set_color(self.palette.quiet)
        look: dict[str, Any] = {"labelsize": self.text_size} if self.compact else {}
        self.axes.tick_params(length=0, labelcolor=self.palette.quiet, **look)
        self.axes.set_axisbelow(True)

    def grid(self, axis: Literal["x", "y", "both"], *sides: str) -> None:
        """Draw grid lines instead of a frame."""
        self.axes.grid(visible=True, axis=axis, color=self.palette.grid, linewidth=0.8)
        self.quiet_frame(*sides)

    def name_rows(
        self, names: Sequence[str], texts: Sequence[str], *, above: bool = False
    ) -> None:
        """Label the rows from the top down, each with a text at its right.

        Long names are placed above their rows, which then use the full width.
        """
        axes = self.axes
        missing = max(4 - len(names), 0) / 2  # so that one row does not fill the plot
        axes.set_ylim(len(names) - 0.5 + missing, -0.5 - above * NAME_ABOVE - missing)
        look: dict[str, Any] = {
            "transform": axes.get_yaxis_transform(),
            "va": "center",
            "color": self.palette.ink,
            "fontsize": self.text_size,
        }
        axes.set_yticks(range(len(names)), [""] * len(names) if above else names)
        for label in axes.get_yticklabels():
            label.set_color(self.palette.ink)
        for place, text in enumerate(texts):
            axes.text(1.01, place, text, **look)
        paper = {"facecolor": self.palette.paper, "edgecolor": "none", "pad": 1.0}
        for place, name in enumerate(names if above else []):
            axes.text(0.0, place - NAME_ABOVE, name, bbox=paper, **look)

    def legend(
        self, title: str | None = None, handles: Sequence[Artist] | None = None
    ) -> None:
        """Draw the legend beside the plot; by default, of all labelled artists."""
        look: dict[str, Any] = {} if handles is None else {"handles": handles}
        if self.compact:
            look |= {"fontsize": self.text_size, "title_fontsize": self.text_size}
        legend = self.axes.legend(
            **look,
            title=title,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            alignment="left",
            handlelength=1.2,
            handleheight=0.9,
            borderaxespad=0.2,
            labelcolor=self.palette.ink,
        )
        legend.get_title().set_color(self.palette.ink)

    def finish(self, frame: pd.DataFrame, title: str, alt_text: str) -> Axes:
        """Write the title, and attach the frame and the text alternative."""
        from matplotlib.text import Text

        axes = self.axes
        look: dict[str, Any] = {"fontsize": "medium"} if self.compact else {}
        heading = self.drawable(title)
        axes.set_title(heading, loc="left", color=self.palette.ink, **look)
        if self.boxed:
            note = "\n".join(wrap(NOTE, COMPACT_NOTE_LETTERS)) if self.compact else NOTE
            axes.set_xlabel(f"{axes.get_xlabel()}\n{note}".lstrip())
        for text in axes.findobj(Text):
            text.set_parse_math(False)  # a dollar sign does not begin a formula
        frame.attrs |= {"title": title, "alt_text": alt_text}
        setattr(axes, FRAME, frame)
        return axes

    def empty(self, frame: pd.DataFrame, title: str, *lines: str) -> Axes:
        """Write why there is nothing to draw, and the parts left out."""
        axes = self.axes
        axes.text(
            0.5,
            0.5,
            "\n".join(lines),
            transform=axes.transAxes,
            ha="center",
            va="center",
            color=self.palette.quiet,
            fontsize=self.text_size,
            wrap=True,
        )
        axes.set(xticks=[], yticks=[])
        self.quiet_frame()
        return self.finish(frame, title, ". ".join([*lines, ""]).rstrip())

    # -- dollars ----------------------------------------------------------------------

    def dollars_up(self, text: str, notes: Sequence[str], x: str) -> None:
        """Format the y axis in dollars, including zero and all data."""
        axes = self.axes
        low, top = _limits(axes.dataLim.y0, axes.dataLim.y1)
        axes.set_ylim(low, top)
        if low < 0:
            axes.axhline(0, color=self.palette.ink, linewidth=0.8)
        in_dollars(axes.yaxis, 4 if self.compact else 6)
        self.grid("y", "bottom")
        self.label(x, text, notes)

    def dollars_across(self, text: str, notes: Sequence[str]) -> None:
        """Format the x axis in dollars, including zero."""
        axes = self.axes
        low, top = _limits(axes.dataLim.x0, axes.dataLim.x1)
        axes.set_xlim(low, top if axes.dataLim.x1 > 0 or low == 0 else 0)
        in_dollars(axes.xaxis, 3 if self.compact else 5)
        self.grid("x")
        axes.axvline(0, color=self.palette.quiet, linewidth=0.8)
        self.label(text, notes=notes)


def _differ_at(text: str, other: str, keep: Literal["begin", "end"]) -> int:
    """Return where two names differ, nearest to the part that stays."""
    if keep == "begin":
        pairs = zip(text, other, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), len(text) - 1)
    pairs = zip(reversed(text), reversed(other), strict=False)
    behind = (n for n, (a, b) in enumerate(pairs) if a != b)
    return max(0, len(text) - 1 - next(behind, len(other)))


def canvas_on(
    ax: Axes | None, theme: Theme | None, height: float | None = None
) -> Canvas:
    """Prepare an Axes, or a new figure of notebook size, for a theme.

    Without a theme, the colours are those of `plt.style`. `height` is the height of a
    new figure, in inches.
    """
    if theme is not None and theme not in THEMES:
        raise InputError(
            "theme", got=theme, accepted='"light" or "dark", or None', then=""
        )
    axes = ax
    if axes is None:
        from matplotlib import pyplot as plt

        width, usual = setting("figure.figsize", NOTEBOOK_SIZE)
        figure, axes = plt.subplots(
            figsize=(width, height or usual), layout="constrained"
        )
        if theme is not None:
            figure.patch.set_alpha(0)
    if theme is not None:
        axes.patch.set_alpha(0)
    palette = _palette_of_settings() if theme is None else THEMES[theme]
    inches = axes.get_window_extent().width / axes.figure.dpi
    return Canvas(axes, palette, inches < COMPACT_BELOW)


def alt_text(ax: Axes) -> str:
    """Return the text alternative of a plot, for people who cannot see it.

    Args:
        ax: An Axes that a plot in this package returned.

    Raises:
        InputError: The Axes has no plot from this package.
    """
    text = getattr(getattr(ax, FRAME, None), "attrs", {}).get("alt_text")
    if text is None:
        raise InputError(
            "ax", got=ax, accepted="an Axes that mediakit.plots drew on", then=""
        )
    return str(text)


def in_dollars(axis: Axis, most_steps: int) -> None:
    """Put ticks at round amounts, with as many decimals as the visible range needs."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def text(usd: float, _: int | None) -> str:
        low, high = axis.get_view_interval()
        span = abs(high - low)
        decimals = 0 if span >= 4 * most_steps else 2 if span >= 0.05 else 6
        return f"{'-' if usd < 0 else ''}${abs(usd):,.{decimals}f}"

    axis.set_major_locator(MaxNLocator(most_steps, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(text))


def _limits(low_usd: float, top_usd: float) -> tuple[float, float]:
    top_usd = max(top_usd, LEAST_TOP_USD) if top_usd > 0 else TOP_OF_NOTHING_USD
    return min(low_usd, 0.0) * HEADROOM, top_usd * HEADROOM


def signed(amount_micro_usd: int) -> str:
    """Format a difference in cents, with its sign."""
    return f"{'+' if amount_micro_usd > 0 else ''}{format_cents(amount_micro_usd)}"


def percent(part: int, whole: int) -> str:
    """Format a share with one decimal, such as "64.8%"."""
    return f"{100 * part / whole:z.1f}%"


# -- columns, names and sums -----------------------------------------------------------


DAY = "day"
CHARGE = "charge_micro_usd"
FUNCTION, KIND = "function", "kind"
STATUS = "status"


def check(
    frame: object, needed: Sequence[str], expected: str, *, field: str = "frame"
) -> None:
    """Reject a value that is not a frame with these columns.

    Days and micro-USD must have the right types. `expected` describes the frame, and
    `field` is the argument's name.
    """
    import pandas as pd
    from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype

    kinds = {DAY: ("datetimes", is_datetime64_any_dtype)}
    kinds[CHARGE] = ("whole numbers", is_integer_dtype)
    value = frame
    if isinstance(frame, pd.DataFrame):
        typed = {name: is_typed for name, (_, is_typed) in kinds.items()}
        if all(n in frame and typed.get(n, bool)(frame[n].dtype) for n in needed):
            return
        value = {str(name): str(dtype) for name, dtype in frame.dtypes.items()}
    words = [f"{n} as {kinds[n][0]}" if n in kinds else n for n in needed]
    raise InputError(
        field, got=value, accepted=f"{expected}: {all_of(words)}", spec="4.19", then=""
    )


def names_of(frame: pd.DataFrame, by: str, missing: str = "") -> pd.Series[str]:
    """Return the name of each row, in one line; "no project" for one without.

    A function has its short name if the frame has the column `kind`, followed by its
    path if several functions share the short name.
    """
    import pandas as pd

    missing = missing or f"no {by.replace('_', ' ')}"
    columns = [by, KIND] if by == FUNCTION and KIND in frame else [by]
    places = frame.groupby(columns, dropna=False, sort=False, observed=True).ngroup()
    distinct = frame[columns].drop_duplicates().astype("object")
    texts = distinct[by].where(distinct[by].notna(), missing).astype("str")
    texts = texts.str.split().str.join(" ").replace("", missing)
    if KIND in distinct and by != KIND:
        kind = distinct[KIND]
        paths_n = texts.groupby(kind).transform("nunique")
        texts = kind.where(paths_n == 1, kind + " " + texts).fillna(texts).astype("str")
    return pd.Series(texts.to_numpy()[places], frame.index, "str")


def largest(sums: pd.DataFrame, size: pd.Series[Any]) -> pd.DataFrame:
    """Return the rows with the largest sizes, and the sum of the rest."""
    import pandas as pd

    order = size.sort_values(ascending=False, kind="stable").index
    own, rest = sums.loc[order[:MOST_NAMES]], sums.loc[order[MOST_NAMES:]]
    if rest.empty:
        return own
    return pd.concat([own, rest.sum().to_frame(other(len(rest))).T])


def other(count: int) -> str:
    """Return the name for a group of other names."""
    return f"{OTHER}{count})"


def notes_of(left_out: int, lacking: str) -> list[str]:
    """Return notes on rows that are not drawn."""
    if not left_out:
        return []
    rows = "row" if left_out == 1 else "rows"
    return [f"{left_out} {rows} without {lacking} not drawn"]


def listed(names: Sequence[str], texts: Sequence[str]) -> str:
    """Join names and their texts to a sentence of a text alternative."""
    return "; ".join(f"{n} {text}" for n, text in zip(names, texts, strict=True))


def drawn_charges(
    charges: pd.DataFrame, needed: Sequence[str], by: str
) -> tuple[pd.DataFrame, list[str]]:
    """Check charges, and leave out failed jobs that cost nothing.

    Returns the other rows, and a note on those left out.
    """
    check(charges, needed, "a frame of charges")
    if charges.empty:
        charges = charges.reindex(columns=[*charges, *{by} - {*charges}])
    check(charges, [*needed, by], "a frame of charges")
    if STATUS not in charges:
        return charges, []
    free = (charges[STATUS] == "failed") & (charges[CHARGE].fillna(0) == 0)
    count = int(free.sum())
    jobs = "job" if count == 1 else "jobs"
    notes = [f"{count:,} failed {jobs} at no charge not drawn"] if count else []
    return charges[~free.astype("bool")], notes
