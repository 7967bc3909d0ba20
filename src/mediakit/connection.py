"""Where to connect: the hosted service when configured, else the sandbox."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import platformdirs

from mediakit.catalog import Catalog
from mediakit.client import Service
from mediakit.errors import InputError, ServiceError

BINDINGS_FILE = "mediakit.toml"
STATUS_TIMEOUT_S = 3.0


@dataclass(frozen=True)
class Settings:
    """What connects: arguments first, then the environment, then the defaults.

    Args:
        base_url: Where the hosted service is; None for the embedded sandbox.
        api_key: The organization's key there; never shown.
        home: The folder for the history and the embedded sandbox's data.
        history: The history's database, as a URL or a file.
        paths: The service's path of each function, by kind; None when not given.
    """

    base_url: str | None
    api_key: str | None = field(repr=False)
    home: Path
    history: str | Path
    paths: Mapping[str, str] | None

    @classmethod
    def read(
        cls,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        home: str | Path | None = None,
        history: str | Path | None = None,
        environ: Mapping[str, str] = os.environ,
        folder: Path | None = None,
    ) -> Settings:
        """Put the settings together.

        Args:
            base_url: See `MEDIAKIT_BASE_URL`.
            api_key: See `MEDIAKIT_API_KEY`.
            home: See `MEDIAKIT_HOME`; the user's data directory by default.
            history: See `MEDIAKIT_HISTORY`; a file in `home` by default.
            environ: The environment.
            folder: Where `mediakit.toml` is looked for; the working directory.

        Raises:
            InputError: Only one of base URL and key is given, the URL is none, or
                `mediakit.toml` cannot be read.
        """
        base_url = base_url or environ.get("MEDIAKIT_BASE_URL") or None
        api_key = api_key or environ.get("MEDIAKIT_API_KEY") or None
        _refuse_half_a_service(base_url, api_key)
        home = Path(
            home
            or environ.get("MEDIAKIT_HOME")
            or platformdirs.user_data_dir("mediakit")
        ).expanduser()
        history = history or environ.get("MEDIAKIT_HISTORY") or home / "history.sqlite3"
        return cls(base_url, api_key, home, history, _paths(folder or Path.cwd()))


def _refuse_half_a_service(base_url: str | None, api_key: str | None) -> None:
    if base_url and not api_key:
        accepted = "the key of that service: set MEDIAKIT_API_KEY, or pass api_key="
        raise InputError("api_key", got=None, accepted=accepted)
    if api_key and not base_url:
        accepted = "the service of that key: set MEDIAKIT_BASE_URL, or pass base_url="
        raise InputError("base_url", got=None, accepted=accepted)
    parts = urlsplit(base_url or "http://sandbox")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        accepted = "an http(s) URL such as https://api.example.com"
        raise InputError("base_url", got=base_url, accepted=accepted)


def _paths(folder: Path) -> Mapping[str, str] | None:
    file = folder / BINDINGS_FILE
    if not file.is_file():
        return None
    try:
        functions = tomllib.loads(file.read_text("utf-8")).get("functions")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        accepted = 'TOML with lines like "text-to-video" = "vendor/model/function"'
        got = f"{file} ({error})"
        raise InputError(BINDINGS_FILE, got=got, accepted=accepted) from None
    return functions if isinstance(functions, dict) else None


@dataclass(frozen=True)
class Place:
    """A service that was found, and its functions.

    Args:
        service: The service.
        catalog: Its functions.
        is_sandbox: Whether it costs no real money.
    """

    service: Service
    catalog: Catalog
    is_sandbox: bool


def locate(settings: Settings) -> Place:
    """Find the configured service, or start (or attach to) the embedded sandbox.

    Raises:
        InputError: `mediakit.toml` names an unknown kind.
        ServiceError: The sandbox cannot be started.
    """
    if settings.base_url is None or settings.api_key is None:
        return _embedded(settings.home)
    service = Service(settings.base_url, settings.api_key)
    if settings.paths is not None:
        return Place(service, Catalog.bind(settings.paths), is_sandbox=False)
    if _is_sandbox(service):
        return Place(service, Catalog.default(), is_sandbox=True)
    return Place(service, Catalog.bind({}), is_sandbox=False)


def _embedded(home: Path) -> Place:
    try:
        from mediakit.sandbox.server import start_embedded
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"The sandbox needs {error.name}, which is not installed: install "
            "mediakit[sandbox], or set MEDIAKIT_BASE_URL and MEDIAKIT_API_KEY to use "
            "the hosted service."
        ) from None
    running = start_embedded(home / "sandbox")
    service = Service(
        running.base_url,
        running.api_key,
        identity=running.identity,
        label="sandbox",
    )
    return Place(service, Catalog.bind(running.functions), is_sandbox=True)


def _is_sandbox(service: Service) -> bool:
    """Tell whether a sandbox of ours answers on this machine."""
    if not service.on_this_machine:
        return False
    try:
        url = f"{service.base_url}/sandbox/status"
        return httpx.get(url, timeout=STATUS_TIMEOUT_S, trust_env=False).is_success
    except httpx.TransportError:
        return False
