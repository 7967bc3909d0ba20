import asyncio
import json
import subprocess
import sys
import threading

import pytest

from mediakit.client.loop import IOThread, io_thread


async def where() -> int:
    await asyncio.sleep(0)
    return threading.get_ident()


def test_a_process_has_one_io_thread_and_it_is_not_the_caller() -> None:
    assert io_thread() is io_thread()
    assert io_thread().call(where) != threading.get_ident()


def test_a_call_works_while_the_callers_own_loop_runs() -> None:
    async def in_a_cell() -> int:
        return io_thread().call(where)

    with asyncio.Runner() as runner:
        assert runner.run(in_a_cell()) == io_thread().call(where)


def test_a_blocking_call_on_the_io_thread_itself_is_refused_instead_of_hanging() -> (
    None
):
    io = IOThread()

    async def blocking() -> int:
        return io.call(where)

    with pytest.raises(RuntimeError, match="wait for itself"):
        io.call(blocking)


def test_an_error_there_reaches_the_caller() -> None:
    async def broken() -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        io_thread().call(broken)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_forked_process_gets_an_io_thread_of_its_own() -> None:
    script = """
import os, signal
from mediakit.client.loop import io_thread
async def pid(): return os.getpid()
assert io_thread().call(pid) == os.getpid()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if io_thread().call(pid) == os.getpid() else 3)
_, status = os.waitpid(child, 0)
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=30, check=False)

    assert done.returncode == 0


def test_a_process_with_an_io_thread_ends_by_itself() -> None:
    script = """
import asyncio
from mediakit.client.loop import io_thread
io_thread().post(asyncio.sleep, 3600)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=30, check=False)

    assert done.returncode == 0


POSTS_AT_THE_END = """
import asyncio, atexit, json, threading, time

outcomes, threads = [], []

def outcome(post):
    try:
        post().result(20)
        return "done"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"

@atexit.register  # the last handler that runs
def report():
    for thread in threads:
        thread.join(25)
    outcomes.append(outcome(lambda: io.post(asyncio.sleep, 60)))
    print(json.dumps(outcomes))

from mediakit.client.loop import io_thread
io = io_thread()

ending, posting = threading.Event(), threading.Event()
atexit.register(ending.set)  # runs before the I/O thread stops
at_once = asyncio.run_coroutine_threadsafe

def late(coroutine, loop):
    posting.set()
    ending.wait(20)
    time.sleep(0.5)
    return at_once(coroutine, loop)

asyncio.run_coroutine_threadsafe = late

def post():
    outcomes.append(outcome(lambda: io.post(asyncio.sleep, 60)))

threads.append(threading.Thread(target=post, daemon=True))
threads[0].start()
posting.wait(20)
"""


def test_what_is_posted_while_the_process_exits_is_cancelled_or_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", POSTS_AT_THE_END],
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode == 0
    at_the_end, after_it = json.loads(done.stdout)
    assert at_the_end == "CancelledError: "
    assert after_it.startswith("RuntimeError: the process is exiting")
