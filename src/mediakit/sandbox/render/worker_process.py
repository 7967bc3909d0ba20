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
import tempfile
from subprocess import PIPE
from typing import Any

from mediakit.decoding import decoder_environment

logger = logging.getLogger(__name__)

_MODULE = "mediakit.sandbox.render"
_MAX_ANSWER_BYTES = 2**20
_ENDING_LIMIT_S = 0.5
_LAST_WORDS_BYTES = 4_000


class WorkerGoneError(Exception):
    """The worker ended, or sent an unexpected response."""


class Worker:
    """A running worker process, which may still be importing.

    Raises:
        WorkerGoneError: No process could be started.
    """

    def __init__(self) -> None:
        self._jobs_n = 0
        # Not a pipe, which somebody would have to read all the time.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(
                # -P: a folder with a file named av.py must not matter
                [sys.executable, "-P", "-m", _MODULE],
                stdin=PIPE,
                stdout=PIPE,
                stderr=self._said,
                env=decoder_environment(),
                # Interrupting a notebook's kernel interrupts its process group.
                start_new_session=True,
            )
        except OSError as problem:
            self._said.close()
            raise WorkerGoneError(f"it did not start ({problem})") from problem
        logger.debug("render worker %d: started", self._process.pid)

    def fit(self, max_jobs: int) -> bool:
        """Return whether the worker is alive and below its number of jobs."""
        return self._process.poll() is None and self._jobs_n < max_jobs

    def ask(self, job: str, line: bytes) -> dict[str, Any]:
        """Send a request and wait for its response.

        Raises:
            WorkerGoneError: The worker ended, or sent something else.
        """
        self._jobs_n += 1
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(line)
            requests.flush()
            answer = answers.readline(_MAX_ANSWER_BYTES)
        except (OSError, ValueError) as problem:
            raise WorkerGoneError("it closed its pipe") from problem
        return _parsed(answer, job)

    def end(self) -> None:
        """End the worker at once."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._said):
            if file is not None:
                with contextlib.suppress(OSError):  # what it never read is lost
                    file.close()

    def crashed(self) -> None:
        """End a worker with which something is wrong, and log its last words."""
        # One that is ending by itself has a code that says more.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_LIMIT_S)
        self._said.seek(max(self._said.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES, 0))
        words = self._said.read().decode(errors="replace")
        self.end()
        logger.error(
            "The render worker %d ended with code %d. Its last words:\n%s",
            self._process.pid,
            self._process.returncode,
            words,
        )


def _parsed(answer: bytes, job: str) -> dict[str, Any]:
    try:
        fields = json.loads(answer)
    except ValueError as problem:
        raise WorkerGoneError("it ended without a response") from problem
    if not isinstance(fields, dict) or fields.get("job") != job:
        raise WorkerGoneError("it responded for another job")
    return fields
