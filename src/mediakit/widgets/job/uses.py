"""Functions and fields that accept a result, and how their forms are opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from mediakit.catalog import Catalog, Function
from mediakit.client import JobState
from mediakit.client.media_inputs import JobOutput
from mediakit.clock import MS_PER_S
from mediakit.media_limits import MediaName
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.messages import label_of
from mediakit.widgets.job.preview import MEDIA
from mediakit.widgets.timeline.time_axis import Axis, Item

FINALIZES = {"r1-finalize": "r1"}
"""The functions that render a draft in full, and those that make the drafts."""
FINALIZE = (
    "The form below has the draft's prompt. The service's interface does not say which "
    "field identifies the draft: add that field to the additional fields, as "
    "documented by your service. Nothing has been sent."
)
NEW_MS = 2_000
"""The initial duration of a picture on a timeline."""


@dataclass(frozen=True)
class Use:
    """A field of a function that takes a result."""

    function: Function
    spec: FieldSpec
    medium: MediaName  # the result's medium
    text: str | None = None  # the value to use instead of the result

    @property
    def title(self) -> str:
        return self.function.title if self.text is None else "Finalize this draft"

    @property
    def tooltip(self) -> str:
        if self.text is not None:
            return "Open a form with the draft's prompt"
        return f"Open a form with this result in {label_of(self.spec)}"

    def value(self, made: JobOutput, before: object = None) -> object:
        """Return the field's value with the result added, at the end of a list."""
        if self.text is not None:
            return self.text
        if self.spec.media_kind is not None:
            return made.url
        items = list(before) if isinstance(before, list) else []
        if self.spec.item is not None and self.spec.item.media_kind is not None:
            return [*items, *([] if made.url in items else [made.url])]
        axis = Axis.of(self.spec, self.function.rules)
        return None if axis is None else _placed(axis, self.medium, made, items)


class ResultForm(Protocol):
    """A form opened for a result; see `Form`."""

    @property
    def widget(self) -> Any: ...
    def take_result(self, use: Use, made: JobOutput) -> None: ...
    def close(self) -> None: ...


Open = Callable[[Use], ResultForm]
"""Makes the form of a use, empty and not yet on the page."""
Elsewhere = Callable[[Use, JobOutput], object]
"""Opens the form of a use in a place of its own."""


@dataclass(frozen=True)
class Uses:
    """Opens forms filled with a result."""

    catalog: Catalog
    open: Open | None = None  # opens a form below the card
    elsewhere: Elsewhere | None = None  # opens a form elsewhere instead


def medium_of(state: JobState) -> MediaName | None:
    """Return the medium of a job's result; None if it cannot be an input."""
    return MEDIA.get(state.media_type)


def uses_of(functions: Iterable[Function], medium: MediaName) -> list[Use]:
    """Return the functions that take a medium, the likeliest first."""
    found = (_use_of(function, medium) for function in functions)
    uses = [use for use in found if use is not None]
    # A function that requires only this medium is the likeliest.
    return sorted(uses, key=lambda use: not (use.spec.to_fill_in and not use.spec.item))


def uses_of_job(functions: Iterable[Function], state: JobState) -> list[Use]:
    """Return the uses of a job's result; for a draft, the final first."""
    medium, functions = medium_of(state), list(functions)
    if medium is None:
        return []
    finals = []
    if state.body.get("draft"):
        finals = [
            Use(function, function.fields["prompt"], medium, str(state.prompt or ""))
            for function in functions
            if FINALIZES.get(function.kind) == state.kind
            and "prompt" in function.fields
        ]
    paths = {use.function.path for use in finals}
    uses = uses_of(functions, medium)
    return [*finals, *(use for use in uses if use.function.path not in paths)]


def _use_of(function: Function, medium: MediaName) -> Use | None:
    fields = [s for s in function.fields.values() if _takes(function, s, medium)]
    # Required fields come first, and a medium before its mask.
    fields.sort(key=lambda spec: (not spec.to_fill_in, bool(spec.mask_of)))
    return Use(function, fields[0], medium) if fields else None


def _takes(function: Function, spec: FieldSpec, medium: MediaName) -> bool:
    if medium in (spec.media_kind, spec.item.media_kind if spec.item else None):
        return True
    axis = Axis.of(spec, function.rules)
    return axis is not None and any(_kinds_for(axis, medium))


def _kinds_for(axis: Axis, medium: MediaName) -> Iterator[str]:
    """Yield the kinds of timeline items that take a medium."""
    for kind in axis.kinds:
        takes = axis.medium_of({axis.tag: kind} if axis.tag else {})
        if takes is not None and takes[1] == medium:
            yield kind


def _placed(
    axis: Axis, medium: MediaName, made: JobOutput, held: list[Item]
) -> list[Item]:
    """Append a medium after the last one of its kind, for its full length."""
    kind = next(_kinds_for(axis, medium))
    items = [item for item in held if not axis.is_blank(item)]
    rows = [at for at, item in enumerate(items) if axis.kind_of(item) == kind]
    if not rows:
        name = {axis.name: axis.free_name(items)} if axis.name else {}
        items.append({axis.tag: kind, **name} if axis.tag else name)
        rows = [len(items) - 1]
    item = items[rows[-1]]
    spans = [span for span in axis.inner(item) if span]
    spans.append(_span(axis, item, made))
    most, most_in = axis.spec.max_length, axis.most_in(item)
    if len(items) > (most or len(items)) or len(spans) > (most_in or len(spans)):
        return held
    items[rows[-1]] = item | {axis.spans.inner: spans}
    return items


def _span(axis: Axis, item: Item, made: JobOutput) -> Item:
    fields, takes = axis.fields_of(item), axis.medium_of(item)
    start_ms = max((each.end_ms for each in axis.stretches(item)), default=0)
    length_ms = NEW_MS if made.length_s is None else made.length_s * MS_PER_S
    times = {axis.spans.start: start_ms, axis.spans.length: length_ms}
    timed = {name: axis.number(fields[name], ms) for name, ms in times.items()}
    return timed | ({} if takes is None else {takes[0]: made.url})
