"""Text as HTML that stays the text it is."""

from __future__ import annotations

import re
from html import escape

# What begins a formula where notebooks typeset them: "$...$", "\(...\)".
_FORMULA_SIGNS = re.compile(r"[$\\]")


def html_text(text: str) -> str:
    """Write text of which nothing becomes markup or a formula; not for attributes.

    A sign in an element of its own ends no formula that another text begins.
    """
    return _FORMULA_SIGNS.sub(r"<span>\g<0></span>", escape(text))
