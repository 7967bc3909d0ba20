"""A service that knows jobs and takes none, and what it says of each is scripted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

SETTLED = {"state": "settled", "charge_micro_usd": 340_000}


@dataclass(frozen=True)
class Said:
    """One answer."""

    body: Mapping[str, Any] | bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


JOBS = "/v1/media/jobs"
NOT_HERE = Said({"message": "not found"}, status=404)


def completed(job_id: str) -> Said:
    """Return the answer about a job that is done and paid."""
    file = {"url": "http://media.test/kite.mp4", "content_type": "video/mp4"}
    output = {"media_type": "video", "video": file}
    record = {"id": job_id, "status": "completed", "output": output}
    return Said({**record, "billing": SETTLED})


def running(job_id: str) -> Said:
    """Return the answer about a job that goes on."""
    return Said({"id": job_id, "status": "running"})


class JobServer:
    """Serves reads of jobs while the block lasts.

    Args:
        say: What it says of a job, by its id and how often it was read before.
    """

    def __init__(self, say: Callable[[str, int], Said]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._reads: list[tuple[float, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                folder, _, name = self.path.rpartition("/")
                said = server.said(name) if folder == JOBS else NOT_HERE
                body = said.body
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(said.status)
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_DELETE(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}"

    def said(self, job_id: str) -> Said:
        with self._lock:
            before = sum(name == job_id for _, name in self._reads)
            self._reads.append((time.monotonic(), job_id))
        return self._say(job_id, before)

    @property
    def reads(self) -> list[tuple[float, str]]:
        """Return when each job was read, in monotonic seconds."""
        with self._lock:
            return list(self._reads)

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
