"""Makes untrusted text safe for messages, HTML and spreadsheets.

Build HTML with `Markup`, which escapes everything except other `Markup`:
`Markup("<b>{}</b>").format(text)`.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# -- messages: short, in one line, without passwords and signatures -------------------

SHOWN_LENGTH = 180
# The reason a file is refused follows its path, which may be long.
SHOWN_END = 110
QUOTED_LENGTH = 2_000

_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*:)?//(?P<authority>[^/\\?#]*)(?P<path>[^?#]*)"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
# An unquoted URL ends at a space; a URL in a repr also ends at the quote.
_URL_IN_TEXT = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s<>\"']+", re.IGNORECASE)

_SIGNED = re.compile(r"[?&](?:[\w-]*signature|sig|token)=", re.IGNORECASE)
_CREDENTIALS = re.compile(r"://[^/?#\s]*@")

# Terminals execute them, and in a log a line break starts a new record.
_LINE_ENDS = re.compile("[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def shown_url(url: str) -> str:
    """Return a URL without user, password, query and fragment.

    Any of them may be a secret, such as a token or a signature; "?…" replaces a query
    or fragment. A string that is not a URL with a host is returned unchanged.
    """
    parts = _URL.fullmatch(url.strip())
    if parts is None:
        return url
    host = parts["authority"].rpartition("@")[2]
    rest = "?…" if parts["rest"] else ""
    return f"{parts['scheme'] or ''}//{host}{parts['path']}{rest}"


def holds_signature(text: str) -> bool:
    """Return whether a string contains a URL with a signature or a password."""
    return bool(_SIGNED.search(text) or _CREDENTIALS.search(text))


def with_shown_urls(text: str) -> str:
    """Apply `shown_url` to each URL in a string."""
    return _URL_IN_TEXT.sub(lambda found: shown_url(found[0]), text)


def shown(value: object) -> str:
    """Shorten an untrusted value for an error message."""
    text = repr(shown_url(value) if isinstance(value, str) else value)
    text = with_shown_urls(text)
    if len(text) <= SHOWN_LENGTH:
        return text
    begin = text[: SHOWN_LENGTH - SHOWN_END]
    return f"{begin}…{text[-SHOWN_END:]} ({len(text):,} characters)"


def quoted(text: str) -> str:
    """Shorten text from the service to one line, to quote it."""
    line = without_controls(_LINE_ENDS.sub(" ", text[: 2 * QUOTED_LENGTH]))
    if len(line) <= QUOTED_LENGTH and len(text) <= 2 * QUOTED_LENGTH:
        return line
    return f"{line[:QUOTED_LENGTH]}… ({len(text):,} characters)"


def without_controls(text: str) -> str:
    """Remove the control characters except tabs and line feeds."""
    return _CONTROLS.sub("", text)


# -- HTML -----------------------------------------------------------------------------

# The start of a formula that notebooks typeset: "$...$", "\(...\)".
_FORMULA_SIGNS = re.compile(r"[$\\]")

NO_HTML = Markup()
"""Nothing; `NO_HTML.join(parts)` joins parts, and escapes those that are text."""


def html_text(text: str) -> Markup:
    """Escape text so that it becomes neither markup nor a formula.

    Do not use it for attributes. Each "$" is in an element of its own, so that it
    cannot end a formula that other text starts.
    """
    # Convert to a plain string, because `Markup` would escape the replacements.
    return Markup(_FORMULA_SIGNS.sub(r"<span>\g<0></span>", str(escape(text))))


# -- spreadsheets ---------------------------------------------------------------------

_FORMULA_STARTS = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - Excel reads them too
# Matches a citation of an input in a prompt. Excel reads a cell with a citation as the
# names Image1, walks, ... and shows #NAME? at worst: without a call, a link or a
# comparison, nothing runs.
_CITATION = re.compile(r"@(?:Image|Video|Audio)[0-9]+(?![\w(!.\[])")
_RUNS = re.compile(r"\w\s*\(|!\w|!\$|[|=\[]")


def spreadsheet_text(text: str) -> str:
    """Return text that a spreadsheet does not execute as a formula.

    A leading apostrophe makes it text. Any other text is unchanged, including a prompt
    that begins with a citation such as "@Image1".
    """
    if text.lstrip(" ")[:1] not in _FORMULA_STARTS or not text:
        return text
    if _CITATION.match(text) and not _RUNS.search(text):
        return text
    return f"'{text}"
