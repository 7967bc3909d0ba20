"""The rules in a document that fit its fields."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from mediakit import rules
from mediakit.catalog.documents.references import dict_of, list_of
from mediakit.rules import Rule
from mediakit.schema import FieldSpec
from mediakit.schema.rule_documents import rule_of

Fields = Mapping[str, FieldSpec]

MAX_RULES = 100
NUMBERS = ("integer", "number")
PLAIN = (*NUMBERS, "choice", "text", "media", "boolean")


def rules_in(documents: object, fields: Fields) -> tuple[Rule, ...]:
    """Read rules, without those that are unknown or do not fit the fields.

    The service always applies its rules.

    Args:
        documents: The rules as JSON.
        fields: The fields of the request.
    """
    found = (rule_of(dict_of(each)) for each in list_of(documents)[:MAX_RULES])
    return tuple(rule for rule in found if rule is not None and fits(rule, fields))


def fits(rule: Rule, fields: Fields) -> bool:
    """Return whether a rule can check all values that the fields accept."""
    if not _is_filled(asdict(rule)):  # type: ignore[call-overload]
        return False
    if not rule.reads <= fields.keys():
        return False
    special = _FITS.get(type(rule))
    return special is None or special(rule, fields)


def _is_filled(parameters: object) -> bool:
    if isinstance(parameters, dict):
        return all(_is_filled(value) for value in parameters.values())
    if isinstance(parameters, list | tuple):
        return bool(parameters) and all(_is_filled(value) for value in parameters)
    return True


def _cites(rule: rules.Cites, fields: Fields) -> bool:
    # The words become part of a regular expression.
    return all(word.isalnum() for word, _ in rule.lists)


def _short_when_several(rule: rules.ShortWhenSeveral, fields: Fields) -> bool:
    item = fields[rule.each].item
    return item is not None and item.kind in NUMBERS and not item.nullable


def _unique_in(rule: rules.UniqueIn, fields: Fields) -> bool:
    return _have(_items(fields[rule.items]), rule.name, PLAIN)


def _some_in(rule: rules.SomeIn, fields: Fields) -> bool:
    return _have(_items(fields[rule.items]), rule.name, PLAIN)


def _most_in_all(rule: rules.MostInAll, fields: Fields) -> bool:
    return _have(_items(fields[rule.items]), rule.inner, ("list",))


def _spans(rule: rules.NoOverlap | rules.EndsBy, fields: Fields) -> bool:
    spans = rule.spans
    items = list(_items(fields[spans.items]))
    inner = [o for item in items for o in _items(item.fields.get(spans.inner))]
    names = (spans.start, spans.length)
    return _have(items, spans.inner, ("list",)) and all(
        _have(inner, name, NUMBERS)
        and all(each.fields[name].required for each in inner)
        for name in names
    )


def _items(spec: FieldSpec | None) -> Iterator[FieldSpec]:
    """Yield the objects that a list can hold."""
    item = spec.item if spec is not None else None
    if item is not None:
        yield from item.variants.values() if item.variants else (item,)


def _have(items: Iterable[FieldSpec], name: str, kinds: tuple[str, ...]) -> bool:
    found = [item.fields.get(name) for item in items]
    return bool(found) and all(
        spec is not None and spec.kind in kinds and not spec.nullable for spec in found
    )


_FITS: Mapping[type[Rule], Callable[[Any, Fields], bool]] = {
    rules.Cites: _cites,
    rules.ShortWhenSeveral: _short_when_several,
    rules.UniqueIn: _unique_in,
    rules.SomeIn: _some_in,
    rules.MostInAll: _most_in_all,
    rules.NoOverlap: _spans,
    rules.EndsBy: _spans,
}
