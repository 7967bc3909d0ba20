"""Renders bodies, and decodes the output as a player would."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps

from mediakit.catalog import Catalog
from mediakit.sandbox.jobs.renderer import render_request
from mediakit.sandbox.render.film import FPS, Film, Layer, frame_of, write_film
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest, Size
from mediakit.sandbox.render.renderers import render
from tests.support.samples.media_samples import make_sound

Rgb = NDArray[np.float32]
Sound = NDArray[np.float32]

CATALOG = Catalog.default()
DECLARED = {function.kind for function in CATALOG}
SAMPLE_RATE_HZ = 48_000


def greys(size: Size, frames: int, fps: Fraction = Fraction(FPS), **more: Any) -> Film:
    """Return a film of plain greys, each frame lighter than the one before."""

    def shades() -> Iterator[av.VideoFrame]:
        for index in range(frames):
            level = 8 * (index % 20)
            yield frame_of(Image.new("RGB", size, (level, level, level)))

    return Film(size, [Layer(shades, fills=True)], frames, fps=fps, **more)


def make_greys(path: Path, size: Size, frames: int, fps: Fraction) -> Path:
    write_film(greys(size, frames, fps), path, sketch=True)
    return path


class Made(NamedTuple):
    """A file, as its header describes it."""

    content_type: str
    width: int | None
    height: int | None
    seconds: float | None = None


def made_of(rendered: Rendered, path: Path) -> Made:
    """Read what was made; its length must be the one that the worker reports."""
    content_type, duration_ms = rendered
    if content_type.startswith("image/"):
        assert duration_ms is None
        with Image.open(path) as picture:
            assert picture.get_format_mimetype() == content_type
            return Made(content_type, *picture.size)
    with av.open(str(path)) as file:
        stream = file.streams[0]
        seconds = float((stream.duration or 0) * (stream.time_base or 0))
        width, height = (getattr(stream, side, None) for side in ("width", "height"))
    assert duration_ms == round(seconds * 1000)
    return Made(content_type, width, height, seconds)


def make_m4a(path: Path, length_s: float, start_s: float = 0.0) -> Path:
    """Write a tone of 440 Hz into an mp4 file without a picture."""
    with av.open(str(path), "w", format="mp4") as file:
        stream = file.add_stream("aac", rate=SAMPLE_RATE_HZ, layout="stereo")
        frame = av.AudioFrame.from_ndarray(make_sound(length_s), "fltp", "stereo")
        frame.sample_rate = SAMPLE_RATE_HZ
        frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
        frame.pts = round(start_s * SAMPLE_RATE_HZ)
        file.mux([*stream.encode(frame), *stream.encode(None)])
    return path


@dataclass(frozen=True)
class Seen:
    """A decoded film, with its frames and its sound."""

    size: Size
    codec: str
    tag: str
    fps: Fraction
    seconds: float
    frames: list[Rgb]
    sound: Sound | None

    def at(self, time_s: float) -> Rgb:
        """The frame that is shown at a time."""
        return self.frames[int(time_s * FPS + 1e-6)]

    def heard(self, start_s: float, stop_s: float) -> Sound:
        """The first channel of the sound between two times."""
        assert self.sound is not None
        first, last = (round(time * SAMPLE_RATE_HZ) for time in (start_s, stop_s))
        return self.sound[0, first:last]


def look(path: Path, *, every: int = 1, shrink: int = 1) -> Seen:
    """Open a film; read every nth frame, scaled down."""
    with av.open(str(path)) as file:
        video = file.streams.video[0]
        context = video.codec_context
        size, codec, tag = (
            Size(context.width, context.height),
            context.name,
            context.codec_tag,
        )
        frames = []
        for index, frame in enumerate(file.decode(video)):
            if index % every == 0:
                small = frame.reformat(size.width // shrink, size.height // shrink)
                frames.append(small.to_ndarray(format="rgb24").astype(np.float32))
            if index + every >= video.frames and index % every == 0:
                break
        seconds = float((video.duration or 0) * (video.time_base or 0))
        fps = Fraction(video.average_rate or 0)
    return Seen(size, codec, tag, fps, seconds, frames, listen(path))


def listen(path: Path) -> Sound | None:
    with av.open(str(path)) as file:
        if not file.streams.audio:
            return None
        parts = [frame.to_ndarray() for frame in file.decode(audio=0)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def pitch_hz(sound: NDArray[np.float32]) -> float:
    """The strongest tone of one channel."""
    spectrum = np.abs(np.fft.rfft(sound))
    return float(np.argmax(spectrum) * SAMPLE_RATE_HZ / len(sound))


def level(sound: Sound) -> float:
    """The root mean square."""
    return float(np.sqrt((sound**2).mean()))


def picture_of(path: Path) -> Rgb:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"), dtype=np.float32)


def fitted(picture: Rgb, size: Size) -> Rgb:
    """A picture as it covers a frame of another size."""
    image = Image.fromarray(picture.astype(np.uint8))
    covering = ImageOps.fit(image, size, Image.Resampling.LANCZOS)
    return np.asarray(covering, dtype=np.float32)


def middle(picture: Rgb) -> Rgb:
    """The part of a frame that no words cover."""
    height, width = picture.shape[:2]
    return picture[height * 2 // 5 : height * 9 // 10, width // 10 : width * 9 // 10]


def difference(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Mean absolute difference of two pictures, from 0 to 255."""
    return float(np.abs(one.astype(np.float32) - other.astype(np.float32)).mean())


class Studio:
    """Renders bodies whose media are given as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "out.part"

    def order(
        self,
        kind: str,
        body: Mapping[str, object],
        *files: Path,
        seed: int = 1,
        media_type: str = "video",
    ) -> RenderRequest:
        """Ask for a film or a picture; media may be smaller than real ones."""
        inputs = {self.url(path): path for path in files}
        if kind not in DECLARED:
            asked = RenderRequest(kind, body, inputs, self.output, seed)
            return replace(asked, media_type=media_type, sketch=True, changed=(*body,))
        function = CATALOG.function(kind)
        canonical = function.canonical_body(body)
        asked = render_request(function, canonical, inputs, self.output, seed)
        return replace(asked, sketch=True, limits={})

    def strict(
        self, kind: str, body: Mapping[str, object], *files: Path
    ) -> RenderRequest:
        """Ask under the function's own limits."""
        asked = self.order(kind, body, *files)
        limits = CATALOG.function(kind).media_limits(asked.body)
        return replace(asked, limits=limits)

    def make(
        self, kind: str, body: Mapping[str, object], *files: Path, **more: Any
    ) -> Made:
        """Draw the first frame of each shot."""
        return made_of(render(self.order(kind, body, *files, **more)), self.output)

    def film(self, kind: str, body: Mapping[str, object], *files: Path) -> Made:
        """Draw every frame."""
        asked = replace(self.order(kind, body, *files), sketch=False)
        return made_of(render(asked), self.output)

    @staticmethod
    def url(path: Path) -> str:
        return f"https://media.test/{path.name}"


def refusal(asked: RenderRequest) -> str:
    """Expect `invalid_input`; return its sentence."""
    with pytest.raises(RenderError) as refused:
        render(asked)
    assert refused.value.code == "invalid_input"
    assert refused.value.message.endswith(".")
    assert not asked.output.exists()
    return refused.value.message
