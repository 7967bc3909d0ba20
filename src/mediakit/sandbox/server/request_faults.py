"""Request faults: delayed, rejected, dropped, truncated or throttled."""

import asyncio

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mediakit.sandbox.core.responses import message_response
from mediakit.sandbox.faults.active_faults import Faults, StatusFault
from mediakit.sandbox.server.connections import DROP
from mediakit.sandbox.server.partial_responses import first_bytes, throttled


class RequestFaults:
    """Middleware that applies the scripted faults before all routes.

    Args:
        app: Handles the requests without a fault.
        faults: The faults that are in force.
    """

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or apply a fault to it."""
        if scope["type"] != "http" or not self._faults.scripted:
            await self._app(scope, receive, send)
            return
        request = scope["method"], scope["path"]
        await asyncio.sleep(self._faults.latency_s(*request))
        if self._faults.drop_before(*request):
            await _drop(scope, receive)
        elif status := self._faults.status(*request):
            if status.after:
                await self._app(scope, receive, _discard)
            await _answer(status)(scope, receive, send)
        elif self._faults.drop_after(*request):
            await self._app(scope, receive, _discard)
            await _drop(scope, receive)
        else:
            await self._in_part(scope, receive, send)

    async def _in_part(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request whose response may be truncated or throttled."""
        request = scope["method"], scope["path"]
        if truncation := self._faults.truncation(*request):
            await self._app(scope, receive, first_bytes(send, truncation.bytes_n))
            await _drop(scope, receive)
        elif bytes_per_s := self._faults.bytes_per_s(*request):
            await self._app(scope, receive, throttled(send, receive, bytes_per_s))
        else:
            await self._app(scope, receive, send)


def _answer(fault: StatusFault) -> ASGIApp:
    after_s = fault.retry_after_s
    headers = None if after_s is None else {"Retry-After": str(after_s)}
    if fault.text is not None:
        return HTMLResponse(fault.text, status_code=fault.status, headers=headers)
    return message_response(fault.status, fault.message, headers)


async def _discard(message: Message) -> None:
    pass


async def _drop(scope: Scope, receive: Receive) -> None:
    scope["state"][DROP]()
    # Returning before the disconnection would make the server send a 500.
    while (await receive())["type"] != "http.disconnect":
        pass
