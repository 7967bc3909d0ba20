"""The `Date` header of every response, by the sandbox's own clock."""

from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mediakit.sandbox.timing.clock import US_PER_S, SandboxClock


class DateHeader:
    """Sets the `Date` header by the clock that dates jobs and charges.

    Args:
        app: The application to wrap.
        clock: The sandbox's time.
    """

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
