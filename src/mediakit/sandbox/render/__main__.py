"""The worker: reads requests from a socket, its standard input, and responds."""

import json
import pickle
import resource
import socket
from typing import Any

import av

from mediakit.sandbox.render.input_files import InputFile, measured_s
from mediakit.sandbox.render.protocol import PROBE, RenderError, RenderRequest
from mediakit.sandbox.render.renderers import render

# The heaviest renders use half of this limit. A file of a few hundred bytes can declare
# enough samples for FFmpeg to allocate 2 GB for their list, once for each track.
MAX_DATA_BYTES = 2 * 1024**3
_SHOWN_LENGTH = 200


def main() -> None:
    """Handle requests until the server disconnects."""
    _bound_memory()
    server = socket.socket(fileno=0)
    with server.makefile("rb") as requests:
        while size := requests.read(4):
            request: RenderRequest = pickle.loads(requests.read(int.from_bytes(size)))
            # If the server was killed, nothing waits for a response; the next server
            # cleans up.
            if not _waits(server):
                return
            try:
                server.sendall(json.dumps(response(request)).encode() + b"\n")
            except ConnectionError:
                _discard(request)
                return


def _waits(server: socket.socket) -> bool:
    """Return whether the server, silent during a render, is still connected."""
    try:
        return bool(server.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return True


def response(request: RenderRequest) -> dict[str, Any]:
    """Handle one request, and leave no incomplete file behind.

    An error in a file, or of the disk, becomes the response. Other exceptions are bugs
    in the renderer: they end the process with a traceback, without a response.
    """
    try:
        if request.kind == PROBE:
            return {"result": _lengths(request)}
        return {"result": render(request)}
    except RenderError as problem:
        code = problem.code
        message = problem.message
    except (OSError, MemoryError, av.FFmpegError) as problem:
        code = "internal"
        message = f"The output could not be rendered ({type(problem).__name__})."
    _discard(request)
    return {"code": code, "message": message}


def _discard(request: RenderRequest) -> None:
    if request.kind != PROBE:
        request.output.unlink(missing_ok=True)


def _lengths(request: RenderRequest) -> dict[str, float]:
    return {
        url: measured_s(InputFile(request.file(url), url[:_SHOWN_LENGTH]), medium)
        for url, medium in request.body.items()
        if medium in ("video", "audio")
    }


def _bound_memory() -> None:
    """Limit memory, so that a render fails before the whole machine does."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    unlimited = hard == resource.RLIM_INFINITY
    soft = MAX_DATA_BYTES if unlimited else min(MAX_DATA_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


if __name__ == "__main__":
    main()
