"""The commands of the README: what they serve, and their messages otherwise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from mediakit.voila import main
from tests.support.servers.serving import ROOT, apart, free_port, serving

FINDER = ROOT / "tools" / "find_chromium.py"
TOKEN = "token-of-a-test"
# What stands for an old Python: its version, and then the check that make asks for.
OLD_PYTHON = """exec {python} -c 'import sys
sys.version_info, sys.version = (3, 9, 18), "3.9.18 (old)"
exec(sys.argv[1])' "$2\""""


@pytest.fixture(scope="module")
def lab_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run `make lab` with this environment, which is taken as installed."""
    folder, port = tmp_path_factory.mktemp("lab"), free_port()
    arguments = f"--no-browser --port={port} --IdentityProvider.token={TOKEN}"
    command = [
        *("make", "--assume-old", f"{sys.prefix}/ready-lab", "lab"),
        *(f"VENV={sys.prefix}", f"LAB_ARGS={arguments}"),
    ]
    url = f"http://127.0.0.1:{port}"
    ready = f"{url}/api/status?token={TOKEN}"
    with serving(command, ready, folder / "log", apart(folder)):
        yield url


@pytest.mark.soak
@pytest.mark.xdist_group("lab")  # one server
def test_make_lab_serves_the_course_with_a_token(lab_url: str) -> None:
    address = f"{lab_url}/api/contents/notebooks"
    folder = httpx.get(f"{address}?token={TOKEN}", timeout=120).json()["content"]
    served = {file["name"]: file["type"] for file in folder}
    assert served["README.md"] == "file"
    assert served["01_quickstart.ipynb"] == "notebook"
    assert httpx.get(address, timeout=120).status_code == 403


def test_an_old_python_is_rejected_with_one_message(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    write_program(old, OLD_PYTHON.format(python=sys.executable))
    command = ["make", "lab", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert told.returncode != 0
    said = told.stderr.splitlines()[0]
    assert said.startswith("mediakit needs Python 3.11 or newer, and ")
    assert "is 3.9.18; set another" in said
    assert not (tmp_path / "venv").exists()


def find_chromium(
    *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FINDER), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def write_program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_a_missing_chromium_is_installed_where_it_may_be(tmp_path: Path) -> None:
    browser = tmp_path / "chromium"
    write_program(tmp_path / "sudo", 'shift; exec "$@"')
    write_program(
        tmp_path / "apt-get",
        f'echo "$@"; if [ "$1" = install ]; then '
        f": > {browser}; /bin/chmod +x {browser}; fi",
    )
    assert find_chromium(PATH=str(tmp_path)).returncode == 1
    found = find_chromium("--install", PATH=str(tmp_path))
    assert found.stdout == f"{browser}\n"
    assert found.stderr.splitlines()[0] == "update"


# -- voila -----------------------------------------------------------------------------


def test_its_pages_ask_for_a_token_and_are_gone_with_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[Path] = []

    def serve(arguments: list[str]) -> None:
        folder, *options = arguments
        assert options == ["--token", "--port=9000"]
        served.extend(sorted(Path(folder).iterdir()))

    monkeypatch.setitem(sys.modules, "voila.app", SimpleNamespace(main=serve))
    main(["--port=9000"])

    assert [path.name for path in served] == ["dashboard.ipynb", "studio.ipynb"]
    assert not any(path.exists() for path in served)
