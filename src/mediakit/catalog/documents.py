"""Reads an OpenAPI document, with the files that it refers to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mediakit.errors import InputError
from mediakit.rules import ValueDescription
from mediakit.schema.references import Json, References, list_of

if TYPE_CHECKING:
    import httpx

FIELD = "document"
TIMEOUT_S = 10.0
MAX_REDIRECTS = 20
_YAML = re.compile(r"\s*(#|---|%YAML|(?!//)[\"']?[A-Za-z][\w.-]*[\"']?\s*:(\s|$))")
FILES = "x-files"
"""The keyword of a document under which the files that it refers to are added."""
ACCEPTED = "a JSON object, or its text, file or http(s) URL"


def load(source: Mapping[str, Any] | str | Path) -> Json:
    """Read a JSON object from a mapping, text, a file, or a URL, without a key.

    Files that a file refers to, beside or below it, are read, too.
    """
    if not isinstance(source, str | Path):
        return checked_json(FIELD, source)
    where = str(source)
    if isinstance(source, str) and (source.lstrip()[:1] in "{[" or "\n" in source):
        return _json_in("the text", source.encode(errors="surrogatepass"))
    if where.startswith(("http://", "https://")):
        return _json_in(where, _download(where))
    path = Path(source).expanduser()
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        text = f"{path} ({error})"
        raise InputError(FIELD, got=text, accepted=ACCEPTED) from None
    return _Files(path).bundle(_json_in(where, content))


def _json_in(where: str, content: bytes) -> Json:
    try:
        return checked_json(FIELD, json.loads(content))
    except RecursionError:
        reason: object = "it is nested too deeply"
    except ValueError as error:
        start = content[:1_000].decode(errors="replace")
        reason = (
            "it looks like YAML: convert it to JSON"
            if _YAML.match(start.lstrip("\ufeff"))
            else error
        )
    text = ValueDescription(f"{where}, which is not JSON ({reason})")
    raise InputError(FIELD, got=text, accepted="JSON") from None


def checked_json(field: str, value: object) -> Json:
    """Return a deep copy of a JSON object."""
    if not isinstance(value, Mapping):
        raise InputError(field, got=type(value).__name__, accepted=ACCEPTED)
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        copy: Json = json.loads(text.encode())
    except (RecursionError, TypeError, ValueError) as error:
        problem = ValueDescription(f"an object that is not JSON ({error})")
        raise InputError(field, got=problem, accepted="JSON") from None
    return copy


def _download(url: str) -> bytes:
    import httpx  # takes 0.1 s, and is needed only here

    try:
        answer = _answer_of(url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        text = f"{url} ({str(error) or type(error).__name__})"
        raise InputError(FIELD, got=text, accepted="a URL that answers") from None
    if not answer.is_success:
        text = f"{url}, which returned {answer.status_code}"
        accepted = "a document that can be read without a key"
        raise InputError(FIELD, got=text, accepted=accepted)
    return answer.content


def _answer_of(url: str) -> httpx.Response:
    """GET a URL; each redirect uses the proxy and certificates that it needs."""
    import httpx

    from mediakit.proxies_and_certificates import http_client

    cookies = CookieJar()
    for _ in range(1 + MAX_REDIRECTS):
        with http_client(url, timeout=TIMEOUT_S, cookies=cookies) as http:
            answer = http.get(url, headers={"Accept": "application/json"})
        if answer.next_request is None:
            return answer
        url = str(answer.next_request.url)
    raise httpx.TooManyRedirects(f"more than {MAX_REDIRECTS} redirects")


# -- files beside a file ---------------------------------------------------------------


@dataclass
class _Files:
    """The files that a local document refers to, each read once.

    Only files in the document's own folder are read: a document may come from a
    stranger.
    """

    path: Path
    contents: dict[Path, Json] = field(default_factory=dict)

    def bundle(self, document: Json) -> Json:
        """Return the document with its files under `FILES`, and references to them."""
        self.path = self.path.resolve()
        self.contents[self.path] = document
        parts: list[tuple[Any, Path]] = [(document, self.path)]
        while parts:
            part, file = parts.pop()
            if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                files_n = len(self.contents)
                part["$ref"] = self._target(part["$ref"], file)
                new = [*self.contents.items()][files_n:]
                parts += [(content, path) for path, content in new]
            inner = part.values() if isinstance(part, dict) else list_of(part)
            parts += [(each, file) for each in inner]
        [_, *files] = self.contents.values()
        return document | {FILES: files} if files else document

    def _target(self, reference: str, file: Path) -> str:
        """Return a reference within the document; unchanged if its file is missing."""
        name, _, pointer = reference.partition("#")
        try:
            target = (file.parent / unquote(name)).resolve() if name else file
        except (OSError, ValueError):
            return reference
        if not target.is_relative_to(self.path.parent) or not self._read(target):
            return reference
        content = self.contents[target]
        if pointer and not (
            pointer.startswith("/") and References(content).target(f"#{pointer}")
        ):
            return reference
        place = [*self.contents].index(target)
        return f"#/{FILES}/{place - 1}{pointer}" if place else f"#{pointer}"

    def _read(self, file: Path) -> bool:
        """Add a file; return False if it is not a JSON object."""
        if file not in self.contents:
            try:
                self.contents[file] = _json_in(str(file), file.read_bytes())
            except (InputError, OSError, ValueError):
                return False
        return True
