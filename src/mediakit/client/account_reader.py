"""Reads from the service for one account; a refusal raises a typed error."""

from __future__ import annotations

from typing import Any

from mediakit.client.http import ServiceClient
from mediakit.client.responses import HttpResponse, error_of
from mediakit.clock import Clock


class AccountReader:
    """Base class for reads from the service for one account."""

    def __init__(self, transport: ServiceClient, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    async def _read(self, path: str, what: str, **options: Any) -> HttpResponse:
        """Read a path of the service; `what` names the request in errors."""
        return self._checked(await self._transport.read(path, **options), what)

    def _checked(self, answer: HttpResponse, what: str, then: str = "") -> HttpResponse:
        if not 200 <= answer.status < 300:
            raise error_of(answer, what, self._clock, then=then)
        return answer
