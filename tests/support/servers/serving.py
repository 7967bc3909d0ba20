"""Server programs on loopback for tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[3]
START_S = 600.0
STOP_S = 15.0
LOG_END = 3000


def free_port() -> int:
    """Return an unused port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def apart(folder: Path, **more: str) -> dict[str, str]:
    """Return this process's environment with every user folder moved to `folder`."""
    moved = {
        "MEDIAKIT_HOME": folder / "mediakit",
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
        "IPYTHONDIR": folder / "ipython",
    }
    for path in moved.values():
        path.mkdir(parents=True, exist_ok=True)
    return {**os.environ, **{name: str(path) for name, path in moved.items()}, **more}


@contextmanager
def serving(
    command: Sequence[str],
    ready: str,
    log: Path,
    environment: Mapping[str, str],
    folder: Path = ROOT,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server and its children within the block.

    Raises:
        AssertionError: It ended or did not answer in time; quotes the log's end.
    """
    with (
        log.open("wb") as stream,
        subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            _wait(process, ready, log)
            yield process
        finally:
            _stop(process)


def _wait(process: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            if httpx.get(ready, timeout=120).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(
        f"{process.args!r} does not answer (exit status {process.poll()}). Its output "
        f"ends:\n{log.read_text(errors='replace')[-LOG_END:]}"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                continue
