"""The server's end of the renderer: warm worker processes, one job at a time each."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mediakit.catalog import Function
from mediakit.sandbox.render.process import Worker, WorkerGoneError
from mediakit.sandbox.render.protocol import PROBE, Order, Rendered, RenderError

logger = logging.getLogger(__name__)


def order_of(
    job: str,
    function: Function,
    body: Mapping[str, object],
    inputs: Mapping[str, Path],
    output: Path,
    seed: int = 0,
) -> Order:
    """Write the order for a job.

    Args:
        job: The job's id.
        function: The function. What its declaration does not name is passed over.
        body: The canonical body.
        inputs: Where the media of the body lie on disk, by URL.
        output: The file to write.
        seed: Makes two draws of one body differ, and one draw repeat itself.
    """
    function = function.of(body)
    every, fields = function.is_open, function.fields
    return Order(
        job=job,
        kind=function.kind,
        body={n: value for n, value in body.items() if every or n in fields},
        inputs=inputs,
        output=output,
        seed=seed,
        limits=function.media_limits(body),
        media_type=function.media_type,
        media={item.label: item.kind for item in function.media(body)},
    )


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

    async def render(self, order: Order) -> Rendered:
        """Render one job, once a worker is free.

        Raises:
            RenderError: `invalid_input` for an input that cannot be used, `timed_out`
                for a job that took too long, `internal` otherwise.
        """
        return Rendered(**await self._answer(order))

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
            RenderError: A file is not what it should be (`invalid_input`), or the
                worker failed (`timed_out`, `internal`).
        """
        media_types = {field: medium for field, (medium, _) in media.items()}
        paths = {field: path for field, (_, path) in media.items()}
        order = Order(job, PROBE, media_types, paths, output=Path())
        seconds: dict[str, float] = (await self._answer(order))["seconds"]
        return seconds

    async def _answer(self, order: Order) -> dict[str, Any]:
        """Have a free worker follow an order; return the fields of its answer."""
        slot = await self._slots.get()
        try:
            worker = await self._worker(slot)
            async with asyncio.timeout(self._timeout_s):
                answer = await worker.ask(order.job, order.line())
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
            await slot.drop()  # its answer would be taken for the next job's
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
        # Every slot in use is given back, because nothing is rendered now.
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
