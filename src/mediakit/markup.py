"""Text as HTML that stays the text it is.

HTML is built with `Markup`, which escapes all that is put into it but other `Markup`:
`Markup("<b>{}</b>").format(text)`.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# What begins a formula where notebooks typeset them: "$...$", "\(...\)".
_FORMULA_SIGNS = re.compile(r"[$\\]")

NO_HTML = Markup()
"""Nothing; `NO_HTML.join(parts)` joins parts, and escapes those that are text."""


def html_text(text: str) -> Markup:
    """Write text of which nothing becomes markup or a formula; not for attributes.

    A sign in an element of its own ends no formula that another text begins.
    """
    # As a plain string: a `Markup` would escape what replaces the signs.
    return Markup(_FORMULA_SIGNS.sub(r"<span>\g<0></span>", str(escape(text))))
