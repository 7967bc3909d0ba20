"""Small H.264 previews of clips that browsers cannot play.

Each preview is made in its own process: a broken or hostile file cannot crash the
notebook, memory and time are limited, and Python's global lock is not held.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from errno import ENOSPC
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.decoding import (
    Display,
    bt709_frame,
    decoded_frames,
    decoder_environment,
    decoder_errors,
    display_of,
    opened,
    packet_frames,
    picture_track,
)

if TYPE_CHECKING:
    import av
    from av.container import InputContainer, OutputContainer

CLIP_MAX_PX = 1280
CLIP_MAX_S = 30.0
CLIP_MAX_FPS = 30
MAX_MEMORY_BYTES = 4 * 1024**3
TIMEOUT_S = 90
NICENESS = 10

_PICTURE = {"preset": "veryfast", "crf": "27", "maxrate": "2M", "bufsize": "4M"}
# FFmpeg's numbers of colours (ITU-T H.273).
_BT709, _LIMITED_RANGE = 1, 1
_SOUND_HZ = 48_000
_SOUND_BITS_PER_S = 96_000
_ENTRY = "from mediakit.media.previews import main; main()"


def make_preview(source: Path, target: Path, *, timeout_s: float = TIMEOUT_S) -> None:
    """Write a small H.264 preview of a clip in another process, and wait for it.

    The preview is at most `CLIP_MAX_PX` pixels wide and high, and contains the first
    `CLIP_MAX_S` seconds, with sound. After an error, the target may be incomplete.
    """
    # -P: ignore a file named av.py in the current folder.
    command = [sys.executable, "-P", "-c", _ENTRY, str(source), str(target)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            env=decoder_environment(),
            # Interrupting a notebook kernel interrupts its whole process group.
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"it takes longer than {timeout_s:g} s") from None
    if done.returncode == ENOSPC:
        raise OSError(ENOSPC, os.strerror(ENOSPC))
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise OSError(words[-1][:200] if words else "it cannot be decoded here")


def main() -> None:
    """Make the preview in this process.

    On exit status 1, stderr has the reason; `ENOSPC` means that the disk is full.
    """
    source, target = map(Path, sys.argv[1:3])
    _stay_small()
    try:
        write_preview(source, target)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == ENOSPC:
            raise SystemExit(ENOSPC) from None
        cause = error.__cause__ or error
        reason = getattr(cause, "strerror", None) or cause
        raise SystemExit(f"{type(cause).__name__}: {reason}") from None


def _stay_small() -> None:
    with suppress(ImportError):  # not on Windows, where only the time limit applies
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        os.nice(NICENESS)


def write_preview(source: Path, target: Path) -> None:
    """Write a small H.264 preview of a clip as mp4, in this process."""
    import av

    with decoder_errors(), source.open("rb") as file:
        with opened(file) as clip:
            stream = picture_track(clip)
            first = next(decoded_frames(clip, stream), None)
            if first is None:
                raise ValueError("it has no frame")
            display = display_of(stream, first)
            size = _small(*display.size(first.width, first.height))
        file.seek(0)
        with (
            opened(file) as clip,
            av.open(
                str(target), "w", format="mp4", options={"movflags": "+faststart"}
            ) as copy,
        ):
            _copy(clip, copy, size, display)


def _copy(
    clip: InputContainer,
    copy: OutputContainer,
    size: tuple[int, int],
    display: Display,
) -> None:
    import av

    video = picture_track(clip)
    video.thread_type = "AUTO"
    picture = copy.add_stream("libx264", rate=CLIP_MAX_FPS, options=_PICTURE)
    picture.width, picture.height = size
    picture.pix_fmt = "yuv420p"
    picture.color_range = _LIMITED_RANGE
    picture.colorspace = picture.color_primaries = picture.color_trc = _BT709
    picture.codec_context.time_base = Fraction(1, 1000)
    picture.codec_context.thread_count = 1
    audio = clip.streams.audio[0] if clip.streams.audio else None
    sound = copy.add_stream("aac", rate=_SOUND_HZ) if audio else None
    if sound is not None:
        sound.bit_rate, sound.layout = _SOUND_BITS_PER_S, "stereo"
    even = av.AudioResampler("fltp", "stereo", _SOUND_HZ)
    last_s = -1.0
    for frame in _frames(clip, [s for s in (video, audio) if s is not None]):
        if sound is not None and isinstance(frame, av.AudioFrame):
            for piece in even.resample(frame):
                copy.mux(sound.encode(piece))
        elif frame.time - last_s > 0.9 / CLIP_MAX_FPS:
            last_s = frame.time
            copy.mux(picture.encode(_shrunk(frame, picture, display)))
    copy.mux(picture.encode(None))
    if sound is not None:
        copy.mux(sound.encode(None))


def _frames(clip: InputContainer, streams: list[Any]) -> Iterator[Any]:
    """Decode until every stream has passed the end of the preview."""
    open_streams = {stream.index for stream in streams}
    for packet in clip.demux(*streams):
        for frame in packet_frames(packet):
            if frame.pts is None:
                continue
            if frame.time < CLIP_MAX_S:
                yield frame
            else:
                open_streams.discard(packet.stream.index)
        if not open_streams:
            return


def _shrunk(frame: av.VideoFrame, picture: Any, display: Display) -> av.VideoFrame:
    size = picture.width, picture.height
    small = bt709_frame(display.pixels(frame, size, "rgb24"))
    small.pts = round(frame.time * 1000)
    small.time_base = Fraction(1, 1000)
    return small


def _small(width: int, height: int) -> tuple[int, int]:
    """Return even sides with the same aspect ratio, at most `CLIP_MAX_PX` long."""
    scale = min(1.0, CLIP_MAX_PX / max(width, height, 1))
    across, down = (max(2, round(side * scale / 2) * 2) for side in (width, height))
    return across, down
