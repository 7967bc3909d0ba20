"""Clients of a known service: with a given history, and plain HTTP clients."""

from __future__ import annotations

from typing import Any

import httpx

from mediakit import AsyncClient, Catalog
from mediakit.client import Service
from mediakit.client.components import Components
from mediakit.client.service import Backend
from mediakit.history import History


class _Known(AsyncClient):
    def __init__(self, components: Components) -> None:
        super().__init__()
        self._components = components


def async_client(
    service: Service,
    *,
    history: History,
    catalog: Catalog | None = None,
    **settings: Any,
) -> AsyncClient:
    """Return a client without service discovery."""
    backend = Backend(service, Catalog.default() if catalog is None else catalog)
    return _Known(Components(backend, history, **settings))


def http_client(base_url: str, api_key: str) -> httpx.Client:
    """Return a plain HTTP client with a key, whatever proxies the machine has."""
    return httpx.Client(
        base_url=base_url,
        headers={"X-API-Key": api_key},
        trust_env=False,
        verify=False,
        timeout=None,
    )
