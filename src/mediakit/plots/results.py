"""Results of a sweep: mean ratings, differences, rankings, and cost against quality."""

from __future__ import annotations

import re
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError
from mediakit.money import MICRO_PER_USD, format_cents
from mediakit.plots.glyphs import letters_wide
from mediakit.plots.style import (
    CHARGE,
    Canvas,
    Theme,
    canvas_on,
    check,
    in_dollars,
    listed,
    luminance,
    names_of,
    setting,
)
from mediakit.rules import ValueDescription

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    from mediakit.sweep.comparison import Comparison

MOST_VALUES = 50
MOST_LISTED = 12
ROW_INCHES, NAMED_ROW_INCHES, CELL_INCHES, AROUND_INCHES = 0.34, 0.5, 0.55, 1.1
STARS = (1, 5)
COLOUR_MAP = "YlGnBu"
MIDDLE_LUMINANCE = 0.5
SIZE = re.compile(r"(-?\d+(?:\.\d+)?)([kK]?)")
RESULTS = "a frame of results or charges"
LINE_LETTERS, FEWEST_LETTERS, MOST_LINES = (
    26,
    8,
    4,
)  # limits for a name that is broken into lines
LONGEST_BESIDE = 24  # letters; longer names are above their rows
AROUND_NAMES_PX = 40
FILLED = 0.92  # share of the width of a cell that its name may fill
LEAST_CELL_POINTS, LEAST_ROW_POINTS, ROOM_FOR_COUNT_POINTS = 17, 11, 26
LEFT_BY_NAMES_BELOW = 0.8  # share of the plot's height
LINE_OF_LETTERS = 1.35  # line height as a multiple of the font size
SMALLEST_LETTERS_POINTS = 5
ON_A_MARK = "on a mark"  # for text that is drawn on a mark
MEAN, COUNT, ROWS = "mean", "count", "rows"


# -- mean ratings ----------------------------------------------------------------------


def heatmap(
    frame: pd.DataFrame,
    x: str,
    y: str,
    *,
    value: str = "rating",
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw the mean rating for each pair of values of two axes, with its count.

    Args:
        frame: As `results.frame()` or `client.spend.charges(...)` returns it.
        x: The column across, such as "resolution".
        y: The column down, such as "prompt".
        value: A column of numbers, such as a score; or "keep", the share that was kept.
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes. Numbers and sizes such as 720p are in order, and other texts in the
        order of the frame. A cell without a value is hatched. Its `frame` has one row
        per cell: the two columns (category), mean (float64), count (int64, of the
        values) and rows (int64).

    Raises:
        InputError: The frame has no such columns, the values are not numbers, or a
            column has more than 50 values.
    """
    from mediakit.sweep.frame_columns import numbers_of

    check(frame, [x, y, value], RESULTS)
    numbers = numbers_of(frame, value, "value")
    across, down = _ordered(frame, x), _ordered(frame, y)
    cells = numbers.groupby([down, across], observed=False)
    drawn = cells.agg([MEAN, COUNT, "size"]).rename(columns={"size": ROWS})
    drawn = drawn.reset_index().astype({MEAN: "float64", COUNT: "int64"})
    rows, columns = len(down.cat.categories), len(across.cat.categories)
    canvas = canvas_on(ax, theme, AROUND_INCHES + CELL_INCHES * max(rows, 2))
    title = f"{_words(value)} by {_words(y)} and {_words(x)}"
    title = (
        f"Mean {title}" if value != "keep" else f"Share that was kept by {title[8:]}"
    )
    valued = drawn[drawn[COUNT] > 0]
    if valued.empty:
        return canvas.empty(drawn, title, f"No results with a {_words(value)}")
    means = drawn[MEAN].to_numpy().reshape(rows, columns)
    _colour_cells(canvas, means, STARS if value == "rating" else None)
    canvas.quiet_frame()
    names = canvas.names([str(n) for n in down.cat.categories], keep="begin")
    _name_rows(canvas, names)
    names = canvas.names([str(n) for n in across.cat.categories], keep="begin")
    _name_columns(canvas, names, is_own=ax is None)
    _write_cells(canvas, drawn, columns, value)
    canvas.label(_words(x), _words(y))
    best = valued.iloc[int(valued[MEAN].argmax())]
    text = (
        f"{title}. {int(drawn[COUNT].sum()):,} results in {len(valued):,} of "
        f"{len(drawn):,} cells. Highest for {best[y]} and {best[x]}: "
        f"{_value_text(float(best[MEAN]), value)}."
    )
    return canvas.finish(drawn, title, text)


def _ordered(frame: pd.DataFrame, column: str) -> pd.Series:
    """Return a column as categories; numbers and sizes in order, others as given."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    values = frame[column]
    if not isinstance(values.dtype, pd.CategoricalDtype):
        categories = list(values.dropna().drop_duplicates())
        sizes = [SIZE.match(str(each)) for each in categories]
        if all(sizes) or is_numeric_dtype(values):
            categories = sorted(categories, key=_size)
        values = values.astype(pd.CategoricalDtype(categories))
    values = values.cat.remove_unused_categories()
    if len(values.cat.categories) > MOST_VALUES:
        text = f"{column} with {len(values.cat.categories):,} values"
        accepted = f"a column of at most {MOST_VALUES} values"
        raise InputError("frame", got=text, accepted=accepted, then="")
    return values


def _size(value: object) -> float:
    """Return the number at the start of a size; 2k is larger than 1080p."""
    number = SIZE.match(str(value))
    if number is None:
        return 0.0
    return float(number[1]) * (1_000 if number[2] else 1)


def _colour_cells(
    canvas: Canvas, means: npt.NDArray[np.float64], ends: tuple[int, int] | None
) -> None:
    import numpy as np
    from matplotlib.patches import Rectangle

    axes = canvas.axes
    low, high = ends or (float(np.nanmin(means)), float(np.nanmax(means)))
    axes.pcolormesh(
        np.ma.masked_invalid(means),
        cmap=setting("image.cmap", COLOUR_MAP),
        vmin=low,
        vmax=high if high > low else low + 1,
        edgecolors=canvas.palette.paper,
        linewidth=2,
    )
    for row, column in np.argwhere(np.isnan(means)).tolist():
        axes.add_patch(
            Rectangle(
                (column + 0.03, row + 0.05),
                0.94,
                0.9,
                fill=False,
                hatch="///",
                edgecolor=canvas.palette.grid,
                linewidth=0,
            )
        )
    axes.set(xlim=(0, means.shape[1]), ylim=(means.shape[0], 0))


def _in_lines(text: str, letters: int, most: int) -> str:
    """Wrap a name; an ellipsis replaces the part that does not fit."""
    lines = wrap(text, letters, max_lines=most, placeholder="…")
    return "\n".join(lines) or text


def _cell_px(canvas: Canvas) -> float:
    """Return the width of a cell beside the names of the rows."""
    axes = canvas.axes
    figure: Any = axes.figure
    box, columns = axes.get_window_extent(), axes.get_xlim()[1]
    if figure.get_layout_engine() is None:
        return float(box.width / columns)
    width_px = max(each.width for each in _extents(axes.get_yticklabels()))
    moved_px = max(0.0, width_px + AROUND_NAMES_PX - box.x0)
    return float((box.width - moved_px) / columns)


def _row_points(canvas: Canvas) -> float:
    """Return the approximate height of a cell above the names of the columns."""
    axes = canvas.axes
    figure: Any = axes.figure
    height_px = axes.get_window_extent().height / axes.get_ylim()[0]
    left = 1.0 if figure.get_layout_engine() is None else LEFT_BY_NAMES_BELOW
    return float(height_px * left * 72 / figure.dpi)


def _name_rows(canvas: Canvas, names: Sequence[str]) -> None:
    """Label the rows, in two lines, in one, or in smaller letters if rows are low.

    If rows are lower than the smallest letters, only every second row, or fewer, has a
    label.
    """
    axes, row_points = canvas.axes, _row_points(canvas)
    places = [place + 0.5 for place in range(len(names))]
    axes.set_yticks(places, names)
    line_points = LINE_OF_LETTERS * float(axes.get_yticklabels()[0].get_fontsize())
    most = 2 if row_points >= 2 * line_points else 1
    lines = [_in_lines(name, LINE_LETTERS, most=most) for name in names]
    every = max(1, ceil(SMALLEST_LETTERS_POINTS * LINE_OF_LETTERS / row_points))
    axes.set_yticks(places[::every], lines[::every])
    if row_points * every < line_points:
        axes.tick_params(axis="y", labelsize=row_points * every / LINE_OF_LETTERS)


def _extents(labels: Sequence[Text]) -> list[Bbox]:
    for label in labels:
        label.set_parse_math(False)  # a dollar sign does not begin a formula
    return [label.get_window_extent() for label in labels]


def _name_columns(canvas: Canvas, names: Sequence[str], *, is_own: bool) -> None:
    """Label the columns; long names are wrapped or turned upright."""
    axes, cell_px = canvas.axes, _cell_px(canvas)
    places = [place + 0.5 for place in range(len(names))]
    axes.set_xticks(places, names)
    longest = max(map(len, names))
    width_px = max(each.width for each in _extents(axes.get_xticklabels()))
    letters = int(cell_px * FILLED / (width_px / longest))
    if letters >= longest:
        return
    lines = -(-longest // letters) if letters >= FEWEST_LETTERS else MOST_LINES + 1
    if lines < MOST_LINES:
        broken = [_in_lines(name, letters, most=MOST_LINES) for name in names]
        axes.set_xticks(places, broken)
        return
    figure: Any = axes.figure
    axes.tick_params(axis="x", labelrotation=90)
    boxes = _extents(axes.get_xticklabels())
    if (line_px := max(box.width for box in boxes)) > cell_px:
        size_points: Any = axes.get_xticklabels()[0].get_fontsize()
        axes.tick_params(axis="x", labelsize=size_points * cell_px / line_px)
    if is_own:
        heights = [box.height for box in boxes]
        figure.set_figheight(figure.get_figheight() + max(heights) / figure.dpi)


def _write_cells(canvas: Canvas, drawn: pd.DataFrame, columns: int, value: str) -> None:
    mesh: Any = canvas.axes.collections[0]
    figure: Any = canvas.axes.figure
    cell_points, row_points = _cell_px(canvas) * 72 / figure.dpi, _row_points(canvas)
    if cell_points < LEAST_CELL_POINTS or row_points < LEAST_ROW_POINTS:
        return  # the numbers would overlap
    for place, cell in enumerate(drawn.to_dict("records")):
        row, column = divmod(place, columns)
        has_room = row_points >= ROOM_FOR_COUNT_POINTS
        colour, text = canvas.palette.quiet, "no value"
        text += f"\n({cell[ROWS]:,})" if has_room else ""
        if cell[COUNT]:
            fill = mesh.cmap(mesh.norm(cell[MEAN]))
            colour = "#111111" if luminance(fill) > MIDDLE_LUMINANCE else "#ffffff"
            text = _value_text(cell[MEAN], value)
            if has_room and cell_points >= ROOM_FOR_COUNT_POINTS:
                text += f"\nn={cell[COUNT]:,}"
        elif not cell[ROWS]:
            text = "–"  # noqa: RUF001 - the dash is intended
        canvas.axes.text(
            column + 0.5,
            row + 0.5,
            text,
            ha="center",
            va="center",
            color=colour,
            fontsize="small" if columns <= 8 else "x-small",
            gid=ON_A_MARK if cell[COUNT] else None,
        )


def _value_text(number: float, value: str) -> str:
    if value == "keep":
        return f"{100 * number:z.0f}%"
    if value.endswith("_micro_usd"):
        return format_cents(round(number))
    if value == "rating":
        return f"{number:z.1f}"
    return (
        format_cents(round(number * MICRO_PER_USD))
        if value.endswith("_usd")
        else f"{number:z.3g}"
    )


def _words(column: str) -> str:
    return column.removesuffix("_micro_usd").removesuffix("_usd").replace("_", " ")


# -- differences and rankings ----------------------------------------------------------


def forest(
    comparison: Comparison,
    *,
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw the differences of a comparison with their 95% intervals.

    Args:
        comparison: As `results.compare(...)` returns it.
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: a row for each pair of values, with the largest difference at the top.
        A filled point exceeds chance; a hollow one does not, or has too few pairs. Its
        `frame` has the rows of the comparison in this order.

    Raises:
        InputError: It is not a comparison, or has more than 50 rows.
    """
    frame = getattr(comparison, "frame", None)
    columns = ["first", "second", "difference", "low", "high", "pairs", "verdict"]
    expected = "a comparison, as results.compare(...) returns it"
    check(frame, columns, expected, field="comparison")
    drawn = comparison.frame
    drawn = drawn[drawn["difference"].notna()].sort_values(
        "difference", ascending=False, kind="stable", ignore_index=True
    )
    _refuse_many(drawn, "comparison")
    whole = [
        f"{first} - {second}"
        for first, second in zip(drawn["first"], drawn["second"], strict=True)
    ]
    canvas = canvas_on(ax, theme, _inches(whole))
    if drawn.empty:
        return canvas.empty(drawn, "Differences", "Nothing to compare")
    values = list(dict.fromkeys(map(str, [*drawn["first"], *drawn["second"]])))
    short = dict(zip(values, canvas.names(values, keep="begin"), strict=True))
    names = [
        f"{short[str(second)]} − {short[str(first)]}"  # noqa: RUF001
        for first, second in zip(drawn["first"], drawn["second"], strict=True)
    ]
    ranges = drawn.apply(lambda row: f"  ({row.low:+z.2g} to {row.high:+z.2g})", axis=1)
    ranges = ranges.where(drawn["low"].notna(), "")  # one pair has no interval
    texts = [
        f"{difference:+z.2g}{its_range}  n={pairs:,}{few}"
        for difference, its_range, pairs, few in zip(
            drawn["difference"],
            ranges,
            drawn["pairs"],
            drawn["verdict"].eq("unknown").map({True: ", too few", False: ""}),
            strict=True,
        )
    ]
    is_told = (drawn["verdict"] == "exceeds").tolist()
    above = _are_above(whole)
    _draw_intervals(canvas, drawn["difference"], drawn, is_told)
    canvas.name_rows(names, texts, above=above)
    canvas.axes.axvline(0, color=canvas.palette.quiet, linewidth=0.8)
    notes = ["filled: more than chance explains"]
    if len(drawn) > 1:
        notes.append(f"intervals and verdicts are for {len(drawn)} differences (Holm)")
    canvas.label("difference, with its 95% interval", notes=notes)
    count = sum(is_told)
    verb = "exceeds" if count == 1 else "exceed"
    title = f"{count} of {len(drawn)} differences {verb} chance"
    return canvas.finish(drawn, title, f"{title}. {listed(names, texts)}.")


def ranking(
    frame: pd.DataFrame,
    *,
    by: str = "item",
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw a ranking by blind comparisons with its 90% intervals.

    Args:
        frame: As `results.ranking()` returns it.
        by: The column with the names, such as a prompt that was merged by item.
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: a row for each item, group by group, the strongest at the top. Groups
        were never compared with each other. Its `frame` has these rows.

    Raises:
        InputError: The frame is not a ranking, or has more than 50 rows.
    """
    columns = [by, "strength", "low", "high", "wins", "losses", "ties", "group"]
    check(frame, columns, "a ranking")
    drawn = frame.sort_values(
        ["group", "strength"], ascending=[True, False], ignore_index=True
    )
    _refuse_many(drawn, "frame")
    whole = list(names_of(drawn, by))
    canvas = canvas_on(ax, theme, _inches(whole))
    title = "Ranking by blind comparisons"
    if drawn.empty:
        return canvas.empty(drawn, title, "No comparisons")
    names = canvas.names(whole, keep="begin")
    texts = [
        f"{row['wins']} won, {row['losses']} lost"
        + (f", {row['ties']} tied" if row["ties"] else "")
        for row in drawn.to_dict("records")
    ]
    _draw_intervals(canvas, drawn["strength"], drawn, [True] * len(drawn))
    canvas.name_rows(names, texts, above=_are_above(whole))
    first_rows = drawn.index[drawn["group"].diff() > 0]
    for place in first_rows:
        between = canvas.axes.axhline(place - 0.5, linestyle=":", linewidth=1)
        between.set_color(canvas.palette.quiet)
    notes = []
    if len(first_rows):
        notes = ["rows on opposite sides of a dotted line were never compared"]
    canvas.label("strength (log-odds of winning), with its 90% interval", notes=notes)
    return canvas.finish(drawn, title, f"{title}. {listed(names, texts)}.")


def _are_above(names: Sequence[str]) -> bool:
    """Return whether names are too long to fit beside their rows."""
    return max(map(letters_wide, names), default=0) > LONGEST_BESIDE


def _inches(names: Sequence[str]) -> float:
    """Return the height of a figure with one row per name."""
    row_inches = NAMED_ROW_INCHES if _are_above(names) else ROW_INCHES
    return AROUND_INCHES + row_inches * max(len(names), 4)


def _refuse_many(drawn: pd.DataFrame, field: str) -> None:
    if len(drawn) > MOST_VALUES:
        accepted = f"at most {MOST_VALUES} rows; select those to draw"
        raise InputError(
            field,
            got=ValueDescription(f"{len(drawn):,} rows"),
            accepted=accepted,
            then="",
        )


def _draw_intervals(
    canvas: Canvas,
    middle: pd.Series[float],
    frame: pd.DataFrame,
    is_filled: Sequence[bool],
) -> None:
    axes, places = canvas.axes, range(len(frame))
    palette = canvas.palette
    colours = [palette.accent if filled else palette.quiet for filled in is_filled]
    fills = [palette.accent if filled else palette.paper for filled in is_filled]
    low, high = (frame[end].fillna(middle) for end in ("low", "high"))
    axes.hlines(places, low, high, colors=colours, linewidth=2)
    axes.scatter(middle, places, s=42, c=fills, edgecolors=colours, zorder=3)
    canvas.grid("x")


# -- cost against quality --------------------------------------------------------------


def frontier(
    frame: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw the mean rating against the mean charge, with the efficient frontier.

    Args:
        frame: As `results.pareto(...)`, `results.frame()` or
            `client.spend.charges(...)` returns it.
        by: For results and charges: an axis, or several, whose values are the points.
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: a point for each value with a rating and a charge. The numbered ones
        are on the frontier: no other has at least the same rating for at most the same
        charge. Its `frame` is that of `results.pareto(...)`, the cheapest first.

    Raises:
        InputError: The frame has no such columns, or `by` is missing.
    """
    if by is None and "on_front" not in getattr(frame, "columns", ()):
        accepted = 'an axis, or several, such as by="resolution"'
        raise InputError("by", got=by, accepted=accepted, then="")
    points = frame
    if by is not None:
        from mediakit.sweep.costs import pareto

        names = [by] if isinstance(by, str) else list(by)
        check(frame, [CHARGE, "rating", *names], RESULTS)
        points = pareto(frame.dropna(subset=names), names)
    complete = points[points["rating"].notna() & points[CHARGE].notna()]
    drawn = complete.sort_values([CHARGE, "rating"], kind="stable", ignore_index=True)
    canvas = canvas_on(ax, theme)
    title = "Mean rating against mean charge"
    if drawn.empty:
        return canvas.empty(drawn, title, "No results with a rating and a charge")
    front = drawn[drawn["on_front"]]
    axes_names = list(drawn.columns[: list(drawn).index("cells")])
    names = [
        ", ".join(str(value) for value in row)
        for row in front[axes_names].itertuples(index=False, name=None)
    ]
    texts = [
        f"{row['rating']:.1f} stars for {format_cents(int(row[CHARGE]))}, "
        f"n={row['rated']:,}"
        for row in front.to_dict("records")
    ]
    _draw_points(canvas, drawn, front)
    _list_front(canvas, names, texts)
    count = f"{len(front)} of {len(drawn)} on the frontier"
    return canvas.finish(
        drawn, f"{title}: {count}", f"{title}. {listed(names, texts)}."
    )


def _draw_points(canvas: Canvas, drawn: pd.DataFrame, front: pd.DataFrame) -> None:
    import numpy as np

    axes, palette = canvas.axes, canvas.palette
    usd, stars = front[CHARGE] / MICRO_PER_USD, front["rating"]
    rest = drawn[~drawn["on_front"]]
    axes.scatter(
        rest[CHARGE] / MICRO_PER_USD, rest["rating"], s=28, color=palette.other
    )
    right = float(drawn[CHARGE].max()) / MICRO_PER_USD * 1.08
    line = np.append(usd, right), np.append(stars, stars.iloc[-1])
    axes.step(*line, where="post", color=palette.accent, linewidth=1.2, alpha=0.6)
    axes.scatter(usd, stars, s=150, color=palette.accent, zorder=3)
    for place, (x, y) in enumerate(zip(usd, stars, strict=True), start=1):
        axes.text(
            x,
            y,
            str(place),
            ha="center",
            va="center_baseline",
            color=palette.paper,
            fontsize="small",
            gid=ON_A_MARK,
            zorder=4,
        )
    low, high = drawn["rating"].min(), drawn["rating"].max()
    room = max((high - low) * 0.12, 0.1)
    axes.set(xlim=(-0.03 * right, right), ylim=(low - room, high + room))
    in_dollars(axes.xaxis, 4 if canvas.compact else 6)
    canvas.grid("both")
    canvas.label("mean charge in USD", "mean rating in stars")


def _list_front(canvas: Canvas, names: Sequence[str], texts: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    colour = canvas.palette.accent
    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=f"${place}$",
            markersize=6,
            color=colour,
            label=f"{canvas.name(name, keep='begin')}\n{text}",
        )
        for place, (name, text) in enumerate(zip(names, texts, strict=True), start=1)
    ]
    more = len(handles) - MOST_LISTED
    title = "frontier" if more <= 0 else f"frontier ({more} more in the frame)"
    canvas.legend(title, handles[:MOST_LISTED])
