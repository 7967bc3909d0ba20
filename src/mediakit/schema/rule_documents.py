"""Rules to JSON and back."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mediakit import rules
from mediakit.rules import Check, Rule

NAME = "rule"

_TYPES: Mapping[str, type[Rule]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", rule_type.__name__).lower(): rule_type
    for rule_type in (
        rules.OnlyWhen,
        rules.NeededWhen,
        rules.LimitedWhen,
        rules.NeedsAny,
        rules.MostTogether,
        rules.Cites,
        rules.NeedsGap,
        rules.OnePerGap,
        rules.ShortWhenSeveral,
        rules.UniqueIn,
        rules.SomeIn,
        rules.MostInAll,
        rules.NoOverlap,
        rules.EndsBy,
    )
}
_NAMES = {rule_type: name for name, rule_type in _TYPES.items()}


def described(rule: Rule) -> dict[str, Any]:
    """Convert a rule to JSON; of a `Check`, only the sentence."""
    if isinstance(rule, Check):
        return {"sentence": rule.sentence}
    # Always a dataclass, but the base class is not.
    parameters: dict[str, Any] = asdict(rule)  # type: ignore[call-overload]
    return {NAME: _NAMES[type(rule)], **parameters, "sentence": rule.sentence}


def rule_of(document: Mapping[str, Any]) -> Rule | None:
    """Read a rule from JSON; None if it is unknown.

    The service always applies its rules; only an unknown one is not checked before
    the request is sent.
    """
    rule_type = _TYPES.get(str(document.get(NAME)))
    if rule_type is None:
        return None
    parameters = {k: v for k, v in document.items() if k not in (NAME, "sentence")}
    try:
        rule: Rule = TypeAdapter(rule_type).validate_python(parameters)
    except ValidationError:
        return None
    return rule
