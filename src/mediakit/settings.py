"""The settings of a client: its arguments, the environment and `mediakit.toml`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from mediakit.catalog import Bindings
from mediakit.client.loop import ProcessBound
from mediakit.client.service import check_api_key, normal_url, refuse_credentials
from mediakit.errors import InputError
from mediakit.rules import Found


@dataclass(frozen=True)
class Settings(ProcessBound):
    """Connection settings: arguments first, then the environment, then defaults.

    Without a base URL, the embedded sandbox is meant. The history may be a URL with a
    password, so it is hidden from the repr, like the key.
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
        home = Path(
            home
            or os.environ.get("MEDIAKIT_HOME")
            or platformdirs.user_data_dir("mediakit")
        ).expanduser()
        history = history or os.environ.get("MEDIAKIT_HISTORY")
        history = history or home / "history.sqlite3"
        bindings = Bindings.read(Path.cwd(), own_rates=own_rates)
        return cls(base_url, api_key, home, history, bindings)


def _refuse_half_a_service(base_url: object, api_key: object) -> None:
    if isinstance(base_url, str):
        refuse_credentials(base_url)
    if base_url and not _is_service_url(base_url):
        accepted = "an http(s) URL such as https://api.example.com"
        # In place of a URL, it may be a key that was meant for `api_key`.
        is_url = isinstance(base_url, str) and "://" in base_url
        hidden = Found("a value that is not shown, because it may be a key")
        got = base_url if is_url else hidden
        raise InputError("base_url", got=got, accepted=accepted)
    if base_url and not api_key:
        accepted = "the key of the service: set MEDIAKIT_API_KEY, or pass api_key="
        raise InputError("api_key", got=None, accepted=accepted)
    if api_key and not base_url:
        accepted = (
            "the URL of the key's service: set MEDIAKIT_BASE_URL, or pass base_url="
        )
        raise InputError("base_url", got=None, accepted=accepted)
    if api_key and not isinstance(api_key, str):
        raise InputError("api_key", got=type(api_key), accepted="the key as text")
    if isinstance(api_key, str) and api_key:
        check_api_key(api_key)


def _refuse_no_place(field: str, value: object) -> None:
    if value is not None and not isinstance(value, str | Path):
        raise InputError(field, got=value, accepted="a path, as text or as a Path")


def _is_service_url(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(normal_url(url))
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
