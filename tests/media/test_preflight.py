"""Media are checked against a function's limits before anything is sent."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.catalog import Catalog
from mediakit.estimates import EstimateKind
from mediakit.media import facts_of, lengths_wanted, preflight
from mediakit.media_limits import MediaInfo, MediaLimits
from mediakit.rules import Problem
from mediakit.schema import InputFacts

CATALOG = Catalog.default()
CLIP = MediaInfo("video", "video/mp4", 5_000_000, 1280, 720, 10.0, 24.0, "h264", True)
SOUND = MediaInfo("audio", "audio/mpeg", 200_000, duration_s=10.0)
PICTURE = MediaInfo("image", "image/png", 200_000, 640, 360)
A_CLIP, B_CLIP = "https://a.test/1.mp4", "https://a.test/2.mp4"

# By hand from the interface (spec 4.4), with the slack that files need.
CLIP_BOUNDS = [
    ("duration_s", 2 - 0.1, 30 + 0.1),
    ("fps", 24 - 0.05, 60 + 0.05),
    ("size_bytes", 0, 200_000_000),
    ("width", 407_696, 8_295_044),
]
SOUND_BOUNDS = [("duration_s", 2 - 0.1, 30 + 0.1), ("size_bytes", 0, 15_000_000)]
BOUNDS = [("video_urls", CLIP, *bound) for bound in CLIP_BOUNDS] + [
    ("audio_urls", SOUND, *bound) for bound in SOUND_BOUNDS
]


def r1(**media: list[str]) -> dict[str, Any]:
    return {"prompt": "a kite", "duration": 5, **media}


def problems_of(field: str, *infos: MediaInfo, kind: str = "r1") -> list[Problem]:
    """Check files of one field against a function's limits."""
    values = [f"{index}.file" for index in range(len(infos))]
    body = r1(**{field: values})
    found = dict(zip(values, infos, strict=True))
    return preflight(CATALOG.function(kind), body, found)


def with_value(info: MediaInfo, name: str, value: float) -> MediaInfo:
    """Change one fact; a width stands for the whole area."""
    if name == "width":
        return replace(info, width=int(value), height=1)
    number: Any = value if name in ("duration_s", "fps") else int(value)
    return replace(info, **{name: number})


@pytest.mark.parametrize(("field", "info", "name", "low", "high"), BOUNDS)
def test_a_value_exactly_at_a_bound_is_accepted(
    field: str, info: MediaInfo, name: str, low: float, high: float
) -> None:
    for value in (low, high):
        assert problems_of(field, with_value(info, name, value)) == []


@pytest.mark.parametrize(("field", "info", "name", "low", "high"), BOUNDS)
def test_a_value_just_beyond_a_bound_is_rejected(
    field: str, info: MediaInfo, name: str, low: float, high: float
) -> None:
    if isinstance(high, int):
        beyond: list[float] = [high + 1, *([low - 1] if low else [])]
    else:
        beyond = [math.nextafter(high, math.inf), math.nextafter(low, 0)]

    for value in beyond:
        (problem,) = problems_of(field, with_value(info, name, value))
        assert problem.field == f"{field}[0]"


@given(st.lists(st.floats(2, 30), min_size=1, max_size=10))
def test_the_total_length_of_clips_is_limited(lengths_s: list[float]) -> None:
    clips = [replace(CLIP, duration_s=length_s) for length_s in lengths_s]

    found = problems_of("video_urls", *clips)
    if sum(lengths_s) <= 30 + 0.1:
        assert found == []
    else:
        assert [(p.field, p.accepted) for p in found] == [
            ("video_urls", "at most 30 s in total")
        ]


def test_all_faults_of_one_file_are_one_problem() -> None:
    tiny = replace(CLIP, content_type="video/webm", fps=12.0, width=64, height=36)

    (problem,) = problems_of("video_urls", tiny)
    assert problem.sentence == (
        "video_urls[0] must be mp4 or mov, 24 to 60 frames per second and "
        "407,696 to 8,295,044 pixels "
        "(got video/webm, 12 frames per second and 64x36 = 2,304 pixels)"
    )


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"max_pixels": 6_000_000}, "up to 6 megapixels"),
        ({"max_pixels": 8_294_400}, "up to about 8.3 megapixels"),
        (
            {"min_pixels": 407_696, "max_pixels": 8_295_044},
            "about 0.4\N{EN DASH}8.3 megapixels",
        ),
        ({"min_pixels": 2304}, "at least 2,304 pixels"),
    ],
)
def test_the_size_of_pictures_is_written_in_megapixels(
    limits: dict[str, Any], text: str
) -> None:
    assert MediaLimits(**limits).words == text


def test_one_clip_that_is_too_long_is_not_also_too_long_together() -> None:
    long = replace(CLIP, duration_s=31.2)

    assert [p.field for p in problems_of("video_urls", long)] == ["video_urls[0]"]
    assert [p.field for p in problems_of("video_urls", long, CLIP)] == [
        "video_urls[0]",
        "video_urls",
    ]


def test_a_total_limit_applies_to_a_single_clip_too() -> None:
    found = problems_of("video_urls", replace(CLIP, duration_s=16.0), kind="r5")

    assert [p.sentence for p in found] == [
        "video_urls must be at most 15 s in total (got 16 s together)"
    ]


def test_a_file_that_is_given_twice_counts_twice() -> None:
    body = r1(video_urls=["a.mp4", "a.mp4"])
    infos = {"a.mp4": replace(CLIP, duration_s=20.0)}

    (problem,) = preflight(CATALOG.function("r1"), body, infos)
    assert problem.sentence.endswith("(got 40 s together)")


def test_unknown_properties_cause_no_problem() -> None:
    unknown = MediaInfo("video", "video/mp4", 1)

    assert problems_of("video_urls", unknown) == []
    assert preflight(CATALOG.function("r1"), r1(video_urls=[A_CLIP]), {}) == []


@pytest.mark.parametrize(
    ("factor", "width", "fits"),
    [("x2", 3000, True), ("x2", 3001, False), ("x4", 750, True), ("x4", 751, False)],
)
def test_limits_that_depend_on_other_fields_hold_for_local_files(
    factor: str, width: int, *, fits: bool
) -> None:
    # 24 megapixels by the factor's square; a path is no URL and yet acceptable.
    body = {"image_url": "cat.png", "upscale_factor": factor}
    picture = replace(PICTURE, width=width, height=2000)

    found = preflight(CATALOG.function("image-upscale"), body, {"cat.png": picture})
    assert (found == []) is fits


def test_media_without_limits_always_do() -> None:
    body = {
        "tracks": [
            {
                "id": "a",
                "type": "video",
                "keyframes": [{"timestamp": 0, "duration": 1000, "url": "a.mp4"}],
            }
        ]
    }
    huge = replace(CLIP, duration_s=9_000.0, size_bytes=10**12)

    assert preflight(CATALOG.function("compose-video"), body, {"a.mp4": huge}) == []


EDIT = {"duration": "auto", "omni_reference_task_type": "edit", "prompt": "a"}


def wanted(kind: str, body: dict[str, Any], **seconds: float) -> list[str]:
    facts = InputFacts(
        seconds={f"https://a.test/{k}.mp4": s for k, s in seconds.items()}
    )
    return [item.value for item in lengths_wanted(CATALOG.function(kind), body, facts)]


@pytest.mark.parametrize(
    ("kind", "body", "urls"),
    [
        ("video-upscale", {"video_url": A_CLIP}, [A_CLIP]),
        ("video-upscale", {"video_url": "clip.mp4"}, []),
        ("r1", {**EDIT, "video_urls": [A_CLIP]}, [A_CLIP]),
        ("r1", {**EDIT, "video_urls": [A_CLIP, B_CLIP]}, []),
        ("r1", {**EDIT, "duration": 5, "video_urls": [A_CLIP]}, []),
        ("r1", {"prompt": "a", "duration": "auto", "audio_urls": [A_CLIP]}, []),
        ("r5", {"prompt": "a", "video_urls": [A_CLIP, B_CLIP]}, [A_CLIP, B_CLIP]),
        ("r5", {"prompt": "a", "video_urls": [A_CLIP, A_CLIP]}, [A_CLIP]),
        ("r5", {"prompt": "a", "audio_urls": [A_CLIP]}, []),
        ("r5", {"video_urls": [A_CLIP], "duration": 99}, []),
        ("image-upscale", {"image_url": A_CLIP}, []),
        ("text-to-image", {"prompt": "a"}, []),
    ],
)
def test_a_length_is_wanted_when_and_only_when_the_price_depends_on_it(
    kind: str, body: dict[str, Any], urls: list[str]
) -> None:
    assert wanted(kind, body) == urls


def test_a_length_that_is_known_is_not_wanted() -> None:
    body = {"prompt": "a", "video_urls": [A_CLIP, B_CLIP]}

    assert wanted("r5", body, **{"1": 2.5}) == [B_CLIP]
    assert wanted("r5", body, **{"1": 2.5, "2": 3.5}) == []


@given(st.floats(0.001, 15), st.floats(0.001, 15))
def test_the_wanted_lengths_are_all_that_a_firm_price_needs(
    first_s: float, second_s: float
) -> None:
    function = CATALOG.function("r5")
    body = {"prompt": "a", "video_urls": [A_CLIP, B_CLIP]}
    infos = {
        A_CLIP: replace(CLIP, duration_s=first_s),
        B_CLIP: replace(CLIP, duration_s=second_s),
    }

    facts = facts_of(function, body, infos)
    assert function.estimate(body, facts).kind is EstimateKind.EXACT
    assert lengths_wanted(function, body, facts) == []
