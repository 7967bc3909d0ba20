"""The reference page, and an invented function in all parts of mediakit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any, Literal

import httpx
import pytest
from pydantic import Field

from mediakit import Client
from mediakit.catalog import Catalog, Function, OwnRate
from mediakit.catalog.examples import example
from mediakit.clock import MS_PER_S
from mediakit.estimates import Line, per_second
from mediakit.media import probe
from mediakit.money import MicroUSD
from mediakit.rules import OnlyWhen, when
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.schema import InputFacts, MediaRequest, Omittable, Prompt, Title, Unit
from mediakit.widgets.controls.messages import label_of

DECLARED = Catalog.default()
TOOL = Path(__file__).parents[2] / "tools" / "write_reference.py"
reference_page: Callable[[Catalog], str] = run_path(str(TOOL))["reference_page"]
PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
TITLES = [function.kind for function in DECLARED]


class SkyPainting(MediaRequest, kind="sky-painting", media_type="video", closed=True):
    """Paint a sky that moves."""

    prompt: Annotated[str, Field(min_length=1), Prompt()]
    """What the sky does."""
    duration: Annotated[int, Field(ge=1, le=9), Unit("s")] = 2
    """Length of the video."""
    mood: Literal["calm", "storm"] = "calm"
    """What it feels like."""
    lightning: Omittable[
        Annotated[int, Field(ge=1, le=20), Title("Number of flashes")]
    ] = None
    """How many flashes."""

    rules = (OnlyWhen(("lightning",), when("mood", "storm")),)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds."""
        ms = self.duration * MS_PER_S
        yield per_second("video output", ms, ms, 40_000)


SCHEMA: dict[str, Any] = Function("a/b/c", SkyPainting).json_schema()
FROM_SCHEMA = Function.from_schema(
    "acme/sky-2/paint",
    SCHEMA,
    kind="sky-2",
    rate=OwnRate(second_micro_usd=MicroUSD(40_000)),
)
CATALOG = DECLARED.including(SkyPainting, FROM_SCHEMA)
MADE_UP = ["sky-painting", "sky-2"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of a sandbox that also serves the invented functions."""
    folder = tmp_path_factory.mktemp("sky")
    running = start(
        Sandbox(
            folder / "sandbox",
            speed=20,
            sketch=True,
            allow_loopback_callbacks=True,
            catalog=CATALOG,
        )
    )
    key, home = running.api_key, folder / "home"
    with Client(running.base_url, key, home=home, catalog=CATALOG) as client:
        yield client
    running.stop()


def test_the_page_in_the_docs_is_the_one_of_the_declarations() -> None:
    written = PAGE.read_text("utf-8")

    assert written == reference_page(DECLARED), "docs/reference.md is stale: make docs"


@pytest.mark.parametrize("kind", TITLES)
def test_an_example_of_the_page_is_a_body_without_a_problem(kind: str) -> None:
    function = DECLARED.function(kind)
    body = example(function)

    assert function.check(body) == []
    assert function.warnings(body) == []
    assert all(name in body for name, spec in function.fields.items() if spec.required)


def test_the_words_of_a_document_stay_words() -> None:
    schema = {
        "type": "object",
        "description": "<script>alert(1)</script> | [x](javascript:1)\n# no title",
        "properties": {"a`|b": {"type": "string", "description": "<img src=x>\n\n# a"}},
        "required": ["a`|b"],
    }
    page = reference_page(Catalog((Function.from_schema("a/b/c", schema),)))

    assert "<script>" not in page
    assert "<img" not in page
    assert not re.search(r"(?<!\\)]\(javascript", page)
    assert "\n# no title" not in page
    assert "\n# a" not in page
    assert "| `a'\\|b` |" in page


@pytest.mark.parametrize("kind", MADE_UP)
def test_a_made_up_function_is_rendered_and_charged(
    client: Client, kind: str, tmp_path: Path
) -> None:
    job = client.run(kind, prompt="clouds", duration=3)
    file = job.download(tmp_path / "sky.mp4")
    found = probe(file, "video", "file")

    assert job.settle().charge_micro_usd == 120_000
    assert found.duration_s == pytest.approx(3, abs=1 / 24)


@pytest.mark.parametrize("kind", MADE_UP)
def test_the_sandbox_refuses_what_a_made_up_function_does_not_take(
    client: Client, kind: str
) -> None:
    answer = httpx.post(
        f"{client.backend.service.base_url}/v1/media/{CATALOG.function(kind).path}",
        json={"prompt": "clouds", "lightning": 30},
        headers={"X-API-Key": client.backend.service.api_key},
        trust_env=False,
        timeout=120,
    )

    assert answer.status_code == 422
    assert "lightning" in answer.json()["message"]


def test_a_sandbox_tells_others_about_made_up_functions(client: Client) -> None:
    url = f"{client.backend.service.base_url}/openapi.json"
    served = Catalog.from_openapi(url)

    for kind in MADE_UP:
        mine, theirs = CATALOG.function(kind), served.function(kind)
        assert dict(theirs.fields) == dict(mine.fields)
        assert theirs.doc == mine.doc
        assert theirs.estimate({"prompt": "a"}).high is None


@pytest.mark.parametrize("kind", MADE_UP)
def test_a_title_is_the_label_of_a_field_also_behind_a_schema(kind: str) -> None:
    fields = CATALOG.function(kind).fields
    assert label_of(fields["lightning"]) == "Number of flashes"
    assert label_of(fields["mood"]) == "Mood"
