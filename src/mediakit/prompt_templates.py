"""Prompt templates: text with slots, such as "a {animal} in the snow"."""

import re
from collections.abc import Iterable, Mapping

_SLOT = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


def slots_in(templates: Iterable[object]) -> set[str]:
    """Return the names of the slots of templates; other values have none."""
    texts = [each for each in templates if isinstance(each, str)]
    return {name for text in texts for name in _SLOT.findall(text) if name}


def fill(template: object, values: Mapping[str, object]) -> object:
    """Fill the slots of a template; doubled braces are literal braces."""
    if not isinstance(template, str):
        return template

    def found(match: re.Match[str]) -> str:
        name = match[1]
        return str(values[name]) if name else match[0][0]

    return _SLOT.sub(found, template)
