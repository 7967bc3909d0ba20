"""Every function over HTTP: its output and its charge."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from mediakit.catalog import Catalog
from mediakit.estimates import EstimateKind
from mediakit.schema import InputFacts
from tests.sandbox.conftest import Api
from tests.support.samples.media_samples import make_mp4, make_png, make_wav

CLIP_S = 2.5
SOUND_S = 3.0
FRAME_S = 1 / 24


@dataclass(frozen=True)
class Row:
    """A body, in which PICTURE, CLIP and SOUND stand for uploads, and its output."""

    kind: str
    body: dict[str, Any]
    size: tuple[int, int]
    seconds: float | None = None
    sound: bool = False
    codec: str = "h264"
    content_type: str = "video/mp4"

    def __str__(self) -> str:
        given = [f"{k}={v}" for k, v in self.body.items() if isinstance(v, str | int)]
        return f"{self.kind}-{' '.join(given)}"[:80]


def keyframe(url: str, at: float, length: float) -> dict[str, Any]:
    return {"timestamp": at, "duration": length, "url": url}


PROMPT = {"prompt": "a kite over dunes"}
TIMELINE = [
    {
        "id": "clips",
        "type": "video",
        "keyframes": [keyframe("CLIP", 0, 1000), keyframe("CLIP", 1000, 1000.5)],
    },
    {"id": "stills", "type": "image", "keyframes": [keyframe("PICTURE", 500, 1000)]},
    {"id": "music", "type": "audio", "keyframes": [keyframe("SOUND", 0, 3000)]},
]
ROWS = [
    Row(
        "r1",
        {**PROMPT, "duration": 4, "output_format": "mov", "generate_audio": False},
        (1280, 720),
        4,
        content_type="video/quicktime",
    ),
    Row("r1", {**PROMPT, "duration": 4, "ratio": "16:9"}, (1280, 720), 4, sound=True),
    Row(
        "r1",
        {**PROMPT, "duration": 4, "draft": True, "image_urls": ["PICTURE"]},
        (854, 480),
        4,
        sound=True,
    ),
    Row(
        "r1",
        {
            **PROMPT,
            "duration": "auto",
            "omni_reference_task_type": "edit",
            "video_urls": ["CLIP"],
        },
        (1280, 720),
        CLIP_S,
        sound=True,
    ),
    Row("r2", {**PROMPT, "duration": 4, "resolution": "720p"}, (1280, 720), 4, True),
    Row(
        "r2",
        {
            **PROMPT,
            "duration": 5,
            "resolution": "480p",
            "ratio": "1:1",
            "video_urls": ["CLIP"],
            "generate_audio": False,
        },
        (480, 480),
        5,
    ),
    Row(
        "r3",
        {**PROMPT, "reference_image_urls": ["PICTURE"], "ratio": "4:5", "duration": 3},
        (1080, 1350),
        3,
    ),
    Row("r3b", {**PROMPT, "reference_image_urls": ["PICTURE"]}, (1920, 1080), 5),
    Row(
        "r4",
        {**PROMPT, "image_urls": ["PICTURE"], "duration": 3, "aspect_ratio": "9:16"},
        (720, 1280),
        3,
    ),
    Row(
        "r5",
        {
            **PROMPT,
            "duration": 4,
            "resolution": "768P",
            "image_urls": ["PICTURE"] * 6,
            "video_urls": ["CLIP"],
            "audio_urls": ["SOUND"],
        },
        (1366, 768),
        4,
        sound=True,
    ),
    Row(
        "r5",
        {**PROMPT, "duration": 4, "ratio": "16:9", "audio_urls": ["SOUND"]},
        (2560, 1440),
        4,
        sound=True,
    ),
    Row(
        "r6",
        {**PROMPT, "reference_image_urls": ["PICTURE"] * 3, "duration": 1},
        (854, 480),
        1,
    ),
    Row(
        "image-upscale",
        {"image_url": "PICTURE"},
        (640, 360),
        codec="JPEG",
        content_type="image/jpeg",
    ),
    Row(
        "video-upscale",
        {"video_url": "CLIP"},
        (1708, 960),
        CLIP_S,
        sound=True,
        codec="hevc",
    ),
    Row(
        "video-upscale",
        {"video_url": "CLIP", "h264_output": True, "model": "starlight-precise-2.6"},
        (1708, 960),
        CLIP_S,
        sound=True,
    ),
    Row("compose-video", {"tracks": TIMELINE}, (1280, 720), 3.0, sound=True),
    Row("compose-video", {"tracks": TIMELINE[1:2]}, (1280, 720), 1.5),
    Row(
        "keyframes",
        {
            "images": ["PICTURE"] * 2,
            "transition_duration_s": 2,
            "resolution": "720p",
            "loop": True,
        },
        (1280, 720),
        4,
    ),
    Row(
        "region-replace",
        {**PROMPT, "video": "CLIP", "modify_region_roi": "the sky"},
        (1922, 1080),
        CLIP_S,
        sound=True,
    ),
    Row(
        "region-replace",
        {
            **PROMPT,
            "video": "CLIP",
            "modify_region_mask": "PICTURE",
            "resolution": "720p",
        },
        (1280, 720),
        CLIP_S,
        sound=True,
    ),
    Row("text-to-video", {**PROMPT, "duration": 3}, (1280, 720), 3),
    Row(
        "text-to-video",
        {
            **PROMPT,
            "duration": 3,
            "audio": "native",
            "aspect_ratio": "1:1",
            "resolution": "1080p",
        },
        (1080, 1080),
        3,
        sound=True,
    ),
    Row("text-to-image", PROMPT, (1024, 1024), codec="PNG", content_type="image/png"),
    Row(
        "image-to-image",
        {**PROMPT, "image": "PICTURE", "strength": 0.5},
        (320, 180),
        codec="PNG",
        content_type="image/png",
    ),
    Row("r1-finalize", {"draft_url": "CLIP"}, (1922, 1080), CLIP_S, sound=True),
    Row(
        "r5b",
        {"input": {"pictures": ["PICTURE"]}, "duration": 3, "resolution": "720p"},
        (1280, 720),
        3,
        sound=True,
    ),
    Row(
        "r5b",
        {"input": {"pictures": ["PICTURE"], "text": "a kite"}, "duration": 3},
        (2560, 1440),
        3,
        sound=True,
    ),
]


@pytest.fixture(scope="module")
def uploads(api: Api, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A picture, a clip with sound and a sound, where the sandbox keeps them."""
    folder = tmp_path_factory.mktemp("media")
    picture = make_png(folder / "picture.png")
    clip = make_mp4(folder / "clip.mp4", duration_s=CLIP_S, audio=True)
    sound = make_wav(folder / "sound.wav", SOUND_S)
    return {
        "PICTURE": api.upload("image/png", picture.read_bytes()),
        "CLIP": api.upload("video/mp4", clip.read_bytes()),
        "SOUND": api.upload("audio/wav", sound.read_bytes()),
    }


def filled(value: Any, uploads: dict[str, str]) -> Any:
    """Put the addresses of uploads in place of their names."""
    if isinstance(value, dict):
        return {name: filled(item, uploads) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, uploads) for item in value]
    return uploads.get(value, value) if isinstance(value, str) else value


def rows() -> list[Any]:
    """The first row of each function; the soak has all."""
    usual = {row.kind: row for row in reversed(ROWS)}.values()
    others = [row for row in ROWS if row not in usual]
    return [*usual, *(pytest.param(row, marks=pytest.mark.soak) for row in others)]


@pytest.mark.parametrize("row", rows(), ids=str)
def test_a_function_returns_the_requested_medium_at_its_price(
    api: Api, uploads: dict[str, str], tmp_path: Path, row: Row
) -> None:
    body = filled(row.body, uploads)
    job = api.settled(api.submit(row.kind, body)["id"])

    assert job["status"] == "completed", job
    output = job["output"][job["output"]["media_type"]]
    assert output["content_type"] == row.content_type
    content = api.http.get(output["url"]).content
    if row.seconds is None:
        check_picture(content, row)
    else:
        check_film(content, row, tmp_path)
        assert job["usage"]["output_seconds"] == pytest.approx(row.seconds, abs=FRAME_S)
    check_charge(job["billing"]["charge_micro_usd"], row.kind, body, uploads)


def check_picture(content: bytes, row: Row) -> None:
    with Image.open(BytesIO(content)) as picture:
        picture.load()
        assert (picture.format, picture.size) == (row.codec, row.size)


def check_film(content: bytes, row: Row, folder: Path) -> None:
    (folder / "film").write_bytes(content)
    with av.open(str(folder / "film")) as film:
        video = film.streams.video[0]
        assert (video.width, video.height) == row.size
        assert video.codec_context.name == row.codec
        assert bool(film.streams.audio) == row.sound
        assert video.duration is not None
        assert video.time_base is not None
        length = float(video.duration * video.time_base)
        assert length == pytest.approx(row.seconds, abs=FRAME_S)
        frames = sum(1 for packet in film.demux(video=0) if packet.size)
        assert frames == pytest.approx(length * float(video.average_rate or 0), abs=1)


def check_charge(
    charge: int, kind: str, body: dict[str, Any], uploads: dict[str, str]
) -> None:
    seconds = {uploads["CLIP"]: CLIP_S, uploads["SOUND"]: SOUND_S}
    estimate = Catalog.default().function(kind).estimate(body, InputFacts(seconds))
    if estimate.kind is EstimateKind.UNKNOWN:
        assert charge == 50_000
    else:
        assert estimate.kind in (EstimateKind.EXACT, EstimateKind.NOMINAL)
        assert charge == estimate.low == estimate.high
