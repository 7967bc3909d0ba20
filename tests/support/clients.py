"""Clients to await of a service that is known, on a history that a test holds."""

from __future__ import annotations

from typing import Any

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
    """Give a client that looks for nothing: no service is asked what it is."""
    backend = Backend(service, Catalog.default() if catalog is None else catalog)
    return _Known(Components(backend, history, **settings))
