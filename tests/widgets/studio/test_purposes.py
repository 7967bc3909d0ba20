"""What people want of a function: the groups in which functions are offered."""

from __future__ import annotations

from typing import Any

import pytest

from mediakit.catalog import Catalog, Function
from mediakit.schema import Purpose

DECLARED = [function.declared for function in Catalog.default()]
IMAGE = {"type": "string", "format": "uri"}


@pytest.mark.parametrize("declared", DECLARED, ids=lambda each: str(each.kind))
def test_every_declared_function_says_its_purpose_and_when_to_choose_it(
    declared: Any,
) -> None:
    assert declared.purpose in Purpose
    assert 10 < len(declared.choose) < 90
    assert declared.choose.endswith(".")


def made(path: str, required: tuple[str, ...] = (), **properties: object) -> Function:
    schema = {
        "type": "object",
        "properties": properties,
        "required": [*required],
    }
    return Function.from_schema(path, schema)


@pytest.mark.parametrize(
    ("function", "purpose"),
    [
        (made("a/b/words-to-film", prompt={"type": "string"}), Purpose.WORDS),
        (made("a/b/film", image_url=IMAGE), Purpose.PICTURES),
        (made("a/b/film", image_url=IMAGE, audio_url=IMAGE), Purpose.REFERENCES),
        (made("a/b/film", ("video_url",), video_url=IMAGE), Purpose.CHANGE),
        (made("a/b/film", video_url=IMAGE), Purpose.REFERENCES),
        (made("a/b/video-upscaler", video_url=IMAGE), Purpose.ENLARGE),
        (made("a/b/text-to-image", prompt={"type": "string"}), Purpose.PICTURE),
        (made("a/b/text-to-speech", prompt={"type": "string"}), Purpose.SOUND),
    ],
)
def test_a_function_from_a_schema_is_grouped_by_its_name_and_media(
    function: Function, purpose: Purpose
) -> None:
    assert function.purpose is purpose


def test_media_inside_of_lists_and_objects_count() -> None:
    nested = {
        "type": "array",
        "items": {"type": "object", "properties": {"image_url": IMAGE}},
    }
    assert made("a/b/film", shots=nested).purpose is Purpose.PICTURES
