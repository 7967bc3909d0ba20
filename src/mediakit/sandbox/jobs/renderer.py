"""Renders jobs with worker processes, which all sandboxes of this process share."""

import asyncio
import json
import logging
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mediakit.api_models import ErrorCode
from mediakit.catalog import Function
from mediakit.decoding import decoder_environment
from mediakit.sandbox.render.protocol import PROBE, Rendered, RenderError, RenderRequest

logger = logging.getLogger(__name__)

MAX_JOBS = 50
_MAX_ANSWER_BYTES = 2**20
_LAST_WORDS_BYTES = 4_000


def render_request(
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
    """Yield the non-default fields, except those that the picture or caption shows."""
    for name, value in body.items():
        field = function.fields.get(name)
        if field is None:
            is_seen = not function.is_open
        else:
            is_medium = field.kind in ("media", "list") and field.required
            is_seen = value == field.default or is_medium
        if not is_seen:
            yield name


class Worker:
    """A process that renders one job at a time; it may still be importing."""

    def __init__(self) -> None:
        self.jobs_n = 0
        # Do not use a pipe, which would have to be read constantly.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.socket, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    # -P: a folder with a file named av.py must not matter
                    [sys.executable, "-P", "-m", "mediakit.sandbox.render"],
                    stdin=theirs.fileno(),
                    stdout=self._said,
                    stderr=self._said,
                    env=decoder_environment(),
                    # Interrupting a notebook's kernel interrupts its process group.
                    start_new_session=True,
                )
        except OSError:
            self.socket.close()
            self._said.close()
            raise
        logger.debug("render worker %d: started", self._process.pid)

    def is_fit(self, max_jobs: int) -> bool:
        """Return whether the process is alive and has not rendered too many jobs."""
        # Encoders do not release all memory.
        return self._process.poll() is None and self.jobs_n < max_jobs

    def end(self) -> None:
        """Kill the process."""
        self.socket.close()
        self._process.kill()
        self._process.wait()
        self._said.close()

    def last_words(self) -> str:
        """Return the end of the process's output, such as a traceback."""
        self._said.seek(max(self._said.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES, 0))
        return self._said.read().decode(errors="replace")


class WorkerPool:
    """The idle workers of this process, which all its sandboxes share."""

    def __init__(self, *, max_jobs: int = MAX_JOBS) -> None:
        self.max_jobs = max_jobs
        self.forget()

    def forget(self) -> None:
        """Start without workers in a forked process, because they are its parent's."""
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._users_n = 0

    def join(self) -> None:
        """Register a renderer; idle workers are kept while any is registered."""
        with self._lock:
            self._users_n += 1

    def leave(self) -> None:
        """Stop counting a renderer; the last one ends the idle workers."""
        with self._lock:
            self._users_n -= 1
            while self._idle and not self._users_n:
                self._idle.pop().end()

    def take(self) -> Worker:
        """Return the most recently used idle worker, or a new one."""
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_fit(self.max_jobs):
                    return worker
                worker.end()
        return Worker()

    def give_back(self, worker: Worker) -> None:
        """Keep a worker for the next render."""
        with self._lock:
            if self._users_n:
                self._idle.append(worker)
            else:
                worker.end()

    def warm(self) -> None:
        """Start a worker now, so that a job need not wait for its imports."""
        with suppress(OSError):
            self.give_back(self.take())


POOL = WorkerPool()
os.register_at_fork(after_in_child=POOL.forget)


class Renderer:
    """Renders several jobs at a time, each in a worker."""

    def __init__(
        self, workers: int = 1, *, timeout_s: float = 300, pool: WorkerPool = POOL
    ) -> None:
        self.workers_n = workers
        self._timeout_s = timeout_s
        self._pool = pool
        self._slots = asyncio.Semaphore(workers)
        pool.join()

    async def render(self, request: RenderRequest) -> Rendered:
        """Render one job, once a slot is free.

        The code of an error is `invalid_input` for an unusable input, `timed_out` for a
        job that took too long, and `internal` otherwise.
        """
        return Rendered(*await self._result(request))

    async def probe(self, media: Mapping[str, tuple[str, Path]]) -> Mapping[str, float]:
        """Measure clips and sounds, once a slot is free; return seconds by field."""
        media_types = {field: medium for field, (medium, _) in media.items()}
        paths = {field: path for field, (_, path) in media.items()}
        request = RenderRequest(PROBE, media_types, paths, output=Path())
        seconds: dict[str, float] = await self._result(request)
        return seconds

    def close(self) -> None:
        """Close the renderer, whose jobs were cancelled."""
        self._pool.leave()

    async def _result(self, request: RenderRequest) -> Any:
        async with self._slots:
            try:
                worker = self._pool.take()
            except OSError as problem:
                words = f"The render worker did not start ({problem})."
                raise RenderError.internal(words) from problem
            line, words = b"", ""
            try:
                line = await self._asked(worker, request)
            finally:
                if line.endswith(b"\n"):
                    self._pool.give_back(worker)
                else:
                    words = worker.last_words()
                    worker.end()
        if not line.endswith(b"\n"):
            logger.error("A render worker has ended. Its last output:\n%s", words)
            raise RenderError.internal(
                "The render worker failed: it ended without a response."
            )
        answer = json.loads(line)
        if "result" not in answer:
            raise RenderError(ErrorCode(answer["code"]), answer["message"])
        return answer["result"]

    async def _asked(self, worker: Worker, request: RenderRequest) -> bytes:
        """Return the worker's response line, incomplete if the worker has ended."""
        worker.jobs_n += 1
        content = pickle.dumps(request)
        reader, writer = await asyncio.open_unix_connection(
            sock=worker.socket.dup(), limit=_MAX_ANSWER_BYTES
        )
        try:
            writer.write(len(content).to_bytes(4) + content)
            async with asyncio.timeout(self._timeout_s):
                return await reader.readline()
        except TimeoutError:
            words = (
                f"The render took longer than {self._timeout_s:g} s and was stopped."
            )
            raise RenderError("timed_out", words) from None
        except ConnectionError:
            return b""
        finally:
            writer.close()
