"""Measures a clip or sound by its packets, without decoding.

The length in a header is unreliable: recorders often write it before they know it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

    Track = VideoStream | AudioStream

# A larger time step is a new recording, not a pause, as in FFmpeg.
LONGEST_STEP_S = 10
LONGEST_STEP_BACK_S = 0.1
# About a day of frames; the header of a tiny file can declare 4,000,000,000.
MOST_PACKETS = 5_000_000
# Smaller differences are rounding errors or late writes.
SNAP_FRAMES = 0.75


class Timing(NamedTuple):
    """The seconds of a track, and its frames per second; None means unknown."""

    seconds: float | None
    fps: float | None = None


UNKNOWN = Timing(None)


def counted(container: InputContainer, stream: Track) -> Timing:
    """Measure a track by reading all its packets.

    Raises:
        ValueError: It has no packet, or too many.
    """
    if not stream.time_base:
        return UNKNOWN
    names = container.format.name.split(",")
    # The end of a file that was cut off is part of a frame.
    skips_corrupt = "mp4" in names
    steps = Steps.of(container)
    runs: list[_PacketRun] = []
    packets: Iterable[Packet[Any]] = container.demux(stream)
    for number, packet in enumerate(packets):
        if number == MOST_PACKETS:
            raise ValueError("it has too many frames")
        at = packet.dts if packet.pts is None else packet.pts
        if at is None or packet.is_discard or (skips_corrupt and packet.is_corrupt):
            continue
        if not runs or (
            packet.dts is not None and steps.is_jump(packet.dts * stream.time_base)
        ):
            runs.append(_PacketRun(at, at, at))
        runs[-1].add(at, packet.duration or 0)
        if packet.dts is not None:
            steps.last_s = packet.dts * stream.time_base
    if not runs:
        raise ValueError("it has no frame")
    return _timing(runs, stream)


@dataclass
class Steps:
    """Tells a pause in a clip from the start of another recording in the same file."""

    has_clock_jumps: bool
    last_s: Fraction | float | None = None

    @classmethod
    def of(cls, container: InputContainer) -> Steps:
        """Return the steps of a container, before its first frame."""
        from av.format import Flags

        return cls(bool(Flags(container.format.flags) & Flags.ts_discont))

    def is_jump(self, at_s: Fraction | float) -> bool:
        """Return whether a time does not continue the previous one."""
        if self.last_s is None:
            return False
        step_s = at_s - self.last_s
        is_far = self.has_clock_jumps and step_s > LONGEST_STEP_S
        return is_far or step_s < -LONGEST_STEP_BACK_S


@dataclass
class _PacketRun:
    """Packets with continuous times, in units of the track."""

    first: int
    last: int
    stop: int
    packets: int = 0

    def add(self, at: int, duration: int) -> None:
        self.packets += 1
        self.first = min(self.first, at)
        self.last = max(self.last, at)
        self.stop = max(self.stop, at + duration)


def _timing(runs: list[_PacketRun], stream: Track) -> Timing:
    assert stream.time_base is not None
    rate = _nominal_fps(stream)
    seconds = Fraction(0)
    for run in runs:
        # Matroska often lacks the duration of the last frame.
        tail = 1 / rate if run.stop == run.last and rate else 0
        seconds += (run.stop - run.first) * stream.time_base + tail
    packets = sum(run.packets for run in runs)
    if rate is None:
        return Timing(float(seconds))
    span_s = sum((run.last - run.first) * stream.time_base for run in runs)
    fps = (packets - len(runs)) / span_s if span_s else rate
    return Timing(_snapped(seconds, packets, rate), float(fps))


def _snapped(seconds: Fraction, frames: int, rate: Fraction) -> float:
    regular = frames / rate
    is_regular = abs(seconds - regular) * rate < SNAP_FRAMES
    return float(regular if is_regular else seconds)


def _nominal_fps(stream: Track) -> Fraction | None:
    rate = getattr(stream, "guessed_rate", None) or getattr(
        stream, "average_rate", None
    )
    return Fraction(rate) if rate else None


def listed(container: InputContainer, stream: Track, size_bytes: int) -> Timing:
    """Read a length from the frame list at the beginning or end of an mp4 file.

    The timing is unknown if the list lacks frames, as in a fragmented file.
    """
    rate = getattr(stream, "average_rate", None)
    if not stream.frames or not rate or "mp4" not in container.format.name.split(","):
        return UNKNOWN
    present = sum(
        not entry.is_discard and entry.pos + entry.size <= size_bytes
        for entry in stream.index_entries
    )
    nominal = _nominal_fps(stream) or Fraction(rate)
    if present == stream.frames:
        seconds = _snapped(present / Fraction(rate), present, nominal)
        return Timing(seconds, float(rate))
    if abs(nominal - rate) * present > nominal:  # frames of different lengths
        return UNKNOWN
    return Timing(float(present / nominal), float(rate))
