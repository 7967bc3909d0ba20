"""Escape text for HTML."""

from __future__ import annotations

import re
from html import escape

# The start of a formula that notebooks typeset: "$...$", "\(...\)".
_FORMULA_SIGNS = re.compile(r"[$\\]")


def html_text(text: str) -> str:
    """Escape text so that nothing becomes markup or a formula; not for attributes.

    A sign inside its own element cannot end a formula that other text starts.
    """
    return _FORMULA_SIGNS.sub(r"<span>\g<0></span>", escape(text))
