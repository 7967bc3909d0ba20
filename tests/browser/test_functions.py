"""Every function filled in and submitted in real JupyterLab, by mouse or by keys."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from mediakit.catalog import Catalog
from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.hands import Hand, Keyboard, Mouse, Step, act
from tests.browser.harness import Lab
from tests.support.samples.media_samples import make_mp4, make_png

pytestmark = [pytest.mark.browser, pytest.mark.soak]

CONNECT = """
import json
import mediakit as mk
client = mk.Client({base_url!r}, {api_key!r}, home={home!r})
"""
FORM = "client.form({!r})"
BODIES = """
rows = client.history.page(limit=100)
print("BODIES", {row.kind: json.loads(row.body) for row in rows}, len(rows))
"""

PROMPT: Step = ("type", "Prompt", "a kite")
PICTURE, CLIP = "picture.png", "clip.mp4"
SAID = {"prompt": "a kite"}


def picture(field: str) -> Step:
    return ("give", field, "new", PICTURE)


# The steps, in the order of the form, and the resulting body.
FILLED: Mapping[str, tuple[list[Step], dict[str, Any]]] = {
    "compose-video": (
        [
            # The forms of tracks are folded below the timeline.
            ("press", "Track 1 · video · track-1 · 1 clip"),
            ("type", "ID", "stage"),
            ("type", "Start (s)", "0"),
            ("type", "Duration (s)", "1.5"),
            ("give", "URL", "URL", CLIP),
        ],
        {},
    ),
    "image-to-image": ([PROMPT], SAID),
    "image-upscale": ([("give", "Image", "Image", PICTURE)], {}),
    "keyframes": (
        [picture("Images"), ("type", "Prompt", "it turns"), ("tick", "Loop")],
        {"prompt": "it turns", "loop": True},
    ),
    "r1": ([PROMPT, ("choose", "Duration", "7 s")], {**SAID, "duration": 7}),
    "r1-finalize": ([PROMPT], SAID),
    "r2": (
        [PROMPT, ("choose", "Duration", "5 s"), ("choose", "Resolution", "480p")],
        {**SAID, "duration": 5, "resolution": "480p"},
    ),
    "r3": ([PROMPT, picture("Reference images"), ("press", "1080P")], SAID),
    "r3b": ([PROMPT], SAID),
    "r4": ([PROMPT, picture("Reference images")], SAID),
    "r5": ([PROMPT, ("press", "2K")], SAID),
    "r5b": ([PROMPT], SAID),
    "r6": ([PROMPT, picture("Reference images")], SAID),
    "region-replace": (
        [
            ("give", "Video", "Video", CLIP),
            PROMPT,
            ("type", "Region to replace", "the sky"),
        ],
        {**SAID, "modify_region_roi": "the sky"},
    ),
    "text-to-image": ([PROMPT], SAID),
    "text-to-video": ([PROMPT, ("press", "9:16")], {**SAID, "aspect_ratio": "9:16"}),
    "video-upscale": ([("give", "Video", "Video", CLIP)], {}),
}

# A control is the same in each form, so these have every kind of control.
BY_KEYS = ("compose-video", "image-upscale", "keyframes", "r2", "text-to-video")


def verbs(kinds: Iterable[str]) -> set[str]:
    """Return the steps that fill in these functions."""
    return {step[0] for kind in kinds for step in FILLED[kind][0]}


@pytest.mark.parametrize(
    ("hand_type", "kinds"),
    [(Mouse, FILLED), (Keyboard, BY_KEYS)],
    ids=["mouse", "keyboard"],
)
def test_every_function_is_filled_in_and_submitted(
    lab: Lab,
    holding: RunningSandbox,
    tmp_path: Path,
    hand_type: type[Hand],
    kinds: Collection[str],
) -> None:
    assert sorted(FILLED) == [function.kind for function in Catalog.default()]
    assert verbs(kinds) == verbs(FILLED)
    make_png(tmp_path / PICTURE, (640, 360))
    make_mp4(tmp_path / CLIP, (1280, 720), duration_s=4)
    connect = CONNECT.format(
        base_url=holding.base_url,
        api_key=holding.api_key,
        home=str(tmp_path / "home"),
    )
    cells = [connect, *map(FORM.format, kinds), BODIES]
    name = f"functions-{hand_type.__name__.lower()}.ipynb"
    lab.begin(name, *cells, height_px=1200)
    lab.run_cell(0)

    for index, kind in enumerate(kinds, 1):
        lab.run_cell(index)
        form = lab.cell(index).locator(".mk-form")
        go = form.locator("button.mk-go")
        expect(go).to_be_visible()
        hand = hand_type(form)
        for step in FILLED[kind][0]:
            act(hand, step, tmp_path)
        expect(go, kind).to_be_enabled()
        expect(go, kind).to_have_text(re.compile("^Generate"))
        hand.generate()
        expect(form.locator(".mk-job"), kind).to_have_count(1)

    lab.run_cell(len(cells) - 1)
    said = lab.printed(len(cells) - 1).split("BODIES ", 1)[1].strip()
    bodies = ast.literal_eval(said[: said.rindex("}") + 1])
    assert said.endswith(f" {len(kinds)}"), "each was submitted once"
    for kind in kinds:
        wanted = FILLED[kind][1]
        assert bodies[kind] | wanted == bodies[kind], kind
        assert any(step[0] == "give" for step in FILLED[kind][0]) is bool(
            re.search(r"/v1/|/uploads?/|http", str(bodies[kind]))
        )
    assert lab.console_errors() == []
