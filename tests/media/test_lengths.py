"""A clip is as long as its frames, whatever its header says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.errors import InputError
from mediakit.media import probe
from tests.support.samples.media_samples import make_mp3
from tests.support.samples.odd_clips import (
    FRAGMENTED,
    film,
    media_of,
    with_later_clock,
    with_stated_length,
    with_track_length,
    without_second_half,
)
from tests.support.servers.file_server import FileServer

RATE = 76_000  # micro-USD a second of video-upscale with proteus (spec 8)


def joined_init() -> bytes:
    return film(6, options=FRAGMENTED) + film(4, options=FRAGMENTED)


def joined_media() -> bytes:
    return film(6, options=FRAGMENTED) + media_of(film(4, options=FRAGMENTED))


def webm(seconds: float) -> bytes:
    return film(seconds, "webm", codec="libvpx-vp9")


# Seconds of what `ffmpeg -i clip -f null -` counts, at 24 frames a second. It drops the
# first group of the second run, whose times were over when it came.
CLIPS: dict[str, tuple[Callable[[], bytes], float]] = {
    "mdhd in the scale of the film": (
        lambda: with_track_length(film(10), lambda ticks: ticks * 1000 // 12288),
        10,
    ),
    "mdhd of 0": (lambda: with_track_length(film(10), lambda _: 0), 10),
    "mdhd three times": (lambda: with_track_length(film(10), lambda t: 3 * t), 10),
    "plain": (lambda: film(10), 10),
    "fragmented": (lambda: film(10, options=FRAGMENTED), 10),
    "fragmented, a second file behind it": (joined_init, 9),
    "fragmented, a second run behind it": (joined_media, 9),
    "three joined ts": (lambda: b"".join(film(2, "mpegts") for _ in range(3)), 6),
    "ts, then a clock 25 hours later": (
        lambda: film(5, "mpegts") + with_later_clock(film(3, "mpegts"), 25),
        8,
    ),
    "webm that says 3 s": (lambda: with_stated_length(webm(10), 3), 10),
    "webm that says 60 s": (lambda: with_stated_length(webm(10), 60), 10),
    "mkv that says 3 s": (lambda: with_stated_length(film(10, "matroska"), 3), 10),
    "avi": (lambda: film(10, "avi"), 10),
    "ts": (lambda: film(10, "mpegts"), 10),
    "last frame held": (lambda: film(10, held_frames=12), 10.5),
}


@pytest.mark.parametrize("name", CLIPS)
def test_a_local_clip_costs_the_seconds_that_it_plays(
    client: Client, tmp_path: Path, name: str
) -> None:
    make, seconds = CLIPS[name]
    clip = tmp_path / "clip"
    clip.write_bytes(make())

    estimate = client.estimate("video-upscale", video_url=clip)
    assert (estimate.low, estimate.high) == (seconds * RATE, seconds * RATE)


@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_behind_a_url_costs_the_same_or_has_no_upper_price(
    client: Client, name: str
) -> None:
    make, seconds = CLIPS[name]
    with FileServer({"clip": make()}) as server:
        estimate = client.estimate("video-upscale", video_url=server.url("clip"))

    assert estimate.high in (None, seconds * RATE)
    assert (estimate.low or 0) <= seconds * RATE


def test_the_list_of_frames_gives_the_price_of_a_large_clip_behind_a_url(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mediakit.decoding.recordings.COUNTED_BYTES", 0)
    clips = {
        "whole.mp4": film(10, options={"movflags": "faststart"}),
        "short.mp4": with_track_length(film(10), lambda ticks: ticks // 12),
        "half.mp4": without_second_half(film(10, options={"movflags": "faststart"})),
        "a.webm": with_stated_length(webm(10), 3),
        "fragments.mp4": joined_media(),
    }
    with FileServer(clips) as server:
        prices = {
            name: client.estimate("video-upscale", video_url=server.url(name)).high
            for name in clips
        }

    assert prices["whole.mp4"] == prices["short.mp4"] == 10 * RATE
    assert (prices["half.mp4"] or 10 * RATE) < 10 * RATE
    assert prices["a.webm"] is None
    assert prices["fragments.mp4"] is None


def test_half_a_clip_costs_half(client: Client, tmp_path: Path) -> None:
    whole = film(20, options={"movflags": "faststart"})
    clip = tmp_path / "half.mp4"
    clip.write_bytes(without_second_half(whole))

    estimate = client.estimate("video-upscale", video_url=clip)
    assert estimate.low == estimate.high
    assert 3 * RATE < (estimate.low or 0) < 17 * RATE


@pytest.mark.parametrize(
    "name",
    [
        "mdhd in the scale of the film",
        "fragmented, a second run behind it",
        "ts, then a clock 25 hours later",
        "webm that says 60 s",
    ],
)
def test_the_sandbox_renders_and_charges_what_was_estimated(
    client: Client, tmp_path: Path, name: str
) -> None:
    make, seconds = CLIPS[name]
    clip = tmp_path / "clip"
    clip.write_bytes(make())

    job = client.run("video-upscale", video_url=clip, h264_output=True)
    job.settle(timeout_s=60)
    assert job.charge_micro_usd == seconds * RATE
    result = probe(job.download(tmp_path / "out.mp4"), "video", "v")
    assert result.duration_s == seconds


def test_a_clip_that_holds_a_frame_has_the_rate_of_the_others(
    client: Client, tmp_path: Path
) -> None:
    clip = tmp_path / "held.mp4"
    clip.write_bytes(film(2, size=(854, 480), held_frames=2))

    # 48 frames in 2.083 s are 23.04 a second; the limit is 24 to 60 (spec 4.4).
    client.submit("r1", prompt="@Video1", duration=4, video_urls=[clip])


def test_half_an_mp3_is_as_long_as_what_is_there(tmp_path: Path) -> None:
    sound = make_mp3(tmp_path / "a.mp3", 20)
    sound.write_bytes(without_second_half(sound.read_bytes()))

    assert probe(sound, "audio", "a").duration_s == pytest.approx(10, abs=0.5)


def test_a_clip_of_which_no_frame_can_be_decoded_has_no_price_and_is_not_sent(
    client: Client, tmp_path: Path
) -> None:
    whole = film(2)
    start, stop = whole.index(b"mdat") + 4, whole.index(b"moov") - 4
    clip = tmp_path / "noise.mp4"
    clip.write_bytes(whole[:start] + b"\x55" * (stop - start) + whole[stop:])

    for act in (client.estimate, client.submit):
        with pytest.raises(InputError, match="none of its frames can be decoded"):
            act("video-upscale", video_url=clip)
    assert client.history.frame().empty


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        ("video-upscale", {"video_url": "nope.mp4"}),
        ("r5", {"prompt": "Video 1", "video_urls": ["nope.mp4"]}),
        ("image-upscale", {"image_url": "clip.mp4"}),
    ],
)
def test_an_unreadable_file_is_rejected_by_estimate_and_by_submit(
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    fields: dict[str, Any],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clip.mp4").write_bytes(film(1))
    refusals = []
    for act in (client.estimate, client.submit):
        with pytest.raises(InputError) as refusal:
            act(function, **fields)
        refusals.append(str(refusal.value))

    assert refusals[0] == refusals[1]


def test_a_length_that_is_given_prices_a_file_that_is_not_there_yet(
    client: Client,
) -> None:
    estimate = client.estimate(
        "video-upscale", video_url="later.mp4", seconds={"later.mp4": 4}
    )
    assert estimate.high == 4 * RATE
