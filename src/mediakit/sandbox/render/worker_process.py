"""A worker process, as the server sees it: started, asked, ended.

Its methods block, and any thread may call them: the sandboxes of a process share their
workers, and each has a thread and a loop of its own.
"""

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

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
    """A running worker process, which may still be importing.

    Raises:
        WorkerGoneError: No process could be started.
    """

    def __init__(self) -> None:
        self._jobs_n = 0
        self._is_warm = self._is_dismissed = False
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        try:
            self._process = subprocess.Popen(
                # -P: a folder with a file named av.py must not matter
                [sys.executable, "-P", "-m", _MODULE],
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=worker_environment(os.environ),
                # Interrupting a notebook's kernel interrupts its process group.
                start_new_session=True,
            )
        except OSError as problem:
            raise WorkerGoneError(f"it did not start ({problem})") from problem
        stdin, stdout, stderr = (
            self._process.stdin,
            self._process.stdout,
            self._process.stderr,
        )
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._requests, self._answers, self._errors = stdin, stdout, stderr
        self._listener = threading.Thread(
            target=self._listen, args=(stderr,), daemon=True, name="render worker"
        )
        self._listener.start()
        logger.debug("render worker %d: started", self._process.pid)

    def fit(self, max_jobs: int) -> bool:
        """Return whether the worker is alive and below its number of jobs."""
        return self._process.poll() is None and self._jobs_n < max_jobs

    def warm(self) -> None:
        """Wait until every import is done.

        Raises:
            WorkerGoneError: It ended, or was not ready in a minute.
        """
        if self._is_warm:
            return
        limit = threading.Timer(_START_LIMIT_S, self._kill)
        limit.daemon = True
        limit.start()
        try:
            self._ask(WARM, _WARM_REQUEST.line())
        finally:
            limit.cancel()
        self._is_warm = True

    def ask(self, job: str, line: bytes) -> dict[str, Any]:
        """Send a request and wait for its response.

        Raises:
            WorkerGoneError: The worker ended, or sent something else.
        """
        self._jobs_n += 1
        return self._ask(job, line)

    def _ask(self, job: str, line: bytes) -> dict[str, Any]:
        try:
            self._requests.write(line)
            self._requests.flush()
            answer = self._answers.readline(_MAX_ANSWER_BYTES)
        except (OSError, ValueError) as problem:
            raise WorkerGoneError("it closed its pipe") from problem
        return _parsed(answer, job)

    def kill(self) -> None:
        """End the worker at once."""
        self._is_dismissed = True
        self._kill()
        self._ended()

    def crashed(self) -> None:
        """End a worker with which something is wrong, and log its last words."""
        # One that is ending by itself has a code that says more.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_LIMIT_S)
        self._kill()
        self._ended()

    def leave(self) -> None:
        """End an idle worker by closing its input; kill it after a timeout."""
        self._is_dismissed = True
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._kill()
        self._ended()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def _ended(self) -> None:
        """Wait for the end, and log an unexpected one."""
        code = self._process.wait()
        self._listener.join()
        for pipe in (self._requests, self._answers, self._errors):
            with contextlib.suppress(OSError):
                pipe.close()
        if not self._is_dismissed:
            logger.error(
                "The render worker %d ended with code %d. Its last words:\n%s",
                self._process.pid,
                code,
                "\n".join(self._last_words),
            )

    def _listen(self, stderr: IO[bytes]) -> None:
        """Log the worker's standard error, in chunks: a line may have any length."""
        rest = ""
        while piece := os.read(stderr.fileno(), _MAX_PIECE_BYTES):
            *lines, rest = (rest + piece.decode(errors="replace")).split("\n")
            for line in lines:
                self._heard(line)
            rest = rest[-_MAX_PIECE_BYTES:]
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
