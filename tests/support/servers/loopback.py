"""An HTTP server on loopback: a function of each request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx

from mediakit.clock import Clock, SystemClock

POLL_S = 0.01


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: httpx.Headers
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Said:
    """A response; a body that is neither bytes nor text is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


class Handler(BaseHTTPRequestHandler):
    """Reads a whole request, and sends the server's response."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = httpx.Headers(self.headers.items())
        said = self.server.answer(Asked(self.command, self.path, headers, body))
        self.say(said)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - methods

    def say(self, said: Said) -> None:
        """Send an answer."""
        self.send_response(said.status)
        headers = {"Content-Length": str(len(said.content)), **said.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.server.send(self, said.content)

    def date_time_string(self, timestamp: float | None = None) -> str:
        seconds = self.server.clock.now().timestamp()
        return super().date_time_string(seconds if timestamp is None else timestamp)

    def log_message(self, *_: object) -> None:
        return


class LoopbackServer(ThreadingHTTPServer):
    """Answers while the block lasts.

    Args:
        answer: The function that handles each request; a subclass has a method instead.
        port: Where it listens; any free port by default.
        handler: What speaks HTTP.
        clock: The `Date` of its responses.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        answer: Callable[[Asked], Said] | None = None,
        *,
        port: int = 0,
        handler: type[BaseHTTPRequestHandler] = Handler,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.clock = clock or SystemClock()
        self.base_url = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.Lock()
        self._answer = answer

    def answer(self, asked: Asked) -> Said:
        """Answer a request."""
        assert self._answer is not None
        return self._answer(asked)

    def send(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        """Send the body of an answer."""
        handler.wfile.write(content)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_S,))
        self._thread.start()
        return self

    def __exit__(self, *problem: Any) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
