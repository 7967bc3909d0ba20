"""Clips with wrong headers, joined clips, and turned ones.

Each is written by PyAV, and then changed byte by byte as recorders change theirs.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np

FPS = 24
FRAGMENTED = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
ONE = 0x10000
WHOLE = 0x40000000

Matrix = tuple[int, int, int, int]
"""The display matrix: the first, second, fourth and fifth of its nine numbers."""


def film(
    seconds: float,
    container: str = "mp4",
    options: dict[str, str] | None = None,
    *,
    size: tuple[int, int] = (64, 48),
    codec: str = "libx264",
    fps: int = FPS,
    held_frames: int = 0,
) -> bytes:
    """Write a clip of greys.

    Args:
        seconds: Its length, before the last frame is held.
        container: FFmpeg's name of the format.
        options: Of the format.
        size: Width and height of the frames, as stored.
        codec: An encoder's name.
        fps: Frames per second.
        held_frames: The number of frames for which the last one is held.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder, "clip")
        with av.open(str(path), "w", format=container, options=options or {}) as file:
            stream = file.add_stream(codec, rate=fps)
            assert isinstance(stream, av.VideoStream)
            stream.width, stream.height = size
            stream.pix_fmt = "yuv420p"
            stream.gop_size = fps
            if codec == "libx264":
                stream.options = {"preset": "ultrafast", "crf": "12"}
            frames = round(seconds * fps)
            for index in range(frames):
                grey = np.full((size[1], size[0], 3), 40 + index % 160, np.uint8)
                frame = av.VideoFrame.from_ndarray(grey, "rgb24")
                frame.pts = index
                for packet in stream.encode(frame):
                    file.mux(packet)
            for packet in stream.encode(None):
                if packet.pts is not None and held_frames and packet.time_base:
                    packet.duration = round((1 + held_frames) / fps / packet.time_base)
                file.mux(packet)
        return path.read_bytes()


def with_track_length(clip: bytes, change: Callable[[int], int]) -> bytes:
    """Change the track length in the header of an mp4 file."""
    patched, at = bytearray(clip), clip.index(b"mdhd")
    assert clip[at + 4] == 0
    (length,) = struct.unpack_from(">I", patched, at + 20)
    struct.pack_into(">I", patched, at + 20, change(length))
    return bytes(patched)


def without_second_half(clip: bytes) -> bytes:
    return clip[: len(clip) // 2]


def media_of(fragments: bytes) -> bytes:
    """Return a fragmented file without its beginning."""
    return fragments[fragments.index(b"moof") - 4 :]


def with_matrix(clip: bytes, matrix: Matrix) -> bytes:
    """Turn and mirror an mp4 clip for display."""
    patched, at = bytearray(clip), clip.index(b"tkhd")
    a, b, c, d = matrix
    struct.pack_into(">9i", patched, at + 44, a, b, 0, c, d, 0, 0, 0, WHOLE)
    return bytes(patched)


def with_stated_length(clip: bytes, seconds: float) -> bytes:
    """Change the length in the header of a Matroska file, a float in ms."""
    patched, at = bytearray(clip), clip.index(b"\x44\x89\x88")
    struct.pack_into(">d", patched, at + 3, seconds * 1000)
    return bytes(patched)


def with_later_clock(stream: bytes, hours: float) -> bytes:
    """Add hours to the time stamps of a transport stream (ISO 13818-1, 2.4.3.7)."""
    patched, later = bytearray(stream), round(hours * 3600 * 90_000)
    for start in range(0, len(patched), 188):
        packet = memoryview(patched)[start : start + 188]
        if not packet[1] & 0x40:  # no beginning of a unit
            continue
        at = 4 + (1 + packet[4] if packet[3] & 0x20 else 0)
        if bytes(packet[at : at + 3]) != b"\0\0\1" or packet[at + 3] != 0xE0:
            continue
        places = {2: [9], 3: [9, 14]}[packet[at + 7] >> 6]
        for place in places:
            _add_ticks(packet[at + place : at + place + 5], later)
    return bytes(patched)


def _add_ticks(stamp: memoryview, ticks: int) -> None:
    one, two, three = stamp[0], *struct.unpack(">HH", stamp[1:5])
    value = (one >> 1 & 7) << 30 | (two >> 1) << 15 | three >> 1
    value = (value + ticks) % 2**33
    stamp[0] = one & 0xF0 | (value >> 30 & 7) << 1 | 1
    stamp[1:5] = struct.pack(
        ">HH", (value >> 15 & 0x7FFF) << 1 | 1, (value & 0x7FFF) << 1 | 1
    )
