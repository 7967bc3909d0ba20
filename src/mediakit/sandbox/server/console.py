"""The sandbox's own door from Python: its time, its faults, its past."""

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
    """Make one call at the sandbox's own door.

    Args:
        base_url: Where the sandbox serves.
        method: The HTTP method.
        path: The path below `/sandbox/`.
        body: The JSON object to send; None sends none.
        admin_token: The admin token of a sandbox that listens off loopback.

    Raises:
        ServiceError: The sandbox does not answer, or refuses; it says why.
    """
    headers = {"X-Sandbox": "1", "X-Sandbox-Token": admin_token or ""}
    try:
        # Proxies of the environment have no business on loopback.
        with httpx.Client(trust_env=False, timeout=TIMEOUT_S, headers=headers) as http:
            answer = http.request(method, f"{base_url}/sandbox/{path}", json=body)
    except httpx.TransportError:
        raise ServiceError(f"No sandbox answers at {base_url}.") from None
    said: dict[str, Any] = answer.json()
    if answer.is_error:
        raise ServiceError(said["message"])
    return said
