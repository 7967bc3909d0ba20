"""Renders jobs with a pool of worker processes."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mediakit.catalog import Function
from mediakit.sandbox.render.protocol import PROBE, Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.worker_process import Worker, WorkerGoneError

logger = logging.getLogger(__name__)


def render_request(
    job: str,
    function: Function,
    body: Mapping[str, object],
    inputs: Mapping[str, Path],
    output: Path,
    seed: int = 0,
    *,
    sketch: bool = False,
) -> RenderRequest:
    """Return the render request of a job.

    Args:
        job: The job's id.
        function: The function. Fields that it does not declare are ignored.
        body: The canonical body.
        inputs: The paths of the body's media on disk, by URL.
        output: The file to write.
        seed: The same body and seed give the same output.
        sketch: Draw only the first frame of each shot of a film.
    """
    function = function.of(body)
    every, fields = function.is_open, function.fields
    return RenderRequest(
        job=job,
        kind=function.kind,
        body={n: value for n, value in body.items() if every or n in fields},
        inputs=inputs,
        output=output,
        seed=seed,
        limits=function.media_limits(body),
        media_type=function.media_type,
        media={item.label: item.kind for item in function.media(body)},
        sketch=sketch,
    )


class Renderer:
    """Renders jobs in worker processes, each of which does one at a time.

    A worker is started with the first job that needs it, and gets jobs only when all
    its imports are done. It is replaced after a number of jobs, because encoders do
    not release all memory, and when it crashes or takes too long.

    Args:
        workers: The number of jobs that are rendered at once.
        max_jobs_per_worker: The number of jobs after which a worker is replaced.
        timeout_s: The longest time for one job, real seconds.

    Attributes:
        workers_n: The number of jobs that are rendered at once.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        max_jobs_per_worker: int = 50,
        timeout_s: float = 300,
    ) -> None:
        self.workers_n = workers
        self._max_jobs = max_jobs_per_worker
        self._timeout_s = timeout_s
        # The last used worker is on top, so one job at a time needs one worker only.
        self._slots: asyncio.LifoQueue[_Slot] = asyncio.LifoQueue()
        self._all: list[_Slot] = []
        self._closed = False

    async def start(self) -> None:
        """Prepare to render on the running loop; no process is started yet."""
        self._all = [_Slot() for _ in range(self.workers_n)]
        for slot in self._all:
            self._slots.put_nowait(slot)

    async def warm(self) -> None:
        """Start a worker now, so that it is ready for the first job."""
        slot = await self._slots.get()
        try:
            await self._worker(slot)
        except WorkerGoneError as problem:
            logger.error("No render worker could be started: %s.", problem)
        finally:
            self._slots.put_nowait(slot)

    async def render(self, request: RenderRequest) -> Rendered:
        """Render one job, once a worker is free.

        Raises:
            RenderError: `invalid_input` for an input that cannot be used, `timed_out`
                for a job that took too long, `internal` otherwise.
        """
        return Rendered(**await self._answer(request))

    async def probe(
        self, job: str, media: Mapping[str, tuple[str, Path]]
    ) -> Mapping[str, float]:
        """Measure the lengths of clips and sounds, once a worker is free.

        Args:
            job: The job's id.
            media: The media type ("video" or "audio") and path of each, by field.

        Returns:
            Seconds by field, as the client measures them.

        Raises:
            RenderError: A file is not of its media type (`invalid_input`), or the
                worker failed (`timed_out`, `internal`).
        """
        media_types = {field: medium for field, (medium, _) in media.items()}
        paths = {field: path for field, (_, path) in media.items()}
        request = RenderRequest(job, PROBE, media_types, paths, output=Path())
        seconds: dict[str, float] = (await self._answer(request))["seconds"]
        return seconds

    async def _answer(self, request: RenderRequest) -> dict[str, Any]:
        """Have a free worker handle a request; return the fields of its response."""
        slot = await self._slots.get()
        try:
            worker = await self._worker(slot)
            async with asyncio.timeout(self._timeout_s):
                answer = await worker.ask(request.job, request.line())
        except TimeoutError:
            await slot.drop()
            message = (
                f"The render took longer than {self._timeout_s:g} s and was stopped."
            )
            raise RenderError("timed_out", message) from None
        except WorkerGoneError as problem:
            await slot.drop(crashed=True)
            message = f"The render worker failed: {problem}."
            raise RenderError.internal(message) from None
        except asyncio.CancelledError:
            await slot.drop()  # its response would be read as the next job's
            raise
        finally:
            self._slots.put_nowait(slot)
        if not answer["ok"]:
            raise RenderError(answer["code"], answer["message"])
        return {name: v for name, v in answer.items() if name not in ("job", "ok")}

    async def close(self) -> None:
        """Stop every worker; a job that is being rendered fails with `internal`."""
        self._closed = True
        for slot in self._all:
            slot.interrupt()
        # Every slot in use is returned, because its worker was killed.
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
        """Return a worker that is alive, warm and below its number of jobs."""
        if self._worker is not None and not self._worker.fit(max_jobs):
            await self.leave()
        if self._worker is None:
            self._worker = await Worker.warmed()
        return self._worker

    async def drop(self, *, crashed: bool = False) -> None:
        """Kill the worker; `crashed` when it ended by itself."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.killed(crashed=crashed)

    async def leave(self) -> None:
        """Let the worker exit by itself."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.left()

    def interrupt(self) -> None:
        """Kill a busy worker without waiting for it."""
        if self._worker is not None:
            self._worker.interrupt()
