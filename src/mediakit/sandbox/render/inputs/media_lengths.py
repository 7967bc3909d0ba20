"""Measures the lengths of clips and sounds, as the client does."""

from pathlib import Path
from typing import Literal

from mediakit.errors import InputError
from mediakit.sandbox.render.inputs.containers import (
    check_codec,
    kind_of,
    opened_container,
)
from mediakit.sandbox.render.protocol import RenderError, RenderRequest

Timed = Literal["video", "audio"]

_SHOWN_LENGTH = 200


def seconds_of(request: RenderRequest) -> dict[str, float]:
    """Measure the inputs of a request of kind `probe`.

    Args:
        request: Its body says of each URL whether it is a "video" or an "audio".

    Returns:
        Seconds by URL; both sides of the interface bill these.

    Raises:
        RenderError: `invalid_input` when a file is not what it should be.
    """
    return {
        url: _seconds(request.file(url), _medium(name), url[:_SHOWN_LENGTH])
        for url, name in request.body.items()
    }


def _medium(name: object) -> Timed:
    match name:
        case "video" | "audio":
            return name
        case _:
            raise RenderError.internal(f"{name!r} is no medium that has a length.")


def _seconds(path: Path, medium: Timed, label: str) -> float:
    # It needs 11 MB, which a worker that only renders does not need.
    from mediakit.media import probe

    _check_safe(path, label, medium)
    try:
        info = probe(path, medium, label)
    except InputError as problem:
        raise _unreadable(label, medium) from problem
    if info.duration_s is None:
        raise RenderError.invalid(f"{label}: the file does not tell how long it is.")
    return info.duration_s


def _check_safe(path: Path, label: str, medium: Timed) -> None:
    """Let FFmpeg detect only safe formats and codecs."""
    kind = kind_of(path)
    if kind is None:
        raise _unreadable(label, medium)
    with opened_container(path, label, kind) as container:
        for stream in (*container.streams.video[:1], *container.streams.audio[:1]):
            check_codec(stream, label, kind)


def _unreadable(label: str, medium: Timed) -> RenderError:
    accepted = "mp4 or mov" if medium == "video" else "wav, mp3 or m4a"
    return RenderError.invalid(
        f"{label}: the file cannot be read as {medium}; accepted are {accepted}."
    )
