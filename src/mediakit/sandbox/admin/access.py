"""Access to the admin interface, everything under `/sandbox/`.

It needs no API key: a user of this machine owns the sandbox. A web page that is open
on the same machine does not, and must be kept out. A sandbox that other machines can
reach is controlled by its admin token.
"""

import hmac
from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.requests import Request
from starlette.responses import Response

from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, service_of
from mediakit.sandbox.settings import is_loopback

Handler = Callable[[Request], Awaitable[Response]]

READING = ("GET", "HEAD")


def require_admin(handler: Handler) -> Handler:
    """Restrict a handler to the owner of the sandbox.

    A call that changes something must carry `X-Sandbox: 1`. A web page cannot send
    that header to another site unless the site agrees, which this one never does.

    Args:
        handler: Handles the request of an accepted caller.
    """

    @wraps(handler)
    async def checked(request: Request) -> Response:
        owner_only(service_of(request), request)
        if request.method not in READING and request.headers.get("x-sandbox") != "1":
            raise RequestError(
                403,
                "Calls that change the sandbox need the header X-Sandbox: 1, so that "
                "no web page can make them.",
            )
        return await handler(request)

    return checked


def owner_only(service: Service, request: Request) -> None:
    """Reject callers that may not control the sandbox.

    Raises:
        RequestError: 403; on loopback as for `own_name_only`, elsewhere because the
            admin token is missing or wrong.
    """
    settings = service.settings
    if is_loopback(settings.host):
        own_name_only(service, request)
    elif not _has_token(settings.admin_token, request):
        raise RequestError(
            403,
            "Other machines can reach this sandbox. To control it, start it with "
            "--admin-token and send the token as X-Sandbox-Token.",
        )


def _has_token(admin_token: str | None, request: Request) -> bool:
    given = request.headers.get("x-sandbox-token", "")
    return admin_token is not None and hmac.compare_digest(
        given.encode(), admin_token.encode()
    )


def own_name_only(service: Service, request: Request) -> None:
    """Reject a web page whose host name was made to resolve to this machine.

    Raises:
        RequestError: 403; the host of the request is not a loopback name.
    """
    host = request.url.hostname or ""
    if is_loopback(service.settings.host) and not is_loopback(host):
        raise RequestError(403, "This page is for the machine that it runs on.")
