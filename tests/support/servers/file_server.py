"""A web server on loopback that gives files, well or badly."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import httpx

PIECE_BYTES = 16_384
POLL_S = 0.01


class FileServer(ThreadingHTTPServer):
    """Gives the bytes that it holds by their names.

    Args:
        files: The bytes by name.
        ranges: Give parts when they are asked for, else always the whole.
        redirects: Where a name leads, by name.
        headers: Further headers of every answer, in place of the usual ones.
        silent: Answer with headers, and never with a body.
        silent_after: As many requests get a whole answer first.
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
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = dict(files)
        self.ranges = ranges
        self.redirects = dict(redirects or {})
        self.headers = dict(headers or {})
        self.silent = silent
        self.silent_after = silent_after
        self.requests: list[tuple[str, httpx.Headers]] = []
        self.sent_bytes = 0
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_S,))

    def url(self, name: str) -> str:
        """Return the URL of a file."""
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stopped.set()
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FileServer

    def do_GET(self) -> None:
        name = self.path[1:]
        self.server.requests.append((name, httpx.Headers(self.headers.items())))
        if name in self.server.redirects:
            self._answer(302, b"", {"Location": self.server.redirects[name]})
        elif name not in self.server.files:
            self._answer(404, b"no such file", {})
        else:
            self._give(self.server.files[name])

    def _give(self, content: bytes) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None or not self.server.ranges:
            self._answer(200, content, {})
            return
        first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
        part = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        self._answer(206, content[first : last + 1], part)

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        said = {"Content-Length": str(len(body)), **headers, **self.server.headers}
        for name, value in said.items():
            self.send_header(name, value)
        self.end_headers()
        if self.server.silent and len(self.server.requests) > self.server.silent_after:
            self.server.stopped.wait()
        else:
            self._send(body)

    def _send(self, body: bytes) -> None:
        for start in range(0, len(body), PIECE_BYTES):
            piece = body[start : start + PIECE_BYTES]
            try:
                self.wfile.write(piece)
            except OSError:  # whoever asked has had enough
                self.close_connection = True
                return
            self.server.sent_bytes += len(piece)

    def log_message(self, *_: object) -> None:
        return
