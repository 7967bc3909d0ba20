"""Compose: clips, pictures and sounds laid on a timeline (spec 4.14)."""

from collections.abc import Iterator, Mapping, Sequence

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.film.film_file import Film, write_film
from mediakit.sandbox.render.film.layers import ClipLayer, Layer, PictureLayer, segments
from mediakit.sandbox.render.film.pictures import picture_size
from mediakit.sandbox.render.film.timeline import Keyframe, film_frames, read_keyframes
from mediakit.sandbox.render.inputs.clips import Clip, read_clip
from mediakit.sandbox.render.protocol import Rendered, RenderRequest
from mediakit.sandbox.render.sizes import Size, frame_size
from mediakit.sandbox.render.sound.mixing import Mix, SoundFile, Voice, sound_kind

_SHORT_SIDE_PX = 720

Clips = Mapping[Keyframe, Clip]


def render(request: RenderRequest) -> Rendered:
    """Render the timeline of spec 4.14; every file is checked before any frame."""
    keyframes = read_keyframes(request)
    clips = {
        keyframe: read_clip(keyframe.path, keyframe.field, MediaLimits())
        for keyframe in keyframes
        if keyframe.kind == "video"
    }
    size = _size(keyframes, clips)
    frames = film_frames(keyframes)
    layers = list(_layers(keyframes, clips, size, frames))
    voices = list(_voices(keyframes, clips))
    film = Film(size, segments(layers, frames), Mix(voices) if voices else None)
    return write_film(film, request.output, sketch=request.sketch)


def _size(keyframes: Sequence[Keyframe], clips: Clips) -> Size:
    """Return the ratio of the first keyframe on the lowest visible track."""
    pictures = {
        keyframe: picture_size(keyframe.path, keyframe.field)
        for keyframe in keyframes
        if keyframe.kind == "image"
    }
    sizes = pictures | {keyframe: clip.size for keyframe, clip in clips.items()}
    first = next(keyframe for keyframe in keyframes if keyframe.visual)
    return frame_size(_SHORT_SIDE_PX, sizes[first].ratio)


def _layers(
    keyframes: Sequence[Keyframe], clips: Clips, size: Size, frames: int
) -> Iterator[Layer]:
    for keyframe in keyframes:
        span = keyframe.span(frames)
        if keyframe in clips:
            yield ClipLayer(clips[keyframe], size, span)
        elif keyframe.visual:
            yield PictureLayer(keyframe.path, keyframe.field, size, span)


def _voices(keyframes: Sequence[Keyframe], clips: Clips) -> Iterator[Voice]:
    for keyframe in keyframes:
        path, field = keyframe.path, keyframe.field
        if keyframe.kind == "audio":
            sound = SoundFile(path, field, sound_kind(path, field))
            yield Voice(keyframe.samples, sound)
        elif keyframe in clips and clips[keyframe].has_sound:
            yield Voice(keyframe.samples, SoundFile(path, field, "video"))
