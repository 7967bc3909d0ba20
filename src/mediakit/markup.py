"""Escape text for HTML.

Build HTML with `Markup`, which escapes everything but other `Markup`:
`Markup("<b>{}</b>").format(text)`.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# The start of a formula that notebooks typeset: "$...$", "\(...\)".
_FORMULA_SIGNS = re.compile(r"[$\\]")

NO_HTML = Markup()
"""Nothing; `NO_HTML.join(parts)` joins parts, and escapes those that are text."""


def html_text(text: str) -> Markup:
    """Escape text so that nothing becomes markup or a formula; not for attributes.

    A sign inside its own element cannot end a formula that other text starts.
    """
    # As a plain string: a `Markup` would escape what replaces the signs.
    return Markup(_FORMULA_SIGNS.sub(r"<span>\g<0></span>", str(escape(text))))
