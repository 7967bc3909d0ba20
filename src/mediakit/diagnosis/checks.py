"""Check everything that a first use needs; nothing is started or charged."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile

from mediakit.blocking_client import Client
from mediakit.catalog import Catalog
from mediakit.connection import Settings
from mediakit.diagnosis.installed import (
    extras,
    front_end,
    install_line,
    missing_modules,
    server_problem,
    versions,
)
from mediakit.diagnosis.report import Diagnosis, Finding
from mediakit.errors import AuthError, InputError, MediakitError
from mediakit.history import History
from mediakit.history.database import (
    history_url,
    is_in_memory,
    is_local,
    shown_place,
)
from mediakit.money import format_usd

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
    whether the key works. It contacts nothing else, keeps no file, and does not start
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
        service, is_sandbox = _service(settings)
        found.extend(service)
        found.extend(_functions(settings, is_sandbox=is_sandbox))
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
    problem = server_problem()
    shown = f"{front_end()}; {problem}" if problem else front_end()
    yield Finding("Front end", shown, is_ok=not problem)


def _service(settings: Settings) -> tuple[list[Finding], bool]:
    """Return what was found of the service, and whether it is a sandbox."""
    if settings.base_url is None:
        text = (
            "none is bound: connect() would start the sandbox on this machine, which "
            "costs nothing. MEDIAKIT_BASE_URL and MEDIAKIT_API_KEY bind a service."
        )
        return [Finding("Service", text)], True
    client = Client(
        settings.base_url,
        settings.api_key,
        home=settings.home,
        history=IN_MEMORY,
        catalog=Catalog.default(),
    )
    reached = Finding("Service", f"{settings.base_url}, reachable")
    with client:
        is_sandbox = client.place.is_sandbox
        try:
            balance = client.balance()
        except AuthError as error:
            return [reached, Finding("API key", str(error), is_ok=False)], is_sandbox
        except MediakitError as error:
            away = Finding("Service", f"{settings.base_url}: {error}", is_ok=False)
            # On this machine, it may be a sandbox that is not running.
            is_sandbox = client.service.on_this_machine
            return [away, Finding("API key", "set, not tried")], is_sandbox
    if is_sandbox:
        reached = Finding("Service", f"{reached.text}; a sandbox (no real money)")
    return [
        reached,
        Finding("API key", "set, accepted (not shown)"),
        Finding("Balance", format_usd(balance.spendable_micro_usd)),
    ], is_sandbox


def _functions(settings: Settings, *, is_sandbox: bool) -> Iterator[Finding]:
    bindings = settings.bindings
    where = Path.cwd() / "mediakit.toml" if bindings.source is None else bindings.source
    if bindings.source is not None:
        yield Finding("Bindings", str(where))
    if settings.base_url is None or is_sandbox:
        return
    if str(bindings.openapi).startswith("http"):
        yield Finding("Functions", f"described at {bindings.openapi} (not read)")
        return
    try:
        count = len(bindings.catalog())
    except InputError as error:
        yield Finding("Functions", str(error), is_ok=False)
        return
    text = (
        f"{count} bound"
        if count
        else "none can be used: no path of this service is bound. Name them, or the "
        f"service's OpenAPI document, in {where}, or pass connect(catalog=...)."
    )
    yield Finding("Functions", text, is_ok=count > 0)


def _places(settings: Settings) -> Iterator[Finding]:
    url = history_url(settings.history)
    if is_in_memory(url) or not is_local(url):
        yield Finding("History", shown_place(url))
    else:
        yield _history(Path(shown_place(url)))
    there = "" if settings.home.is_dir() else " (not created yet)"
    problem = _problem_in(settings.home, "MEDIAKIT_HOME")
    text = problem or f"{settings.home}{there}"
    yield Finding("Data", text, is_ok=not problem)


def _history(path: Path) -> Finding:
    problem = _problem_in(path.parent, "MEDIAKIT_HISTORY")
    if problem or not path.is_file():
        text = problem or f"{path} (not created yet)"
        return Finding("History", text, is_ok=not problem)
    try:
        History(path).close()
    except MediakitError as error:
        return Finding("History", str(error), is_ok=False)
    return Finding("History", f"{path} ({path.stat().st_size / MEGABYTE:.1f} MB)")


def _problem_in(folder: Path, setting: str) -> str:
    """Return why files cannot be kept in a folder, and what to do; "" if they can."""
    existing = next(each for each in (folder, *folder.parents) if each.is_dir())
    advice = f"Choose a folder on a local disk that you may write to, with {setting}."
    try:
        with TemporaryFile(dir=existing) as file:
            return _lock_problem(file.fileno(), existing, advice)
    except OSError as error:
        return f"{folder} cannot be written ({error.strerror}). {advice}"


def _lock_problem(descriptor: int, folder: Path, advice: str) -> str:
    if sys.platform == "win32":
        return ""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return f"The file system of {folder} has no locks ({error.strerror}). {advice}"
    return ""


def _advice(settings: Settings) -> Iterator[str]:
    """Explain which packages are missing, and give the line that installs them."""
    uses = {
        "sandbox": (settings.base_url is None, "The sandbox needs"),
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
