"""A client of the admin interface: the sandbox's time, faults and seeded past."""

from collections.abc import Mapping
from typing import Any

import httpx

from mediakit.errors import ServiceError

TIMEOUT_S = 600.0


def call(
    base_url: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    admin_token: str | None = None,
) -> dict[str, Any]:
    """Make one call to the sandbox's admin interface.

    Args:
        base_url: The sandbox's URL.
        method: The HTTP method.
        path: The path below `/sandbox/`.
        body: The JSON object to send; None sends none.
        admin_token: The admin token of a sandbox that listens off loopback.

    Raises:
        ServiceError: The sandbox does not respond, or rejects the call.
    """
    headers = {"X-Sandbox": "1", "X-Sandbox-Token": admin_token or ""}
    try:
        # The environment's proxies do not apply on loopback.
        with httpx.Client(trust_env=False, timeout=TIMEOUT_S, headers=headers) as http:
            response = http.request(method, f"{base_url}/sandbox/{path}", json=body)
    except httpx.TransportError:
        raise ServiceError(f"No sandbox answers at {base_url}.") from None
    fields: dict[str, Any] = response.json()
    if response.is_error:
        raise ServiceError(fields["message"])
    return fields
