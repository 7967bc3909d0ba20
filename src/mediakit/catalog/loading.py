"""Reading a JSON document from a mapping, a text, a file or a URL."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError

if TYPE_CHECKING:
    import httpx

Json = dict[str, Any]

FIELD = "document"
MAX_BYTES = 10_000_000
MAX_REDIRECTS = 3
TIMEOUT_S = 10.0
_YAML = re.compile(r"\s*(#|---|%YAML|(openapi|swagger)\s*:)")
_TEXT = re.compile(rf"\s*\{{|{_YAML.pattern}")
_SIZE = f"at most {MAX_BYTES // 1_000_000} MB"
ACCEPTED = "a JSON object, or its text, its file or its http(s) URL"


def load(source: Mapping[str, Any] | str | Path) -> Json:
    """Read a JSON object: from a mapping, its text, a file, or a URL.

    No key is sent to a URL.
    """
    if isinstance(source, Mapping):
        return checked_json(FIELD, source)
    text = str(source)
    if isinstance(source, str) and _TEXT.match(text):
        return _parsed(text, "the text")
    if isinstance(source, str) and text.startswith(("http://", "https://")):
        return _parsed(_download(text), text)
    return _parsed(_read(Path(text).expanduser()), text)


def _parsed(text: str | bytes, where: str) -> Json:
    try:
        return checked_json(FIELD, json.loads(text))
    except RecursionError:
        got = f"{where}, which is nested too deeply"
    except (ValueError, UnicodeDecodeError) as error:
        start = text if isinstance(text, str) else text[:1_000].decode(errors="replace")
        reason = "it looks like YAML" if _YAML.match(start) else error
        got = f"{where}, which is not JSON ({reason})"
    raise InputError(FIELD, got=got, accepted="JSON") from None


def checked_json(field: str, value: object) -> Json:
    """Return a deep copy of a JSON object."""
    if not isinstance(value, Mapping):
        raise InputError(field, got=type(value).__name__, accepted=ACCEPTED)
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        copy: Json = json.loads(text.encode())
    except RecursionError:
        got = "an object that is nested too deeply"
    except (TypeError, ValueError) as error:
        got = f"an object that is not JSON ({error})"
    else:
        return copy
    raise InputError(field, got=got, accepted="JSON") from None


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(FIELD, got=f"{path}, which is larger", accepted=_SIZE)
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(FIELD, got=f"{path} ({error})", accepted=ACCEPTED) from None


def _download(url: str) -> bytes:
    import httpx  # takes 0.1 s, and is needed only here

    try:
        with (
            httpx.Client(
                follow_redirects=True,
                max_redirects=MAX_REDIRECTS,
                timeout=TIMEOUT_S,
                # The environment's proxies do not apply to loopback; its certificates
                # do.
                trust_env=not _is_loopback(httpx.URL(url).host),
                verify=httpx.create_ssl_context(),
            ) as http,
            http.stream("GET", url, headers={"Accept": "application/json"}) as answer,
        ):
            return _content(url, answer)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        got = f"{url} ({str(error) or type(error).__name__})"
    raise InputError(FIELD, got=got, accepted="a URL that answers") from None


def _content(url: str, answer: httpx.Response) -> bytes:
    if not answer.is_success:
        got = f"{url}, which answers {answer.status_code}"
        raise InputError(
            FIELD, got=got, accepted="a document that is served without a key"
        )
    content = bytearray()
    for chunk in answer.iter_bytes():
        content += chunk
        if len(content) > MAX_BYTES:
            raise InputError(FIELD, got=f"{url}, which is larger", accepted=_SIZE)
    return bytes(content)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
