"""Titles of jobs, and the names of their files."""

from __future__ import annotations

from pathlib import Path

import pytest

import mediakit as mk
from mediakit import Client
from mediakit.history.titles import title_of
from tests.support.job_states import state_of

CLIP, OTHER, ELSEWHERE = (
    "https://a.test/outputs/TrfuY3MkAZL44etEn2Xtan",
    "https://a.test/outputs/Qx1",
    "https://b.test/f/walk.mp4?sig=1",
)
NAMES = {CLIP: "a paper boat at dawn", OTHER: "a kite"}
COMPOSED = {
    "tracks": [
        {"type": "video", "keyframes": [{"url": CLIP}, {"url": OTHER}]},
        {"type": "audio", "keyframes": [{"url": ELSEWHERE}]},
    ]
}


@pytest.mark.parametrize(
    ("kind", "known", "title"),
    [
        ("text-to-video", {"prompt": "a red\n  kite"}, "a red kite"),
        ("text-to-video", {"prompt": "a kite", "take": 3}, "a kite · take 3"),
        (
            "video-upscale",
            {"body": {"video_url": CLIP}},
            "Upscaled: a paper boat at dawn",
        ),
        (
            "video-upscale",
            {"body": {"video_url": CLIP}, "take": 2},
            "Upscaled: a paper boat at dawn · take 2",
        ),
        ("image-upscale", {"body": {"image_url": ELSEWHERE}}, "Upscaled: walk.mp4"),
        ("image-upscale", {"body": {"image_url": f"{CLIP}x"}}, "Image upscale"),
        ("image-upscale", {"body": {}}, "Image upscale"),
        (
            "keyframes",
            {"body": {"images": [CLIP, OTHER]}},
            "Transition: a paper boat at dawn, a kite",
        ),
        (
            "compose-video",
            {"body": COMPOSED},
            "Composition: a paper boat at dawn and 2 more",
        ),
        ("restyle", {"body": {"video": OTHER}}, "Restyle: a kite"),
    ],
)
def test_a_job_is_titled_by_its_prompt_or_what_it_was_made_from(
    kind: str, known: dict[str, object], title: str
) -> None:
    known = {"prompt": None, **known}
    entry = state_of("completed", kind=kind, function=f"a/b/{kind}", **known).entry

    assert title_of(entry, NAMES) == title


def test_a_result_made_from_a_result_is_titled_by_it_and_so_is_its_file(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    boat = client.run("text-to-image", prompt="a paper boat at dawn")
    large = client.run("image-upscale", image_url=boat)
    again = client.run("image-upscale", image_url=boat, take=2)
    path = large.download()

    assert path.name.startswith("upscaled-a-paper-boat-at-dawn-")
    assert large.state.title == "Upscaled: a paper boat at dawn"
    assert again.state.title == "Upscaled: a paper boat at dawn · take 2"
    other_boat = client.run("text-to-image", prompt="a paper boat at dawn", take=2)
    other_large = client.run("image-upscale", image_url=other_boat)
    assert "dawn-take-2" in other_large.download().name
    assert other_large.state.title == "Upscaled: a paper boat at dawn (take 2)"
    with mk.connect(
        client.service.base_url, client.service.api_key, home=tmp_path / "another"
    ) as other:
        assert other.job(large.id).download(tmp_path / "same.png").is_file()
