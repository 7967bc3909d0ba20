"""A render worker without a server."""

import json
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mediakit.sandbox.render.protocol import RenderRequest


@contextmanager
def running_worker(
    *command: str,
) -> "Iterator[tuple[subprocess.Popen[bytes], socket.socket]]":
    """Start a worker; yield its process and the server's end of its socket."""
    server, theirs = socket.socketpair()
    run = [sys.executable, "-P", *(command or ("-m", "mediakit.sandbox.render"))]
    pipe = subprocess.PIPE
    # The socket is closed first: the worker ends with it.
    with subprocess.Popen(run, stdin=theirs.fileno(), stderr=pipe) as process, server:
        theirs.close()
        yield process, server


def send(server: socket.socket, request: RenderRequest) -> None:
    content = pickle.dumps(request)
    server.sendall(len(content).to_bytes(4) + content)


def asked(server: socket.socket, request: RenderRequest) -> dict[str, Any]:
    """Send a request, and wait for its answer."""
    send(server, request)
    with server.makefile("rb") as file:
        answer: dict[str, Any] = json.loads(file.readline())
    return answer
