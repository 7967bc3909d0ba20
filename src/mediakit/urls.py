"""URLs in bodies, and as messages show them: without passwords and signatures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*:)?//(?P<authority>[^/\\?#]*)(?P<path>[^?#]*)"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
# An unquoted URL ends at a space; in a repr it ends at its quote, too.
_URL_IN_TEXT = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s<>\"']+", re.IGNORECASE)


def shown_url(url: str) -> str:
    """Return a URL without its user, password, query and fragment.

    Any of them may be a secret, such as a token or a signature: "?…" is in the
    place of a query or fragment. A text that is not a URL with a host is returned
    unchanged.
    """
    parts = _URL.fullmatch(url.strip())
    if parts is None:
        return url
    host = parts["authority"].rpartition("@")[2]
    rest = "?…" if parts["rest"] else ""
    return f"{parts['scheme'] or ''}//{host}{parts['path']}{rest}"


def urls_in(body: object) -> Iterator[str]:
    """Return every URL in a body, at any depth."""
    if isinstance(body, Mapping):
        body = list(body.values())
    if isinstance(body, list):
        for item in body:
            yield from urls_in(item)
    elif isinstance(body, str) and body.startswith(("http://", "https://")):
        yield body


def with_shown_urls(text: str) -> str:
    """Return a text in which each URL is as `shown_url` returns it."""
    return _URL_IN_TEXT.sub(lambda found: shown_url(found[0]), text)
