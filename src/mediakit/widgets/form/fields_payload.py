"""The fields of a form as plain data for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mediakit.catalog import Function
from mediakit.rules import NeedsAny, OnlyWhen
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.controls.messages import (
    OPTION_TITLES,
    hint_of,
    label_of,
    mid_sentence,
    one_of,
    option_text,
    titled,
)
from mediakit.widgets.controls.number import reach_of
from mediakit.widgets.controls.wire import (
    choices_of,
    control_of,
    fewest_of,
    inner_fields,
    is_optional,
    item_of,
    option_of,
    shown,
    untagged,
)
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.timeline.time_axis import Axis
from mediakit.widgets.uploads.accepted_files import accept_text

TAGS = {"image": "Image", "video": "Video", "audio": "Audio"}
SEVERAL = {"image": "pictures", "video": "clips", "audio": "sounds"}
FEW_CHOICES = 3
WIDEST_SLIDER = 1_000
SEED_LIMIT = 2**31 - 1
CHOOSE, SERVICE_DEFAULT, NOTHING = "Choose…", "Service default", "Not set"
HELP_FROM = 25
"""Descriptions shorter than this add nothing to the label. Text fields show theirs
in the box."""
JSON_EXAMPLE = 'JSON, such as {"strength": 0.5} or [1, 2]'
FURTHER_EXAMPLE = 'Such as {"style": "noir", "steps": 30}'
FURTHER_LABEL = "Additional fields (JSON)"


def fields_of(function: Function, values: Mapping[str, object]) -> dict[str, FieldSpec]:
    """Return the fields of the chosen kind of body, in display order."""
    chosen = function.of(values).fields
    own = function.tag  # the tag itself accepts every kind
    fields = {
        n: spec if n == own else chosen.get(n, spec)
        for n, spec in function.fields.items()
    }
    if function.is_open:
        fields[FURTHER.name] = FURTHER
    return fields


def axes_of(function: Function) -> dict[str, Axis]:
    """Return the fields that are edited on a timeline."""
    axes = {n: Axis.of(s, function.rules) for n, s in function.fields.items()}
    return {name: axis for name, axis in axes.items() if axis is not None}


def schema_payload(
    function: Function, fields: Mapping[str, FieldSpec], axes: Mapping[str, Axis]
) -> Payload:
    """Return the static part of the payload."""
    prompts = " ".join(s.doc for s in fields.values() if s.multiline)
    return {
        "fields": [
            {
                **field_payload(spec, spec.name, prompts),
                "main": name == FURTHER.name or is_main(function, spec),
                "timeline": axes[name].payload if name in axes else None,
            }
            for name, spec in fields.items()
        ]
    }


def media_specs(fields: Mapping[str, FieldSpec]) -> dict[str, FieldSpec]:
    """Return the fields that take media, by the path that the page uses."""

    def walk(spec: FieldSpec, path: str) -> Iterator[tuple[str, FieldSpec]]:
        if control_of(spec) in ("media", "media_list"):
            yield path, spec
            return
        for step, inner in _inside(spec):
            yield from walk(inner, f"{path}/{step}")

    return {
        path: spec for name, each in fields.items() for path, spec in walk(each, name)
    }


def _inside(spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
    """Yield the fields inside a field, each with its path step."""
    match control_of(spec):
        case "rows":
            yield "", item_of(spec)
        case "object":
            yield from inner_fields(spec).items()
        case "variants":
            for tag, variant in spec.variants.items():
                for name, inner in inner_fields(untagged(spec, variant)).items():
                    yield f"{tag}/{name}", inner
        case "either":
            for shape in spec.variants:
                yield shape, option_of(spec, shape)


def is_main(function: Function, spec: FieldSpec) -> bool:
    """Return whether a field is always visible, not under "More settings"."""
    if function.tag is not None:
        return True
    rules = function.rules
    if any(isinstance(r, OnlyWhen) and spec.name in r.fields for r in rules):
        return False
    prompt = next((s.name for s in function.fields.values() if s.multiline), None)
    return (
        spec.required
        or any(isinstance(r, NeedsAny) and spec.name in r.fields for r in rules)
        or spec.name in (function.declared.priced_by or ())
        or bool(spec.media_kind or (spec.item and spec.item.media_kind))
        or spec.name == prompt
        or (spec.default is not None and spec.kind != "boolean")
    )


def name_of(spec: FieldSpec) -> str:
    """Return a field's display name with its unit."""
    if spec.name == FURTHER.name:
        return FURTHER_LABEL
    unit = spec.unit or (spec.item.unit if spec.item else None)
    unit = "s" if _is_in_seconds(spec) else unit
    # Each choice has the unit.
    has_unit = unit and spec.kind != "choice"
    return f"{label_of(spec)} ({unit})" if has_unit else label_of(spec)


def _is_in_seconds(spec: FieldSpec) -> bool:
    """Return whether milliseconds are shown as seconds: without a slider."""
    return spec.unit == "ms" and control_of(spec) == "number" and not reach_of(spec)


def field_payload(spec: FieldSpec, path: str, prompts: str = "") -> Payload:
    """Return a field's payload without empty entries; `path` has no indices."""
    kind = control_of(spec)
    more = _MORE.get(kind)
    payload: Payload = {
        "name": spec.name,
        "kind": kind,
        "label": name_of(spec),
        "hint": hint_of(spec),
        "help": spec.doc if len(spec.doc) >= HELP_FROM and kind != "text" else "",
        "required": spec.to_fill_in,
        "start": shown(spec, None),
        **(more(spec, path, prompts) if more else {}),
    }
    return {n: v for n, v in payload.items() if v not in (None, "", False, [], ())}


def _choice(spec: FieldSpec, _: str, __: str) -> Payload:
    unit = f" {spec.unit}" if spec.unit else ""
    none = None
    if spec.default is None:
        none = SERVICE_DEFAULT
        if spec.required:
            none = NOTHING if spec.nullable else CHOOSE
    options = [option_label(choice, unit, spec.title) for choice in choices_of(spec)]
    is_few = none is None and len(options) <= FEW_CHOICES
    return {"options": options, "none": none, "few": is_few}


def option_label(choice: object, unit: str = "", of: str = "") -> str:
    """Return a choice for display: words as titles, "16:9" unchanged."""
    if isinstance(choice, bool):
        return "Yes" if choice else "No"
    if (of, choice) in OPTION_TITLES:
        return OPTION_TITLES[of, str(choice)]
    if not isinstance(choice, str):
        return f"{choice}{unit}"
    is_words = choice.replace(" ", "").isalpha() and choice.islower()
    return titled(choice) if is_words else choice


def _number(spec: FieldSpec, _: str, __: str) -> Payload:
    reach = None if spec.seed else reach_of(spec)
    if reach is None or (spec.required and spec.default is None):
        placeholder = SERVICE_DEFAULT
        if spec.required:
            placeholder = NOTHING if spec.nullable else ""
        low = 0 if spec.low is None else max(0, int(spec.low))
        high = SEED_LIMIT if spec.high is None else min(int(spec.high), SEED_LIMIT)
        seed = [low, high] if spec.seed else None
        return {
            "placeholder": "Random" if seed else placeholder,
            "seed": seed,
            "in_seconds": _is_in_seconds(spec),
        }
    middle = round((reach.most - reach.least) / reach.step / 2) * reach.step
    return {
        "reach": list(reach),
        "slides": reach.most - reach.least <= WIDEST_SLIDER,
        "optional": is_optional(spec),
        "middle": str(round(reach.least + middle, 6)),
    }


def _text(spec: FieldSpec, _: str, __: str) -> Payload:
    return {
        "placeholder": spec.doc,
        "long": spec.multiline,
        "most": spec.max_length,
    }


def _media(spec: FieldSpec, path: str, prompts: str) -> Payload:
    medium = (spec.item or spec).media_kind or "image"
    tag = f"@{TAGS[medium]}"
    return {
        "path": path,
        "medium": medium,
        "several": SEVERAL[medium],
        "accept": accept_text(spec),
        "limits": spec.limits.words if spec.limits else "",
        "mask_of": spec.mask_of,
        "most": spec.max_length if spec.item else None,
        "tag": tag if f"{tag}1" in prompts else f"{TAGS[medium]} ",
        "cites": f"{tag}1" in prompts,
    }


def _items(spec: FieldSpec, _: str, __: str) -> Payload:
    item = item_of(spec)
    first = "" if item.kind == "text" else str(int(item.low or 0))
    return {"most": spec.max_length, "text": item.kind == "text", "first": first}


def _rows(spec: FieldSpec, path: str, prompts: str) -> Payload:
    item = item_of(spec)
    return {
        "item": field_payload(item, f"{path}/", prompts),
        "most": spec.max_length,
        "fewest": fewest_of(spec),
        "one": mid_sentence(one_of(label_of(spec))),
    }


def _object(spec: FieldSpec, path: str, prompts: str) -> Payload:
    optional = is_optional(spec)
    return {
        "optional": optional,
        "first": _empty(spec) if optional else None,
        "fields": _fields(spec, path, prompts),
        "doc": spec.doc,
    }


def _empty(spec: FieldSpec) -> Payload:
    return {"of": {n: shown(each, None) for n, each in inner_fields(spec).items()}}


def _fields(spec: FieldSpec, path: str, prompts: str) -> list[Payload]:
    return [
        field_payload(each, f"{path}/{name}", prompts)
        for name, each in inner_fields(spec).items()
    ]


def _variants(spec: FieldSpec, path: str, prompts: str) -> Payload:
    variants = {}
    for tag, variant in spec.variants.items():
        inside = untagged(spec, variant)
        fields = _fields(inside, f"{path}/{tag}", prompts)
        variants[tag] = {"first": _empty(inside), "fields": fields}
    label = label_of(FieldSpec(spec.tag or "", "choice"))
    return {
        "tag": spec.tag,
        "label": name_of(spec) if spec.name else label,
        "options": [option_label(tag) for tag in spec.variants],
        "none": None if spec.to_fill_in else SERVICE_DEFAULT,
        "variants": variants,
    }


def _either(spec: FieldSpec, path: str, prompts: str) -> Payload:
    inside = {
        shape: field_payload(option_of(spec, shape), f"{path}/{shape}", prompts)
        for shape in spec.variants
    }
    none = NOTHING if spec.required else SERVICE_DEFAULT
    return {
        "options": [titled(option_text(each)) for each in spec.variants.values()],
        "none": None if spec.to_fill_in else none,
        "variants": inside,
    }


def _json(spec: FieldSpec, _: str, __: str) -> Payload:
    is_further = spec.name == FURTHER.name
    return {"placeholder": FURTHER_EXAMPLE if is_further else JSON_EXAMPLE}


_MORE = {
    "choice": _choice,
    "number": _number,
    "text": _text,
    "media": _media,
    "media_list": _media,
    "items": _items,
    "rows": _rows,
    "object": _object,
    "variants": _variants,
    "either": _either,
    "json": _json,
}
