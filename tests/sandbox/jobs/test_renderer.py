"""The renderer's processes: kept warm, replaced after failures, ended on close."""

import asyncio
import contextlib
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mediakit.media import probe
from mediakit.sandbox.jobs.renderer import Renderer, WorkerPool
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from tests.support.samples.media_samples import make_mp3, make_mp4, make_png, make_wav

T = TypeVar("T")
Use = Callable[[Renderer], Awaitable[T]]

# Reads the pipe and answers. It starts in a twentieth of the time of the real one,
# whose imports are large.
SMALL_WORKER = """
import os, socket
server = socket.socket(fileno=0)
while size := server.recv(4):
    if b"pipe.png" in server.recv(int.from_bytes(size)):
        open(os.path.join(os.path.dirname(__file__), "pipe"), "rb").read()
    server.sendall(b'{"result": ["image/jpeg", null]}\\n')
"""


def new_renderer(**settings: Any) -> Renderer:
    """Return a renderer that shares no workers with sandboxes of this process."""
    return Renderer(**{"pool": WorkerPool(), **settings})


def use(work: Use[T], renderer: Renderer | None = None) -> T:
    """Run `work` with a started renderer and close it."""
    renderer = renderer or new_renderer()

    async def run() -> T:
        try:
            return await work(renderer)
        finally:
            renderer.close()

    return asyncio.run(run())


@pytest.fixture(scope="module")
def shared() -> Iterator[WorkerPool]:
    """The pool of tests in which no process is started or ended on purpose."""
    pool = WorkerPool()
    pool.join()
    yield pool
    pool.leave()


def program(folder: Path, script: str) -> str:
    """Write a program that is a Python script, whatever it is started with."""
    code, path = folder / "worker.py", folder / "worker"
    code.write_text(script)
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{code}"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture(params=["small", pytest.param("real", marks=pytest.mark.soak)])
def _any_worker(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use small worker processes where only their lifecycle matters."""
    if request.param == "small":
        monkeypatch.setattr(sys, "executable", program(tmp_path, SMALL_WORKER))


any_worker = pytest.mark.usefixtures("_any_worker")


@pytest.fixture
def quick(tmp_path: Path) -> RenderRequest:
    """A job of a few milliseconds."""
    path = make_png(tmp_path / "p.png", (20, 10))
    url = "https://media.test/p.png"
    return RenderRequest(
        kind="image-upscale",
        body={"image_url": url, "upscale_factor": "x2"},
        inputs={url: path},
        output=tmp_path / "quick.part",
    )


@dataclass(frozen=True)
class Slow:
    """A job that never ends: its picture is a pipe without a writer."""

    request: RenderRequest
    pipe: Path
    ends: list[int]

    async def is_rendered(self) -> None:
        """Wait until a worker reads the picture."""
        while not self.ends:
            # There is no such end before the other one is open.
            with contextlib.suppress(OSError):
                self.ends.append(os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK))
            await asyncio.sleep(0.01)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    pipe, url = tmp_path / "pipe", "https://media.test/pipe.png"
    os.mkfifo(pipe)
    request = RenderRequest(
        kind="image-upscale",
        body={"image_url": url},
        inputs={url: pipe},
        output=tmp_path / "slow.part",
    )
    slow = Slow(request, pipe, [])
    yield slow
    for end in slow.ends:
        os.close(end)


@pytest.fixture
def pids(caplog: pytest.LogCaptureFixture) -> Callable[[], list[int]]:
    """Return the started workers, in order."""
    caplog.set_level(logging.DEBUG, "mediakit.sandbox")

    def started() -> list[int]:
        return [
            int(found[1])
            for message in caplog.messages
            if (found := re.fullmatch(r"render worker (\d+): started", message))
        ]

    return started


async def failure(renderer: Renderer, order: RenderRequest) -> RenderError:
    """Return why a job was not rendered."""
    with pytest.raises(RenderError) as failed:
        await renderer.render(order)
    return failed.value


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@any_worker
def test_a_killed_worker_is_watched_and_replaced_in_another_thread(
    quick: RenderRequest,
    slow: Slow,
    pids: Callable[[], list[int]],
) -> None:
    failures: list[RenderError] = []

    async def work(renderer: Renderer) -> None:
        task = asyncio.create_task(failure(renderer, slow.request))
        await slow.is_rendered()
        os.kill(pids()[0], signal.SIGKILL)
        failures.append(await task)
        await renderer.render(quick)

    thread = threading.Thread(target=lambda: use(work))
    thread.start()
    thread.join()
    [failed] = failures
    assert failed.code == "internal"
    assert failed.message == "The render worker failed: it ended without a response."
    assert len(set(pids())) == 2


@any_worker
def test_a_worker_that_died_between_two_jobs_is_replaced(
    quick: RenderRequest, pids: Callable[[], list[int]]
) -> None:
    pool = WorkerPool()

    async def work(renderer: Renderer) -> None:
        pool.warm()
        os.kill(pids()[0], signal.SIGKILL)
        while len(pids()) < 2:
            await asyncio.sleep(0.05)
            # A request that reaches a worker whose death is not known yet fails.
            with contextlib.suppress(RenderError):
                await renderer.render(quick)
        await renderer.render(quick)

    use(work, Renderer(pool=pool))


@any_worker
def test_a_job_that_takes_too_long_is_stopped(
    quick: RenderRequest, slow: Slow, pids: Callable[[], list[int]]
) -> None:
    async def work(patient: Renderer) -> RenderError:
        hasty = Renderer(pool=pool, timeout_s=0.2)
        late = await failure(hasty, slow.request)
        hasty.close()
        await patient.render(quick)
        return late

    pool = WorkerPool()
    late = use(work, Renderer(pool=pool))
    assert late.code == "timed_out"
    assert late.message == "The render took longer than 0.2 s and was stopped."
    assert len(pids()) == 2
    assert all(gone(pid) for pid in pids())


@any_worker
def test_a_worker_is_replaced_after_its_number_of_jobs(
    quick: RenderRequest, pids: Callable[[], list[int]]
) -> None:
    async def work(renderer: Renderer) -> None:
        for _ in range(2):
            await renderer.render(quick)

    use(work, Renderer(pool=WorkerPool(max_jobs=1)))
    assert len(set(pids())) == 2


@any_worker
def test_the_result_of_a_cancelled_render_is_not_used_for_the_next_one(
    quick: RenderRequest, slow: Slow
) -> None:
    async def work(renderer: Renderer) -> Rendered:
        task = asyncio.create_task(renderer.render(slow.request))
        await slow.is_rendered()
        task.cancel()
        return await renderer.render(quick)

    assert use(work).content_type == "image/jpeg"


def test_clips_and_sounds_are_measured_as_the_client_measures_them(
    tmp_path: Path, shared: WorkerPool
) -> None:
    media = {
        "https://media.test/a": ("video", make_mp4(tmp_path / "a", duration_s=1.3)),
        "https://media.test/b": ("audio", make_wav(tmp_path / "b", 2.345)),
        "https://media.test/c": ("audio", make_mp3(tmp_path / "c", 1.5)),
    }
    seconds = use(lambda renderer: renderer.probe(media), Renderer(pool=shared))
    assert seconds == {
        url: probe(path, "video" if kind == "video" else "audio", "field").duration_s
        for url, (kind, path) in media.items()
    }
    assert list(seconds.values()) == pytest.approx([1.3, 2.345, 1.5], abs=0.06)


@pytest.mark.parametrize(
    ("medium", "content"),
    [
        ("video", b""),
        ("video", b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n"),
        ("video", b"ID3 and no clip at all"),
        ("video", b"\x00\x00\x00\x18ftypmp42 and nothing after it"),
        ("audio", b"no sound at all"),
        ("audio", b"RIFF\x00\x00\x00\x00WAVE"),
    ],
)
def test_an_unreadable_medium_is_an_invalid_input_with_its_url(
    tmp_path: Path, shared: WorkerPool, medium: str, content: bytes
) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    media = {"https://media.test/a": (medium, path)}
    with pytest.raises(RenderError) as refused:
        use(lambda renderer: renderer.probe(media), Renderer(pool=shared))
    assert refused.value.code == "invalid_input"
    assert refused.value.message.startswith("https://media.test/a: the file cannot be ")
    assert str(path) not in refused.value.message


def test_the_last_output_of_a_failed_worker_is_logged(
    quick: RenderRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # More than a pipe holds.
    script = 'import sys\nsys.exit("many words " * 20_000 + "and the last")\n'
    monkeypatch.setattr(sys, "executable", program(tmp_path, script))
    assert use(lambda renderer: failure(renderer, quick)).code == "internal"
    assert "and the last" in caplog.text
    assert len(caplog.text) < 5_000


@pytest.mark.parametrize("program", ["/nonexistent/python", "/bin/false"])
def test_a_worker_that_does_not_start_is_an_internal_failure(
    program: str, quick: RenderRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    pool = WorkerPool()

    async def work(renderer: Renderer) -> RenderError:
        pool.warm()
        return await failure(renderer, quick)

    assert use(work, Renderer(pool=pool)).code == "internal"


@any_worker
def test_two_sandboxes_share_the_idle_workers(
    quick: RenderRequest, pids: Callable[[], list[int]]
) -> None:
    async def both(first: Renderer) -> None:
        await first.render(quick)
        second = Renderer(pool=pool)
        pool.warm()
        await second.render(quick)
        second.close()
        await first.render(quick)
        assert len(pids()) == 1

    pool = WorkerPool()
    use(both, Renderer(pool=pool))
    assert all(gone(pid) for pid in pids())


@any_worker
def test_stopping_a_sandbox_does_not_stop_renders_of_others(
    quick: RenderRequest, slow: Slow
) -> None:
    async def work(first: Renderer) -> str:
        second = Renderer(pool=pool)
        ending = asyncio.create_task(failure(second, slow.request))
        await slow.is_rendered()
        await first.render(quick)
        ending.cancel()
        second.close()
        return (await first.render(quick)).content_type

    pool = WorkerPool()
    assert use(work, Renderer(pool=pool)) == "image/jpeg"
