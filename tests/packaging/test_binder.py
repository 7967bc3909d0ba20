"""The launch on Binder: its files are installed and run in a separate environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
import websocket

from mediakit.widgets.job.player import HUB_PREFIX
from tests.support.environments import Environment
from tests.support.servers.serving import ROOT, apart, free_port, serving

pytestmark = pytest.mark.soak

INSTALL_S = 600
UV = f"{sys.prefix}/bin/uv"  # it installs what pip does, in a tenth of the time
CELL_S = 120
QUICKSTART = "notebooks/01_quickstart.ipynb"
PREFIX = "/user/somebody/"
TOKEN = "token-of-a-test"
AUTHORIZED = {"Authorization": f"token {TOKEN}"}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the image's environment, as the host does: requirements, then postBuild."""
    folder = tmp_path_factory.mktemp("binder")
    built = Environment.make(folder / "venv")
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = apart(folder, PATH=path, **{HUB_PREFIX: PREFIX})
    for command in (
        f"{UV} pip install --quiet --python {built.python} "
        "--requirement binder/requirements.txt",
        "binder/postBuild",
    ):
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    return variables


@pytest.fixture(scope="module")
def origin(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Serve the repository as a hub does: below a prefix, with a token."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [
        *("-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", f"--port={port}", f"--ServerApp.base_url={PREFIX}"),
        f"--IdentityProvider.token={TOKEN}",
    ]
    log = tmp_path_factory.mktemp("hosted") / "log"
    with serving(
        _python(environment) + command,
        f"{url}{PREFIX}api/status?token={TOKEN}",
        log,
        environment,
    ):
        yield url


def _python(environment: dict[str, str]) -> list[str]:
    return [environment["PATH"].partition(os.pathsep)[0] + "/python"]


def get(url: str) -> httpx.Response:
    return httpx.get(url, headers=AUTHORIZED, timeout=120)


def opened(origin: str) -> tuple[list[dict[str, Any]], str]:
    """Open the first notebook as JupyterLab does: its cells, and a kernel for it."""
    notebook = get(f"{origin}{PREFIX}api/contents/{QUICKSTART}").json()
    answer = httpx.post(
        f"{origin}{PREFIX}api/sessions",
        json={
            "path": QUICKSTART,
            "name": QUICKSTART,
            "type": "notebook",
            "kernel": {"name": notebook["content"]["metadata"]["kernelspec"]["name"]},
        },
        headers=AUTHORIZED,
        timeout=CELL_S,
    )
    assert answer.status_code == 201, answer.text
    return notebook["content"]["cells"], answer.json()["kernel"]["id"]


def run(channels: Any, source: str) -> list[dict[str, Any]]:
    """Run a cell over the kernel's channels, and return the messages until its end."""
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request"}
    header |= {"username": "", "session": "a-test", "version": "5.3"}
    content = {"code": source, "silent": False, "store_history": True}
    content |= {"user_expressions": {}, "allow_stdin": False}
    request = {"header": header, "content": content, "channel": "shell"}
    channels.send(json.dumps(request | {"parent_header": {}, "metadata": {}}))
    messages = []
    while True:
        message = json.loads(channels.recv())
        messages.append(message)
        is_mine = message["parent_header"].get("msg_id") == header["msg_id"]
        if is_mine and message["content"].get("execution_state") == "idle":
            return messages


@pytest.mark.xdist_group("binder")  # one environment
def test_the_first_notebook_opens_and_its_jobs_are_seen_through_the_hub(
    origin: str,
) -> None:
    cells, kernel_id = opened(origin)
    assert cells[0]["source"].startswith("# ")
    address = f"{origin.replace('http', 'ws')}{PREFIX}api/kernels/{kernel_id}/channels"
    headers = [f"{name}: {value}" for name, value in AUTHORIZED.items()]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    seen = ""

    with closing(
        websocket.create_connection(address, header=headers, timeout=CELL_S)
    ) as channels:
        for cell in code:
            messages = run(channels, cell["source"])
            seen += json.dumps(messages)
            errors = [each for each in messages if each["msg_type"] == "error"]
            may_raise = "raises-exception" in cell["metadata"].get("tags", [])
            assert may_raise or not errors, errors
    videos = re.findall(rf"{PREFIX}proxy/[\w/.-]+\.mp4", seen)
    assert videos
    video = get(f"{origin}{videos[0]}")
    assert video.headers["content-type"] == "video/mp4"
    assert video.content[4:8] == b"ftyp"
    # The hub shows the sandbox to nobody else.
    assert httpx.get(f"{origin}{videos[0]}", timeout=120).status_code in (302, 403)
