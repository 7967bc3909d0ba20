"""The report on installed, bound and missing parts fits on one screen."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import re
import runpy
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from jupyter_core import paths
from packaging.requirements import Requirement

import mediakit as mk
from mediakit.diagnosis import Diagnosis
from mediakit.extras import EXTRAS
from mediakit.history import History
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.servers.answering_server import AnsweringServer
from tests.support.servers.proxies import HTTPProxy
from tests.support.servers.serving import ROOT, free_port

WRONG_KEY = "key-of-nobody-0123456789"
SCREEN_LINES, SCREEN_COLUMNS = 40, 88
NOT_EXTRAS = {"docs", "dev", "lab", "soak"}  # sets of others


def test_a_working_service_is_reported_with_its_balance(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    found = mk.doctor(sandbox.base_url, sandbox.api_key, home=tmp_path / "home")
    text = re.sub(r"\s+", " ", str(found))

    assert found.is_ok
    assert f"{sandbox.base_url}, reachable; a sandbox (no real money)" in text
    assert "API key set, accepted (not shown)" in text
    assert "Balance $" in text
    assert f"History {tmp_path / 'home' / 'history.sqlite3'} (not created yet)" in text
    assert sandbox.api_key not in text
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_key_is_distinguished_from_an_unreachable_service(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    found = mk.doctor(sandbox.base_url, WRONG_KEY, home=tmp_path)

    assert not found.is_ok
    assert [each.name for each in found.findings if not each.is_ok] == ["API key"]
    assert f"{sandbox.base_url}, reachable" in str(found)
    assert WRONG_KEY not in str(found)


def test_an_unreachable_service_is_reported(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    found = mk.doctor(url, WRONG_KEY, home=tmp_path)

    [wrong] = [each for each in found.findings if not each.is_ok]
    assert wrong.name == "Service"
    assert url in wrong.text
    assert "does not answer" in wrong.text
    assert "set, but not checked" in str(found)


def test_with_nothing_bound_the_sandbox_is_named_and_not_started(
    tmp_path: Path,
) -> None:
    found = mk.doctor(home=tmp_path)

    assert found.is_ok
    assert "connect() starts the sandbox" in str(found)
    assert "Balance" not in str(found)
    assert not (tmp_path / "sandbox").exists()


def wrong_in(found: Diagnosis) -> dict[str, str]:
    return {each.name: each.text for each in found.findings if not each.is_ok}


def test_a_service_without_bound_functions_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AnsweringServer() as server:
        monkeypatch.chdir(tmp_path)
        found = mk.doctor(server.base_url, WRONG_KEY, home=tmp_path)
        assert "mediakit.toml" in wrong_in(found)["Functions"]
        assert "! Functions" in str(found)

        path = "acme/dream-2/text-to-video"
        (tmp_path / "mediakit.toml").write_text(
            f'[functions]\ntext-to-video = "{path}"\n', "utf-8"
        )
        assert mk.doctor(server.base_url, WRONG_KEY, home=tmp_path).is_ok


def test_a_folder_that_cannot_be_written_is_a_problem() -> None:
    found = mk.doctor(home="/proc/mediakit")

    wrong = wrong_in(found)
    assert set(wrong) == {"History", "Data"}
    assert "MEDIAKIT_HOME" in wrong["Data"]
    assert "MEDIAKIT_HISTORY" in wrong["History"]


def test_a_file_system_without_locks_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    wrong = wrong_in(mk.doctor(home=tmp_path))

    assert set(wrong) == {"History", "Data"}
    assert "local disk" in wrong["Data"]


def test_a_history_of_another_version_is_a_problem_and_stays_as_it_is(
    tmp_path: Path,
) -> None:
    place = tmp_path / "history.sqlite3"
    History(place).close()
    assert mk.doctor(home=tmp_path).is_ok
    with closing(sqlite3.connect(place)) as database:
        database.execute("UPDATE mediakit_version SET version = 99")
        database.commit()
    before = place.read_bytes()
    wrong = wrong_in(mk.doctor(home=tmp_path))

    assert "99" in wrong["History"]
    assert "was not changed" in wrong["History"]
    assert place.read_bytes() == before


def test_a_password_of_the_history_is_not_shown(tmp_path: Path) -> None:
    history = "postgresql://ann:hunter2hunter2@db.example.com/team"
    text = str(mk.doctor(home=tmp_path, history=history))

    assert "History    db.example.com/team" in text
    assert "hunter2" not in text


def test_missing_packages_are_reported_with_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("uvicorn", "psycopg"):
        monkeypatch.setitem(sys.modules, module, None)
    found = mk.doctor(home=tmp_path, history="postgresql://db.example.com/team")

    [missing] = re.findall(r"not installed: (.*?)\)", " ".join(str(found).split()))
    assert {"sandbox", "team"} <= set(missing.split(", "))
    assert found.advice == (
        "The sandbox needs uvicorn: python -m pip install uvicorn",
        'A history on Postgres needs psycopg: python -m pip install "psycopg[binary]"',
    )


def test_another_distribution_of_the_same_package_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Conflict" not in str(mk.doctor(home=tmp_path))
    metadata = tmp_path / "site" / "mediakit-0.7.2.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: mediakit\nVersion: 0.7.2\n")
    (metadata / "RECORD").write_text("mediakit/__init__.py,,\n")
    monkeypatch.syspath_prepend(tmp_path / "site")

    conflict = wrong_in(mk.doctor(home=tmp_path))["Conflict"]
    assert conflict.startswith("mediakit also installs a package named mediakit")
    assert "python -m pip uninstall mediakit" in conflict
    assert conflict.endswith("--no-deps jupyter-mediakit.")


def test_missing_parts_of_a_jupyter_server_are_reported_with_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "a.ipynb"))
    monkeypatch.setattr(paths, "SYSTEM_JUPYTER_PATH", [])
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    server = tmp_path / "server"
    python = str(server / "bin" / "python")
    extensions = server / "share" / "jupyter" / "labextensions"
    (extensions / "@jupyter-widgets" / "jupyterlab-manager").mkdir(parents=True)

    with subprocess.Popen([python, "60"], executable="/bin/sleep") as running:
        monkeypatch.setenv("JPY_PARENT_PID", str(running.pid))
        wrong = wrong_in(mk.doctor(home=tmp_path))
        (extensions / "anywidget").mkdir()
        assert mk.doctor(home=tmp_path).is_ok
        running.kill()

    assert "the Jupyter server lacks anywidget" in wrong["Front end"]
    assert f"Run {python} -m pip install anywidget, restart" in wrong["Front end"]


def test_the_report_fits_on_one_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As `python -m mediakit` does, without importing it all once more.
    monkeypatch.delitem(sys.modules, "mediakit.__main__", raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("mediakit", run_name="__main__")
    lines = capsys.readouterr().out.splitlines()

    assert ended.value.code == 0, lines
    assert lines[0].split()[:2] == ["mediakit", f"{mk.__version__},"]
    assert len(lines) < SCREEN_LINES
    assert all(
        len(line) <= SCREEN_COLUMNS for line in lines if len(line.split()[-1]) < 60
    )


def test_a_report_with_a_problem_exits_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mediakit.__main__ import main

    monkeypatch.setenv("MEDIAKIT_BASE_URL", "https://api.example.com")

    assert main() == 1
    said = capsys.readouterr().out
    assert "! Settings" in said
    assert "MEDIAKIT_API_KEY" in said


def test_every_extra_is_recognised_by_its_modules() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    brought = {
        extra: {Requirement(line).name for line in lines}
        for extra, lines in project["optional-dependencies"].items()
        if extra not in NOT_EXTRAS
    }
    brought["mlflow"] = {"mlflow"}  # what mlflow-skinny brings
    brought["socks"] = {"socksio"}  # what httpx[socks] brings

    assert {extra: set(names) for extra, names in EXTRAS.items()} == brought


def test_a_hub_whose_browsers_do_not_reach_this_machine_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "Browser" not in [each.name for each in mk.doctor(home=tmp_path).findings]
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/someone/")
    found = {each.name: each for each in mk.doctor(home=tmp_path).findings}

    assert not found["Browser"].is_ok
    assert "Install jupyter-server-proxy where" in found["Browser"].text


# -- the environment -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "socks://127.0.0.1:1080"),
        ("SSL_CERT_FILE", "/gone/ca.pem"),
        ("SSLKEYLOGFILE", "/gone/keys.log"),
    ],
)
def test_an_unusable_variable_that_a_url_needs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    (tmp_path / "mediakit.toml").write_text('openapi = "https://media.test/x.json"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, value)
    wrong = wrong_in(mk.doctor("https://media.test", WRONG_KEY, home=tmp_path))

    assert f"{name}={value}" in wrong["Service"]
    assert f"{name}={value}" in wrong["Functions"]


@pytest.mark.parametrize(
    ("base_url", "api_key", "words"),
    [
        (
            "https://media.test/?key=1",
            WRONG_KEY,
            "without a user name, password, query",
        ),
        ("https://media.test", f"'{WRONG_KEY}'", "without quotes"),
        ("https://media.test", f"{WRONG_KEY}\n", "a line break"),
    ],
)
def test_an_obviously_mistaken_setting_is_named(
    tmp_path: Path, base_url: str, api_key: str, words: str
) -> None:
    assert words in wrong_in(mk.doctor(base_url, api_key, home=tmp_path))["Settings"]


def test_a_proxy_that_requires_a_password_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HTTPProxy(free_port(), credentials="ann:s@cret") as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url())
        wrong = wrong_in(mk.doctor("http://media.test", WRONG_KEY, home=tmp_path))

    assert "the proxy refused" in wrong["Service"]


def test_a_socks_proxy_that_the_url_does_not_need_causes_no_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "socksio", None)

    assert not [line for line in mk.doctor(home=tmp_path).advice if "SOCKS" in line]


def test_a_user_without_a_home_is_told_to_name_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_entry(_: int) -> None:
        raise KeyError

    for name in ("HOME", "XDG_DATA_HOME", "MEDIAKIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", no_entry)

    assert "set MEDIAKIT_HOME, or pass home=" in wrong_in(mk.doctor())["Settings"]
    for home in (None, "~/media"):
        with pytest.raises(mk.InputError, match="MEDIAKIT_HOME"):
            mk.connect(home=home)
    assert mk.doctor(home=tmp_path).is_ok


def test_a_key_log_that_cannot_be_written_does_not_matter_on_this_machine(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    program = (
        "import sys, mediakit as mk\nprint(mk.doctor(*sys.argv[1:3], home=sys.argv[3]))"
    )
    report = subprocess.run(
        [sys.executable, "-c", program, sandbox.base_url, sandbox.api_key, tmp_path],
        env={**os.environ, "SSLKEYLOGFILE": "/gone/keys.log"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "reachable; a sandbox" in report
