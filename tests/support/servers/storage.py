"""A storage on loopback: accepts uploads, serves ranges, and fails as scripted."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.servers.loopback import LoopbackServer

PIECE_BYTES = 65_536
RECEIVED_AHEAD_BYTES = 262_144
SIGNATURE = "signature-0f1e2d3c"


class Storage(LoopbackServer):
    """Gives and takes files.

    `gets` and `puts` script the next requests, in order; None means no fault. A GET is
    cut after so many bytes, or answered with a status (negative). A PUT is cut off
    halfway (0), or answered with a status and `put_page` as the body. `changes` holds
    what replaces a file before each GET of it, and `stalls` pairs of events: set where
    a GET was cut, and waited for before the connection is closed.
    `granted_length` returns the headers of a grant that name the length.

    Args:
        files: What it gives, by path.
        validator: "etag", "weak" (a weak ETag), "date" (Last-Modified) or "none".
        ranges: Serve requested ranges.
    """

    late_s = 0.0  # how late a PUT is answered
    folder = "/put"  # of what is uploaded, in the URLs of grants

    def __init__(
        self,
        files: dict[str, bytes] | None = None,
        *,
        validator: str = "etag",
        ranges: bool = True,
    ) -> None:
        super().__init__(handler=_Handler)
        # Small socket buffers, so that a cut halfway happens before the end was sent.
        self.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_AHEAD_BYTES
        )
        self.files = dict(files or {})
        self.validator = validator
        self.ranges = ranges
        self.redirects: dict[str, str] = {}
        self.gets: list[int | None] = []
        self.puts: list[int | None] = []
        self.put_page = b""
        self.put_headers: dict[str, str] = {}
        self.changes: list[bytes | None] = []
        self.stalls: list[tuple[threading.Event, threading.Event]] = []
        self.halfway: Callable[[], object] = lambda: None
        self.granted_length: Callable[[int], dict[str, str]] = lambda size: {
            "Content-Length": str(size)
        }
        self.asked: list[tuple[str, str, httpx.Headers]] = []
        self.taken: dict[str, bytes] = {}
        self.given_bytes = 0
        self.grants = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: the test has closed the connection."""

    def headers_of(self, method: str) -> list[httpx.Headers]:
        """Return the headers of every request with a method, in order."""
        return [headers for asked, _, headers in self.asked if asked == method]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Storage

    def _note(self) -> str:
        # A proxy is asked for the whole URL.
        path = urlsplit(self.path).path
        with self.server.lock:
            headers = httpx.Headers(self.headers.items())
            self.server.asked.append((self.command, path, headers))
        return path

    def do_POST(self) -> None:
        self._note()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.grants += 1
            number = self.server.grants
        headers = {
            "content-type": asked["content_type"],
            "X-Granted": f"grant {number}",
            **self.server.granted_length(asked["size_bytes"]),
        }
        place = f"{self.server.base_url}{self.server.folder}/{number}"
        grant = {
            "upload_url": f"{place}?signature={SIGNATURE}&x=%2F+'",
            "headers": headers,
            "url": f"{self.server.base_url}/files/{number}",
        }
        self._answer(200, json.dumps(grant).encode())

    def do_PUT(self) -> None:
        path = self._note()
        with self.server.lock:
            fate = self.server.puts.pop(0) if self.server.puts else None
        self._take(path, fate)

    def _take(self, path: str, fate: int | None) -> None:
        size = int(self.headers["Content-Length"])
        first = self.rfile.read(size // 2)
        self.server.halfway()
        if fate is not None and fate < 100:
            self.close_connection = True
            return
        body = first + self.rfile.read(size - len(first))
        if len(body) < size:
            self.close_connection = True
            return
        with self.server.lock:
            self.server.taken[path] = body
        time.sleep(self.server.late_s)
        location = {"Location": f"{self.server.base_url}/elsewhere"}
        page = self.server.put_page if (fate or 200) < 300 else b""
        more = self.server.put_headers if fate else {}
        self._answer(fate or 200, page, location if fate == 307 else more)

    def do_GET(self) -> None:
        path = self._note()
        if path in self.server.redirects:
            self._answer(302, b"", {"Location": self.server.redirects[path]})
            return
        with self.server.lock:
            if self.server.changes and (new := self.server.changes.pop(0)) is not None:
                self.server.files[path] = new
            fate = self.server.gets.pop(0) if self.server.gets else None
        if path not in self.server.files:
            self._answer(404, b"")
        elif fate is not None and fate < 0:
            self._answer(-fate, b"")
        else:
            self._give(self.server.files[path], fate)

    def _give(self, content: bytes, cut_bytes: int | None) -> None:
        headers = self._validators(content)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        same = self.headers.get("If-Range") in headers.values()
        if asked is None or not self.server.ranges or not same:
            self._answer(200, content, headers, cut_bytes)
            return
        first, last = int(asked[1]), len(content) - 1
        part = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        self._answer(206, content[first:], {**headers, **part}, cut_bytes)

    def _validators(self, content: bytes) -> dict[str, str]:
        digest = sha256(content).hexdigest()[:16]
        return {
            "etag": {"ETag": f'"{digest}"'},
            "weak": {"ETag": f'W/"{digest}"'},
            "date": {"Last-Modified": f"day {digest}"},
            "none": {},
        }[self.server.validator]

    def _answer(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        cut_bytes: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        given = body if cut_bytes is None else body[:cut_bytes]
        with suppress(OSError):
            for start in range(0, len(given), PIECE_BYTES):
                self.wfile.write(given[start : start + PIECE_BYTES])
        with self.server.lock:
            self.server.given_bytes += len(given)
        if len(given) < len(body):
            self.close_connection = True
            if self.server.stalls:
                arrived, go_on = self.server.stalls.pop(0)
                self.wfile.flush()
                arrived.set()
                go_on.wait(60)

    def log_message(self, *_: object) -> None:
        return
