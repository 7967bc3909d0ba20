"""The lifecycle of a sandbox: one server per data directory, and takeovers."""

import asyncio
import errno
import fcntl
import json
import os
import signal
import socket
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

import mediakit as mk
from mediakit.errors import InputError, ServiceError
from mediakit.sandbox.data_dir import DataDir
from mediakit.sandbox.jobs.renderer import Renderer
from mediakit.sandbox.server.running import Sandbox, call, start, start_embedded
from tests.sandbox.conftest import StartSandbox, png, without_key
from tests.support import zygote
from tests.support.servers.loopback import Asked, LoopbackServer, Said
from tests.support.waiting import until

OTHER = """
import sys
from mediakit.sandbox.server.running import start_embedded
running = start_embedded(sys.argv[1])
print(running.base_url, running.identity, running.is_served_here, flush=True)
sys.stdin.read()
"""


class Other:
    """Another process that starts, or attaches to, the sandbox of a directory."""

    def __init__(self, data_dir: Path, script: str = OTHER) -> None:
        self.process = zygote.start(script, str(data_dir))
        self.words = self.line().split()

    def line(self) -> str:
        return self.process.stdout.readline()

    def leave(self) -> int | None:
        self.process.finish()
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.finish()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Callable[..., Other]]:
    """Start other processes on one data directory."""
    others: list[Other] = []

    def begin(script: str = OTHER) -> Other:
        others.append(Other(tmp_path / "data", script))
        return others[-1]

    yield begin
    for one in others:
        one.kill()


def answers(base_url: str) -> bool:
    try:
        return without_key("GET", f"{base_url}/openapi.json").is_success
    except httpx.TransportError:
        return False


def test_it_serves_until_stopped_and_can_be_stopped_twice(tmp_path: Path) -> None:
    running = start_embedded(tmp_path)

    assert running.is_served_here
    assert answers(running.base_url)
    running.stop()
    running.stop()
    assert not answers(running.base_url)


def test_the_same_process_gets_the_same_sandbox(tmp_path: Path) -> None:
    running = start_embedded(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)

    assert start_embedded(tmp_path / "link") is running
    running.stop()


def test_name_key_port_and_data_stay_over_a_restart(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    first = sandboxes(tmp_path, settle_after_s=0)
    picture = first.upload("image/png", png())
    body = {"image_url": picture}
    job = first.settled(first.submit("image-upscale", body, "k")["id"])
    first.running.stop()

    second = sandboxes(tmp_path, balance_micro_usd=5)

    for name in ("base_url", "identity", "api_key"):
        assert getattr(second.running, name) == getattr(first.running, name)
    assert second.job(job["id"]) == job
    assert second.http.get(job["output"]["image"]["url"]).status_code == 200
    assert second.http.get(picture).content == png()
    assert second.balance() == 100_000_000 - 126_000
    assert second.submit("image-upscale", body, "k") == job


def test_another_port_is_taken_when_the_previous_one_is_not_free(
    tmp_path: Path,
) -> None:
    first = start_embedded(tmp_path)
    first.stop()
    port = int(first.base_url.rpartition(":")[2])

    with socket.create_server(("127.0.0.1", port)):
        second = start_embedded(tmp_path)
        assert second.base_url != first.base_url
        assert answers(second.base_url)
        second.stop()


def test_a_port_in_use_is_a_readable_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServiceError, match=f"port {port}"):
            start(Sandbox(tmp_path, port=port))
    # Nothing is left locked by the failure.
    running = start(Sandbox(tmp_path))
    running.stop()


def test_an_unwritable_folder_is_a_readable_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises(ServiceError, match="MEDIAKIT_HOME or --data-dir"):
        start_embedded(tmp_path / "file")


@pytest.mark.parametrize(
    "change",
    [
        {"port": -1},
        {"balance_micro_usd": -1},
        {"concurrency": -1},
        {"speed": 0},
        {"speed": float("nan")},
        {"keep_gb": 0},
        {"keep_gb": float("nan")},
        {"no_such_setting": 1},
        {"api_key": "short"},
        {"api_key": "with a space in it"},
    ],
)
def test_settings_out_of_range_are_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        Sandbox(tmp_path, **change)


def test_the_key_is_given_kept_and_not_shown(tmp_path: Path) -> None:
    settings = Sandbox(tmp_path, api_key="a-key-of-my-own")
    running = start(settings)

    assert running.api_key == "a-key-of-my-own"
    assert "a-key-of-my-own" not in f"{settings!r} {running!r}"
    mode = stat.S_IMODE((tmp_path / "account.json").stat().st_mode)
    assert mode == 0o600
    server = json.loads((tmp_path / "server.json").read_text())
    assert server == {"base_url": running.base_url, "pid": os.getpid()}
    running.stop()


def test_a_new_key_replaces_the_old_one_in_its_row(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    first = sandboxes(tmp_path, settle_after_s=0, api_key="the-old-key")
    fails = {"prompt": "sandbox:fail=content_moderation"}
    first.settled(first.submit("text-to-video", fails)["id"])
    first.running.stop()

    second = sandboxes(tmp_path, settle_after_s=0, api_key="the-new-key")
    second.settled(second.submit("text-to-video", fails)["id"])

    balance = f"{second.running.base_url}/billing/balance"
    old = without_key("GET", balance, headers={"X-API-Key": "the-old-key"})
    assert old.status_code == 401
    assert second.http.get("/billing/balance").status_code == 200
    keys = sqlite3.connect(tmp_path / "sandbox.sqlite3")
    with closing(keys):
        assert keys.execute("SELECT count(*) FROM api_key").fetchone() == (1,)


KEYED = OTHER.replace(
    "start_embedded\nrunning = start_embedded(sys.argv[1])",
    "Sandbox, start\nrunning = start(Sandbox(sys.argv[1], api_key='the-first-key'))",
)


def test_a_take_over_keeps_the_key_that_all_clients_have(
    tmp_path: Path, other: Callable[..., Other]
) -> None:
    first = other(KEYED)
    second = start(Sandbox(tmp_path / "data", api_key="the-second-key"))
    assert second.api_key == "the-first-key"

    first.kill()

    until(lambda: second.is_served_here)
    balance = f"{second.base_url}/billing/balance"
    known = without_key("GET", balance, headers={"X-API-Key": "the-first-key"})
    assert known.status_code == 200
    assert second.clear_faults() == 0
    second.stop()


def test_a_take_over_that_fails_is_tried_again(
    tmp_path: Path, other: Callable[..., Other], caplog: pytest.LogCaptureFixture
) -> None:
    first = other()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        second = start(Sandbox(tmp_path / "data", port=port))
        first.kill()
        until(lambda: f"port {port}" in caplog.text)
        assert not second.is_served_here

    until(lambda: second.is_served_here)
    assert answers(second.base_url)
    second.stop()


CONNECT = """
import sys
import mediakit as mk
try:
    mk.connect(home=sys.argv[1])
except mk.ServiceError as error:
    print(error)
"""


def test_an_owner_that_hangs_is_a_readable_error(
    tmp_path: Path, other: Callable[..., Other]
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "sandbox").symlink_to(tmp_path / "data")
    owner = other()
    os.kill(owner.process.pid, signal.SIGSTOP)
    try:
        # Far more than the fifteen seconds that a start takes at most.
        run = zygote.start(CONNECT, str(tmp_path / "home"))
        said, _ = run.finish()
    finally:
        os.kill(owner.process.pid, signal.SIGCONT)

    assert run.returncode == 0
    assert f"(number {owner.process.pid}) serves" in said
    assert "does not respond" in said


def test_an_owner_that_hangs_does_not_delay_other_sandboxes(
    tmp_path: Path, other: Callable[..., Other]
) -> None:
    owner = other()
    os.kill(owner.process.pid, signal.SIGSTOP)
    hanging = threading.Thread(
        target=lambda: start(Sandbox(tmp_path / "data")), daemon=True
    )
    try:
        hanging.start()
        time.sleep(0.3)  # it waits for the owner by now
        elsewhere = start(Sandbox(tmp_path / "elsewhere"))
        assert hanging.is_alive()
        assert answers(elsewhere.base_url)
        elsewhere.stop()
    finally:
        os.kill(owner.process.pid, signal.SIGCONT)
    hanging.join()
    start(Sandbox(tmp_path / "data")).stop()


class AnotherProgram(LoopbackServer):
    """Answers everything with a page."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port=port)
        self.seen = threading.Event()

    def answer(self, asked: Asked) -> Said:
        self.seen.set()
        return Said("<h1>Hello</h1>")


def test_another_program_at_the_old_address_does_not_disturb_a_start(
    tmp_path: Path, other: Callable[..., Other]
) -> None:
    first = other()
    first.kill()
    port = int(first.words[0].rpartition(":")[2])
    with (
        AnotherProgram(port) as page,
        (tmp_path / "data" / "lock").open("r+") as starting,
    ):
        # A process that is starting has the lock and has not announced itself yet.
        fcntl.flock(starting, fcntl.LOCK_EX)

        def release_once_seen() -> None:
            page.seen.wait()
            fcntl.flock(starting, fcntl.LOCK_UN)

        releasing = threading.Thread(target=release_once_seen)
        releasing.start()
        running = start_embedded(tmp_path / "data")
        releasing.join()

        assert running.is_served_here
        assert running.base_url != first.words[0]
        running.stop()


def test_a_call_that_reaches_another_program_is_a_readable_error() -> None:
    with (
        AnotherProgram() as page,
        pytest.raises(ServiceError, match="Another program answers"),
    ):
        call(page.base_url, "a-key", "POST", "reset", {"confirm": True})


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """Create files that others can read, as most machines do."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_files_in_a_readable_folder_are_private(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    tmp_path.chmod(0o755)
    first = sandboxes(tmp_path, concurrency=0)
    first.submit("text-to-video", {"prompt": "a kite"})
    assert readable_by_others(tmp_path) == []
    first.running.stop()
    for path in tmp_path.iterdir():  # as a copy may leave them
        path.chmod(0o755 if path.is_dir() else 0o644)
    (tmp_path / "scratch" / ".DS_Store").write_bytes(b"x")  # a file browser's

    sandboxes(tmp_path, concurrency=0)

    assert readable_by_others(tmp_path) == []


def readable_by_others(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.stat().st_mode & 0o077)


def test_a_file_system_without_locks_is_a_readable_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    monkeypatch.setenv("MEDIAKIT_HOME", str(tmp_path))

    with pytest.raises(ServiceError, match="folder on a local disk"):
        mk.connect()


def test_the_data_directory_stays_locked_for_as_long_as_the_server_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def hang(renderer: Renderer) -> None:
        released.wait()

    monkeypatch.setattr(Renderer, "close", hang)
    running = start(Sandbox(tmp_path))
    running.stop(timeout_s=0.1)

    assert DataDir(tmp_path).try_lock() is None
    released.set()
    until(lambda: is_free(tmp_path))


def test_an_interrupted_start_leaves_no_server_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(server: uvicorn.Server) -> bool:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return True

    interrupt = property(started, lambda server, value: None)
    before = set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr(uvicorn.Server, "started", interrupt, raising=False)
        with pytest.raises(KeyboardInterrupt):
            start(Sandbox(tmp_path))

    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if "sandbox" in thread.name] == []
    assert is_free(tmp_path)
    start(Sandbox(tmp_path)).stop()


def is_free(data_dir: Path) -> bool:
    lock = DataDir(data_dir).try_lock()
    if lock is not None:
        os.close(lock)
    return lock is not None


def test_it_works_beside_a_loop_in_the_main_thread_and_handles_no_signals(
    tmp_path: Path,
) -> None:
    handler = signal.getsignal(signal.SIGINT)

    async def cell() -> int:
        running = start_embedded(tmp_path)
        async with httpx.AsyncClient(
            trust_env=False, verify=False, timeout=120
        ) as http:
            answer = await http.get(f"{running.base_url}/openapi.json")
        running.stop()
        return answer.status_code

    assert asyncio.run(cell()) == 200
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize("end", ["leave", "kill"])
def test_an_attached_process_takes_over_at_the_same_address(
    tmp_path: Path, other: Callable[..., Other], end: str
) -> None:
    first = other()
    attached = start_embedded(tmp_path / "data")
    assert not attached.is_served_here

    getattr(first, end)()

    until(lambda: attached.is_served_here)
    assert attached.base_url == first.words[0]
    assert answers(attached.base_url)
    attached.stop()


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    lists = [(task / "children").read_text() for task in tasks.iterdir()]
    return [int(child) for text in lists for child in text.split()]


def alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("end", [pytest.param("leave", marks=pytest.mark.soak), "kill"])
def test_the_render_worker_ends_with_its_process(
    other: Callable[..., Other], end: str
) -> None:
    first = other()
    until(lambda: children_of(first.process.pid))
    workers = children_of(first.process.pid)

    getattr(first, end)()

    until(lambda: not any(map(alive, workers)))


def test_a_process_that_exits_without_closing_exits_cleanly(
    other: Callable[..., Other],
) -> None:
    first = other(OTHER.replace("sys.stdin.read()", "raise SystemExit(3)"))

    assert first.leave() == 3


FORKING = OTHER.replace(
    "sys.stdin.read()",
    """
import os, signal, httpx
child = os.fork()
if child == 0:
    assert not running.is_served_here
    running.stop()
    other = start_embedded(sys.argv[1])
    assert other.base_url == running.base_url and not other.is_served_here
    sys.exit(0)
_, status = os.waitpid(child, 0)
answer = httpx.get(running.base_url + "/openapi.json", timeout=120)
orphan = os.fork()
if orphan == 0:
    os.close(1)
    signal.pause()
print(status, answer.status_code, running.is_served_here, orphan, flush=True)
sys.stdin.read()
""",
)


def test_a_forked_child_breaks_nothing_and_holds_nothing(
    tmp_path: Path, other: Callable[..., Other]
) -> None:
    first = other(FORKING)
    *words, orphan = first.line().split()
    assert words == ["0", "200", "True"]

    first.process.kill()
    running = start_embedded(tmp_path / "data")

    # The dead owner's child still lives and holds neither the lock nor the port.
    assert alive(int(orphan))
    assert running.is_served_here
    assert running.base_url == first.words[0]
    running.stop()
    os.kill(int(orphan), signal.SIGKILL)
