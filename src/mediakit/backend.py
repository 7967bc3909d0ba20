"""Connection settings and service discovery."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from mediakit.catalog import Bindings, Catalog
from mediakit.client import Service
from mediakit.client.blocking import ProcessBound
from mediakit.client.http import TIMEOUT_S, HttpClient, UnclosedTransport
from mediakit.client.io_thread import io_thread
from mediakit.client.responses import HttpResponse, NoAnswerError
from mediakit.client.service import Backend, checked_key, normal_url
from mediakit.errors import InputError, ServiceError
from mediakit.extras import install_command
from mediakit.private_folders import data_folder
from mediakit.rules import all_of

STATUS_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Settings(ProcessBound):
    """Connection settings from arguments, then the environment, then defaults.

    Without a base URL, the embedded sandbox is used. The history may be a URL with a
    password, so the repr hides it, like the key.
    """

    base_url: str | None
    api_key: str | None = field(repr=False)
    home: Path
    history: str | Path = field(repr=False)
    bindings: Bindings

    @classmethod
    def read(
        cls,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        home: str | Path | None = None,
        history: str | Path | None = None,
        own_rates: bool = False,
    ) -> Settings:
        """Read the settings."""
        base_url = base_url or os.environ.get("MEDIAKIT_BASE_URL") or None
        api_key = api_key or os.environ.get("MEDIAKIT_API_KEY") or None
        _refuse_half_a_service(base_url, api_key)
        _refuse_no_place("home", home)
        _refuse_no_place("history", history)
        home = data_folder(home)
        history = history or os.environ.get("MEDIAKIT_HISTORY")
        history = history or home / "history.sqlite3"
        bindings = Bindings.read(Path.cwd(), own_rates=own_rates)
        return cls(base_url, api_key, home, history, bindings)


def _refuse_half_a_service(base_url: object, api_key: object) -> None:
    for name, value in {"base_url": base_url, "api_key": api_key}.items():
        if value and not isinstance(value, str):
            raise InputError(name, got=type(value), accepted="given as text")
    if isinstance(base_url, str):
        normal_url(base_url)
    if isinstance(api_key, str):
        checked_key(api_key)
    if base_url and not api_key:
        accepted = "the service's API key: set MEDIAKIT_API_KEY, or pass api_key="
        raise InputError("api_key", got=None, accepted=accepted)
    if api_key and not base_url:
        accepted = (
            "the URL of the service that the key is for: set MEDIAKIT_BASE_URL, or "
            "pass base_url="
        )
        raise InputError("base_url", got=None, accepted=accepted)


def _refuse_no_place(field: str, value: object) -> None:
    if value is not None and not isinstance(value, str | Path):
        raise InputError(field, got=value, accepted="a path, as text or as a Path")


# -- the service -----------------------------------------------------------------------


def find_backend(
    settings: Settings,
    catalog: Catalog | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Backend:
    """Find the configured service, or start (or attach to) the embedded sandbox.

    This blocks, so do not call it on the I/O thread.
    """
    refuse_no_catalog(catalog)
    if settings.base_url is None or settings.api_key is None:
        return _embedded(settings, catalog)
    service = Service(settings.base_url, settings.api_key)
    is_sandbox = _is_sandbox(service, transport)
    if catalog is not None:
        return Backend(service, catalog, is_sandbox, settings.bindings.reports)
    if is_sandbox:
        # The sandbox describes itself; a file may describe the hosted service.
        described = _described(service.base_url, transport)
        priced = settings.bindings.priced(described)
        return Backend(service, priced, is_sandbox, settings.bindings.reports)
    bindings = settings.bindings
    if transport is not None and str(bindings.openapi).startswith("http"):
        bindings = replace(
            bindings, openapi=_document(f"{bindings.openapi}", transport)
        )
    return Backend(service, bindings.catalog(), is_sandbox, bindings.reports)


def refuse_no_catalog(value: object) -> None:
    """Raise an error if the value is not a catalog."""
    if value is not None and not isinstance(value, Catalog):
        accepted = "a catalog, such as Catalog.default()"
        raise InputError("catalog", got=value, accepted=accepted)


def _embedded(settings: Settings, catalog: Catalog | None) -> Backend:
    try:
        from mediakit.sandbox.server.running import start_embedded
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"The sandbox needs {error.name}, which is not installed. Install it: "
            f"{install_command('sandbox')}. Or set MEDIAKIT_BASE_URL and "
            "MEDIAKIT_API_KEY to use the hosted service."
        ) from None
    wanted = catalog
    if wanted is None:
        wanted = settings.bindings.priced(Catalog.default())
    running = start_embedded(settings.home / "sandbox", wanted)
    if catalog is not None:
        _refuse_unserved(running.base_url, catalog, settings.home)
    service = Service(
        running.base_url,
        running.api_key,
        identity=running.identity,
        label="sandbox",
    )
    return Backend(service, wanted, is_sandbox=True)


def _refuse_unserved(base_url: str, catalog: Catalog, home: Path) -> None:
    """Raise an error if a running sandbox was started with other functions."""
    served = {function.path for function in _described(base_url)}
    unserved = [function.path for function in catalog if function.path not in served]
    if unserved:
        raise ServiceError(
            f"The sandbox in {home} is already running and does not serve "
            f"{all_of(unserved)}. Restart the kernel that started it, or connect "
            'with another folder: home="another-folder".'
        )


def _described(
    base_url: str, transport: httpx.AsyncBaseTransport | None = None
) -> Catalog:
    try:
        answer = _read(f"{base_url}/openapi.json", transport)
    except NoAnswerError as error:
        text = f"{base_url} does not answer ({error.reason})."
        raise ServiceError(text, in_doubt=error.sent) from None
    return Catalog.from_openapi(answer.json())


def _document(url: str, transport: httpx.AsyncBaseTransport) -> dict[str, Any]:
    """Read the OpenAPI document of a service through the user's transport."""
    try:
        answer = _read(url, transport)
    except NoAnswerError as error:
        text = f"{url} ({error.reason})"
        raise InputError("openapi", got=text, accepted="a URL that answers") from None
    if answer.status != 200 or not answer.fields:
        text = f"{url}, which returned {answer.status} without a JSON object"
        raise InputError(
            "openapi", got=text, accepted="a document that can be read without a key"
        )
    return dict(answer.fields)


def _is_sandbox(service: Service, transport: httpx.AsyncBaseTransport | None) -> bool:
    """Return whether a service is a sandbox on this machine; it must respond."""
    if not service.on_this_machine:
        return False
    try:
        answer = _read(
            f"{service.base_url}/sandbox/status",
            transport,
            timeout_s=STATUS_TIMEOUT_S,
            headers={"X-API-Key": service.api_key},
        )
    except NoAnswerError:
        return False
    # A login page may respond 200 to any path; an unhealthy sandbox responds 503. A
    # sandbox that rejects the key still identifies itself; the first call then raises
    # AuthError.
    refused_by = answer.headers.get("www-authenticate", "")
    return "identity" in answer.fields or "mediakit-sandbox" in refused_by


def _read(
    url: str,
    transport: httpx.AsyncBaseTransport | None,
    *,
    timeout_s: float = TIMEOUT_S,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """GET a URL."""
    borrowed = None if transport is None else UnclosedTransport(transport)

    async def read() -> HttpResponse:
        http = HttpClient(borrowed, timeout_s)
        try:
            return await http.send("GET", url, headers=headers or {})
        finally:
            await http.aclose()

    return io_thread().call(read)
