"""Recorded events are handled at least once, despite failures, restarts and kills."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Thread

import httpx
import pytest

import mediakit as mk
from mediakit.clock import SystemClock
from mediakit.webhooks import Event, Inbox, receiver
from mediakit.webhooks.inbox import LEASE_S, PAUSES_S
from tests.support import zygote
from tests.support.servers.serving import free_port
from tests.support.virtual_clock import VirtualClock
from tests.webhooks.messages import SECRET, body_of, message, post


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    inbox = Inbox(tmp_path / "above" / "below" / "inbox.db")
    yield inbox
    inbox.close()


CLOCK = VirtualClock()  # nobody else's
NOW = CLOCK.now()
LEASE = timedelta(seconds=LEASE_S)


def test_events_are_handled_once_and_in_order_of_arrival(
    inbox: Inbox,
) -> None:
    other = Inbox(inbox.place)
    for n in range(4):
        inbox.add(f"msg_{n}", b"", NOW)
    taken = [one.claim(NOW) for one in (inbox, other, inbox, other, inbox)]
    other.close()

    assert [noted and noted.id for noted in taken] == [
        *(f"msg_{n}" for n in range(4)),
        None,
    ]


def test_only_the_id_of_a_handled_event_is_kept_in_a_private_file_and_folders(
    inbox: Inbox,
) -> None:
    body = b"https://media.test/private-output"
    inbox.add("msg_1", body, NOW)
    noted = inbox.claim(NOW)
    assert noted is not None
    inbox.finish(noted, handled=True)
    file = Path(inbox.place)
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (file, *list(file.parents)[:2])]

    assert (modes, inbox.count("handled")) == ([0o600, 0o700, 0o700], 1)
    with closing(sqlite3.connect(inbox.place)) as plain:
        assert plain.execute("SELECT body FROM mediakit_inbox").fetchall() == [(None,)]


def test_a_replay_is_not_ended_by_a_try_of_before_it(inbox: Inbox) -> None:
    inbox.add("msg_1", b"a", NOW)
    late = inbox.claim(NOW)
    assert late is not None
    inbox.finish(late, handled=False)
    assert inbox.add("msg_1", b"a", NOW)

    inbox.finish(late, handled=False)

    assert inbox.count("waiting") == 1


def test_processes_that_begin_together_share_a_new_file(tmp_path: Path) -> None:
    inboxes: list[Inbox] = []
    threads = [
        Thread(target=lambda: inboxes.append(Inbox(tmp_path / "inbox.db")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(inbox.add("msg_1", b"", NOW) for inbox in inboxes) == 1
    for inbox in inboxes:
        inbox.close()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no database, but long enough to be none" * 20)
    places = [tmp_path, tmp_path / "file", tmp_path / "file" / "below.db"]

    for place in places:
        with pytest.raises(mk.InputError, match=r"inbox must be .*opened and written"):
            receiver(SECRET, print, inbox=place)


# -- Handlers that fail ---------------------------------------------------------


async def until(holds: Callable[[], bool], clock: VirtualClock = CLOCK) -> None:
    """Advance a clock by ten minutes repeatedly until a condition is true."""
    while not holds():
        await clock.advance(600.0)
        await asyncio.sleep(0.005)


def test_a_failing_handler_is_retried_and_delays_no_other_event(
    inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    clock, calls = VirtualClock(), list[str]()

    async def fails_twice(event: Event) -> None:
        calls.append(event.id)
        if event.id == "msg_bad" and calls.count("msg_bad") < 3:
            raise RuntimeError("the database is away")

    async def run() -> None:
        hook = receiver(SECRET, fails_twice, inbox=inbox, clock=clock)
        inbox.add("msg_bad", body_of(), clock.now())
        inbox.add("msg_good", body_of(), clock.now())
        await hook.start()
        await until(lambda: inbox.count("handled") == 1)
        await until(lambda: inbox.count("handled") == 2, clock)
        await hook.stop()

    asyncio.run(run())

    assert calls == ["msg_bad", "msg_good", "msg_bad", "msg_bad"]
    assert "msg_bad was not handled (try 1)" in caplog.text
    assert "the database is away" in caplog.text


@pytest.mark.parametrize("is_async", [True, False])
def test_a_handler_that_always_fails_is_given_up_until_a_replay(
    inbox: Inbox, caplog: pytest.LogCaptureFixture, *, is_async: bool
) -> None:
    clock, calls, well = VirtualClock(), list[str](), list[str]()

    def fails(event: Event) -> None:
        if well:
            well.append(event.id)
            return
        calls.append(event.id)
        raise asyncio.CancelledError if is_async else ValueError("no")

    async def fails_later(event: Event) -> None:
        fails(event)

    async def run() -> None:
        handler = fails_later if is_async else fails
        hook = receiver(SECRET, handler, inbox=inbox, clock=clock)
        inbox.add("msg_1", body_of(), clock.now())
        await hook.start()
        await until(lambda: inbox.count("failed") == 1, clock)
        # The clock may have run past the lease of the last try, which is then claimed
        # again.
        await hook.stop()
        await hook.start()
        well.append("from now on")
        inbox.add("msg_1", body_of(), clock.now())
        await hook.start()
        await until(lambda: inbox.count("handled") == 1, clock)
        await hook.stop()

    asyncio.run(run())

    assert len(calls) == len(PAUSES_S) + 1
    assert well == ["from now on", "msg_1"]
    assert f"failed after {len(PAUSES_S) + 1} tries" in caplog.text


def test_an_event_that_kills_processes_is_abandoned(
    inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    clock, begun = VirtualClock(), list[Event]()
    inbox.add("msg_1", body_of(), clock.now() - timedelta(days=1))
    for n in range(len(PAUSES_S) + 1):
        assert inbox.claim(clock.now() - timedelta(days=1) + n * LEASE)

    async def run() -> None:
        hook = receiver(SECRET, begun.append, inbox=inbox, clock=clock)
        await hook.start()
        await until(lambda: inbox.count("failed") == 1)
        await hook.stop()

    asyncio.run(run())

    assert "msg_1 failed" in caplog.text
    assert begun == []


def test_a_clock_that_jumps_starts_no_handler_twice(inbox: Inbox) -> None:
    clock, begun, let_go = VirtualClock(), list[str](), asyncio.Event()

    async def slow(event: Event) -> None:
        begun.append(event.id)
        await let_go.wait()

    async def run() -> None:
        hook = receiver(SECRET, slow, inbox=inbox, clock=clock)
        inbox.add("msg_1", body_of(), clock.now())
        await hook.start()
        await until(lambda: bool(begun))
        for _ in range(10):  # as on a machine whose lid was closed
            await clock.advance(600.0)
            await asyncio.sleep(0.005)
        let_go.set()
        await until(lambda: inbox.count("handled") == 1)
        await hook.stop()

    asyncio.run(run())

    assert begun == ["msg_1"]


def test_stopping_waits_for_running_handlers(inbox: Inbox) -> None:
    begun, done = list[str](), list[str]()

    async def slow(event: Event) -> None:
        begun.append(event.id)
        await asyncio.sleep(0.05)
        done.append(event.id)

    async def run() -> None:
        hook = receiver(SECRET, slow, inbox=inbox)
        await hook.stop()  # it never began
        inbox.add("msg_1", body_of(), SystemClock().now())
        await hook.start()
        await until(lambda: bool(begun))
        await hook.stop()

    asyncio.run(run())
    assert done == begun == ["msg_1"]
    assert inbox.count("handled") == 1


# -- Kills ----------------------------------------------------------------------

PROGRAM = """
import asyncio, sys
from pathlib import Path
import uvicorn
from mediakit.webhooks import Inbox, receiver
port, secret, told, hangs = sys.argv[1:]

async def on_event(event):
    with Path(told).open("a") as file:
        file.write(f"{event.id}\\n")
    if hangs == "hangs":
        await asyncio.sleep(3600)

inbox = Inbox(Path(told).with_suffix(".db"), lease_s=3)
hook = receiver(secret, on_event, inbox=inbox)
async def app(scope, receive, send):
    if scope["type"] == "http" and scope["method"] == "GET":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})
    else:
        await hook(scope, receive, send)
uvicorn.run(app, port=int(port), log_level="warning")
"""


@contextmanager
def serving(url: str, *arguments: str) -> Iterator[zygote.Process]:
    """Run the program, which answers at a URL, while the block lasts."""

    def answers() -> bool:
        try:
            return httpx.get(url, trust_env=False, verify=False, timeout=120).is_success
        except httpx.TransportError:
            return False

    process = zygote.start(PROGRAM, *arguments)
    try:
        asyncio.run(until(answers))
        yield process
    finally:
        process.kill()
        process.finish()


def test_an_event_answered_with_204_is_handled_although_the_process_is_killed(
    tmp_path: Path,
) -> None:
    told, port, sent, last = tmp_path / "told.txt", free_port(), message(), message()
    url = f"http://127.0.0.1:{port}/"
    command = (str(port), SECRET, str(told))

    def ids() -> list[str]:
        return told.read_text().split() if told.exists() else []

    with serving(url, *command, "hangs") as process:
        assert post(url, sent).status_code == 204
        asyncio.run(until(lambda: ids() == [sent.id]))
        # It is still being handled: nobody else begins it, however long that takes.
        assert Inbox(told.with_suffix(".db")).claim(SystemClock().now()) is None
        process.kill(signal.SIGKILL)
        process.finish()
    with serving(url, *command, "ends"):
        asyncio.run(until(lambda: ids() == [sent.id] * 2))
        assert [post(url, one).status_code for one in (sent, last)] == [204] * 2
        asyncio.run(until(lambda: last.id in ids()))

    assert ids() == [sent.id, sent.id, last.id]
