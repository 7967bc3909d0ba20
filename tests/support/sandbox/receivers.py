"""Real webhook receivers on loopback, which record their requests."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

import httpx
import trustme
from standardwebhooks import Webhook

from tests.support.waiting import until

if TYPE_CHECKING:
    from tests.sandbox.conftest import Api


@cache
def authority() -> trustme.CA:
    """Return an authority that is not trusted by default."""
    return trustme.CA()


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context of a receiver on loopback, signed by the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1").configure_cert(context)
    return context


@dataclass(frozen=True)
class Received:
    """One attempt, as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event

    def verified(self, secret: str) -> dict[str, Any]:
        """Verify with the library of the specification, which is not our code."""
        event: dict[str, Any] = Webhook(secret).verify(self.body, dict(self.headers))
        return event


@dataclass(frozen=True)
class Answer:
    """What a receiver answers."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


Script = Callable[[Received], Answer]


class Server(ThreadingHTTPServer):
    """A server that accepts many concurrent connections and responds minimally."""

    daemon_threads = True
    request_queue_size = 128


class Receiver:
    """Receives events until it is closed, and responds as scripted."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.received: list[Received] = []
        self.cut_off_n = 0
        self._came = Condition()
        self.server = Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def until(self, n: int) -> list[Received]:
        """Wait for a number of attempts; return them."""
        with self._came:
            self._came.wait_for(lambda: len(self.received) >= n)
            return list(self.received)

    def _note(self, received: Received) -> None:
        with self._came:
            self.received.append(received)
            self._came.notify_all()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(self.path, headers, self.rfile.read(length))
                if len(received.body) < length:
                    receiver.cut_off_n += 1  # the sender did not live to send it all
                    return
                receiver._note(received)
                answer = receiver.script(received)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


@contextmanager
def receiving(script: Script | None = None, *, tls: bool = False) -> Iterator[Receiver]:
    """Run a receiver; by default it accepts everything."""
    receiver = Receiver(script or (lambda received: Answer()))
    with receiver.server as server:
        if tls:
            server.socket = tls_context().wrap_socket(server.socket, server_side=True)
            receiver.url = receiver.url.replace("http:", "https:")
        Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()


def in_turn(*answers: Answer) -> Script:
    """Return the responses in order, then repeat the last one."""
    left = list(answers)
    return lambda received: left.pop(0) if len(left) > 1 else left[0]


def admin_call(api: Api, method: str, path: str, body: object = None) -> httpx.Response:
    """Call the admin interface."""
    return api.http.request(method, f"/sandbox/{path}", json=body)


def register(api: Api, url: str, **more: Any) -> dict[str, Any]:
    """Register an endpoint; its secret is in the response."""
    answer = admin_call(api, "POST", "endpoints", {"url": url, **more})
    assert answer.status_code == 201, answer.text
    endpoint: dict[str, Any] = answer.json()
    return endpoint


def deliveries(api: Api, **filters: Any) -> list[dict[str, Any]]:
    """Read the delivery log."""
    answer = api.http.get("/v1/webhooks/deliveries", params=filters)
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def ended(api: Api, **filters: Any) -> list[dict[str, Any]]:
    """Wait until no delivery is pending any more; return them."""
    found: list[dict[str, Any]] = []

    def are_ended() -> bool:
        found[:] = deliveries(api, **filters)
        return bool(found) and all(one["status"] != "pending" for one in found)

    until(are_ended)
    return found
