"""The rows, blocks and problems of a timeline, as plain data.

Times are in milliseconds. The scale and the ruler's marks depend on the page and are
left to the browser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mediakit.clock import MS_PER_S
from mediakit.history.titles import NO_NAMES
from mediakit.rules import Problem
from mediakit.widgets.controls.messages import (
    SPAN_WORDS,
    is_within,
    label_of,
    mid_sentence,
    one_of,
    place_text,
    placed_text,
    problem_text,
    sentence_case,
    short_name,
)
from mediakit.widgets.timeline.time_axis import Axis, Item, Stretch

MOST_PROBLEMS = 4
VISIBLE = ("image", "video")


@dataclass(frozen=True)
class Block:
    """A stretch of time that can be drawn."""

    at: int  # index among the spans of the row
    start_ms: float
    length_ms: float
    label: str  # the name of the medium
    url: str  # as in the form
    problem: str  # empty without a problem


@dataclass(frozen=True)
class TimelineRow:
    """An item and its stretches."""

    name: str
    kind: str  # the item's kind; may be empty
    medium: str  # empty for none
    blocks: tuple[Block, ...]
    bare: tuple[int, ...]  # indices of the spans that have no time yet
    overlaps: tuple[Stretch, ...]


@dataclass(frozen=True)
class Timeline:
    """A timeline at one moment."""

    item_name: str  # of a row, such as "track"
    span_name: str  # of a block, such as "clip"
    rows: tuple[TimelineRow, ...]
    end_ms: float  # where the last block ends
    limit_ms: float | None  # the required end, or None if there is none
    gaps: tuple[Stretch, ...]  # times without a picture before the end
    problems: tuple[str, ...]
    cautions: tuple[str, ...]  # likely mistakes
    hint: str  # empty once there is a block


def timeline_of(
    axis: Axis,
    value: object,
    problems: Sequence[Problem] = (),
    titles: Mapping[str, str] = NO_NAMES,
) -> Timeline:
    """Return the timeline of a field's value, as far as it is filled in."""
    items = list(axis.items(value))
    present = [problem for problem in problems if not problem.is_missing]
    found_at = {problem.field for problem in present}
    wrong = [*present, *(p for p in axis.problems(value) if p.field not in found_at)]
    rows = tuple(_row(axis, at, item, wrong, titles) for at, item in enumerate(items))
    gaps = _gaps(rows)
    return Timeline(
        item_name=mid_sentence(one_of(label_of(axis.spec))),
        span_name=_span_name(axis),
        rows=rows,
        end_ms=_end(rows),
        limit_ms=axis.end_ms,
        gaps=gaps,
        problems=_sentences(axis, wrong, rows),
        cautions=tuple(
            f"No picture from {seconds(gap.start_ms)} to {seconds(gap.end_ms)} s."
            for gap in gaps[:MOST_PROBLEMS]
        ),
        hint="" if any(row.blocks for row in rows) else _hint(axis),
    )


def timeline_payload(
    axis: Axis, value: object, problems: Sequence[Problem], titles: Mapping[str, str]
) -> dict[str, Any]:
    return asdict(timeline_of(axis, value, problems, titles))


def _row(
    axis: Axis, at: int, item: Item, wrong: Sequence[Problem], titles: Mapping[str, str]
) -> TimelineRow:
    spans = axis.inner(item)
    medium = axis.medium_of(item)
    stretches = [axis.stretch(span) for span in spans]
    blocks = tuple(
        Block(
            place,
            *stretch,
            label=titles.get(url := _text(spans[place], medium)) or short_name(url),
            url=url,
            problem=_problem(axis, at, place, wrong),
        )
        for place, stretch in enumerate(stretches)
        if stretch is not None
    )
    name = item.get(axis.name) if axis.name else None
    return TimelineRow(
        name=str(name or f"{mid_sentence(one_of(label_of(axis.spec)))} {at + 1}"),
        kind=axis.kind_of(item),
        medium=medium[1] if medium else "",
        blocks=blocks,
        bare=tuple(n for n, stretch in enumerate(stretches) if stretch is None),
        overlaps=tuple(_overlaps(axis.stretches(item))),
    )


def _text(span: Item, medium: tuple[str, str] | None) -> str:
    text = span.get(medium[0]) if medium else None
    return text if isinstance(text, str) else ""


def _problem(axis: Axis, at: int, place: int, wrong: Iterable[Problem]) -> str:
    label = axis.spans.label(at, place)
    texts = (problem_text(p) for p in wrong if is_within(p, label))
    return "; ".join(texts)


def _overlaps(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    busy_until_ms = 0.0
    for stretch in stretches:
        end_ms = min(busy_until_ms, stretch.end_ms)
        if end_ms > stretch.start_ms:
            yield Stretch(stretch.start_ms, end_ms - stretch.start_ms)
        busy_until_ms = max(busy_until_ms, stretch.end_ms)


def _gaps(rows: Sequence[TimelineRow]) -> tuple[Stretch, ...]:
    """Return the stretches without a picture; a row without pictures has none."""
    seen = sorted(
        Stretch(block.start_ms, block.length_ms)
        for row in rows
        if row.medium in VISIBLE
        for block in row.blocks
    )
    if not seen:
        return ()
    last = Stretch(_end(rows), 0)
    gaps, busy_until_ms = [], 0.0
    for stretch in (*seen, last):
        if stretch.start_ms > busy_until_ms:
            gaps.append(Stretch(busy_until_ms, stretch.start_ms - busy_until_ms))
        busy_until_ms = max(busy_until_ms, stretch.end_ms)
    return tuple(gaps)


def _end(rows: Iterable[TimelineRow]) -> float:
    ends = (Stretch(b.start_ms, b.length_ms).end_ms for r in rows for b in r.blocks)
    return max(ends, default=0.0)


def _sentences(
    axis: Axis, wrong: Iterable[Problem], rows: Sequence[TimelineRow]
) -> tuple[str, ...]:
    labels = [
        axis.spans.label(at, block.at)
        for at, row in enumerate(rows)
        for block in row.blocks
    ]
    times = dict(_time_sentences(axis, rows))
    sentences = [
        times.get(problem.field)
        or f"{placed_text(problem, place_text(axis.spec, problem.field))}."
        for problem in wrong
        if any(is_within(problem, label) for label in labels)
    ]
    more = len(sentences) - MOST_PROBLEMS
    if more < 2:
        return tuple(sentences)
    return (*sentences[:MOST_PROBLEMS], f"And {more} more like these.")


def _time_sentences(
    axis: Axis, rows: Sequence[TimelineRow]
) -> Iterator[tuple[str, str]]:
    """Yield the problems with the times of blocks, by field, in seconds."""
    name, spans = sentence_case(_span_name(axis)), axis.spans
    for at, row in enumerate(rows):
        free_ms, last = 0.0, 0
        for block in sorted(row.blocks, key=lambda block: block.start_ms):
            label = spans.label(at, block.at)
            end_ms = Stretch(block.start_ms, block.length_ms).end_ms
            subject = f"{name} {block.at + 1} on {row.name}"
            if block.start_ms < free_ms:
                yield (
                    f"{label}.{spans.start}",
                    f"{subject} starts at {seconds(block.start_ms)} s, before "
                    f"{_span_name(axis)} {last + 1} ends at {seconds(free_ms)} s.",
                )
            if axis.end_ms is not None and end_ms > axis.end_ms:
                yield (
                    f"{label}.{spans.length}",
                    f"{subject} ends at {seconds(end_ms)} s; a film lasts at most "
                    f"{seconds(axis.end_ms)} s.",
                )
            if end_ms > free_ms:
                free_ms, last = end_ms, block.at


def _span_name(axis: Axis) -> str:
    return one_of(SPAN_WORDS.get(axis.spans.inner, axis.spans.inner))


def _hint(axis: Axis) -> str:
    return (
        f"Double-click a row to add its first {_span_name(axis)}, then choose its file "
        f"below; or add a {mid_sentence(one_of(label_of(axis.spec)))}."
    )


def seconds(ms: float) -> str:
    """Format milliseconds as seconds: "2.3"."""
    return f"{round(ms / MS_PER_S, 3):.12g}"
