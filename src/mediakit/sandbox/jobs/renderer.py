"""Renders jobs with worker processes, which all sandboxes of this process share."""

import asyncio
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from anyio import to_thread

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
    """Return the render request of a job; undeclared fields are left out."""
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
        changed=tuple(_changed(function, body)),
    )


def _changed(function: Function, body: Mapping[str, object]) -> Iterator[str]:
    """Find the fields that are not a default; a caption or the picture shows others."""
    for name, value in body.items():
        field = function.fields.get(name)
        if field is None:
            is_seen = not function.is_open
        else:
            is_medium = field.kind in ("media", "list") and field.required
            is_seen = value == field.default or is_medium
        if not is_seen:
            yield name


class WorkerPool:
    """The idle workers of this process; the last used one is taken first."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin without workers, as a forked process must: they are its parent's."""
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._renderers_n = 0

    def join(self) -> None:
        """Count a renderer: idle workers are kept while there is one."""
        with self._lock:
            self._renderers_n += 1

    def leave(self) -> None:
        """Stop counting a renderer; the last one ends the idle workers."""
        with self._lock:
            self._renderers_n -= 1
            left = [] if self._renderers_n else self._idle
            if left:
                self._idle = []
        for worker in left:
            worker.leave()

    def take(self) -> Worker | None:
        """Return an idle worker; None when there is none."""
        with self._lock:
            return self._idle.pop() if self._idle else None

    def give_back(self, worker: Worker) -> None:
        """Keep a worker that has answered, for whoever needs one next."""
        with self._lock:
            if is_wanted := self._renderers_n > 0:
                self._idle.append(worker)
        if not is_wanted:
            worker.leave()


POOL = WorkerPool()
os.register_at_fork(after_in_child=POOL.forget)


class Renderer:
    """Renders jobs in worker processes, each of which does one at a time.

    A worker is started when a job needs one and none is idle, and gets jobs only when
    all its imports are done. It is replaced after a number of jobs, because encoders do
    not release all memory, and when it crashes or takes too long.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        max_jobs_per_worker: int = 50,
        timeout_s: float = 300,
        pool: WorkerPool = POOL,
    ) -> None:
        self.workers_n = workers
        self._max_jobs = max_jobs_per_worker
        self._timeout_s = timeout_s
        self._pool = pool
        self._slots = asyncio.Semaphore(workers)
        self._busy: set[Worker] = set()
        self._closed = False

    async def start(self) -> None:
        """Prepare to render on the running loop; no process is started yet."""
        self._pool.join()

    async def warm(self) -> None:
        """Start a worker now, unless one is idle, to be ready for the first job."""
        async with self._slots:
            try:
                worker = await self._worker()
                await to_thread.run_sync(worker.warm, abandon_on_cancel=True)
            except WorkerGoneError as problem:
                logger.error("No render worker could be started: %s.", problem)
            else:
                self._pool.give_back(worker)
                self._busy.discard(worker)

    async def render(self, request: RenderRequest) -> Rendered:
        """Render one job, once a worker is free.

        The error of a failure is `invalid_input` for an input that cannot be used,
        `timed_out` for a job that took too long, `internal` otherwise.
        """
        return Rendered(**await self._answer(request))

    async def probe(
        self, job: str, media: Mapping[str, tuple[str, Path]]
    ) -> Mapping[str, float]:
        """Measure clips and sounds, once a worker is free; return seconds by field."""
        media_types = {field: medium for field, (medium, _) in media.items()}
        paths = {field: path for field, (_, path) in media.items()}
        request = RenderRequest(job, PROBE, media_types, paths, output=Path())
        seconds: dict[str, float] = (await self._answer(request))["seconds"]
        return seconds

    async def close(self) -> None:
        """End what is being rendered, which fails with `internal`."""
        if self._closed:
            return
        self._closed = True
        for worker in tuple(self._busy):
            await to_thread.run_sync(worker.kill)
        for _ in range(self.workers_n):  # every slot comes back
            await self._slots.acquire()
        for _ in range(self.workers_n):
            self._slots.release()
        await to_thread.run_sync(self._pool.leave)

    async def _answer(self, request: RenderRequest) -> dict[str, Any]:
        """Have a free worker handle a request; return the fields of its response."""
        async with self._slots:
            answer = await self._asked(request)
        if not answer["ok"]:
            raise RenderError(answer["code"], answer["message"])
        return {name: v for name, v in answer.items() if name not in ("job", "ok")}

    async def _asked(self, request: RenderRequest) -> dict[str, Any]:
        worker: Worker | None = None
        try:
            worker = await self._worker()
            await to_thread.run_sync(worker.warm, abandon_on_cancel=True)
            async with asyncio.timeout(self._timeout_s):
                answer = await to_thread.run_sync(
                    worker.ask, request.job, request.line(), abandon_on_cancel=True
                )
        except TimeoutError:
            assert worker is not None
            await to_thread.run_sync(worker.kill)
            message = (
                f"The render took longer than {self._timeout_s:g} s and was stopped."
            )
            raise RenderError("timed_out", message) from None
        except WorkerGoneError as problem:
            if worker is not None:
                await to_thread.run_sync(worker.crashed)
            message = f"The render worker failed: {problem}."
            raise RenderError.internal(message) from None
        except asyncio.CancelledError:
            if worker is not None:
                worker.kill()  # its response would be read as the next job's
            raise
        else:
            self._pool.give_back(worker)
            return answer
        finally:
            if worker is not None:
                self._busy.discard(worker)

    async def _worker(self) -> Worker:
        """Return a worker that is alive and below its number of jobs."""
        while (worker := self._pool.take()) and not worker.fit(self._max_jobs):
            await to_thread.run_sync(worker.leave)
        if self._closed:
            if worker is not None:
                self._pool.give_back(worker)
            raise WorkerGoneError("the renderer was closed")
        worker = worker or Worker()
        self._busy.add(worker)
        return worker
