"""Forked processes with mediakit already imported, which takes a CPU second.

Each is a fork of a process that has done nothing but import it, runs a script as
`__main__`, and exits as usual.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LIMIT_S = 600.0

# Python 3.12 and later warn of any fork of a process with threads.
WARNINGS = ("-W", "default", "-W", "ignore:This process:DeprecationWarning")
LOOP = """
import importlib, json, os, runpy, signal, socket, sys

def next_script(control):
    importlib.import_module("mediakit.blocking_client")
    importlib.import_module("mediakit.async_client")
    importlib.import_module("mediakit.sandbox.server.running")
    while True:
        message, descriptors, *_ = socket.recv_fds(control, 1_000_000, 3)
        if not message:
            os._exit(0)
        asked = json.loads(message)
        if "wait" in asked:
            status = os.waitpid(asked["wait"], 0)[1]
            control.send(b"%d" % os.waitstatus_to_exitcode(status))
        elif child := os.fork():
            control.send(b"%d" % child)
            for descriptor in descriptors:
                os.close(descriptor)
        else:
            control.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.environ.clear()
            os.environ.update(asked["environment"])
            os.chdir(asked["folder"])
            sys.argv = asked["argv"]
            return sys.argv[0]

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[0] = ""
script = next_script(socket.socket(fileno=int(sys.argv[1])))
runpy.run_path(script, run_name="__main__")
"""


class Process:
    """A script that runs in a separate process."""

    def __init__(
        self, zygote: Zygote, pid: int, stdin: int, stdout: int, errors: Path
    ) -> None:
        self.pid = pid
        self.stdin = os.fdopen(stdin, "w")
        self.stdout = os.fdopen(stdout)
        self.returncode: int | None = None
        self._zygote, self._errors = zygote, errors

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def finish(self) -> tuple[str, str]:
        """Close its stdin, wait for its end, and return its output.

        Raises:
            TimeoutError: It had not ended after ten minutes, and was killed.
        """
        if self.returncode is not None:
            return "", ""
        self.stdin.close()
        is_late = threading.Event()

        def end_late() -> None:
            is_late.set()
            self.kill()

        limit = threading.Timer(LIMIT_S, end_late)
        limit.start()
        said = self.stdout.read()
        self.returncode = self._zygote.ask({"wait": self.pid})
        limit.cancel()
        self.stdout.close()
        errors = self._errors.read_text("utf-8")
        if is_late.is_set():
            raise TimeoutError(f"{said[-3000:]}{errors[-3000:]}")
        return said, errors


class Zygote:
    """The process that forks the others; one per test process."""

    def __init__(self) -> None:
        self._folder, self._scripts_n = TemporaryDirectory(), 0
        self._owner = os.getpid()
        self._control, other = socket.socketpair()
        # Ends it when this process ends, even if other forks exist.
        self._process = subprocess.Popen(
            [sys.executable, *WARNINGS, "-c", LOOP, str(other.fileno())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            pass_fds=[other.fileno()],
        )
        other.close()
        atexit.register(self.close)

    def close(self) -> None:
        """End it, unless this is a fork of the process that started it."""
        if os.getpid() != self._owner:
            return
        # A forked process of the tests may have the socket too: closing is not enough.
        self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        self._process.wait()
        self._folder.cleanup()

    def ask(self, asked: Mapping[str, Any], descriptors: tuple[int, ...] = ()) -> int:
        """Send it a request and return the number it answers."""
        socket.send_fds(self._control, [json.dumps(asked).encode()], list(descriptors))
        return int(self._control.recv(100))

    def start(
        self, code: str, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> Process:
        """Run code with arguments and these variables beside the usual ones."""
        self._scripts_n += 1
        script = Path(self._folder.name) / f"script_{self._scripts_n}.py"
        script.write_text(code, "utf-8")
        errors = script.with_suffix(".stderr")
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        with errors.open("w") as file:
            asked = {
                "argv": [str(script), *arguments],
                "environment": {**os.environ, **environment},
                "folder": str(Path.cwd()),
            }
            pid = self.ask(asked, (theirs_in, theirs_out, file.fileno()))
        os.close(theirs_in)
        os.close(theirs_out)
        return Process(self, pid, ours_in, ours_out, errors)


@cache
def zygote() -> Zygote:
    """Return the zygote of this process, started when it is first asked for."""
    return Zygote()


def start(
    code: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> Process:
    """Run code in a process that has imported mediakit."""
    return zygote().start(code, arguments, environment or {})
