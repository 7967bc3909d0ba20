"""An HTTP service of media jobs whose answers a test writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from tests.support.servers.job_server import SETTLED, Said

BALANCE = {"balance_micro_usd": 100_000_000}
VIDEO = {
    "media_type": "video",
    "video": {"url": "http://media.test/kite.mp4", "content_type": "video/mp4"},
}


@dataclass
class Answers:
    """What the service says; replace a field to change it.

    Args:
        balance: The body of the balance.
        job: The fields of every completed job, beside its id and status.
        more: Answers by the end of a GET's path, before all others.
        prefix: What every job id begins with.
    """

    balance: object = field(default_factory=lambda: BALANCE)
    job: dict[str, Any] = field(
        default_factory=lambda: {"output": VIDEO, "billing": SETTLED}
    )
    more: dict[str, Callable[[], Said]] = field(default_factory=dict)
    prefix: str = "media_"


class AnsweringServer:
    """Accepts every submission and completes it at once, while the block lasts.

    Args:
        answers: What it says.
    """

    def __init__(self, answers: Answers | None = None) -> None:
        self.answers = answers or Answers()
        self._lock = threading.Lock()
        self._ids: dict[str, str] = {}
        self.seen: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._say(server.read(self.path))

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._say(server.taken(self.headers["Idempotency-Key"]))

            def _say(self, said: Said) -> None:
                with server._lock:
                    server.seen.append(f"{self.command} {self.path}")
                body = said.body
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(said.status)
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}"

    def taken(self, key: str) -> Said:
        """Accept a submission; a repeated key gets the same job."""
        with self._lock:
            number = len(self._ids) + 1
            job_id = self._ids.setdefault(key, f"{self.answers.prefix}{number:06d}")
        return Said({"id": job_id, "status": "queued", "billing": None})

    def read(self, path: str) -> Said:
        """Answer a GET."""
        for end, say in self.answers.more.items():
            if path.partition("?")[0].endswith(end):
                return say()
        if path.startswith("/billing/balance"):
            body: Any = self.answers.balance
            return Said(body)
        job_id = unquote(path.rsplit("/", 1)[-1])
        if job_id not in self._ids.values():
            return Said({"message": "no such job"}, status=404)
        return Said({"id": job_id, "status": "completed", **self.answers.job})

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
