"""Video and sound files from outside, opened safely."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NoReturn

import av
from av.container import InputContainer
from av.stream import Stream

from mediakit.sandbox.render.protocol import RenderError

Kind = Literal["video", "sound"]

DECODE_LIMIT_S = 180.0

_ACCEPTED = {"video": "mp4 or mov", "sound": "wav or mp3"}
_MOV_BOXES = (b"ftyp", b"moov", b"wide", b"mdat", b"free", b"skip")


class Deadline:
    """A limit to the time that decoding one file may take.

    Args:
        field: Where the body names the file, for the message.
        limit_s: Seconds from now.
        monotonic_s: The clock.
    """

    def __init__(
        self,
        field: str,
        limit_s: float = DECODE_LIMIT_S,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._field = field
        self._limit_s = limit_s
        self._monotonic_s = monotonic_s
        self._end_s = monotonic_s() + limit_s

    def check(self) -> None:
        """Raise `invalid_input` once the time is over."""
        if self._monotonic_s() > self._end_s:
            raise RenderError.invalid(
                f"{self._field}: decoding the file takes longer than "
                f"{self._limit_s:g} s."
            )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock during anything other than decoding."""
        since_s = self._monotonic_s()
        try:
            yield
        finally:
            self._end_s += self._monotonic_s() - since_s


@contextmanager
def opened_container(path: Path, field: str, kind: Kind) -> Iterator[InputContainer]:
    """Open a file of a known format; failures inside become `invalid_input`.

    The format is read from the first bytes and given to FFmpeg, which would else
    also try formats that name further files and addresses to be read.

    Args:
        path: The file.
        field: Where the body names it, for the message.
        kind: Whether a video (mp4, mov) or a sound (wav, mp3) is expected.
    """
    with path.open("rb") as file:
        demuxer = _demuxer(file.read(12), kind)
        file.seek(0)
        if demuxer is None:
            raise _undecodable(field, kind)
        try:
            with av.open(
                file, "r", format=demuxer, io_open=_refuse_further
            ) as container:
                yield container
        except (av.FFmpegError, ValueError, EOFError, OverflowError) as problem:
            raise _undecodable(field, kind) from problem


def check_codec(stream: Stream, field: str, kind: Kind) -> None:
    """Reject a track whose codec FFmpeg does not know."""
    # Such a track has no codec context, although PyAV's types declare one.
    if getattr(stream, "codec_context", None) is None:
        raise _undecodable(field, kind)


def kind_of(path: Path) -> Kind | None:
    """Return the format of a file by its first bytes; None when it is unknown."""
    with path.open("rb") as file:
        start = file.read(12)
    kinds: tuple[Kind, ...] = ("video", "sound")
    return next((kind for kind in kinds if _demuxer(start, kind)), None)


def _demuxer(start: bytes, kind: Kind) -> str | None:
    if kind == "video":
        return "mov" if start[4:8] in _MOV_BOXES else None
    if start[:4] == b"RIFF" and start[8:12] == b"WAVE":
        return "wav"
    if start[:3] == b"ID3" or (start[:1] == b"\xff" and start[1:2] >= b"\xe0"):
        return "mp3"
    return None


def _undecodable(field: str, kind: Kind) -> RenderError:
    return RenderError.invalid(
        f"{field}: the file cannot be decoded as a {kind}; accepted are "
        f"{_ACCEPTED[kind]}."
    )


def _refuse_further(url: str, flags: int, options: dict[str, str]) -> NoReturn:
    raise PermissionError("A media file may not have other files opened.")
