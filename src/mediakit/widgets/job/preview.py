"""Makes the preview of a result, and checks whether browsers can play it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from anyio import CapacityLimiter, to_thread

from mediakit.client import AsyncJob
from mediakit.client.download_targets import NO_ROOM
from mediakit.client.preview_cache import POSTER
from mediakit.errors import GoneError, MediakitError, ServiceError
from mediakit.media import POSTER_MAX_PX, poster_jpeg
from mediakit.media.decoding import decoder_errors, opened, picture_track
from mediakit.media.previews import CLIP_MAX_PX, CLIP_MAX_S, make_preview
from mediakit.widgets.job.player import Embedded, playback_notice
from mediakit.widgets.job.results.output_facts import NO_FACTS, OutputFacts
from mediakit.widgets.job.text import erased, has_output

FETCH_MAX_BYTES = 64 * 1024 * 1024
PICTURE_MAX_BYTES = 16 * 1024 * 1024
EMBED_MAX_BYTES = 24 * 1024 * 1024
CLIP_MAX_BYTES = 10 * 1024 * 1024
POSTER_MAX_BYTES = 12_000
SMALLER_PX = (POSTER_MAX_PX, 256, 208, 160, 112)
LOOK, CLIP = ".json", ".mp4"

NOT_FETCHED = "There is no poster of the result: it could not be fetched."
NOT_PLAYABLE = "Your browser cannot play this file, or it has been deleted."
MAKING = "Making a small copy that plays here…"
DISK_FULL = "the disk is full. Free some space, then show the job again."
CLIP_NOTE = (
    f"You see a small H.264 copy, made on this machine (at most {CLIP_MAX_PX:,} pixels "
    f"and {CLIP_MAX_S:.0f} s)."
)

_making = CapacityLimiter(1)


@dataclass(frozen=True)
class Preview:
    """What was seen of a result.

    Args:
        poster: A small JPEG of it; None when there is no picture to show.
        codec: The codec of its picture; None when it is not known.
        trouble: Why there is no picture, as a sentence; None when nothing is wrong.
        clip: A small H.264 copy of it, where browsers cannot play the result itself.
        clip_note: What is to be known of the copy, or why there is none.
        facts: How large and how long the result itself is.
    """

    poster: bytes | None = field(default=None, repr=False)
    codec: str | None = None
    trouble: str | None = None
    clip: bytes | None = field(default=None, repr=False)
    clip_note: str = ""
    facts: OutputFacts = NO_FACTS

    @property
    def needs_clip(self) -> bool:
        """Tell whether the result itself may stay without a picture in a browser."""
        return bool(playback_notice(self.codec))


async def look_at(job: AsyncJob, show: Callable[[Preview], object]) -> None:
    """Look at a job's output, and make a small copy of it where it does not play.

    What was seen before on this machine is not fetched again.

    Args:
        job: The job; it has an output.
        show: Takes what was seen, and takes it again once there is a copy.
    """
    kept = await to_thread.run_sync(_kept, job)
    if kept is not None:
        show(kept)
        return
    preview = await _looked_at(job)
    show(preview)
    if preview.needs_clip:
        preview = await _with_clip(job, preview)
        show(preview)
    # A copy that could not be made is tried again another day.
    if preview.trouble is None and preview.needs_clip == bool(preview.clip):
        await to_thread.run_sync(_keep, job, preview)


def poster_kept(job: AsyncJob) -> Preview:
    """Return what is known at once of a job's output: a poster that was made before."""
    return _kept_poster(job) or Preview() if has_output(job.state) else Preview()


async def embedded_of(job: AsyncJob, preview: Preview) -> Embedded:
    """Return what of a result becomes part of the notebook when that is asked for.

    Args:
        job: The job; it has an output.
        preview: What was seen of it: a copy that plays comes before the result itself.

    Raises:
        GoneError: The output was erased.
        ServiceError: It is larger than `EMBED_MAX_BYTES`, or could not be fetched.
    """
    if preview.clip is not None:
        return Embedded(preview.clip, "video", "video/mp4", is_copy=True)
    data = await job.fetch_output(EMBED_MAX_BYTES)
    output = job.state.record.output
    file = output.file if output is not None else None
    content_type = (file.content_type if file is not None else None) or ""
    medium = job.state.media_type
    return Embedded(data, medium, content_type)


async def playable_copy(job: AsyncJob) -> bytes:
    """Return an mp4 that browsers play in place of a clip that they cannot play.

    Raises:
        GoneError: The result was erased.
        ServiceError: There is no such copy.
    """
    if erased(job.state):
        raise GoneError("This result was erased.", job_id=job.id)
    seen: list[Preview] = []
    await look_at(job, seen.append)
    last = seen[-1]
    if last.clip is None:
        raise ServiceError(last.trouble or last.clip_note or NOT_PLAYABLE)
    return last.clip


async def _looked_at(job: AsyncJob) -> Preview:
    """Look at as little of the output as will do: of a clip, a few MB at most."""
    medium = job.state.media_type
    try:
        if medium == "audio":
            read = partial(OutputFacts.read, media_type=medium)
            return Preview(facts=await job.read_output(read) or NO_FACTS)
        if medium == "video":
            factory = partial(preview_of, media_type=medium)
            preview = await job.read_output(factory) or Preview(trouble=NOT_FETCHED)
        else:
            data = await job.fetch_output(PICTURE_MAX_BYTES)
            preview = await to_thread.run_sync(preview_of, BytesIO(data), medium)
    except MediakitError as error:
        return Preview(trouble=f"There is no poster of the result: {error}")
    return replace(preview, clip_note=MAKING) if preview.needs_clip else preview


async def _with_clip(job: AsyncJob, preview: Preview) -> Preview:
    try:
        data = await job.fetch_output(FETCH_MAX_BYTES)
    except MediakitError as error:
        return replace(preview, clip_note=f"There is no copy that plays here: {error}")
    try:
        with TemporaryDirectory(
            prefix="mediakit-", ignore_cleanup_errors=True
        ) as folder:
            source = Path(folder, "source")
            await to_thread.run_sync(source.write_bytes, data)
            del data  # on the disk it waits for its turn without taking memory
            async with _making:
                make = partial(_clip, source, source.with_name("copy.mp4"))
                clip = await to_thread.run_sync(make, abandon_on_cancel=True)
    except OSError as error:
        is_full = error.errno in NO_ROOM
        reason = DISK_FULL if is_full else f"{error.strerror or error}."
        note = f"No copy that plays here could be made: {reason}"
        return replace(preview, clip_note=note)
    return replace(preview, clip=clip, clip_note=CLIP_NOTE)


def _clip(source: Path, target: Path) -> bytes:
    make_preview(source, target)
    size_bytes = target.stat().st_size
    if size_bytes > CLIP_MAX_BYTES:
        raise OSError(f"the copy has {size_bytes:,} bytes")
    return target.read_bytes()


def _kept(job: AsyncJob) -> Preview | None:
    preview = _kept_poster(job)
    if preview is None or not preview.needs_clip:
        return preview
    clip = job.preview_cache.read(job.id, CLIP)
    return replace(preview, clip=clip, clip_note=CLIP_NOTE) if clip else None


def _kept_poster(job: AsyncJob) -> Preview | None:
    cache = job.preview_cache
    text = cache.read(job.id, LOOK)
    if text is None:
        return None
    try:
        said = json.loads(text)
        facts = OutputFacts.from_json(said["facts"])
        preview = Preview(codec=said["codec"], facts=facts)
        has_poster = bool(said["poster"])
    except (ValueError, KeyError, TypeError):
        return None  # another version wrote it, or the disk was full
    poster = cache.read(job.id, POSTER) if has_poster else None
    if has_poster and poster is None:
        return None  # it was dropped: others were used later
    return replace(preview, poster=poster)


def _keep(job: AsyncJob, preview: Preview) -> None:
    if erased(job.state):
        return
    if preview.clip is not None:
        job.preview_cache.keep(job.id, CLIP, preview.clip)
    if preview.poster is not None:
        job.preview_cache.keep(job.id, POSTER, preview.poster)
    said = {
        "codec": preview.codec,
        "poster": preview.poster is not None,
        "facts": preview.facts.as_json,
    }
    job.preview_cache.keep(job.id, LOOK, json.dumps(said).encode())


def preview_of(file: BinaryIO, media_type: str) -> Preview:
    """Look at a file: a poster that is small enough to be saved twice in a notebook.

    Args:
        file: The file, from its start.
        media_type: "video" or "image".
    """
    facts = NO_FACTS
    try:
        facts = OutputFacts.read(file, media_type)
        codec = picture_codec(file) if media_type == "video" else None
        return Preview(poster=small_poster(file), codec=codec, facts=facts)
    except (OSError, ValueError) as error:
        name = type(error.__cause__ or error).__name__
        return Preview(
            trouble="There is no poster of the result: the file cannot be read here "
            f"({name}). It may still open in another program.",
            facts=facts,
        )


def small_poster(file: BinaryIO) -> bytes:
    """Make a poster, smaller in pixels until it is small enough in bytes.

    Raises:
        OSError: The file cannot be read.
        ValueError: It has no picture.
    """
    jpeg = b""
    for max_px in SMALLER_PX:
        file.seek(0)
        jpeg = poster_jpeg(file, max_px)
        if len(jpeg) <= POSTER_MAX_BYTES:
            break
    return jpeg


def picture_codec(file: BinaryIO) -> str | None:
    """Return the codec of a video's picture, such as "h264"; None without one.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no video.
    """
    with decoder_errors(), opened(file) as container:
        if not container.streams.video:
            return None
        return picture_track(container).codec_context.codec.canonical_name
