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
from mediakit.records import ErrorCode
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
            worker.end()

    def take(self, max_jobs: int) -> Worker:
        """Return an idle worker below its number of jobs, else a new one.

        Raises:
            WorkerGoneError: No process could be started.
        """
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.fit(max_jobs):
                    return worker
                worker.end()
        return Worker()

    def give_back(self, worker: Worker) -> None:
        """Keep a worker that has answered, for whoever needs one next."""
        with self._lock:
            if is_wanted := self._renderers_n > 0:
                self._idle.append(worker)
        if not is_wanted:
            worker.end()


POOL = WorkerPool()
os.register_at_fork(after_in_child=POOL.forget)


class Renderer:
    """Renders jobs in worker processes, each of which does one at a time.

    A worker is started when a job needs one and none is idle. It is replaced after a
    number of jobs, because encoders do not release all memory, and when it crashes or
    takes too long.
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
        pool.join()

    def warm(self) -> None:
        """Start a worker now, unless one is idle, which then imports all it needs."""
        try:
            self._pool.give_back(self._pool.take(self._max_jobs))
        except WorkerGoneError as problem:
            logger.error("No render worker could be started: %s.", problem)

    async def render(self, request: RenderRequest) -> Rendered:
        """Render one job, once a worker is free.

        The error of a failure is `invalid_input` for an input that cannot be used,
        `timed_out` for a job that took too long, `internal` otherwise.
        """
        return Rendered(*await self._result(request))

    async def probe(
        self, job: str, media: Mapping[str, tuple[str, Path]]
    ) -> Mapping[str, float]:
        """Measure clips and sounds, once a worker is free; return seconds by field."""
        media_types = {field: medium for field, (medium, _) in media.items()}
        paths = {field: path for field, (_, path) in media.items()}
        request = RenderRequest(job, PROBE, media_types, paths, output=Path())
        seconds: dict[str, float] = await self._result(request)
        return seconds

    async def close(self) -> None:
        """End what is being rendered, which fails with `internal`."""
        if self._closed:
            return
        self._closed = True
        for worker in tuple(self._busy):
            await to_thread.run_sync(worker.end)
        for _ in range(self.workers_n):  # every slot comes back
            await self._slots.acquire()
        for _ in range(self.workers_n):
            self._slots.release()
        await to_thread.run_sync(self._pool.leave)

    async def _result(self, request: RenderRequest) -> Any:
        """Have a free worker handle a request; return its result."""
        async with self._slots:
            if self._closed:
                raise RenderError.internal("The render worker failed: it was closed.")
            try:
                worker = self._pool.take(self._max_jobs)
            except WorkerGoneError as problem:
                raise _failed(problem) from None
            self._busy.add(worker)
            try:
                answer = await self._asked(worker, request)
            finally:
                self._busy.discard(worker)
        if "result" not in answer:
            raise RenderError(ErrorCode(answer["code"]), answer["message"])
        return answer["result"]

    async def _asked(self, worker: Worker, request: RenderRequest) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await to_thread.run_sync(
                    worker.ask, request.job, request.line(), abandon_on_cancel=True
                )
        except TimeoutError:
            await to_thread.run_sync(worker.end)
            message = (
                f"The render took longer than {self._timeout_s:g} s and was stopped."
            )
            raise RenderError("timed_out", message) from None
        except WorkerGoneError as problem:
            if not self._closed:
                await to_thread.run_sync(worker.crashed)
            raise _failed(problem) from None
        except asyncio.CancelledError:
            worker.end()  # its response would be read as the next job's
            raise
        self._pool.give_back(worker)
        return answer


def _failed(problem: WorkerGoneError) -> RenderError:
    return RenderError.internal(f"The render worker failed: {problem}.")
