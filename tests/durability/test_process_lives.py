"""A client across threads, forks, event loops and process exits."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient, Client
from mediakit.backend import Settings
from mediakit.errors import (
    BalanceError,
    InputError,
    JobFailedError,
    MediakitError,
    RateLimitError,
    WaitTimeoutError,
)
from mediakit.history import EntryState
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support import zygote
from tests.support.clients import http_client
from tests.support.samples.media_samples import make_png


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox that accepts jobs but starts none."""
    data = tmp_path_factory.mktemp("idle")
    running = start(Sandbox(data, concurrency=0, queue_size=1_000))
    yield running
    running.stop()


def client_of(running: RunningSandbox, home: Path) -> Client:
    return Client(running.base_url, running.api_key, home=home)


def kite(client: Client, prompt: str = "a kite", **more: Any) -> str:
    return client.submit("text-to-video", prompt=prompt, duration=3, **more).id


def life(script: str, running: RunningSandbox, home: Path) -> list[Any]:
    """Run a script in a separate process with all warnings enabled.

    Returns:
        Its output, one JSON value per line; its stderr must be empty.
    """
    environment = {
        "MEDIAKIT_BASE_URL": running.base_url,
        "MEDIAKIT_API_KEY": running.api_key,
        "MEDIAKIT_HOME": str(home),
    }
    process = zygote.start(script, environment=environment)
    said, errors = process.finish()
    assert errors == ""
    assert process.returncode == 0
    return [json.loads(line) for line in said.splitlines()]


def is_received(running: RunningSandbox) -> bool:
    """Return whether the delayed request has reached the sandbox.

    Before that, a cancelled call has sent nothing, and leaves nothing.
    """
    with http_client(running.base_url, running.api_key) as http:
        return not http.get("/sandbox/faults").json()["data"]


# -- ends ------------------------------------------------------------------------------


LEAVES = """
import mediakit as mk
client = mk.Client()
jobs = [client.submit("text-to-video", prompt=f"left {n}", duration=3) for n in "123"]
print('"' + jobs[-1].id + '"')
"""


CONNECTS = """
import contextlib, io
import mediakit as mk
with contextlib.redirect_stdout(io.StringIO()):
    mk.connect()  # takes the jobs up in the background
"""


def test_a_process_that_ends_with_jobs_in_flight_says_nothing_and_keeps_them(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    [last] = life(LEAVES, idle, tmp_path)
    assert life(CONNECTS, idle, tmp_path) == []

    with client_of(idle, tmp_path) as client:
        resumed = client.resume()
        assert len(resumed) == 3
        assert resumed[-1].id == last
        assert kite(client, "left 3") == last


LEAVES_UNANSWERED = """
import os, threading
import httpx
import mediakit as mk

def is_received():
    url = os.environ["MEDIAKIT_BASE_URL"] + "/sandbox/faults"
    headers = {"X-API-Key": os.environ["MEDIAKIT_API_KEY"]}
    return not httpx.get(url, headers=headers, trust_env=False).json()["data"]

client = mk.Client()
names = {"prompt": "left unanswered", "duration": 3}
asking = threading.Thread(
    target=client.submit, args=("text-to-video",), kwargs=names, daemon=True
)
asking.start()
while not is_received():
    pass
"""


def test_a_submission_whose_process_ended_is_resumed_by_the_next_process(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    idle.fault("latency", seconds=2, count=1, where={"method": "POST"})
    life(LEAVES_UNANSWERED, idle, tmp_path)

    with client_of(idle, tmp_path) as client:
        [resumed] = client.resume()
        assert kite(client, "left unanswered") == resumed.id
        assert len(client.history.frame()) == 1


# -- threads ---------------------------------------------------------------------------


def test_threads_share_one_client_and_each_request_is_paid_once(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    with client_of(idle, tmp_path) as client, ThreadPoolExecutor(8) as threads:
        prompts = [f"thread {n % 4}" for n in range(24)]
        ids = list(threads.map(lambda prompt: kite(client, prompt), prompts))

        assert len(set(ids)) == 4
        assert len(client.history.frame()) == 4


# -- other processes -------------------------------------------------------------------


FORKS = """
import json, os, signal
import mediakit as mk
client = mk.Client()
made = client.submit("text-to-image", prompt="before the fork")
reader, writer = os.pipe()

def error_of(call):
    try:
        call()
    except mk.MediakitError as error:
        return str(error)

def again():
    return client.submit("text-to-image", prompt="before the fork")

child = os.fork()
if child == 0:
    signal.alarm(90)
    errors = [error_of(again), error_of(made.wait), error_of(client.balance)]
    with mk.Client() as client:
        same = again()
        same.wait().settle()
        told = [errors, same.id == made.id, same.status]
    os.write(writer, json.dumps(told).encode())
    raise SystemExit
_, status = os.waitpid(child, 0)
print(os.read(reader, 10_000).decode())
made.wait().settle()
print(json.dumps([again().id == made.id, made.status]))
print(status)
print(len(client.history.frame()))
client.close()
"""


def test_a_forked_process_has_to_connect_and_then_finds_the_same_job(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    child, parent, status, submits = life(FORKS, sandbox, tmp_path)

    errors, *rest = child
    assert all("before the process forked" in error for error in errors)
    assert rest == parent == [True, "completed"]
    assert status == 0
    assert submits == 1


FORKS_OFTEN = """
import os, signal, threading
import mediakit as mk
client = mk.Client()
stop = threading.Event()

def traffic():
    number = 0
    while not stop.is_set():
        number += 1
        client.submit("text-to-video", prompt=f"traffic {number % 20}", duration=3)

busy = [threading.Thread(target=traffic) for _ in range(2)]
for thread in busy:
    thread.start()
codes = []
for number in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        with mk.Client() as own:
            own.submit("text-to-video", prompt=f"child {number}", duration=3)
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in busy:
    thread.join()
print(codes)
"""


def test_forks_in_the_middle_of_traffic_leave_no_child_hanging(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    [codes] = life(FORKS_OFTEN, idle, tmp_path)

    assert codes == [0] * 12


FORKS_WHILE_COMPUTING = """
import os, signal, threading
from mediakit.forks import cached_property
begun, done = threading.Event(), threading.Event()

class Slow:
    @cached_property
    def number(self):
        begun.set()
        done.wait()
        return 7

thread = threading.Thread(target=lambda: Slow().number)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(600)
    done.set()
    os._exit(Slow().number)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
done.set()
thread.join()
"""


def test_a_child_forked_while_a_cached_property_is_computed_computes_it_too(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    assert life(FORKS_WHILE_COMPUTING, idle, tmp_path) == [7]


WORKERS = """
import json, multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import mediakit as mk

def work(prompt):
    with mk.Client() as client:
        return client.submit("text-to-image", prompt=prompt).id

def fail(code):
    with mk.Client() as client:
        client.run("text-to-image", prompt=f"sandbox:fail={code}")

def wrong(duration):
    with mk.Client() as client:
        client.submit("text-to-video", prompt="a", duration=duration)

if __name__ == "__main__":
    context = multiprocessing.get_context(METHOD)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        print(json.dumps(list(pool.map(work, ["one", "two", "one"]))))
        errors = [pool.submit(fail, "timed_out"), pool.submit(wrong, 99)]
        failed, refused = [future.exception() for future in errors]
    print(json.dumps([type(failed).__name__, failed.code, failed.job.id, str(failed)]))
    print(json.dumps([type(refused).__name__, refused.field, refused.got]))
"""


@pytest.mark.parametrize(
    "method", [pytest.param("spawn", marks=pytest.mark.soak), "fork"]
)
def test_workers_create_their_own_clients_and_return_their_errors(
    sandbox: RunningSandbox, tmp_path: Path, method: str
) -> None:
    script = WORKERS.replace("METHOD", repr(method))
    ids, failed, refused = life(script, sandbox, tmp_path)

    assert ids[0] == ids[2] != ids[1]
    kind, code, job_id, sentence = failed
    assert (kind, code) == ("JobFailedError", "timed_out")
    assert job_id in sentence
    assert refused == ["InputError", "duration", 99]


def test_objects_with_a_key_or_a_connection_cannot_be_pickled(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    with client_of(idle, tmp_path) as client:
        job = client.submit("text-to-video", prompt="stays", duration=3)
        settings = Settings.read("https://a.test", "a-key", home=tmp_path)
        here = (client, client.core, job, job.core, client.service, settings)
        for thing in here:
            with pytest.raises(TypeError, match="stays in its process"):
                pickle.dumps(thing)
            with pytest.raises(TypeError, match="stays in its process"):
                copy.deepcopy(thing)
        with pytest.raises(TypeError, match=r"client\.job\(job_id\)"):
            pickle.dumps(job)


def test_errors_survive_pickling_between_processes(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    with client_of(idle, tmp_path) as client:
        job = client.submit("text-to-video", prompt="errors", duration=3)
        errors: list[MediakitError] = [
            InputError("a", got=object(), accepted="b", spec="4.3"),
            RateLimitError("later", retry_after_s=2.0, status=429),
            BalanceError("no", needed_micro_usd=3, available_micro_usd=1),
            JobFailedError("failed", job=job, code="timed_out"),
            WaitTimeoutError("waited", job=job, waited_s=1.5),
        ]
        for error in errors:
            back = pickle.loads(pickle.dumps(error))
            assert type(back) is type(error)
            assert str(back) == str(error)
            named = {k: getattr(v, "id", v) for k, v in vars(error).items()}
            told = {k: getattr(v, "id", v) for k, v in vars(back).items()}
            assert told | {"got": 0} == named | {"got": 0}


# -- loops -----------------------------------------------------------------------------


def test_the_blocking_client_works_inside_a_running_loop(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    async def main() -> str:
        with client_of(sandbox, tmp_path) as client:
            job = client.run("text-to-image", prompt="inside")
            return job.status.value

    with asyncio.Runner() as runner:
        assert runner.run(main()) == "completed"


TWO_RUNS = """
import asyncio, json
import mediakit as mk
client = mk.AsyncClient()

async def main():
    job = await client.run("text-to-image", prompt="two runs")
    return (await client.job(job.id)).id

first, second = asyncio.run(main()), asyncio.run(main())
print(json.dumps(first == second))

async def once():
    async with mk.AsyncClient() as another:
        return (await another.submit("text-to-image", prompt="two runs")).id

print(json.dumps(asyncio.run(once()) == first))
"""


def test_an_async_client_serves_several_loops_in_turn_and_exits_silently(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    assert life(TWO_RUNS, sandbox, tmp_path) == [True, True]


def test_two_loops_at_once_use_one_async_client(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    client = AsyncClient(sandbox.base_url, sandbox.api_key, home=tmp_path)
    together = threading.Barrier(2)

    async def use(name: str) -> list[str]:
        together.wait()
        jobs = [
            await client.submit("text-to-image", prompt=prompt)
            for prompt in ("both loops", name)
        ]
        for job in jobs:
            await job.wait()
            await job.settle()
        return [job.id for job in jobs]

    def loop(name: str) -> list[str]:
        with asyncio.Runner() as runner:
            return runner.run(use(name))

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(loop, ["one loop", "the other loop"])
    with asyncio.Runner() as runner:
        runner.run(client.aclose())

    assert first[0] == second[0]
    assert first[1] != second[1]


def test_closing_on_another_loop_ends_waits_and_closes_all_connections(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    client = AsyncClient(idle.base_url, idle.api_key, home=tmp_path)
    waiting = threading.Event()
    said: list[str] = []

    async def wait() -> None:
        job = await client.submit("text-to-video", prompt="elsewhere", duration=3)
        job.subscribe(lambda _: waiting.set())
        with pytest.raises(WaitTimeoutError) as caught:
            await job.wait()
        said.append(str(caught.value))

    def elsewhere() -> None:
        with asyncio.Runner() as runner:
            runner.run(wait())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    assert waiting.wait()
    with asyncio.Runner() as runner:
        runner.run(client.aclose())
    thread.join()

    assert "closed" in said[0]
    assert "continues" in said[0]


def test_a_submit_that_is_cancelled_is_found_by_the_same_call(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    idle.fault("latency", seconds=5, count=1, where={"method": "POST"})

    async def main() -> tuple[list[str], str, str]:
        async with AsyncClient(idle.base_url, idle.api_key, home=tmp_path) as client:
            asked: dict[str, Any] = {"prompt": "cancelled", "duration": 3}
            asking = asyncio.ensure_future(client.submit("text-to-video", **asked))
            while not is_received(idle):  # noqa: ASYNC110 - nothing tells it
                await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            states = [entry.state.value for entry in client.components.store.page()]
            first = await client.submit("text-to-video", **asked)
            again = await client.submit("text-to-video", **asked)
            return states, first.id, again.id

    with asyncio.Runner() as runner:
        states, first, again = runner.run(main())
    assert states == ["unanswered"]
    assert first == again


# -- interrupts ------------------------------------------------------------------------


@contextmanager
def interrupted_when(ready: Callable[[], bool]) -> Iterator[None]:
    """Send SIGINT as soon as a condition is true."""
    done = threading.Event()

    def press() -> None:
        while not ready() and not done.wait(0.01):
            pass
        if not done.is_set():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        yield
    finally:
        done.set()
        pressing.join()
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_during_a_submit_loses_nothing_and_says_what_to_do(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    idle.fault("latency", seconds=5, count=1, where={"method": "POST"})
    with client_of(idle, tmp_path) as client:
        with (
            interrupted_when(partial(is_received, idle)),
            pytest.raises(KeyboardInterrupt, match="repeat the call"),
        ):
            kite(client, "interrupted")
        found = kite(client, "interrupted")

        assert len(client.history.frame()) == 1
        [entry] = client.components.store.page()
        assert entry.job_id == found
        assert entry.state is EntryState.SUBMITTED


def test_an_interrupt_during_an_upload_sends_nothing(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "cat.png", (32, 32))
    asked = threading.Event()
    idle.fault("latency", seconds=30, count=1, where={"path": "uploads"})
    with client_of(idle, tmp_path) as client:
        client.balance()

        def is_uploading() -> bool:
            return asked.wait(0.5)

        threading.Timer(0.3, asked.set).start()
        with interrupted_when(is_uploading), pytest.raises(KeyboardInterrupt):
            client.submit("image-upscale", image_url=picture)

        assert len(client.history.frame()) == 0
        assert client.submit("image-upscale", image_url=picture).status == "queued"
    idle.clear_faults()


# -- closed ----------------------------------------------------------------------------


def test_a_closed_client_says_so_and_its_history_can_still_be_read(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    client = client_of(idle, tmp_path)
    job = client.submit("text-to-video", prompt="closed", duration=3)
    with client:
        pass
    client.close()

    calls: list[Callable[[], object]] = [
        lambda: kite(client, "never sent"),
        lambda: kite(client, "closed"),
        client.balance,
        client.resume,
        lambda: client.job(job.id),
        client.spend.daily,
        job.wait,
        job.settle,
        job.refresh,
        job.download,
    ]
    for call in calls:
        with pytest.raises(MediakitError, match="This client is closed"):
            call()
    assert len(client.history.frame()) == 1
    assert job.status == "queued"


def test_closing_ends_a_call_that_waits(idle: RunningSandbox, tmp_path: Path) -> None:
    client = client_of(idle, tmp_path)
    job = client.submit("text-to-video", prompt="waits", duration=3)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(job.wait)
        client.close()
        error = waiting.exception()

    assert isinstance(error, MediakitError)
    assert "closed" in str(error)


@pytest.mark.parametrize("call", ["wait", "settle", "run"])
def test_a_task_that_waits_when_the_client_closes_gets_an_error(
    idle: RunningSandbox, tmp_path: Path, call: str
) -> None:
    async def main() -> tuple[BaseException, str]:
        async with AsyncClient(idle.base_url, idle.api_key, home=tmp_path) as client:
            body: dict[str, Any] = {"prompt": f"block {call}", "duration": 3}
            job = await client.submit("text-to-video", **body)
            waits: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
                "wait": job.wait,
                "settle": job.settle,
                "run": partial(client.run, "text-to-video", **body),
            }
            waiting = asyncio.ensure_future(waits[call]())
            await asyncio.wait([waiting], timeout=0.5)
            assert not waiting.done()
        [error] = await asyncio.gather(waiting, return_exceptions=True)
        assert isinstance(error, BaseException)
        return error, job.id

    with asyncio.Runner() as runner:
        error, job_id = runner.run(main())
    assert type(error) is WaitTimeoutError
    assert str(error).startswith("The client was closed.")
    assert f"{job_id} (queued). The job continues" in str(error)
