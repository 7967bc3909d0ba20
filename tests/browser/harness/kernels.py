"""Kernels that are forks of a process with all imports of forms done.

A kernel spends two CPU seconds on imports, and each test in JupyterLab starts one.
JupyterLab starts this file as a kernel: it requests a fork, forwards signals to it, and
exits when the fork exits.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

# ipywidgets does this when a kernel imports it: a reloaded page requests all widgets.
LATE = "import ipywidgets; ipywidgets.register_comm_target(); del ipywidgets"
SERVE = f"""
import json, os, runpy, select, signal, socket, sys, threading

def bury(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass

def next_kernel(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    import ipykernel.kernelapp, ipykernel.ipkernel, anywidget
    import mediakit.async_client, mediakit.blocking_client
    import mediakit.sandbox.server.running, mediakit.widgets.studio
    signal.signal(signal.SIGCHLD, bury)
    while True:
        # Its stdin ends with the process that started it.
        if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
            os._exit(0)
        asking, _ = listener.accept()
        message, descriptors, *_ = socket.recv_fds(asking, 1_000_000, 3)
        pid = os.fork()
        if not pid:
            listener.close()
            return json.loads(message), descriptors, asking
        asking.send(b"%d" % pid)
        asking.close()
        for descriptor in descriptors:
            os.close(descriptor)

def end_with(program):
    program.recv(1)  # nothing, once it has ended
    os.kill(os.getpid(), signal.SIGKILL)

del sys.path[0]
asked, descriptors, program = next_kernel(sys.argv[1])
os.setsid()
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
for number, descriptor in enumerate(descriptors):
    os.dup2(descriptor, number)
    os.close(descriptor)
os.environ.clear()
os.environ.update(asked["environment"])
os.chdir(asked["folder"])
threading.Thread(target=end_with, args=[program], daemon=True).start()
late = "--IPKernelApp.exec_lines={LATE}"
sys.argv = ["ipykernel_launcher", "-f", asked["file"], late]
runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)
"""


class WarmKernels:
    """The process whose forks are the kernels of a server, and their kernel spec.

    Args:
        folder: A folder with a short path, because a socket's path has a limit.
        variables: The environment of the server.
    """

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        path = folder / "socket"
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE, path], env=variables, stdin=subprocess.PIPE
        )
        spec = {
            "argv": [sys.executable, "-SE", __file__, str(path), "{connection_file}"],
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
            "metadata": {"debugger": True},
        }
        kernel = folder / "kernels" / "python3"
        kernel.mkdir(parents=True)
        (kernel / "kernel.json").write_text(json.dumps(spec))

    def close(self) -> None:
        """End the process; its kernels end with the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main(path: str, file: str) -> None:
    """Start a kernel, and end when it or the server ends."""
    server = os.getppid()
    asked = {"environment": dict(os.environ), "folder": str(Path.cwd()), "file": file}
    with socket.socket(socket.AF_UNIX) as kernel:
        kernel.connect(path)
        socket.send_fds(kernel, [json.dumps(asked).encode()], [0, 1, 2])
        pid = int(kernel.recv(100))
        Path(f"{file}.pid").write_text(str(pid))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        while os.getppid() == server and not select.select([kernel], [], [], 1)[0]:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
