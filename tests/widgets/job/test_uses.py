"""The functions that accept a result, and the resulting field values."""

from __future__ import annotations

from typing import Any

import pytest

from mediakit.catalog import Catalog
from mediakit.client.media_inputs import JobOutput
from mediakit.media_limits import MediaName
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.uses import Use, uses_of, uses_of_job
from tests.support.job_states import state_of

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


def test_a_result_is_offered_first_to_the_fields_that_need_it() -> None:
    assert fields("video")["video-upscale"] == "video_url"
    assert fields("video")["region-replace"] == "video"
    assert fields("image")["region-replace"] == "image"  # rather than its mask
    first, second, *_ = fields("video")
    assert {first, second} == {"region-replace", "video-upscale"}


def test_a_draft_is_finalized_first_with_its_prompt_and_no_field_that_is_made_up() -> (
    None
):
    body = {"prompt": "a kite", "duration": 5, "draft": True}
    made = state_of("completed", kind="r1", body=body, prompt="a kite")
    first, *others = uses_of_job(CATALOG, made)
    assert (first.function.kind, first.title) == ("r1-finalize", "Finalize this draft")
    assert (first.spec.name, first.value(CLIP)) == ("prompt", "a kite")
    assert "r1-finalize" not in {each.function.kind for each in others}
    assert {each.function.kind for each in others} == {*fields("video")}
    plain = state_of("completed", kind="r1", body={**body, "draft": False})
    assert "Finalize" not in "".join(u.title for u in uses_of_job(CATALOG, plain))


def test_a_list_keeps_what_it_held_and_takes_the_same_result_once() -> None:
    r1 = use("r1", "image")
    held = ["https://a.test/1.png"]

    assert r1.value(PICTURE) == [PICTURE.url]
    assert r1.value(PICTURE, held) == [*held, PICTURE.url]
    assert r1.value(PICTURE, [*held, PICTURE.url]) == [*held, PICTURE.url]


def test_a_second_clip_comes_behind_the_first_one_and_a_picture_beside_them() -> None:
    once = use("compose-video", "video").value(CLIP)
    twice = use("compose-video", "video").value(CLIP, once)
    tracks: Any = use("compose-video", "image").value(PICTURE, twice)

    clips, pictures = tracks
    spans = [(each["timestamp"], each["duration"]) for each in clips["keyframes"]]
    assert spans == [(0, 4500), (4500, 4500)]
    assert (clips["type"], clips["id"]) == ("video", "track-1")
    assert pictures["type"] == "image"
    assert pictures["keyframes"][0]["url"] == PICTURE.url
    function = use("compose-video", "video").function
    assert not FormState.start(function, {"tracks": tracks}).problems
