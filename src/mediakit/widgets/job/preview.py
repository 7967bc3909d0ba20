"""Previews of results: poster, codec and facts, and a playable copy."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from io import SEEK_END, BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from anyio import CapacityLimiter, to_thread

from mediakit.client import AsyncJob
from mediakit.client.download_targets import NO_ROOM
from mediakit.client.posters import POSTER
from mediakit.decoding import (
    decoder_errors,
    has_moving_pictures,
    opened,
    picture_track,
)
from mediakit.errors import GoneError, MediakitError, ServiceError
from mediakit.media import POSTER_MAX_PX, poster_jpeg
from mediakit.media.previews import CLIP_MAX_PX, CLIP_MAX_S, make_preview
from mediakit.media.probing import probe_file
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.widgets.job.player import WHAT, Embedded, playback_notice

FETCH_MAX_BYTES = 64 * 1024 * 1024
PICTURE_MAX_BYTES = 16 * 1024 * 1024
EMBED_MAX_BYTES = 24 * 1024 * 1024
CLIP_MAX_BYTES = 10 * 1024 * 1024
POSTER_MAX_BYTES = 12_000
SMALLER_PX = (POSTER_MAX_PX, 256, 208, 160, 112)
LOOK, CLIP = ".json", ".mp4"
MEDIA: dict[str, MediaName] = {"video": "video", "image": "image", "audio": "audio"}

NOT_FETCHED = "There is no preview of the result: it could not be fetched."
DISK_FULL = "the disk is full. Free some space, then show the job again."
CLIP_NOTE = (
    f"You see a small H.264 copy, made on this machine (at most {CLIP_MAX_PX:,} pixels "
    f"and {CLIP_MAX_S:.0f} s)."
)

_making = CapacityLimiter(1)


@dataclass(frozen=True)
class Preview:
    """The preview of a result."""

    # a small JPEG; None when there is no picture
    poster: bytes | None = field(default=None, repr=False)
    codec: str | None = None  # of the picture; None while unknown
    trouble: str | None = None  # why there is no picture, as a sentence
    info: MediaInfo | None = None  # of the result itself; None while unknown

    @property
    def needs_copy(self) -> bool:
        """Return whether a browser may show the result without a picture."""
        return bool(playback_notice(self.codec))


NO_PREVIEW = Preview()


async def look_at(job: AsyncJob) -> Preview:
    """Return a job's preview, from the cache if possible."""
    kept = await to_thread.run_sync(_kept, job)
    if kept is not None:
        return kept
    preview = await _looked_at(job)
    if preview.trouble is None and not job.state.is_erased:
        await to_thread.run_sync(_keep, job, preview)
    return preview


def poster_kept(job: AsyncJob) -> Preview:
    """Return the cached preview of a job's output; nothing is fetched."""
    if not job.state.has_output:
        return NO_PREVIEW
    return _kept(job) or NO_PREVIEW


async def embedded_of(job: AsyncJob, preview: Preview) -> Embedded:
    """Return the embeddable form of a result, or raise a `MediakitError`."""
    if preview.needs_copy:
        clip = await playable_copy(job)
        return Embedded(clip, "video", "video/mp4", is_copy=True)
    data = await job.fetch_output(EMBED_MAX_BYTES)
    file = job.state.output_file
    content_type = file.content_type if file is not None else None
    return Embedded(data, job.state.media_type, content_type or "")


async def playable_copy(job: AsyncJob) -> bytes:
    """Return a playable mp4, made once; a picture or sound unchanged."""
    if job.state.is_erased:
        raise GoneError("This result was erased.", job_id=job.id)
    if job.state.media_type in ("image", "audio"):
        return await job.fetch_output(FETCH_MAX_BYTES)
    kept = await to_thread.run_sync(job.preview_cache.read, job.id, CLIP)
    if kept:
        return kept
    data = await job.fetch_output(FETCH_MAX_BYTES)
    try:
        with TemporaryDirectory(
            prefix="mediakit-", ignore_cleanup_errors=True
        ) as folder:
            source = Path(folder, "source")
            await to_thread.run_sync(source.write_bytes, data)
            del data  # free the memory; the file is on the disk
            async with _making:
                make = partial(_clip, source, source.with_name("copy.mp4"))
                clip = await to_thread.run_sync(make, abandon_on_cancel=True)
    except OSError as error:
        is_full = error.errno in NO_ROOM
        reason = DISK_FULL if is_full else f"{error.strerror or error}."
        raise ServiceError(
            f"No copy that plays here could be made: {reason}"
        ) from error
    if not job.state.is_erased:
        await to_thread.run_sync(job.preview_cache.keep, job.id, CLIP, clip)
    return clip


def _clip(source: Path, target: Path) -> bytes:
    make_preview(source, target)
    size_bytes = target.stat().st_size
    if size_bytes > CLIP_MAX_BYTES:
        raise OSError(f"the copy has {size_bytes:,} bytes")
    return target.read_bytes()


async def _looked_at(job: AsyncJob) -> Preview:
    """Make a preview from as little of the output as possible: a few MB."""
    medium = job.state.media_type
    try:
        if medium == "audio":
            read = partial(info_of, media_type=medium)
            return Preview(info=await job.read_output(read))
        if medium == "video":
            look = partial(preview_of, media_type=medium)
            return await job.read_output(look) or Preview(trouble=NOT_FETCHED)
        data = await job.fetch_output(PICTURE_MAX_BYTES)
        return await to_thread.run_sync(preview_of, BytesIO(data), medium)
    except MediakitError as error:
        return Preview(trouble=f"There is no preview of the result: {error}")


def _kept(job: AsyncJob) -> Preview | None:
    """Return a result's cached preview, or None if there is none."""
    cache = job.preview_cache
    text = cache.read(job.id, LOOK)
    if text is None:
        return None
    try:
        saved = json.loads(text)
        info = MediaInfo(**saved["info"]) if saved["info"] else None
        preview = Preview(codec=saved["codec"], info=info)
        has_poster = bool(saved["poster"])
    except (ValueError, KeyError, TypeError):
        return None  # written by another version, or cut off by a full disk
    poster = cache.read(job.id, POSTER) if has_poster else None
    if has_poster and poster is None:
        return None  # the poster was evicted from the cache
    return replace(preview, poster=poster)


def _keep(job: AsyncJob, preview: Preview) -> None:
    has_poster = preview.poster is not None
    if preview.poster is not None:
        job.preview_cache.keep(job.id, POSTER, preview.poster)
    saved: dict[str, Any] = {"codec": preview.codec, "poster": has_poster}
    saved["info"] = None if preview.info is None else asdict(preview.info)
    job.preview_cache.keep(job.id, LOOK, json.dumps(saved).encode())


def preview_of(file: BinaryIO, media_type: str) -> Preview:
    """Make a preview whose poster is small enough to be saved twice."""
    info = info_of(file, media_type)
    try:
        codec = picture_codec(file) if media_type == "video" else None
        return Preview(poster=small_poster(file), codec=codec, info=info)
    except (OSError, ValueError) as error:
        what = f" as a {WHAT[media_type]}" if media_type in WHAT else ""
        is_ours = type(error) is ValueError
        reason = str(error) if is_ours else f"the file cannot be read here{what}"
        return Preview(
            trouble=f"There is no preview of the result: {reason}. It may still open "
            "in another program.",
            info=info,
        )


def info_of(file: BinaryIO, media_type: str) -> MediaInfo | None:
    """Return the properties of an open file, as far as they can be read."""
    medium = MEDIA.get(media_type)
    if medium is None:
        return None
    size_bytes = file.seek(0, SEEK_END)
    file.seek(0)
    try:
        return probe_file(file, medium, size_bytes, whole=False)
    except (OSError, ValueError):
        return MediaInfo(medium, "", size_bytes)
    finally:
        file.seek(0)


def small_poster(file: BinaryIO) -> bytes:
    """Return a poster, shrunk until its file is small enough."""
    jpeg = b""
    for max_px in SMALLER_PX:
        file.seek(0)
        jpeg = poster_jpeg(file, max_px)
        if len(jpeg) <= POSTER_MAX_BYTES:
            break
    return jpeg


def picture_codec(file: BinaryIO) -> str | None:
    """Return the codec of a video's picture, such as "h264", or None."""
    with decoder_errors(), opened(file) as container:
        if not has_moving_pictures(container):
            return None
        return picture_track(container).codec_context.codec.canonical_name
