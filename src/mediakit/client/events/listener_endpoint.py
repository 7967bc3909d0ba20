"""Registers a listener as a webhook endpoint of the sandbox (spec 3.3, 6.2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mediakit.client.account.delivery_log import rows_in
from mediakit.client.http.exchange import Answer, NoAnswerError
from mediakit.client.http.service_client import ServiceClient
from mediakit.client.runtime.service import LOOPBACK
from mediakit.errors import ConflictError, ServiceError
from mediakit.webhooks import COMPLETED, FAILED

PATH = "/mediakit-listener"
ENDPOINTS = "/sandbox/endpoints"
CONNECT_TIMEOUT_S = 1.0
EVENTS = [COMPLETED, FAILED]
ONLY_SANDBOX = (
    "client.listen() needs a sandbox on this machine: a hosted service posts to public "
    "https addresses only, which are registered in its console. There, mount "
    "mediakit.webhooks.receiver(secret, client.handle_event) in an application of "
    "your own. Jobs are still polled."
)


@dataclass(frozen=True)
class Endpoint:
    """A registered endpoint.

    Args:
        id: Its id.
        secret: The secret that signs its deliveries.
    """

    id: str
    secret: str = field(repr=False)


class Endpoints:
    """Registers listeners on this machine at its sandbox.

    A listener is an endpoint of the account and not a `webhook_url` of each submission:
    a body, and so its key, is the same with a listener and without one (spec 4.3).

    Args:
        transport: Sends the requests.
    """

    def __init__(self, transport: ServiceClient) -> None:
        self._transport = transport

    async def register(self, base_url: str) -> Endpoint:
        """Register a listener; it replaces one whose process has ended.

        Pending deliveries of the old one are then sent to this one.

        Raises:
            ServiceError: The service is not a sandbox on this machine, or refuses.
            ConflictError: It is unclear whose events are wanted.
        """
        if not self._transport.service.on_this_machine:
            raise ServiceError(ONLY_SANDBOX)
        known = rows_in(await self._ask("GET", ENDPOINTS))
        await self._refuse_several_accounts()
        wanted = {"url": f"{base_url}{PATH}", "events": EVENTS}
        for endpoint in known:
            if await _is_dead_listener(str(endpoint.get("url"))):
                path = f"{ENDPOINTS}/{endpoint['id']}"
                await self._ask("PATCH", path, {**wanted, "state": "enabled"})
                said = await self._ask("GET", f"{path}/secret")
                return Endpoint(str(endpoint["id"]), str(said["secret"]))
        said = await self._ask("POST", ENDPOINTS, wanted)
        return Endpoint(str(said["id"]), str(said["secret"]))

    async def remove(self, endpoint: Endpoint) -> None:
        """Delete an endpoint; its pending deliveries are canceled.

        Raises:
            ServiceError: The sandbox does not answer.
        """
        await self._ask("DELETE", f"{ENDPOINTS}/{endpoint.id}")

    async def _refuse_several_accounts(self) -> None:
        orgs = rows_in(await self._ask("GET", "/sandbox/orgs"))
        if len(orgs) > 1:
            raise ConflictError(
                f"This sandbox has {len(orgs)} organizations, and a key does not show "
                "which of them it belongs to, so listen() would receive another one's "
                "jobs. Use a sandbox with one organization; jobs are still polled."
            )

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        try:
            answer = await self._transport.exchange(method, path, content=content)
        except NoAnswerError as error:
            raise self._transport.silence(error) from error
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        return dict(answer.fields)


def _refusal(answer: Answer) -> ServiceError:
    if answer.status == 404:
        return ServiceError(ONLY_SANDBOX, status=404)
    hint = ""
    if answer.status == 400:
        hint = " Start it with --allow-loopback-callbacks."
    said = answer.message or f"it answered {answer.status}"
    return ServiceError(
        f"The sandbox does not register a listener: {said}{hint} Jobs are still "
        "polled.",
        status=answer.status,
    )


async def _is_dead_listener(url: str) -> bool:
    parts = urlsplit(url)
    if parts.path != PATH or parts.hostname not in LOOPBACK or parts.port is None:
        return False
    return not await _is_served(parts.hostname, parts.port)


async def _is_served(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
