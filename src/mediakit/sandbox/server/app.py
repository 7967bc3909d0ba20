"""The application: routes (spec 4.1), error shapes (spec 7.1), request faults."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from email.utils import formatdate

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mediakit.clock import US_PER_S
from mediakit.sandbox import admin
from mediakit.sandbox.api import OPERATIONS, jobs, submit, uploads
from mediakit.sandbox.clock import SandboxClock
from mediakit.sandbox.faults import (
    DropAfter,
    DropBefore,
    Faults,
    Latency,
    Slow,
    Status,
    Truncate,
)
from mediakit.sandbox.http import RequestError, message_response
from mediakit.sandbox.service import SandboxService, base_url_of, service_of

DROP = "drop_connection"
BODY = "http.response.body"
CHUNKS_PER_S = 20


class Connection(HttpToolsProtocol):
    """A uvicorn connection that can be dropped.

    ASGI cannot close a connection without a response, which some faults need: to a
    client, it looks as if the server had died.
    """

    def on_message_begin(self) -> None:
        """Give the request a function that drops its connection."""
        super().on_message_begin()
        self.scope["state"][DROP] = self.transport.close


class DateHeader:
    """Sets the `Date` header from the clock that dates jobs and charges."""

    def __init__(self, app: ASGIApp, clock: SandboxClock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and date its response."""

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                now_s = self._clock.now_us() / US_PER_S
                MutableHeaders(scope=message)["Date"] = formatdate(now_s, usegmt=True)
            await send(message)

        await self._app(scope, receive, dated)


class RequestFaults:
    """Middleware that applies the scripted faults before all routes."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or apply a fault to it."""
        if scope["type"] != "http" or not self._faults.scripted:
            await self._app(scope, receive, send)
            return
        faults = self._faults
        request = (scope["method"], scope["path"])
        if latency := faults.take_for_request(Latency, *request):
            await asyncio.sleep(latency.seconds)
        if faults.take_for_request(DropBefore, *request):
            await _drop(scope, receive)
        elif status := faults.take_for_request(Status, *request):
            if status.after:
                await self._app(scope, receive, _discard)
            await _answer(status)(scope, receive, send)
        elif faults.take_for_request(DropAfter, *request):
            await self._app(scope, receive, _discard)
            await _drop(scope, receive)
        elif truncate := faults.take_for_request(Truncate, *request):
            await self._app(scope, receive, _first_bytes(send, truncate.bytes))
            await _drop(scope, receive)
        elif slow := faults.take_for_request(Slow, *request):
            await self._app(scope, receive, _throttled(send, receive, slow.bytes_per_s))
        else:
            await self._app(scope, receive, send)


def _answer(fault: Status) -> ASGIApp:
    after_s = fault.retry_after
    headers = None if after_s is None else {"Retry-After": str(after_s)}
    if fault.text is not None:
        return HTMLResponse(fault.text, status_code=fault.status, headers=headers)
    return message_response(fault.status, fault.words, headers)


async def _discard(message: Message) -> None:
    pass


async def _drop(scope: Scope, receive: Receive) -> None:
    scope["state"][DROP]()
    # Returning before the disconnection would make the server send a 500.
    while (await receive())["type"] != "http.disconnect":
        pass


def _first_bytes(send: Send, bytes_n: int | None) -> Send:
    """Send only the beginning of a response's body; the headers announce all of it."""
    left_n = bytes_n

    async def send_some(message: Message) -> None:
        nonlocal left_n
        if message["type"] != BODY:
            left_n = _announced_n(message) // 2 if left_n is None else left_n
            await send(message)
            return
        piece = message.get("body", b"")[:left_n]
        left_n = (left_n or 0) - len(piece)
        await send({"type": BODY, "body": piece, "more_body": True})

    return send_some


def _throttled(send: Send, receive: Receive, bytes_per_s: float) -> Send:
    """Send a response's body slowly, until the client disconnects."""
    chunk_n = max(1, round(bytes_per_s / CHUNKS_PER_S))
    connected = True

    async def send_slowly(message: Message) -> None:
        nonlocal connected
        if message["type"] != BODY:
            await send(message)
            return
        for chunk in _chunks(message.get("body", b""), chunk_n):
            wait_s = len(chunk) / bytes_per_s
            connected = connected and await _stays_connected(receive, wait_s)
            if connected:
                await send({"type": BODY, "body": chunk, "more_body": True})
        await send({"type": BODY, "more_body": message.get("more_body", False)})

    return send_slowly


def _chunks(body: bytes, chunk_n: int) -> Iterator[bytes]:
    return (body[at : at + chunk_n] for at in range(0, len(body), chunk_n))


async def _stays_connected(receive: Receive, for_s: float) -> bool:
    """Wait; return False as soon as the client disconnects."""
    try:
        async with asyncio.timeout(for_s):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return True
    return False


def _announced_n(start: Message) -> int:
    headers = dict(start.get("headers", ()))
    return int(headers.get(b"content-length", 0))


# -- The application ---------------------------------------------------------------

# This header tells a client with a wrong key that a sandbox refused it.
_CHALLENGE = {"WWW-Authenticate": 'ApiKey realm="mediakit-sandbox"'}
_CHALLENGES = {401: _CHALLENGE, 403: _CHALLENGE}

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


async def document(request: Request) -> Response:
    """Handle GET /openapi.json; it needs no key."""
    # Imported here to keep the start fast: few clients request the document.
    from mediakit.sandbox.api.openapi import describe

    return JSONResponse(describe(service_of(request).catalog, base_url_of(request)))


ROUTES = (
    *(Route(each.path, each.handler, methods=[each.method]) for each in OPERATIONS),
    Route("/v1/media/{vendor}/{model}/{function}", submit.submit, methods=["POST"]),
    Route("/openapi.json", document, methods=["GET"]),
    Route("/uploads/{ticket}", uploads.put_upload, methods=["PUT"]),
    Route("/files/{name}", jobs.file, methods=["GET"]),
    *admin.ROUTES,
)


def make_app(service: SandboxService, lifespan: Lifespan) -> Starlette:
    """Create the ASGI application of a service."""
    app = Starlette(
        routes=list(ROUTES),
        middleware=[
            Middleware(DateHeader, clock=service.clock),
            Middleware(RequestFaults, faults=service.faults),
        ],
        lifespan=lifespan,
        exception_handlers={
            RequestError: _request_error,
            HTTPException: _http_error,
            Exception: _unexpected,
        },
    )
    app.state.service = service
    return app


async def _request_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestError):
        raise error
    return message_response(error.status, error.message, _CHALLENGES.get(error.status))


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    words = {404: "There is nothing at this path.", 405: "This method is not served."}
    message = words.get(error.status_code, error.detail)
    headers = error.headers
    if error.status_code == 405:
        headers = {"Allow": ", ".join(_methods_at(request))}
    return message_response(error.status_code, message, headers)


def _methods_at(request: Request) -> list[str]:
    """List the methods of a path; the exception has only those of one route."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    first = next(r for r in routes if r.matches(request.scope)[0] is not Match.NONE)
    there = [route for route in routes if route.path == first.path]
    return sorted({method for route in there for method in route.methods or ()})


async def _unexpected(request: Request, error: Exception) -> Response:
    # The server closes the connection after a failure, so the response says so.
    words = "The sandbox itself failed; see its log."
    return message_response(500, words, {"Connection": "close"})
