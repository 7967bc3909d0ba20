"""Which functions take a result, and what their fields hold then."""

from __future__ import annotations

from typing import Any

import pytest

from mediakit.catalog import Catalog
from mediakit.client.media_inputs import JobOutput
from mediakit.schema import MediaName
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.uses.accepting_functions import Use, uses_of

CATALOG = Catalog.default()
CLIP = JobOutput("media_1", "https://a.test/clip.mp4", "video", "video/mp4", 4.5)
PICTURE = JobOutput("media_2", "https://a.test/cat.png", "image", "image/png")


def use(kind: str, medium: MediaName) -> Use:
    (found,) = (u for u in uses_of(CATALOG, medium) if u.function.kind == kind)
    return found


def fields(medium: MediaName) -> dict[str, str]:
    return {use.function.kind: use.spec.name for use in uses_of(CATALOG, medium)}


def takers(medium: MediaName) -> set[str]:
    """Return the functions that accept a medium, as their JSON schemas tell."""
    return {
        function.kind
        for function in CATALOG
        if any(_names(spec, medium) for spec in function.fields.values())
    }


def _names(spec: Any, medium: MediaName) -> bool:
    inner = [*spec.fields.values(), *spec.variants.values(), spec.item]
    return spec.media_kind == medium or any(_names(s, medium) for s in inner if s)


@pytest.mark.parametrize("medium", ["video", "image", "audio"])
def test_every_function_that_takes_a_medium_is_offered_and_no_other(
    medium: MediaName,
) -> None:
    assert set(fields(medium)) == takers(medium)


def test_a_clip_is_offered_to_the_field_that_must_be_given() -> None:
    assert fields("video")["video-upscale"] == "video_url"
    assert fields("video")["region-replace"] == "video"


def test_a_picture_is_a_reference_rather_than_a_mask() -> None:
    assert fields("image")["region-replace"] == "image"


def test_a_list_keeps_what_it_held_and_takes_the_same_result_once() -> None:
    r1 = use("r1", "image")
    held = ["https://a.test/1.png"]

    assert r1.value(PICTURE) == [PICTURE.url]
    assert r1.value(PICTURE, held) == [*held, PICTURE.url]
    assert r1.value(PICTURE, [*held, PICTURE.url]) == [*held, PICTURE.url]


def test_a_clip_is_placed_on_a_track_of_its_own_for_as_long_as_it_is() -> None:
    compose = use("compose-video", "video")
    tracks = compose.value(CLIP)

    keyframe = {"timestamp": 0, "duration": 4500, "url": CLIP.url}
    assert tracks == [{"type": "video", "id": "video-1", "keyframes": [keyframe]}]
    assert not FormState.start(compose.function, {"tracks": tracks}).problems


def test_a_second_clip_comes_behind_the_first_one_and_a_picture_beside_them() -> None:
    once = use("compose-video", "video").value(CLIP)
    twice = use("compose-video", "video").value(CLIP, once)
    tracks: Any = use("compose-video", "image").value(PICTURE, twice)

    clips, pictures = tracks
    starts = [keyframe["timestamp"] for keyframe in clips["keyframes"]]
    assert starts == [0, 4500]
    assert pictures["type"] == "image"
    assert pictures["keyframes"][0]["url"] == PICTURE.url
    function = use("compose-video", "video").function
    assert not FormState.start(function, {"tracks": tracks}).problems


def test_what_needs_the_medium_and_no_more_is_offered_first() -> None:
    first, second, *_ = uses_of(CATALOG, "video")

    assert {first.function.kind, second.function.kind} == {
        "region-replace",
        "video-upscale",
    }
