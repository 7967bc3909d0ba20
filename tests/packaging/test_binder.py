"""The hosted launch: its files installed and run in an environment of their own."""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import Iterator

import httpx
import pytest

from mediakit.widgets.job.player import HUB_PREFIX, browser_url
from tests.support.servers.serving import ROOT, apart, free_port, serving

INSTALL_S = 600
PREFIX = "/user/somebody/"
TOKEN = "token-of-a-test"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the image's environment, as the host does: requirements, then postBuild."""
    folder = tmp_path_factory.mktemp("binder")
    venv.create(folder / "venv", with_pip=True)
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = apart(folder, PATH=path, **{HUB_PREFIX: PREFIX})
    for command in (
        "pip install --quiet --no-compile --requirement binder/requirements.txt",
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


@pytest.fixture(scope="module")
def sandbox_url(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Run the sandbox in the image's environment."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = ["-m", "mediakit.sandbox", "--port", str(port)]
    log = tmp_path_factory.mktemp("sandbox") / "log"
    ready = f"{url}/openapi.json"
    with serving(_python(environment) + command, ready, log, environment):
        yield url


def _python(environment: dict[str, str]) -> list[str]:
    return [environment["PATH"].partition(os.pathsep)[0] + "/python"]


def get(url: str) -> httpx.Response:
    return httpx.get(url, headers={"Authorization": f"token {TOKEN}"}, timeout=30)


def test_the_hosted_server_shows_the_quickstart(origin: str) -> None:
    path = "api/contents/notebooks/01_quickstart.ipynb"
    notebook = get(f"{origin}{PREFIX}{path}").json()
    assert notebook["content"]["cells"][0]["source"].startswith("# ")


def test_the_hosted_server_checks_for_no_updates(origin: str) -> None:
    plugin = "@jupyterlab/apputils-extension:notification"
    told = get(f"{origin}{PREFIX}lab/api/settings/{plugin}").json()
    assert told["schema"]["properties"]["fetchNews"]["default"] == "false"


def test_the_browser_reaches_the_sandbox_through_the_hub(
    origin: str, sandbox_url: str, environment: dict[str, str]
) -> None:
    path = browser_url(f"{sandbox_url}/openapi.json", environment)
    assert path.startswith(f"{PREFIX}proxy/")
    assert get(origin + path).json() == get(f"{sandbox_url}/openapi.json").json()


def test_the_hub_shows_the_sandbox_to_nobody_else(
    origin: str, sandbox_url: str, environment: dict[str, str]
) -> None:
    path = browser_url(f"{sandbox_url}/openapi.json", environment)
    assert httpx.get(origin + path, timeout=30).status_code in (302, 403)
