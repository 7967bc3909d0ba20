"""The worker: an order a line on standard input, an answer a line on the output."""

import os
import resource
import sys
from typing import BinaryIO

import av

from mediakit.sandbox.render.inputs.lengths import seconds_of
from mediakit.sandbox.render.protocol import (
    PROBE,
    WARM,
    Rendered,
    RenderError,
    RenderRequest,
    answer,
    measured,
    parse_order,
    ready,
)
from mediakit.sandbox.render.scenes import render

# The heaviest renders take half of it. A file of a few hundred bytes can promise
# so many samples that FFmpeg asks for 2 GB for the list of them, once for each track.
MAX_DATA_BYTES = 2 * 1024**3


def main() -> None:
    """Answer orders until standard input ends."""
    _bound_memory()
    with _own_stdout() as answers:
        for line in sys.stdin.buffer:
            answers.write(answer_line(line))
            answers.flush()


def answer_line(line: bytes) -> bytes:
    """Render one order; whatever is wrong with it becomes the answer."""
    try:
        order = parse_order(line)
    except RenderError as problem:
        return answer(None, problem)
    if order.kind == WARM:
        return ready(order.job)
    if order.kind == PROBE:
        return _lengths(order)
    return answer(order.job, _outcome(order))


def _lengths(order: RenderRequest) -> bytes:
    try:
        return measured(order.job, seconds_of(order))
    except RenderError as problem:
        return answer(order.job, problem)
    except OSError as problem:
        message = f"An input could not be read ({type(problem).__name__})."
        return answer(order.job, RenderError.internal(message))


def _outcome(order: RenderRequest) -> Rendered | RenderError:
    """Render, and leave no half file behind.

    Other exceptions are mistakes in the renderer: they end the process, and the
    server logs the traceback, answers `internal` and starts another worker.
    """
    try:
        return render(order)
    except RenderError as problem:
        outcome = problem
    except (OSError, MemoryError, av.FFmpegError) as problem:
        outcome = RenderError.internal(
            f"The output could not be rendered ({type(problem).__name__})."
        )
    order.output.unlink(missing_ok=True)
    return outcome


def _bound_memory() -> None:
    """Let allocations beyond the limit fail, here rather than in the whole machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    unlimited = hard == resource.RLIM_INFINITY
    soft = MAX_DATA_BYTES if unlimited else min(MAX_DATA_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _own_stdout() -> BinaryIO:
    """Keep standard output for answers; what others print goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    main()
