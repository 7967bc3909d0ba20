"""A worker process, as the server sees it: started, asked, interrupted, stopped."""

import asyncio
import contextlib
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mediakit.sandbox.render.protocol import WARM, RenderRequest

logger = logging.getLogger(__name__)

_MODULE = "mediakit.sandbox.render"
_MAX_ANSWER_BYTES = 2**20
_MAX_PIECE_BYTES = 2**16
_START_LIMIT_S = 60.0
_ENDING_LIMIT_S = 0.5
_STOP_LIMIT_S = 5.0
_LAST_WORDS = 20
_WARM_REQUEST = RenderRequest(WARM, WARM, {}, {}, Path())


class WorkerGoneError(Exception):
    """The worker ended, or sent an unexpected response."""


class Worker:
    """A running worker process."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._requests, self._answers = process.stdin, process.stdout
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._listener = asyncio.create_task(self._listen(process.stderr))
        self._jobs = 0
        self._busy = False
        self._dismissed = False

    @classmethod
    async def warmed(cls) -> "Worker":
        """Start a worker and wait until every import is done."""
        worker = await cls._launched()
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await worker.ask(WARM, _WARM_REQUEST.line())
        except TimeoutError as problem:
            await worker.killed()
            raise WorkerGoneError("it did not get ready") from problem
        except WorkerGoneError:
            await worker.killed(crashed=True)
            raise
        except asyncio.CancelledError:
            await worker.killed()
            raise
        worker._jobs = 0
        return worker

    @classmethod
    async def _launched(cls) -> "Worker":
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # a folder with a file named av.py must not matter
                "-m",
                _MODULE,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=_MAX_ANSWER_BYTES,
                env=worker_environment(os.environ),
                # Interrupting a notebook's kernel interrupts its process group.
                start_new_session=True,
            )
        except OSError as problem:
            raise WorkerGoneError(f"it did not start ({problem})") from problem
        logger.debug("render worker %d: started", process.pid)
        return cls(process)

    def fit(self, max_jobs: int) -> bool:
        """Return whether the worker is alive and below its number of jobs."""
        return self._process.returncode is None and self._jobs < max_jobs

    async def ask(self, job: str, line: bytes) -> dict[str, Any]:
        """Send a request and wait for its response."""
        self._jobs += 1
        self._busy = True
        try:
            self._requests.write(line)
            await self._requests.drain()
            answer = await self._answers.readline()
        except (ConnectionError, ValueError) as problem:
            raise WorkerGoneError("it closed its pipe") from problem
        self._busy = False
        return _parsed(answer, job)

    def interrupt(self) -> None:
        """Kill a busy worker without waiting for it."""
        if self._busy:
            self._dismissed = True
            self._kill()

    async def killed(self, *, crashed: bool = False) -> None:
        """End the worker at once; `crashed` when something is wrong with it."""
        self._dismissed = self._dismissed or not crashed
        if crashed:
            # Sending a signal also reaps the exit code, which the watcher then misses.
            # So wait first for a worker that is ending by itself.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ENDING_LIMIT_S):
                    await self._process.wait()
        self._kill()
        await self._ended()

    async def left(self) -> None:
        """End the worker by closing its input; kill it after a timeout."""
        self._dismissed = True
        self._requests.close()
        try:
            async with asyncio.timeout(_STOP_LIMIT_S):
                await self._process.wait()
        except TimeoutError:
            self._kill()
        await self._ended()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _ended(self) -> None:
        """Wait for the end, and log an unexpected one."""
        code = await self._process.wait()
        await self._listener
        if not self._dismissed:
            logger.error(
                "The render worker %d ended with code %d. Its last words:\n%s",
                self._process.pid,
                code,
                "\n".join(self._last_words),
            )

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        """Log the worker's standard error, in chunks: a line may have any length."""
        rest = ""
        while piece := await stderr.read(_MAX_PIECE_BYTES):
            *lines, rest = (rest + piece.decode(errors="replace")).split("\n")
            for line in lines:
                self._heard(line)
            rest = rest[-(_MAX_PIECE_BYTES):]
        if rest:
            self._heard(rest)

    def _heard(self, line: str) -> None:
        self._last_words.append(line)
        logger.info("render worker %d: %s", self._process.pid, line)


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Leave out mediakit's settings: a process that reads hostile files gets no key."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("MEDIAKIT_")
    }


def _parsed(answer: bytes, job: str) -> dict[str, Any]:
    try:
        fields = json.loads(answer)
    except ValueError as problem:
        raise WorkerGoneError("it ended without a response") from problem
    if not isinstance(fields, dict) or fields.get("job") != job:
        raise WorkerGoneError("it responded for another job")
    return fields
