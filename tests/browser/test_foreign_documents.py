"""Functions of other services' documents as forms in real JupyterLab."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.hands import Mouse, Step, act
from tests.browser.harness import Lab
from tests.browser.harness.wait import until
from tests.catalog.public_apis import APIS, TEXT, URL, Api, closed, enum, many, or_null

pytestmark = [pytest.mark.browser, pytest.mark.soak]

CONNECT = """
import mediakit as mk
def form_of(name, path):
    catalog = mk.Catalog.from_openapi(f"{{name}}.json")
    client = mk.Client({base_url!r}, {api_key!r}, home={home!r}, catalog=catalog)
    return client.form(path)
"""
BODY = 'print("BODY", form.request())'
NULLS = Api(
    "nulls",
    "3.1.0",
    {
        "text-to-image": closed(
            "prompt parent style",
            prompt=TEXT,
            parent=or_null(TEXT),
            style=or_null(enum("warm", "cold")),
            marks=many(closed("text", text=TEXT, link=or_null(TEXT))),
        )
    },
    right={},
    wrong={},
)
BY_NAME = {api.name: api for api in (*APIS, NULLS)}
PROMPT: Step = ("type", "Prompt", "a kite")


@dataclass(frozen=True)
class Filled:
    """A function, the steps in its form, and the resulting body.

    Args:
        api: The document.
        name: The function.
        steps: What they do.
        body: The expected fields of the body.
        wrong: A last step that makes the body invalid.
        sentence: What the form then says.
    """

    api: str
    name: str
    steps: list[Step]
    body: dict[str, Any]
    wrong: Step
    sentence: str


FORMS = (
    Filled(  # a size that is a preset or an object
        "fal",
        "text-to-image",
        [
            PROMPT,
            ("choose", "Image size", "Width and height"),
            ("tick", "Width"),
            ("type", "Width", "640"),
            ("tick", "Height"),
            ("type", "Height", "480"),
        ],
        {"prompt": "a kite", "image_size": {"width": 640, "height": 480}},
        ("type", "Width", "20000"),
        "at most 14142",
    ),
    Filled(  # a list of objects
        "fal",
        "text-to-image-with-loras",
        [PROMPT, ("press", "Add lora"), ("type", "Path", URL), ("type", "Scale", "2")],
        {"prompt": "a kite", "loras": [{"path": URL, "scale": 2}]},
        ("type", "Scale", "5"),
        "from 0 to 4",
    ),
    Filled(  # several kinds of body, each with fields of its own
        "runway",
        "image-to-video",
        [
            ("choose", "Model", "gen4_turbo"),
            ("choose", "PromptImage", "List"),
            ("type", "Uri", URL),
            ("choose", "Position", "First"),
            ("choose", "Ratio", "960:960"),
            ("tick", "Duration (s)"),
            ("type", "Duration (s)", "7"),
        ],
        {
            "model": "gen4_turbo",
            "promptImage": [{"uri": URL, "position": "first"}],
            "ratio": "960:960",
            "duration": 7,
        },
        ("type", "Duration (s)", "11"),
        "from 2 to 10",
    ),
    Filled(  # unions in an object that may be left out
        "luma",
        "text-to-video",
        [
            ("type", "Prompt", "a kite"),
            ("press", "More settings"),
            ("tick", "Keyframes"),
            ("choose", "Frame0", "Image"),
            ("type", "URL", URL),
        ],
        {"prompt": "a kite", "keyframes": {"frame0": {"type": "image", "url": URL}}},
        ("type", "Prompt", "a"),
        "Must be",
    ),
    Filled(  # what must be given and may be null
        "nulls",
        "text-to-image",
        [
            PROMPT,
            ("press", "More settings"),
            ("press", "Add mark"),
            ("type", "Text", "a word"),
        ],
        {
            "prompt": "a kite",
            "parent": None,
            "style": None,
            "marks": [{"text": "a word"}],
        },
        ("type", "Prompt", ""),
        "Enter a prompt",
    ),
)


def wait_for_body(lab: Lab, index: int, wanted: dict[str, Any]) -> None:
    """Run a cell until the body has these fields."""

    def body() -> dict[str, Any]:
        lab.run_cell(index)
        printed = lab.printed(index).split("BODY ", 1)[1]
        return dict(ast.literal_eval(printed))

    until(lab.page, lambda: wanted.items() <= body().items(), body)


def test_each_form_makes_a_body_that_its_service_accepts_and_explains_a_refusal(
    lab: Lab, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    connect = CONNECT.format(
        base_url=sandbox.base_url,
        api_key=sandbox.api_key,
        home=str(tmp_path / "home"),
    )
    cells = [connect]
    for each in FORMS:
        api = BY_NAME[each.api]
        document = lab.server.root / f"{each.api}.json"
        document.write_text(json.dumps(api.document))
        path = api.path(each.name)
        cells += [f"form = form_of({each.api!r}, {path!r})\nform", BODY]
    lab.begin("foreign.ipynb", *cells, height_px=1400)
    lab.run_cell(0)

    for at, each in enumerate(FORMS):
        index = 1 + 2 * at
        lab.run_cell(index)
        form = lab.cell(index).locator(".mk-form")
        go = form.locator("button.mk-go")
        hand = Mouse(form)
        for step in each.steps:
            act(hand, step, tmp_path)
        expect(go, each.name).to_be_enabled()
        # The last typed text may still be on its way.
        wait_for_body(lab, index + 1, each.body)
        lab.screenshot(f"foreign-{each.api}-{at}", form)
        act(hand, each.wrong, tmp_path)
        expect(go, each.name).to_be_disabled()
        expect(form).to_contain_text(each.sentence)
    assert lab.console_errors() == []
