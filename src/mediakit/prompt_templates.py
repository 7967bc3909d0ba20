"""Prompt templates: text with slots, such as "a {animal} in the snow"."""

import re
from collections.abc import Iterable, Mapping
from typing import Self

_SLOT = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


class NamedText(str):
    """A string with a name, which frames show, such as a version of a prompt."""

    label: str

    def __new__(cls, label: str, text: str) -> Self:
        """Create the string with its name."""
        text_with_name = super().__new__(cls, text)
        text_with_name.label = label
        return text_with_name


def slots_in(templates: Iterable[object]) -> set[str]:
    """Return the names of the slots in templates; other values have none."""
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
