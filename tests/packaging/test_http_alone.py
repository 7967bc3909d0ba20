"""The four functions by HTTP alone, on the sandbox as its own process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.support.samples.media_samples import make_mp4, make_png, make_wav

pytestmark = pytest.mark.soak

PATIENCE_S = 90.0
SMALLER = 4
Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class Service:
    """What the one line of JSON says, and a client that knows nothing of mediakit."""

    http: httpx.Client
    functions: dict[str, str]

    def upload(self, file: Path, content_type: str) -> str:
        size_bytes = file.stat().st_size
        asked = {"content_type": content_type, "size_bytes": size_bytes}
        grant = self.http.post("/v1/media/uploads", json=asked).json()
        put = httpx.put(
            grant["upload_url"], content=file.read_bytes(), headers=grant["headers"]
        )
        assert put.is_success
        url: str = grant["url"]
        return url

    def make(self, kind: str, **body: object) -> bytes:
        path = f"/v1/media/{self.functions[kind]}"
        job = self.http.post(path, json=body).json()
        deadline = time.monotonic() + PATIENCE_S
        while job["status"] not in ("completed", "failed"):
            assert time.monotonic() < deadline, job
            time.sleep(0.1)
            job = self.http.get(f"/v1/media/jobs/{job['id']}").json()
        assert job["status"] == "completed", job
        output = job["output"]
        url = output[output["media_type"]]["url"]
        answered = self.http.get(f"/v1/media/jobs/{job['id']}/content").json()
        assert answered == {"url": url}
        return httpx.get(url).content


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    command = [sys.executable, "-m", "mediakit.sandbox", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said: dict[str, Any] = json.loads(process.stdout.readline())
        headers = {"X-API-Key": said["api_key"]}
        url = said["base_url"]
        with httpx.Client(base_url=url, headers=headers, timeout=30) as http:
            yield Service(http, said["functions"])
        process.terminate()
        assert process.wait(timeout=30) == 0


@dataclass(frozen=True)
class Probed:
    """What PyAV finds in a file; every frame was decoded, and is kept smaller."""

    width: int
    height: int
    seconds: float
    codec: str
    sounds: int
    frames: list[Pixels]


def probed(content: bytes) -> Probed:
    with av.open(BytesIO(content), mode="r") as container:
        stream = container.streams.video[0]
        frames = [small(frame.to_image()) for frame in container.decode(video=0)]
        return Probed(
            stream.width,
            stream.height,
            len(frames) / float(stream.average_rate or 1),
            stream.codec_context.name,
            len(container.streams.audio),
            frames,
        )


def small(image: Image.Image) -> Pixels:
    size = (image.width // SMALLER, image.height // SMALLER)
    return np.asarray(image.convert("RGB").resize(size), dtype=np.float32)


def difference(one: Pixels, other: Pixels) -> float:
    """Return the mean difference of two pictures, 0 to 255."""
    return float(np.abs(one - other).mean())


def fitted(file: Path, width: int, height: int) -> Pixels:
    with Image.open(file) as image:
        return small(image.convert("RGB").resize((width, height)))


@pytest.mark.parametrize(
    ("ask", "width", "height", "sounds"),
    [
        ({"duration": 3}, 1280, 720, 0),
        ({"duration": 4, "aspect_ratio": "9:16", "audio": "native"}, 720, 1280, 1),
        ({"duration": 3, "resolution": "1080p", "aspect_ratio": "1:1"}, 1080, 1080, 0),
    ],
)
def test_text_to_video_has_the_asked_size_length_and_sound(
    service: Service, ask: dict[str, Any], width: int, height: int, sounds: int
) -> None:
    made = probed(service.make("text-to-video", prompt="a kite over dunes", **ask))

    assert (made.width, made.height) == (width, height)
    assert made.seconds == pytest.approx(ask["duration"], abs=0.05)
    assert made.codec == "h264"
    assert made.sounds == sounds
    assert difference(made.frames[0], made.frames[-1]) > 0.3


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_image_upscale_returns_the_given_picture_at_the_asked_factor(
    service: Service, tmp_path: Path, factor: int
) -> None:
    picture = make_png(tmp_path / "cat.png", (120, 80))
    url = service.upload(picture, "image/png")
    content = service.make(
        "image-upscale", image_url=url, upscale_factor=f"x{factor}", output_format="png"
    )

    with Image.open(BytesIO(content)) as image:
        assert image.format == "PNG"
        assert image.size == (120 * factor, 80 * factor)
        made = small(image)
    assert difference(made, fitted(picture, *image.size)) < 3
    other = make_png(tmp_path / "dog.png", (120, 80), "maroon", "stripes")
    assert difference(made, fitted(other, *image.size)) > 20


def test_keyframes_really_shows_the_given_pictures(
    service: Service, tmp_path: Path
) -> None:
    colours = ("teal", "maroon", "navy")
    patterns: tuple[Any, ...] = ("disc", "stripes", "gradient")
    files = [
        make_png(tmp_path / f"{colour}.png", (320, 180), colour, pattern)
        for colour, pattern in zip(colours, patterns, strict=True)
    ]
    content = service.make(
        "keyframes",
        images=[service.upload(file, "image/png") for file in files],
        resolution="720p",
        transition_durations_s=[1, 2],
    )
    made = probed(content)
    pictures = [fitted(file, 1280, 720) for file in files]

    assert (made.width, made.height) == (1280, 720)
    assert made.seconds == pytest.approx(3, abs=0.05)
    per_second = round(len(made.frames) / 3)
    for at, picture in zip((0, per_second, -1), pictures, strict=True):
        own = difference(made.frames[at], picture)
        others = [difference(made.frames[at], p) for p in pictures if p is not picture]
        assert own < 8
        assert own < min(others) / 3


def test_a_reference_video_uses_its_references_and_their_sound(
    service: Service, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "cat.png", (320, 320), "crimson", "plain")
    sound = make_wav(tmp_path / "tone.wav", 3.0)
    content = service.make(
        "r1",
        prompt="@Image1 in the sun",
        duration=4,
        resolution="480p",
        image_urls=[service.upload(picture, "image/png")],
        audio_urls=[service.upload(sound, "audio/wav")],
    )
    made = probed(content)

    assert made.height == 480
    assert made.seconds == pytest.approx(4, abs=0.05)
    assert made.sounds == 1
    reddest = max(float((f[..., 0] - f[..., 1]).mean()) for f in made.frames)
    assert reddest > 60


def test_an_edit_keeps_the_length_and_the_ratio_of_its_source(
    service: Service, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (640, 640), 2.5)
    made = probed(
        service.make(
            "r1",
            prompt="edit @Video1",
            duration="auto",
            resolution="480p",
            video_urls=[service.upload(clip, "video/mp4")],
            omni_reference_task_type="edit",
        )
    )

    assert (made.width, made.height) == (480, 480)
    assert made.seconds == pytest.approx(2.5, abs=0.1)


def test_a_draft_is_480p(service: Service) -> None:
    made = probed(
        service.make("r1", prompt="a", duration=4, resolution="1080p", draft=True)
    )

    assert made.height == 480
