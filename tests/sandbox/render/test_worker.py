"""The renderer's process: one response line per request line; hostile files."""

import json
import os
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import pytest

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.__main__ import response
from mediakit.sandbox.render.protocol import RenderRequest
from tests.sandbox.render.studio import Studio, look, make_m4a, pitch_hz, refusal
from tests.support.samples.media_samples import (
    make_jpeg,
    make_mp4,
    make_picture,
    make_png,
    make_wav,
)
from tests.support.sandbox.workers import asked, running_worker, send

R1 = {"prompt": "at the lake", "duration": 4, "resolution": "480p"}


def test_the_worker_answers_each_request_with_a_line_and_exits(
    studio: Studio,
) -> None:
    path = make_png(studio.folder / "p.png", (20, 10))
    good = studio.order("image-upscale", {"image_url": studio.url(path)}, path)
    bad = replace(good, kind="mine", media_type="smell")
    with running_worker() as (process, server):
        refused, answer = [asked(server, request) for request in (bad, good)]
        server.close()
        assert process.communicate()[1] == b""
    assert process.returncode == 0
    assert refused["code"] == "internal"
    assert answer == {"result": ["image/jpeg", None]}


def test_a_worker_whose_server_was_killed_renders_nothing(studio: Studio) -> None:
    path = make_png(studio.folder / "p.png", (20, 10))
    order = studio.order("image-upscale", {"image_url": studio.url(path)}, path)
    with running_worker() as (process, server):
        # It still imports: the request is all that its server has left.
        send(server, order)
        server.close()
        assert process.communicate()[1] == b""
    assert not order.output.exists()


@pytest.mark.parametrize(
    ("kind", "body", "more"),
    [
        ("text-to-video", {"prompt": "a"}, {"output": Path("/none/out")}),
        ("image-upscale", {"image_url": "https://a.test"}, {}),
        ("probe", {"u": "video"}, {"inputs": {"u": Path("/none.mp4")}}),
    ],
)
def test_an_invalid_request_gets_an_error_response(
    studio: Studio, kind: str, body: dict[str, object], more: dict[str, Any]
) -> None:
    order = studio.order("mine", body)
    answer = response(replace(order, kind=kind, **more))
    assert answer["code"] == "internal"
    assert answer["message"].endswith(".")


# Limits of media


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    ("field", "clip", "words"),
    [
        (
            "video_urls",
            ((854, 480), 1.0, 24),
            "[0]: got 1 s, accepted: 2 to 30 s",
        ),
        (
            "video_urls",
            ((854, 480), 2.0, 12),
            "[0]: got 12 frames per second, accepted: 24 to 60",
        ),
        (
            "video_urls",
            ((640, 480), 2.0, 24),
            "[0]: got 640x480 = 307,200 pixels, accepted: 407,696",
        ),
        ("audio_urls", (1.0,), "[0]: got 1 s, accepted: 2 to 30 s"),
        ("audio_urls", (35.0,), "[0]: got 35 s, accepted: 2 to 30 s"),
    ],
)
def test_what_is_outside_the_limits_is_refused_with_what_was_found(
    studio: Studio, field: str, clip: tuple[Any, ...], words: str
) -> None:
    make: Callable[..., Path] = make_mp4 if field == "video_urls" else make_wav
    path = make(studio.folder / "a", *clip)
    asked = studio.strict("r1", {**R1, field: [studio.url(path)]}, path)
    assert refusal(asked).startswith(f"{field}{words}")


@pytest.mark.spec("4.4")
def test_what_is_too_long_together_is_refused(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "clip.mp4", (854, 480), 2)
    wav = make_wav(studio.folder / "a.wav", 16)
    for field, path, times in (("video_urls", clip, 16), ("audio_urls", wav, 2)):
        asked = studio.strict("r1", {**R1, field: [studio.url(path)] * times}, path)
        assert refusal(asked).startswith(f"{field}: got 32 s together")


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    ("field", "make", "size_bytes", "words"),
    [
        ("video_urls", make_mp4, 201_000_000, "got 201 MB, accepted: at most 200"),
        ("audio_urls", make_wav, 15_100_000, "got 15.1 MB, accepted: at most 15 MB"),
        ("image_urls", make_png, 100_100_000, "100.1 MB; the limit is 100 MB"),
    ],
)
def test_files_with_too_many_bytes_are_refused(
    studio: Studio,
    field: str,
    make: Callable[[Path], Path],
    size_bytes: int,
    words: str,
) -> None:
    path = make(studio.folder / "large")
    os.truncate(path, size_bytes)  # no block on the disk holds the zeros
    asked = studio.strict("r1", {**R1, field: [studio.url(path)]}, path)
    assert words in refusal(asked)


def test_an_m4a_is_no_clip_and_a_sound_where_no_format_is_asked_for(
    studio: Studio,
) -> None:
    path = make_m4a(studio.folder / "a.m4a", 2.0)
    heard, seen = {**R1, "audio_urls": [studio.url(path)]}, [studio.url(path)]
    assert refusal(studio.strict("r1", heard, path)) == (
        "audio_urls[0]: got audio/mp4, accepted: wav or mp3."
    )
    no_clip = studio.order("r1", {**R1, "video_urls": seen}, path)
    assert "the file has no video track" in refusal(no_clip)
    studio.make("r1", heard, path)
    sound = look(studio.output, every=96).heard(0.2, 1.6)
    assert pitch_hz(sound) == pytest.approx(440, abs=2)


def test_declared_limits_hold_for_a_custom_function(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (64, 64), 1)
    sound = make_wav(studio.folder / "s.wav", 1)
    body = {"shots": [{"clip": studio.url(clip)}], "voice": studio.url(sound)}
    asked = studio.order("mine", body, clip, sound)
    for field, place in (("shots", "shots[0].clip"), ("voice", "voice")):
        message = refusal(replace(asked, limits={field: MediaLimits(min_s=2)}))
        assert message.startswith(f"{place}: ")
        assert "2 s" in message


def test_a_picture_that_would_grow_too_large_is_refused(studio: Studio) -> None:
    path = make_png(studio.folder / "p.png", (3000, 2001), "navy", "plain")
    asked = studio.order("image-upscale", {"image_url": studio.url(path)}, path)
    assert refusal(asked) == (
        "image_url: 3000x2001 pixels become 6000x4002 with x2, 24.0 megapixels; the "
        "limit is 24 megapixels."
    )


def test_a_draft_longer_than_a_minute_is_refused(studio: Studio) -> None:
    draft = make_mp4(studio.folder / "d.mp4", (64, 64), 61, fps=1)
    asked = studio.order("r1-finalize", {"draft": studio.url(draft)}, draft)
    assert refusal(asked).startswith("draft: ")


# broken and hostile files


@pytest.fixture(scope="module")
def broken_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of the wrong kind for their field, by kind."""
    tmp_path = tmp_path_factory.mktemp("broken")
    whole = make_mp4(tmp_path / "whole.mp4", (854, 480), 2).read_bytes()
    picture = make_png(tmp_path / "picture.png")
    make_picture().save(tmp_path / "a.avif", "AVIF")
    start = whole.index(b"mdat") + 4
    contents = {
        "empty": b"",
        "text": b"this is no media file at all",
        "playlist": b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n",
        "head of an mp4": whole[:4000],
        "mp4 with noise": whole[:40] + bytes(range(256)) * 40,
        "mp4 whose frames are noise": whole[:start]
        + bytes(range(256)) * 40
        + whole[start + 10_240 :],
        "mp4 of an unknown codec": whole.replace(b"avc1", b"zz9z"),
        "avif with noise": (tmp_path / "a.avif").read_bytes()[:-200]
        + bytes(range(200)),
        "head of a png": picture.read_bytes()[:200],
        "head of a wav": make_wav(tmp_path / "a.wav").read_bytes()[:20],
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "small bomb": _png_header_of(9_000),
        "large bomb": _png_header_of(50_000),
    }
    files = {}
    for number, (name, content) in enumerate(contents.items()):
        files[name] = tmp_path / f"broken{number}"
        files[name].write_bytes(content)
    return files


def _png_header_of(side: int) -> bytes:
    """A png file that says it is huge."""
    png = b"\x89PNG\r\n\x1a\n"
    for name, content in (
        (b"IHDR", side.to_bytes(4) * 2 + bytes([8, 2, 0, 0, 0])),
        (b"IDAT", b""),
        (b"IEND", b""),
    ):
        check = zlib.crc32(name + content).to_bytes(4)
        png += len(content).to_bytes(4) + name + content + check
    return png


@pytest.mark.parametrize(
    ("kind", "body", "place"),
    [
        ("r1", {**R1, "image_urls": ["FILE"]}, "image_urls[0]: "),
        ("r1", {**R1, "video_urls": ["FILE"]}, "video_urls[0]: "),
        ("r1", {**R1, "audio_urls": ["FILE"]}, "audio_urls[0]: "),
        ("r6", {"prompt": "a", "reference_image_urls": ["FILE"]}, "reference_image"),
        ("keyframes", {"images": ["FILE"], "loop": True}, "images[0]: "),
        ("image-upscale", {"image_url": "FILE"}, "image_url: "),
        ("video-upscale", {"video_url": "FILE"}, "video_url: the file"),
        ("r5b", {"input": {"files": ["FILE"]}}, "input.files[0]: "),
    ],
)
def test_every_broken_file_is_an_invalid_input(
    studio: Studio,
    broken_files: dict[str, Path],
    kind: str,
    body: dict[str, Any],
    place: str,
) -> None:
    for name, path in broken_files.items():
        text = json.dumps(body).replace("FILE", studio.url(path))
        message = refusal(studio.order(kind, json.loads(text), path))
        assert message.startswith(place), name


def test_a_truncated_file_after_a_good_one_leaves_no_partial_film(
    studio: Studio,
) -> None:
    good = make_png(studio.folder / "good.png")
    broken = studio.folder / "bad.png"
    broken.write_bytes(good.read_bytes()[:100])
    body = {**R1, "image_urls": [studio.url(good), studio.url(broken)]}
    answer = response(studio.order("r1", body, good, broken))
    assert answer["code"] == "invalid_input"
    assert "image_urls[1]" in answer["message"]
    assert not studio.output.exists()


# Memory

MEASURED_WORKER = """
import re, sys
from mediakit.sandbox.render.__main__ import main
main()
status = open("/proc/self/status").read()
sys.stderr.write(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
"""


def measured_worker(order: RenderRequest) -> tuple[dict[str, Any], int]:
    """Render in a process of its own; return its answer and its peak in KiB."""
    with running_worker("-c", MEASURED_WORKER) as (process, server):
        answer = asked(server, order)
        server.close()
        _, peak_kib = process.communicate()
    return answer, int(peak_kib)


@pytest.mark.soak
@pytest.mark.spec("4.5", "4.17")
def test_4k_is_rendered_in_bounded_memory(studio: Studio) -> None:
    body: dict[str, Any] = {"prompt": "at sea", "duration": 3, "resolution": "4k"}
    order = replace(studio.order("text-to-video", body), sketch=False)
    assert measured_worker(order)[1] < 260 * 1024
    with av.open(str(studio.output)) as file:
        times = [frame.time for frame in file.decode(video=0)]
        codec = file.streams.video[0].codec_context
        assert (codec.name, codec.width, codec.height) == ("h264", 3840, 2160)
    assert times == pytest.approx([index / 24 for index in range(72)])
    files = [
        make_jpeg(studio.folder / f"{index}.jpg", (1920, 1080), colour, "stripes")
        for index, colour in enumerate(("navy", "teal", "darkred", "darkgreen"))
    ]
    body |= {"duration": 4, "image_urls": [studio.url(path) for path in files]}
    order = replace(studio.order("r2", body, *files), sketch=False)
    assert measured_worker(order)[1] < 280 * 1024
    assert look(studio.output, every=1000).size == (3840, 2160)
