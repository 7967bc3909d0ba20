"""Opens untrusted clips and sounds: known containers, their tracks and frames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from mediakit.media_limits import MediaName

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

T = TypeVar("T")

# FFmpeg also reads text files as videos of a terminal, and pictures as clips.
CONTAINERS: Mapping[MediaName, frozenset[str]] = {
    "video": frozenset({"mp4", "matroska", "avi", "mpegts"}),
    "audio": frozenset({"wav", "mp3", "mp4", "ogg", "flac", "aac", "matroska"}),
}
_FORMATS = ",".join(sorted(CONTAINERS["video"] | CONTAINERS["audio"]))
# Media types by FFmpeg's container name, if that is not the subtype.
_SUBTYPES: Mapping[str, str] = {
    "mp3": "mpeg",
    "matroska": "x-matroska",
    "avi": "x-msvideo",
    "mpegts": "mp2t",
}
# After this many packets without a readable frame, a track is not searched further.
_MOST_DAMAGED_PACKETS = 500


def opened(file: BinaryIO, options: Mapping[str, str] | None = None) -> InputContainer:
    """Open a clip or sound of a known format.

    Other formats are not opened: a playlist makes FFmpeg read other files, and a
    session description makes it open sockets.
    """
    import av

    whitelist = {**(options or {}), "format_whitelist": _FORMATS}
    return av.open(file, mode="r", options=whitelist)


def decoder_environment() -> dict[str, str]:
    """Return the environment of a decoding process, without the API key."""
    return {k: v for k, v in os.environ.items() if not k.startswith("MEDIAKIT_")}


def holds(container: InputContainer, medium: MediaName) -> bool:
    """Return whether this kind of container is used for clips, or for sounds."""
    return not CONTAINERS[medium].isdisjoint(container.format.name.split(","))


def content_type(container: InputContainer, file: BinaryIO, medium: MediaName) -> str:
    """Return the media type of an open file, such as video/webm."""
    names = container.format.name.split(",")
    if "mp4" in names:
        brand = container.metadata.get("major_brand", "").strip()
        return (
            f"{medium}/{'quicktime' if brand == 'qt' and medium == 'video' else 'mp4'}"
        )
    if "matroska" in names and _is_webm(file):
        return f"{medium}/webm"
    name = next((name for name in names if name in _SUBTYPES), names[0])
    return f"{medium}/{_SUBTYPES.get(name, name)}"


def _is_webm(file: BinaryIO) -> bool:
    """Return whether the header of a Matroska file says WebM."""
    position = file.tell()
    file.seek(0)
    head = file.read(64)
    file.seek(position)
    return b"webm" in head


def has_moving_pictures(container: InputContainer) -> bool:
    """Return whether a file has a video track that is not a cover."""
    return next(_moving(container), None) is not None


def picture_track(container: InputContainer) -> VideoStream:
    """Return the first video track; ValueError with the reason if there is none."""
    stream = next(_moving(container), None)
    if stream is None:
        has_cover = bool(container.streams.video)
        raise ValueError(
            "it has a cover image, but no video" if has_cover else "it has no picture"
        )
    return _decodable(stream, "its codec")


def sound_track(container: InputContainer) -> AudioStream:
    """Return the first audio track; ValueError with the reason if there is none."""
    if not container.streams.audio:
        raise ValueError("it has no sound")
    return _decodable(container.streams.audio[0], "the codec of its sound")


def _moving(container: InputContainer) -> Iterator[VideoStream]:
    from av.stream import Disposition

    return (
        stream
        for stream in container.streams.video
        if Disposition.attached_pic not in stream.disposition
    )


def _decodable(stream: T, codec: str) -> T:
    # A track with an unknown codec has no context, although PyAV's types declare one.
    if getattr(stream, "codec_context", None) is None:
        raise ValueError(f"{codec} is unknown")
    return stream


def decoded_frames(container: InputContainer, stream: Any) -> Iterator[Any]:
    """Decode a track, skipping damaged packets, as players do."""
    is_readable = False
    for number, packet in enumerate(container.demux(stream)):
        if number == _MOST_DAMAGED_PACKETS and not is_readable:
            return
        for frame in packet_frames(packet):
            is_readable = True
            yield frame


def packet_frames(packet: Packet[Any]) -> Sequence[Any]:
    """Decode a packet; a damaged one has no frames."""
    import av

    try:
        return packet.decode()
    except av.InvalidDataError:
        return ()
