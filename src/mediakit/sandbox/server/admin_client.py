"""A client of the admin interface: the sandbox's time, faults and seeded past."""

from collections.abc import Mapping
from typing import Any

import httpx

from mediakit.errors import ServiceError

TIMEOUT_S = 600.0


def call(
    base_url: str,
    api_key: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make one call to the sandbox's admin interface.

    Args:
        base_url: The sandbox's URL.
        api_key: An active key of the sandbox.
        method: The HTTP method.
        path: The path below `/sandbox/`.
        body: The JSON object to send; None sends none.

    Raises:
        ServiceError: The sandbox does not respond, or rejects the call.
    """
    headers = {"X-API-Key": api_key}
    try:
        # The environment's proxies do not apply on loopback, and plain HTTP has no
        # certificates, which would take 40 ms to load.
        with httpx.Client(
            trust_env=False, verify=False, timeout=TIMEOUT_S, headers=headers
        ) as http:
            response = http.request(method, f"{base_url}/sandbox/{path}", json=body)
    except httpx.TransportError:
        raise ServiceError(f"No sandbox answers at {base_url}.") from None
    fields = fields_of(response)
    if response.is_error and isinstance(fields.get("message"), str):
        raise ServiceError(fields["message"])
    if response.is_error or not fields:
        raise ServiceError(
            f"Another program answers at {base_url}, where the sandbox was. "
            "Start the sandbox again."
        )
    return fields


def fields_of(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a response; empty if its body is anything else."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
