"""`mk.doctor()`: reports what is installed, configured and missing."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import (
    PackageNotFoundError,
    packages_distributions,
    version,
)
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import fill

from mediakit.backend import Settings
from mediakit.blocking_client import Client
from mediakit.catalog import Catalog
from mediakit.errors import AuthError, InputError, MediakitError, ServiceError
from mediakit.extras import (
    DISTRIBUTION,
    EXTRAS,
    install_command,
    missing_modules,
)
from mediakit.history import History
from mediakit.history.database_url import (
    history_url,
    is_in_memory,
    is_local,
    shown_place,
)
from mediakit.money import format_usd
from mediakit.notebook import VOILA, current_shell, in_notebook
from mediakit.proxies_and_certificates import Proxies, http_client

IN_MEMORY = ":memory:"
MEGABYTE = 1_000_000
NOTABLE = (
    "ipython",
    "ipykernel",
    "ipywidgets",
    "anywidget",
    "jupyterlab",
    "notebook",
    "voila",
    "numpy",
    "pandas",
    "matplotlib",
    "pydantic",
    "httpx",
    "sqlalchemy",
    "av",
    "pillow",
)
BROWSER_HALVES = {
    "anywidget": "anywidget",
    "ipywidgets": "@jupyter-widgets/jupyterlab-manager",
}
"""The folders of the extensions with which a Jupyter server shows widgets."""
# An earlier front end can start a later one, so the first match counts.
FRONT_ENDS = {
    VOILA: "Voilà",
    "COLAB_RELEASE_TAG": "Colab",
    "VSCODE_PID": "VS Code",
    "JPY_SESSION_NAME": "JupyterLab or Notebook",
}
WIDTH = 88


@dataclass(frozen=True)
class Finding:
    """One row of the report, such as "Service", and whether it is fine."""

    name: str
    text: str
    is_ok: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """The findings of `mk.doctor()`; their text is the report."""

    findings: tuple[Finding, ...]
    advice: tuple[str, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Return whether all findings are fine."""
        return all(finding.is_ok for finding in self.findings)

    def __str__(self) -> str:
        width = max((len(finding.name) for finding in self.findings), default=0) + 2
        lines = [
            _wrapped(f"{' ' if each.is_ok else '!'} {each.name:{width}}", each.text)
            for each in self.findings
        ]
        if self.advice:
            lines += ["", "To do:", *(_wrapped("  - ", text) for text in self.advice)]
        return "\n".join(lines)

    __repr__ = __str__


def _wrapped(start: str, text: str) -> str:
    return fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        # URLs and paths are never wrapped, so that they can be copied.
        break_long_words=False,
        break_on_hyphens=False,
    )


def doctor(
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    home: str | Path | None = None,
    history: str | Path | None = None,
) -> Diagnosis:
    """Report installed packages and settings, whether they work, and what is missing.

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
    findings = list(_installed())
    advice: list[str] = []
    try:
        settings = Settings.read(base_url, api_key, home=home, history=history)
        service, is_sandbox = _service(settings)
        findings.extend(service)
        findings.extend(_functions(settings, is_sandbox=is_sandbox))
        findings.extend(_places(settings))
        advice.extend(_advice(settings))
    except InputError as error:
        findings.append(Finding("Settings", str(error), is_ok=False))
    return Diagnosis(tuple(findings), tuple(advice))


def _installed() -> Iterator[Finding]:
    system = f"Python {platform.python_version()} on {platform.platform(terse=True)}"
    yield Finding("mediakit", f"{version(DISTRIBUTION)}, {system}")
    if others := _other_distributions():
        yield Finding("Conflict", _conflict(others), is_ok=False)
    packages = [f"{name} {version(name)}" for name in NOTABLE if _has_version(name)]
    yield Finding("Packages", ", ".join(packages))
    absent = [extra for extra in EXTRAS if missing_modules(extra)]
    text = ", ".join(extra for extra in EXTRAS if extra not in absent) or "none"
    if absent:
        text += f" (not installed: {', '.join(absent)})"
    yield Finding("Extras", text)
    problem = _server_problem()
    text = f"{_front_end()}; {problem}" if problem else _front_end()
    yield Finding("Front end", text, is_ok=not problem)
    yield from _browser()


def _browser() -> Iterator[Finding]:
    """Report a browser that cannot reach the ports of this machine."""
    sentence = (
        "your browser may be unable to reach ports on this machine, so results of a "
        "sandbox running here come through the kernel, and links to them do not open. "
    )
    if "JUPYTERHUB_SERVICE_PREFIX" in os.environ:
        if not _has_version("jupyter-server-proxy"):
            remedy = "Install jupyter-server-proxy where the Jupyter server runs."
            yield Finding("Browser", sentence + remedy, is_ok=False)
    elif "SSH_CONNECTION" in os.environ and in_notebook():
        remedy = "Forward the sandbox's port, too: ssh -L PORT:127.0.0.1:PORT."
        yield Finding("Browser", sentence + remedy)


def _service(settings: Settings) -> tuple[list[Finding], bool]:
    """Return the findings on the service, and whether it is a sandbox."""
    if settings.base_url is None:
        text = (
            "none is configured: connect() starts the sandbox on this machine, which "
            "costs nothing. For a hosted service, set MEDIAKIT_BASE_URL and "
            "MEDIAKIT_API_KEY."
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
        is_sandbox = client.backend.is_sandbox
        try:
            balance = client.balance()
        except AuthError as error:
            return [reached, Finding("API key", str(error), is_ok=False)], is_sandbox
        except MediakitError as error:
            away = Finding("Service", f"{settings.base_url}: {error}", is_ok=False)
            # A service on this machine may be a sandbox that is not running.
            is_sandbox = client.service.on_this_machine
            return [away, Finding("API key", "set, but not checked")], is_sandbox
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
        yield _described(str(bindings.openapi))
        return
    try:
        count = len(bindings.catalog())
    except InputError as error:
        yield Finding("Functions", str(error), is_ok=False)
        return
    text = (
        f"{count} can be used"
        if count
        else "none can be used, because no path of this service is bound. Name the "
        f"paths, or the service's OpenAPI document, in {where}, or pass "
        "connect(catalog=...)."
    )
    yield Finding("Functions", text, is_ok=count > 0)


def _described(url: str) -> Finding:
    """Report where the functions are described, or why that URL is unusable."""
    try:
        http_client(url).close()
    except ServiceError as error:
        return Finding("Functions", f"{url}: {error}", is_ok=False)
    return Finding("Functions", f"described at {url} (not read)")


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
    """Return why a folder cannot be used, and what to do; "" if it can."""
    existing = next(each for each in (folder, *folder.parents) if each.is_dir())
    advice = f"Set {setting} to a folder on a local disk that you can write to."
    try:
        with TemporaryFile(dir=existing) as file:
            reason = _lock_problem(file.fileno())
    except OSError as error:
        return f"{folder} cannot be written ({error.strerror}). {advice}"
    if reason:
        problem = f"does not support file locks ({reason})"
        return f"The file system of {existing} {problem}. {advice}"
    return ""


def _lock_problem(descriptor: int) -> str | None:
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.strerror
    return None


def _advice(settings: Settings) -> Iterator[str]:
    """Yield which packages are missing, with the command that installs them."""
    proxy = Proxies.read().proxy_for(settings.base_url or "")
    has_socks = proxy is not None and proxy.url.startswith("socks")
    uses = {
        "sandbox": (settings.base_url is None, "The sandbox needs"),
        "team": (
            not is_local(history_url(settings.history)),
            "A history on Postgres needs",
        ),
        "socks": (has_socks, "The SOCKS proxy in the environment needs"),
    }
    for extra, (is_wanted, sentence) in uses.items():
        missing = missing_modules(extra) if is_wanted else []
        if missing:
            yield f"{sentence} {', '.join(missing)}: {install_command(extra)}"


# -- installed packages ----------------------------------------------------------------


def _other_distributions() -> list[str]:
    """Return the names of installed distributions that also provide `mediakit`."""
    providers = {*packages_distributions().get("mediakit", ())}
    # An editable installation does not list the packages that it provides.
    providers |= {"mediakit"} if _has_version("mediakit") else set()
    return sorted(providers - {DISTRIBUTION})


def _conflict(others: list[str]) -> str:
    names = " and ".join(others)
    return (
        f"{names} also installs a package named mediakit, so either may replace files "
        f"of the other. Run python -m pip uninstall {' '.join(others)}, then "
        f"python -m pip install --force-reinstall --no-deps {DISTRIBUTION}."
    )


def _has_version(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def _front_end() -> str:
    if in_notebook():
        named = (name for key, name in FRONT_ENDS.items() if key in os.environ)
        return next(named, "a Jupyter kernel")
    in_ipython = current_shell() is not None
    return "IPython in a terminal" if in_ipython else "Python without a notebook"


def _server_problem() -> str:
    """Return the missing parts of this kernel's Jupyter server, if known."""
    server = _server_prefix(os.environ.get("JPY_PARENT_PID", ""))
    if "JPY_SESSION_NAME" not in os.environ or server is None:
        return ""
    from jupyter_core.paths import SYSTEM_JUPYTER_PATH, jupyter_data_dir

    # Extensions are in the server's environment, or for all of this machine or user.
    shared = [server / "share/jupyter", *map(Path, SYSTEM_JUPYTER_PATH)]
    shared.append(Path(jupyter_data_dir()))
    missing = [
        package
        for package, folder in BROWSER_HALVES.items()
        if not any((each / "labextensions" / folder).is_dir() for each in shared)
    ]
    if not missing:
        return ""
    command = f"{server / 'bin' / 'python'} -m pip install {' '.join(missing)}"
    return (
        f"the Jupyter server lacks {' and '.join(missing)}, so forms and jobs are not "
        f"shown. Run {command}, restart the server and reload the page."
    )


def _server_prefix(pid: str) -> Path | None:
    """Return the environment of the server's Python."""
    try:
        command = Path("/proc", pid, "cmdline").read_text("utf-8").split("\0")
    except OSError:
        return None
    python = Path(command[0])
    is_known = python.is_absolute() and python.name.startswith("python")
    return python.parent.parent if is_known else None
