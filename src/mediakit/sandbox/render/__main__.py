"""The worker: reads requests from standard input, writes responses to the output."""

import os
import resource
import sys
from typing import BinaryIO

import av

from mediakit.sandbox.render.files import Given, measured_s
from mediakit.sandbox.render.protocol import (
    PROBE,
    WARM,
    Rendered,
    RenderError,
    RenderRequest,
    answer,
    measured,
    parse_request,
    ready,
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
            answers.write(response_line(line))
            answers.flush()


def response_line(line: bytes) -> bytes:
    """Handle one request; any error becomes the response."""
    try:
        request = parse_request(line)
    except RenderError as problem:
        return answer(None, problem)
    if request.kind == WARM:
        return ready(request.job)
    if request.kind == PROBE:
        return _lengths(request)
    return answer(request.job, _outcome(request))


def _lengths(request: RenderRequest) -> bytes:
    try:
        seconds = {
            url: measured_s(Given(request.file(url), url[:_SHOWN_LENGTH]), medium)
            for url, medium in request.body.items()
            if medium in ("video", "audio")
        }
        return measured(request.job, seconds)
    except RenderError as problem:
        return answer(request.job, problem)
    except OSError as problem:
        message = f"An input could not be read ({type(problem).__name__})."
        return answer(request.job, RenderError.internal(message))


def _outcome(request: RenderRequest) -> Rendered | RenderError:
    """Render, and leave no incomplete file behind.

    Other exceptions are bugs in the renderer: they end the process, and the server
    logs the traceback, returns `internal` and starts another worker.
    """
    try:
        return render(request)
    except RenderError as problem:
        outcome = problem
    except (OSError, MemoryError, av.FFmpegError) as problem:
        outcome = RenderError.internal(
            f"The output could not be rendered ({type(problem).__name__})."
        )
    request.output.unlink(missing_ok=True)
    return outcome


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
