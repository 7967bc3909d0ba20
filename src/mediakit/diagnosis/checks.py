"""Check everything that a first use needs; nothing is started or charged."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from mediakit.catalog import Catalog
from mediakit.connection import Settings
from mediakit.diagnosis.installed import (
    extras,
    front_end,
    install_line,
    missing_modules,
    versions,
)
from mediakit.diagnosis.report import Diagnosis, Finding
from mediakit.errors import AuthError, InputError, MediakitError
from mediakit.history.database_url import history_url, is_local, shown_place
from mediakit.money import format_usd
from mediakit.public import Client, in_notebook

IN_MEMORY = ":memory:"
MEGABYTE = 1_000_000
PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")


def doctor(
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    home: str | Path | None = None,
    history: str | Path | None = None,
) -> Diagnosis:
    """Report what is installed and configured, whether it works, and what is missing.

    It reads the balance from the configured service, which costs nothing and shows
    whether the key works. It contacts nothing else, writes nothing, and does not start
    the sandbox. The key is never shown. `python -m mediakit` prints the same report.

    Args:
        base_url: The hosted service; `MEDIAKIT_BASE_URL` by default.
        api_key: Its key; `MEDIAKIT_API_KEY` by default.
        home: The folder for history and sandbox; `MEDIAKIT_HOME` by default.
        history: The history's database; `MEDIAKIT_HISTORY` by default.

    Returns:
        The findings; their text is the report.
    """
    found = list(_installed())
    advice: list[str] = []
    try:
        settings = Settings.read(base_url, api_key, home=home, history=history)
        found.extend(_service(settings))
        found.extend(_places(settings))
        advice.extend(_advice(settings))
    except InputError as error:
        found.append(Finding("Settings", str(error), is_ok=False))
    return Diagnosis(tuple(found), tuple(advice))


def _installed() -> Iterator[Finding]:
    system = f"Python {platform.python_version()} on {platform.platform(terse=True)}"
    yield Finding("mediakit", f"{version('mediakit')}, {system}")
    yield Finding("Packages", versions())
    yield Finding("Extras", extras())
    yield Finding("Front end", front_end())


def _service(settings: Settings) -> Iterator[Finding]:
    if settings.base_url is None:
        yield Finding(
            "Service",
            "none is bound: connect() would start the sandbox on this machine, which "
            "costs nothing. MEDIAKIT_BASE_URL and MEDIAKIT_API_KEY bind a service.",
        )
        return
    client = Client(
        settings.base_url,
        settings.api_key,
        home=settings.home,
        history=IN_MEMORY,
        catalog=Catalog.default(),
    )
    with client:
        try:
            balance = client.balance()
        except AuthError as error:
            yield Finding("Service", f"{settings.base_url}, reachable")
            yield Finding("API key", str(error), is_ok=False)
        except MediakitError as error:
            yield Finding("Service", f"{settings.base_url}: {error}", is_ok=False)
            yield Finding("API key", "set, not tried")
        else:
            aside = "; a sandbox (no real money)" if client.place.is_sandbox else ""
            yield Finding("Service", f"{settings.base_url}, reachable{aside}")
            yield Finding("API key", "set, accepted (not shown)")
            yield Finding("Balance", format_usd(balance.spendable_micro_usd))


def _places(settings: Settings) -> Iterator[Finding]:
    url = history_url(settings.history)
    where = shown_place(url)
    yield Finding("History", _with_size(Path(where)) if is_local(url) else where)
    there = "" if settings.home.is_dir() else " (not made yet)"
    yield Finding("Data", f"{settings.home}{there}")
    bindings = Path.cwd() / "mediakit.toml"
    if bindings.is_file():
        yield Finding("Bindings", str(bindings))


def _with_size(path: Path) -> str:
    if not path.is_file():
        return f"{path} (not made yet)"
    return f"{path} ({path.stat().st_size / MEGABYTE:.1f} MB)"


def _advice(settings: Settings) -> Iterator[str]:
    """Explain which packages are missing, and give the line that installs them."""
    uses = {
        "sandbox": (settings.base_url is None, "The sandbox needs"),
        "timeline": (
            in_notebook(),
            "The timeline, long uploads and the Copy button of a notebook need",
        ),
        "team": (
            not is_local(history_url(settings.history)),
            "A history on Postgres needs",
        ),
        "socks": (_has_socks_proxy(), "The proxy of the environment needs"),
    }
    for extra, (is_wanted, sentence) in uses.items():
        missing = missing_modules(extra) if is_wanted else []
        if missing:
            yield f"{sentence} {', '.join(missing)}: {install_line(extra)}"


def _has_socks_proxy() -> bool:
    named = (os.environ.get(name) or os.environ.get(name.lower()) for name in PROXIES)
    return any((proxy or "").startswith("socks") for proxy in named)
