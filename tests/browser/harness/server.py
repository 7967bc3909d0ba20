"""A separate JupyterLab server, without the user's settings, history and news."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from tests.browser.harness.kernels import WarmKernels
from tests.support.servers.serving import apart, free_port, serving

QUIET_SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
}


@dataclass(frozen=True)
class LabServer:
    """A running server: where it listens and the folder that it shows."""

    url: str
    token: str = field(repr=False)
    root: Path
    home: Path
    runtime: Path
    pid: int
    log: Path

    def add_notebook(self, name: str, cells: Sequence[str]) -> str:
        """Write a notebook of code cells; return its path as the server knows it.

        Its cells get new ids each time, so that its forms are new.
        """
        mark = secrets.token_hex(4)
        notebook = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "cells": [_code_cell(f"{mark}-{n}", text) for n, text in enumerate(cells)],
        }
        (self.root / name).write_text(json.dumps(notebook))
        return name

    def add_file(self, source: Path) -> str:
        """Copy a file (a notebook, a picture) into the folder; return its path there.

        Each notebook gets a new folder: in the same one, its forms would have the
        values of an earlier test.
        """
        folder = self.root
        if source.suffix == ".ipynb":
            folder /= secrets.token_hex(4)
            folder.mkdir()
        shutil.copy(source, folder)
        return (folder / source.name).relative_to(self.root).as_posix()

    def read_notebook(self, name: str) -> dict[str, Any]:
        """Return the notebook as it is saved on the disk."""
        notebook: dict[str, Any] = json.loads((self.root / name).read_text())
        return notebook

    def kernel_ids(self) -> list[str]:
        """Return the ids of the kernels that run now."""
        return [kernel["id"] for kernel in self._call("GET", "api/kernels").json()]

    def shut_down_kernels(self) -> None:
        """End every session and with it its kernel; a kernel of Voilà has none."""
        for session in self._call("GET", "api/sessions").json():
            self._call("DELETE", f"api/sessions/{session['id']}")
        for kernel_id in self.kernel_ids():
            self._call("DELETE", f"api/kernels/{kernel_id}")

    def _call(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"token {self.token}"}
        return httpx.request(
            method, f"{self.url}/{path}", headers=headers, timeout=120, **more
        )


@contextmanager
def serve_lab(
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    base_url: str = "/",
    extension: str = "",
) -> Iterator[LabServer]:
    """Run JupyterLab on a free loopback port while the block lasts.

    Args:
        folder: What it writes.
        environment: Further variables.
        base_url: The prefix of its addresses, as behind a hub.
        extension: A module with a server extension.
    """
    root = folder / "notebooks"
    root.mkdir(parents=True)
    variables = apart(folder, **(environment or {}))
    _write_settings(Path(variables["JUPYTERLAB_SETTINGS_DIR"]))
    port, token, log = free_port(), secrets.token_urlsafe(16), folder / "server.log"
    url = f"http://127.0.0.1:{port}{base_url.rstrip('/')}"
    ready = f"{url}/api/status?token={token}"
    command = _command(port, token, root)
    command.append(f"--ServerApp.base_url={base_url}")
    if extension:
        command.append(f"--ServerApp.jpserver_extensions={{'{extension}': True}}")
    with TemporaryDirectory() as place:
        kernels = WarmKernels(Path(place), variables)
        variables["JUPYTER_PATH"] = place
        with serving(command, ready, log, variables, root) as process:
            home = Path(variables["MEDIAKIT_HOME"])
            runtime = Path(variables["JUPYTER_RUNTIME_DIR"])
            yield LabServer(url, token, root, home, runtime, process.pid, log)
        kernels.close()


def _code_cell(cell_id: str, source: str) -> dict[str, object]:
    return {
        "id": cell_id,
        "cell_type": "code",
        "source": source,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }


def _write_settings(folder: Path) -> None:
    for plugin, values in QUIET_SETTINGS.items():
        path = folder / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def _command(port: int, token: str, root: Path) -> list[str]:
    return [
        sys.executable,
        *("-m", "jupyterlab", "--no-browser", "--allow-root"),
        "--expose-app-in-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={root}",
        f"--IdentityProvider.token={token}",
        # Otherwise each page starts Node.js to check that there is nothing to build.
        "--ServerApp.tornado_settings={'page_config_data': {'buildCheck': False}}",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
