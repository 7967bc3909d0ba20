"""A running sandbox: started in this process, or running in another one.

    running = start_embedded("data")
    running.base_url, running.api_key

The first process serves from a thread that does not touch the main thread's event loop
or signals. Other processes attach to that server, and one of them takes over when it
ends. Nothing is lost: see `mediakit.sandbox.store`.
"""

import atexit
import logging
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from mediakit.catalog import Catalog
from mediakit.errors import ServiceError
from mediakit.sandbox.data_dir import DataDir
from mediakit.sandbox.server.host import STOP_TIMEOUT_S, Host
from mediakit.sandbox.settings import Sandbox

__all__ = ["RunningSandbox", "Sandbox", "start", "start_embedded"]

logger = logging.getLogger(__name__)

START_TIMEOUT_S = 15.0
ATTEMPT_GAP_S = 0.05
TAKEOVER_INTERVAL_S = 0.25
HEALTH_TIMEOUT_S = 2.0
CALL_TIMEOUT_S = 600.0


class RunningSandbox:
    """A sandbox served by this or another process."""

    def __init__(self, settings: Sandbox, data_dir: DataDir, host: Host | None) -> None:
        account = data_dir.account()
        if account is None:
            raise ServiceError(f"{data_dir.path} has no sandbox.")
        self.identity = account.identity
        self.api_key = account.api_key
        self.functions: Mapping[str, str] = {
            function.kind: function.path for function in settings.catalog
        }
        self._settings = settings
        self._data_dir = data_dir
        self._host = host
        self._pid = os.getpid()
        self._stopped = threading.Event()
        if host is None:
            name = "mediakit-sandbox-takeover"
            threading.Thread(target=self._take_over, name=name, daemon=True).start()

    def __repr__(self) -> str:
        where = "here" if self.is_served_here else "in another process"
        return f"<sandbox at {self.base_url}, served {where}>"

    @property
    def base_url(self) -> str:
        """Return the sandbox's current URL; another process may use another port."""
        host = self._host
        return host.base_url if host is not None else self._data_dir.base_url() or ""

    @property
    def data_dir(self) -> Path:
        """Return the folder of its database and files."""
        return self._data_dir.path

    @property
    def is_served_here(self) -> bool:
        """Return whether this process serves the sandbox."""
        return self._host is not None and self._pid == os.getpid()

    def advance(
        self, *, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> dict[str, Any]:
        """Advance the sandbox's clock; work that becomes due is done.

        Args:
            hours: Hours to skip.
            minutes: Minutes to skip, in addition.
            seconds: Seconds to skip, in addition.

        Returns:
            The new time, and how much was done.

        Raises:
            ServiceError: The sandbox does not respond, or rejects the call.
        """
        skipped_s = hours * 3_600 + minutes * 60 + seconds
        return self._call("POST", "clock/advance", {"seconds": skipped_s})

    def fault(self, kind: str, **rule: Any) -> str:
        """Inject a fault from now on.

        Args:
            kind: The kind of fault, such as "latency" or "fail_render".
            **rule: Where (`where`), how often (`count`), and the parameters of the
                kind, such as `seconds`, `status`, `code` or `factor`.

        Returns:
            The id of the fault.

        Raises:
            ServiceError: The sandbox does not respond, or rejects the rule.
        """
        fault_id: str = self._call("POST", "faults", {"kind": kind, **rule})["id"]
        return fault_id

    def clear_faults(self) -> int:
        """Clear all faults; return how many there were.

        Raises:
            ServiceError: The sandbox does not respond.
        """
        removed_n: int = self._call("DELETE", "faults")["removed_n"]
        return removed_n

    def seed(self, *, days: int = 90, jobs: int = 400, seed: int = 1) -> dict[str, Any]:
        """Add a sample history, so that there is spend to look at.

        The balance does not change: grants cover the charges. Repeating the call with
        the same arguments adds nothing.

        Args:
            days: The number of days, ending yesterday.
            jobs: The number of jobs.
            seed: The seed of the generated jobs.

        Returns:
            A summary of the past, and in `added` how many jobs were added now.

        Raises:
            ServiceError: The sandbox does not respond, or rejects the call.
        """
        return self._call("POST", "seed", {"days": days, "jobs": jobs, "seed": seed})

    def reset(self) -> None:
        """Start over: no jobs, files or faults, and the opening balance.

        Its name, key and time are kept.

        Raises:
            ServiceError: The sandbox does not respond.
        """
        self._call("POST", "reset", {"confirm": True})

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return call(self.base_url, self.api_key, method, path, body)

    def stop(self, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop serving, or detach; accepted jobs are kept.

        In a forked child this does nothing, because the server belongs to its parent.

        Args:
            timeout_s: How long to wait for the server, which may end later.
        """
        if self._pid != os.getpid() or self._stopped.is_set():
            return
        self._stopped.set()
        with _lock_of(self._data_dir):
            if _running.get(self._data_dir.path) is self:
                del _running[self._data_dir.path]
            if self._host is not None:
                self._host.stop(timeout_s)
        atexit.unregister(self.stop)

    def _take_over(self) -> None:
        """Serve as soon as the server in the other process has ended."""
        # The key stays: all clients have it.
        settings = self._settings.model_copy(update={"api_key": None})
        has_failed = False
        while not self._stopped.wait(TAKEOVER_INTERVAL_S):
            try:
                with _lock_of(self._data_dir):
                    if not self._stopped.is_set():
                        self._host = _try_to_host(settings, self._data_dir)
            except Exception as error:  # noqa: BLE001 - whatever it is, it may pass
                # A taken port or a full disk can be free again later.
                if not has_failed:
                    words = "The sandbox in %s cannot be served; trying again: %s"
                    logger.warning(words, self._data_dir.path, error)
                has_failed = True
            if self._host is not None:
                return


_running: dict[Path, RunningSandbox] = {}
_locks: dict[Path, threading.RLock] = {}


def _lock_of(data_dir: DataDir) -> "threading.RLock":
    """Return the lock of a data directory, so that a hung one blocks no others."""
    return _locks.setdefault(data_dir.path, threading.RLock())


def _forget_in_child() -> None:
    # A forked child must hold neither the port nor the lock of a dead parent.
    for host in list(Host.alive):
        host.abandon()
    _locks.clear()
    _running.clear()


os.register_at_fork(after_in_child=_forget_in_child)


def start_embedded(
    data_dir: str | Path, catalog: Catalog | None = None
) -> RunningSandbox:
    """Serve a data directory from this process, or attach to its server.

    Callbacks and input URLs may reach this machine. A second call in the same process
    returns the same sandbox.

    Args:
        data_dir: The directory of its database and files; created when missing.
        catalog: The functions that it serves; all declared ones by default.

    Raises:
        ServiceError: It cannot be started.
    """
    return start(
        Sandbox(
            Path(data_dir),
            allow_loopback_callbacks=True,
            catalog=Catalog.default() if catalog is None else catalog,
        )
    )


def start(settings: Sandbox) -> RunningSandbox:
    """Serve a data directory with these settings, or attach to its server.

    A server that runs already keeps the settings with which it was started.

    Raises:
        ServiceError: It cannot be started.
    """
    data_dir = DataDir(settings.data_dir)
    with _lock_of(data_dir):
        server = _running.get(data_dir.path)
        if server is None:
            server = _open(settings, data_dir)
            _running[data_dir.path] = server
            atexit.register(server.stop)
        return server


def _open(settings: Sandbox, data_dir: DataDir) -> RunningSandbox:
    pause = threading.Event()
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        host = _try_to_host(settings, data_dir)
        if host is not None or _answers(data_dir):
            return RunningSandbox(settings, data_dir, host)
        # Another process has the lock and does not respond: it is starting or stopping.
        pause.wait(ATTEMPT_GAP_S)
    pid = data_dir.server_pid()
    process = "Another process" if pid is None else f"Another process (number {pid})"
    raise ServiceError(
        f"{process} serves {data_dir.path} and does not respond at "
        f"{data_dir.base_url()}. End that process, or choose another folder."
    )


def _try_to_host(settings: Sandbox, data_dir: DataDir) -> Host | None:
    lock = data_dir.try_lock()
    return None if lock is None else Host(settings, data_dir, lock)


def _answers(data_dir: DataDir) -> bool:
    account, base_url = data_dir.account(), data_dir.base_url()
    # While a server starts, another program may have the address of the last one.
    if account is None or base_url is None or data_dir.server_pid() is None:
        return False
    try:
        with _http(account.api_key, HEALTH_TIMEOUT_S) as http:
            answer = http.get(f"{base_url}/sandbox/status")
    except httpx.TransportError:
        return False
    # Another program may have taken the port of the last server.
    return _fields_of(answer).get("identity") == account.identity


def call(
    base_url: str,
    api_key: str,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make one call to the sandbox's admin interface, below `/sandbox/`."""
    try:
        with _http(api_key, CALL_TIMEOUT_S) as http:
            response = http.request(method, f"{base_url}/sandbox/{path}", json=body)
    except httpx.TransportError:
        raise ServiceError(f"No sandbox answers at {base_url}.") from None
    fields = _fields_of(response)
    if response.is_error and isinstance(fields.get("message"), str):
        raise ServiceError(fields["message"])
    if response.is_error or not fields:
        raise ServiceError(
            f"Another program answers at {base_url}, where the sandbox was. "
            "Start the sandbox again."
        )
    return fields


def _http(api_key: str, timeout_s: float) -> httpx.Client:
    # The environment's proxies do not apply on loopback, and plain HTTP has no
    # certificates, which would take 40 ms to load.
    headers = {"X-API-Key": api_key}
    return httpx.Client(
        trust_env=False, verify=False, timeout=timeout_s, headers=headers
    )


def _fields_of(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a response; empty if its body is anything else."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
