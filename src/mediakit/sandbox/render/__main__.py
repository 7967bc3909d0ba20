"""The worker: reads requests from standard input, writes responses to the output."""

import os
import resource
import select
import sys
from typing import BinaryIO

import av

from mediakit.sandbox.render.files import Given, measured_s
from mediakit.sandbox.render.protocol import (
    PROBE,
    RenderError,
    RenderRequest,
    answer,
    parse_request,
)
from mediakit.sandbox.render.scenes import render

# The heaviest renders use half of it. A file of a few hundred bytes can declare enough
# samples for FFmpeg to allocate 2 GB for their list, once for each track.
MAX_DATA_BYTES = 2 * 1024**3

_SHOWN_LENGTH = 200


def main() -> None:
    """Handle requests until standard input ends."""
    _bound_memory()
    with _own_stdout() as answers:
        for line in sys.stdin.buffer:
            request = parse_request(line)
            # A server that was killed waits for no answer: another one cleans up.
            if _is_closed(sys.stdin.fileno()):
                return
            try:
                answers.write(response(request))
                answers.flush()
            except BrokenPipeError:
                _discard(request)
                raise


def response(request: RenderRequest) -> bytes:
    """Handle one request, and leave no incomplete file behind.

    An error in a file, or of the disk, becomes the response. Other exceptions are bugs
    in the renderer: they end the process, and the server logs the traceback, returns
    `internal` and starts another worker.
    """
    try:
        if request.kind == PROBE:
            return answer(request.job, _lengths(request))
        return answer(request.job, render(request))
    except RenderError as problem:
        outcome = problem
    except (OSError, MemoryError, av.FFmpegError) as problem:
        outcome = RenderError.internal(
            f"The output could not be rendered ({type(problem).__name__})."
        )
    _discard(request)
    return answer(request.job, outcome)


def _discard(request: RenderRequest) -> None:
    if request.kind != PROBE:
        request.output.unlink(missing_ok=True)


def _is_closed(pipe: int) -> bool:
    """Return whether nobody can write to a pipe any more."""
    poll = select.poll()
    poll.register(pipe, 0)  # reports the end only
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _lengths(request: RenderRequest) -> dict[str, float]:
    return {
        url: measured_s(Given(request.file(url), url[:_SHOWN_LENGTH]), medium)
        for url, medium in request.body.items()
        if medium in ("video", "audio")
    }


def _bound_memory() -> None:
    """Limit memory, so that this process fails instead of the whole machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    unlimited = hard == resource.RLIM_INFINITY
    soft = MAX_DATA_BYTES if unlimited else min(MAX_DATA_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _own_stdout() -> BinaryIO:
    """Reserve standard output for responses; other output goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    main()
