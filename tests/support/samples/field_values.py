"""Values that a field accepts, drawn from its declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.json_values import FURTHER

Values = st.SearchStrategy[object]

NESTED = ("object", "variants", "either")
MOST_NESTED = 3
# White space around text is not sent.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(str.strip)
JSON: Values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner),
    max_leaves=5,
)


def values_of(spec: FieldSpec) -> Values:
    """Return values that the field accepts, including none if it is optional."""
    optional = bool(spec.name) and spec.default is None and not begins_filled(spec)
    return st.none() | _given(spec) if optional else _given(spec)


def begins_filled(spec: FieldSpec) -> bool:
    """Return whether the control always has a value."""
    within = spec.item if spec.kind == "list" else spec
    return spec.to_fill_in and within is not None and within.kind in NESTED


def _given(spec: FieldSpec) -> Values:
    return _BY_KIND[spec.kind](spec)


def _integers(spec: FieldSpec) -> Values:
    if spec.seed:
        return st.integers()
    return st.integers(int(spec.low or 0), int(spec.high or 100))


def _floats(spec: FieldSpec) -> Values:
    return st.floats(
        spec.above if spec.low is None else spec.low,
        spec.below if spec.high is None else spec.high,
        exclude_min=spec.above is not None,
        exclude_max=spec.below is not None,
        allow_nan=False,
        allow_infinity=False,
    )


def _texts(_: FieldSpec) -> Values:
    # An empty box has no value, but an empty item of a list is an item.
    return TEXTS.filter(bool)


def _urls(_: FieldSpec) -> Values:
    return TEXTS.map(lambda text: f"https://a.test/{text.strip()}")


def _lists(spec: FieldSpec) -> Values:
    assert spec.item is not None
    nested = spec.item.kind in NESTED
    most = MOST_NESTED if nested else spec.max_length
    return st.lists(values_of(spec.item), min_size=1, max_size=most)


def _objects(spec: FieldSpec) -> Values:
    """Return objects; fields with a default are shown, so they are always sent."""
    if not spec.fields:
        return st.dictionaries(TEXTS, JSON)
    fields = {name: _given(field) for name, field in spec.fields.items()}
    sent = {n for n, s in spec.fields.items() if s.required or s.default is not None}
    known = st.fixed_dictionaries(
        {name: fields[name] for name in fields if name in sent},
        optional={name: fields[name] for name in fields if name not in sent},
    )
    if spec.closed:
        return known
    names = TEXTS.filter(lambda name: name not in (*fields, FURTHER.name))
    further = st.dictionaries(names, JSON, max_size=2)
    return st.builds(lambda more, own: more | own, further, known)


_BY_KIND: Mapping[str, Callable[[FieldSpec], Values]] = {
    "choice": lambda spec: st.sampled_from(spec.choices),
    "boolean": lambda _: st.booleans(),
    "integer": _integers,
    "number": _floats,
    "text": _texts,
    "media": _urls,
    "list": _lists,
    "object": _objects,
    "variants": lambda spec: st.one_of(*map(_objects, spec.variants.values())),
    "either": lambda spec: st.one_of(*map(_given, spec.variants.values())),
    "json": lambda _: JSON.filter(lambda value: value is not None),
}
