"""The routes of the service (spec 4.1), and its two error shapes (spec 7.1)."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mediakit.sandbox import admin
from mediakit.sandbox.api import OPERATIONS, jobs, submit, uploads
from mediakit.sandbox.exchange import RequestError, message_response
from mediakit.sandbox.server.network_faults import DateHeader, RequestFaults
from mediakit.sandbox.service import Service, base_url_of, service_of

# So that a client with a wrong key knows that a sandbox refused it.
_CHALLENGE = {"WWW-Authenticate": 'ApiKey realm="mediakit-sandbox"'}
_CHALLENGES = {401: _CHALLENGE, 403: _CHALLENGE}

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


async def document(request: Request) -> Response:
    """Handle GET /openapi.json; it needs no key."""
    # Imported here, because few clients ask for it, and all sandboxes start.
    from mediakit.sandbox.api.openapi import describe

    return JSONResponse(describe(service_of(request).catalog, base_url_of(request)))


ROUTES = (
    *(Route(each.path, each.handler, methods=[each.method]) for each in OPERATIONS),
    Route("/v1/media/{vendor}/{model}/{function}", submit.submit, methods=["POST"]),
    Route("/openapi.json", document, methods=["GET"]),
    Route("/uploads/{ticket}", uploads.put, methods=["PUT"]),
    Route("/files/{name}", jobs.file, methods=["GET"]),
    *admin.ROUTES,
)


def make_app(service: Service, lifespan: Lifespan) -> Starlette:
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
    return message_response(error.status_code, message, error.headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    # The server closes the connection after a failure, so the response says so.
    words = "The sandbox itself failed; see its log."
    return message_response(500, words, {"Connection": "close"})
