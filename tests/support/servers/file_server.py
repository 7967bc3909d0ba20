"""A web server on loopback that serves files, correctly or with faults."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx

from tests.support.servers.loopback import Asked, LoopbackServer, Said

PIECE_BYTES = 16_384


class FileServer(LoopbackServer):
    """Serves bytes by name.

    Args:
        files: The bytes by name.
        ranges: Serve requested ranges; otherwise always the whole file.
        redirects: Redirect targets, by name.
        headers: Headers of every response, instead of the usual ones.
        silent: Send headers, but never a body.
        silent_after: The number of requests that get a complete response first.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        ranges: bool = True,
        redirects: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        silent: bool = False,
        silent_after: int = 0,
    ) -> None:
        super().__init__()
        self.files = dict(files)
        self.ranges = ranges
        self.redirects = dict(redirects or {})
        self.headers = dict(headers or {})
        self.silent = silent
        self.silent_after = silent_after
        self.requests: list[tuple[str, httpx.Headers]] = []
        self.sent_bytes = 0
        self.stopped = threading.Event()

    def url(self, name: str) -> str:
        """Return the URL of a file."""
        return f"{self.base_url}/{name}"

    def __exit__(self, *problem: Any) -> None:
        self.stopped.set()
        super().__exit__(*problem)

    def answer(self, asked: Asked) -> Said:
        name = asked.path[1:]
        self.requests.append((name, asked.headers))
        if name in self.redirects:
            return Said(b"", 302, {"Location": self.redirects[name], **self.headers})
        if name not in self.files:
            return Said(b"no such file", 404, self.headers)
        content = self.files[name]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", asked.headers.get("Range", ""))
        if wanted is None or not self.ranges:
            return Said(content, 200, self.headers)
        first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
        part = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        return Said(content[first : last + 1], 206, {**part, **self.headers})

    def send(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        if self.silent and len(self.requests) > self.silent_after:
            self.stopped.wait()
            return
        for start in range(0, len(content), PIECE_BYTES):
            piece = content[start : start + PIECE_BYTES]
            try:
                handler.wfile.write(piece)
            except OSError:  # whoever asked has had enough
                handler.close_connection = True
                return
            self.sent_bytes += len(piece)
