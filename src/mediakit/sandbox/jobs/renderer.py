"""The server's end of the renderer: warm worker processes, one job at a time each."""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mediakit.media_limits import MediaLimits
from mediakit.records import ErrorCode
from mediakit.sandbox.render.process import Worker, WorkerGoneError
from mediakit.sandbox.render.protocol import PROBE

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RenderRequest:
    """One job to render.

    Attributes:
        job: The job's id.
        kind: The function's kind, such as `text-to-video`.
        body: The canonical body: nulls dropped, defaults filled.
        inputs: Where the media of the body lie on disk, by URL.
        output: The file to write.
        seed: Makes two draws of one body differ, and one draw repeat itself.
        limits: What the function accepts of the media of each field.
        media_type: What the function makes: "video", "image" or "audio".
    """

    job: str
    kind: str
    body: Mapping[str, object]
    inputs: Mapping[str, Path]
    output: Path
    seed: int = 0
    limits: Mapping[str, MediaLimits] = field(default_factory=dict)
    media_type: str = "video"

    def line(self) -> bytes:
        """Return the order as the worker reads it."""
        fields = {
            "job": self.job,
            "kind": self.kind,
            "body": dict(self.body),
            "inputs": {url: str(path) for url, path in self.inputs.items()},
            "output": str(self.output),
            "seed": self.seed,
            "limits": {name: asdict(each) for name, each in self.limits.items()},
            "media_type": self.media_type,
        }
        return json.dumps(fields).encode() + b"\n"


@dataclass(frozen=True)
class RenderResult:
    """What became of a job; a failed one has a code and a message instead of a file.

    Attributes:
        job: The job's id.
        ok: Whether the output was written.
        code: Of spec 7.3, when it failed.
        message: A sentence, when it failed.
        content_type: The media type of the output.
        width: In pixels.
        height: In pixels.
        duration_ms: Length of a video; None for a picture.
        frames: Number of frames of a video; None for a picture.
        output_seconds: Length of a video in seconds; None for a picture.
    """

    job: str
    ok: bool
    code: str | None = None
    message: str | None = None
    content_type: str | None = None
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    frames: int | None = None
    output_seconds: float | None = None


class ProbeError(Exception):
    """Inputs that could not be measured, with a code of spec 7.3 and a sentence."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Renderer:
    """Renders jobs in worker processes, each of which does one at a time.

    A worker is started with the first job that needs it, and is given jobs only
    when all its imports are done. It leaves after a number of jobs, because encoders
    hold on to memory; one that crashes or takes too long is replaced.

    Args:
        workers: How many jobs are rendered at once.
        max_jobs_per_worker: After so many jobs a worker is replaced.
        timeout_s: Longest real time for one job.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        max_jobs_per_worker: int = 50,
        timeout_s: float = 300,
    ) -> None:
        self._workers = workers
        self._max_jobs = max_jobs_per_worker
        self._timeout_s = timeout_s
        # The one used last lies on top: a single job at a time warms one worker only.
        self._slots: asyncio.LifoQueue[_Slot] = asyncio.LifoQueue()
        self._all: list[_Slot] = []
        self._closed = False

    async def start(self) -> None:
        """Make ready to render on the running loop; no process is started yet."""
        self._all = [_Slot() for _ in range(self._workers)]
        for slot in self._all:
            self._slots.put_nowait(slot)

    async def warm(self) -> None:
        """Start a worker now, so that the first job finds it ready."""
        slot = await self._slots.get()
        try:
            await self._worker(slot)
        except WorkerGoneError as problem:
            logger.error("No render worker could be started: %s.", problem)
        finally:
            self._slots.put_nowait(slot)

    async def render(self, request: RenderRequest) -> RenderResult:
        """Render one job, once a worker is free.

        Returns:
            What was written, or why it was not: code `invalid_input` for an input
            that cannot be used, `timed_out` for a job that took too long, `internal`
            otherwise. Nothing is raised for a failed render.
        """
        return RenderResult(**await self._answer(request.job, request.line()))

    async def probe(
        self, job: str, media: Mapping[str, tuple[str, Path]]
    ) -> Mapping[str, float]:
        """Measure how long clips and sounds are, once a worker is free.

        Args:
            job: The job's id.
            media: What each is ("video" or "audio") and where it lies, by the field
                that names it.

        Returns:
            Seconds by field, as the client measures them.

        Raises:
            ProbeError: A file is not what it should be (`invalid_input`), or the
                worker failed (`timed_out`, `internal`).
        """
        answer = await self._answer(job, _probe_line(job, media))
        if not answer["ok"]:
            raise ProbeError(ErrorCode(answer["code"]), answer["message"])
        seconds: dict[str, float] = answer["seconds"]
        return seconds

    async def _answer(self, job: str, line: bytes) -> dict[str, Any]:
        """Have a free worker follow an order; what goes wrong is an answer, too."""
        slot = await self._slots.get()
        try:
            worker = await self._worker(slot)
            async with asyncio.timeout(self._timeout_s):
                return await worker.ask(job, line)
        except TimeoutError:
            await slot.drop()
            message = (
                f"The render took longer than {self._timeout_s:g} s and was stopped."
            )
            return _failed(job, ErrorCode.TIMED_OUT, message)
        except WorkerGoneError as problem:
            await slot.drop(crashed=True)
            message = f"The render worker failed: {problem}."
            return _failed(job, ErrorCode.INTERNAL, message)
        except asyncio.CancelledError:
            await slot.drop()  # its answer would be taken for the next job's
            raise
        finally:
            self._slots.put_nowait(slot)

    async def close(self) -> None:
        """Stop every worker; a job that is being rendered fails with `internal`."""
        self._closed = True
        for slot in self._all:
            slot.interrupt()
        # Whoever still holds a slot gives it back, because nothing is rendered now.
        free = [await self._slots.get() for _ in self._all]
        await asyncio.gather(*(slot.leave() for slot in free))
        for slot in free:
            self._slots.put_nowait(slot)

    async def _worker(self, slot: "_Slot") -> Worker:
        if not self._closed:
            worker = await slot.worker(self._max_jobs)
            if not self._closed:
                return worker
        raise WorkerGoneError("the renderer was closed")


class _Slot:
    """A place for one worker, which may be empty."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    async def worker(self, max_jobs: int) -> Worker:
        """Return a worker that is alive, warm and not used up."""
        if self._worker is not None and not self._worker.fit(max_jobs):
            await self.leave()
        if self._worker is None:
            self._worker = await Worker.warmed()
        return self._worker

    async def drop(self, *, crashed: bool = False) -> None:
        """Kill the worker; `crashed` when it was not the server who ended it."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.killed(crashed=crashed)

    async def leave(self) -> None:
        """Let the worker end by itself."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.left()

    def interrupt(self) -> None:
        """Kill a worker that is busy, without waiting for it."""
        if self._worker is not None:
            self._worker.interrupt()


def _probe_line(job: str, media: Mapping[str, tuple[str, Path]]) -> bytes:
    request = RenderRequest(
        job=job,
        kind=PROBE,
        body={url: medium for url, (medium, _) in media.items()},
        inputs={url: path for url, (_, path) in media.items()},
        output=Path(),
    )
    return request.line()


def _failed(job: str, code: ErrorCode, message: str) -> dict[str, Any]:
    return {"job": job, "ok": False, "code": code.value, "message": message}
