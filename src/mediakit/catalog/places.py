"""The places of media in a body, at any depth."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mediakit.schema import FieldSpec


def that_can_hold_media(fields: Mapping[str, FieldSpec]) -> dict[str, FieldSpec]:
    """Return the fields that can hold media at any depth."""
    return {name: spec for name, spec in fields.items() if _can_hold_media(spec)}


def _can_hold_media(spec: FieldSpec) -> bool:
    inner = [*spec.fields.values(), *spec.variants.values()]
    if spec.item is not None:
        inner.append(spec.item)
    return bool(spec.media_kind) or any(_can_hold_media(each) for each in inner)


def media_places(
    fields: Mapping[str, FieldSpec], body: Mapping[str, Any], within: str = ""
) -> Iterator[tuple[str, FieldSpec, str]]:
    """Find the media in a body, in the order of the fields.

    Args:
        fields: The fields of the body, or of an object in it.
        body: The values.
        within: The name of the object, such as "tracks[0]".

    Yields:
        The place, such as "tracks[0].keyframes[2].url", its field, and the value.
    """
    for name, spec in fields.items():
        label = f"{within}.{name}" if within else name
        yield from _places(spec, body.get(name), label)


def _places(
    spec: FieldSpec, value: object, label: str
) -> Iterator[tuple[str, FieldSpec, str]]:
    spec = spec.option(value)
    if spec.media_kind:
        if isinstance(value, str):
            yield label, spec, value
    elif spec.item is not None and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(spec.item, item, f"{label}[{index}]")
    elif isinstance(value, dict):
        chosen = spec.chosen(value)
        if chosen is not None:
            yield from media_places(chosen.fields, value, label)


def with_media_changed(
    fields: Mapping[str, FieldSpec],
    body: Mapping[str, Any],
    change: Callable[[str], object],
) -> dict[str, Any]:
    """Return the body with a function applied to each medium."""
    return {
        name: _changed(fields[name], value, change) if name in fields else value
        for name, value in body.items()
    }


def _changed(spec: FieldSpec, value: Any, change: Callable[[str], object]) -> Any:
    spec = spec.option(value)
    if spec.media_kind:
        return change(value) if isinstance(value, str) else value
    if spec.item is not None and isinstance(value, list):
        return [_changed(spec.item, item, change) for item in value]
    chosen = spec.chosen(value)
    if chosen is not None and isinstance(value, dict):
        return with_media_changed(chosen.fields, value, change)
    return value
