"""A control that a test adds to the registry is drawn, read, validated and sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from mediakit import Catalog, Client
from mediakit.catalog import Function
from mediakit.catalog.own_rates import OwnRate
from mediakit.money import MicroUSD
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.widgets.controls import CONTROLS
from mediakit.widgets.form.controller import Form
from tests.browser.harness.wait import until
from tests.browser.modules.bare_page import BarePage
from tests.browser.modules.color import Color
from tests.support.widgets import finish

pytestmark = pytest.mark.browser

TEXT = {"type": "string"}
COLOR = {"type": "string", "format": "color"}
INK = {"type": "object", "properties": {"shade": COLOR}, "additionalProperties": False}
SCHEMA = {
    "type": "object",
    "properties": {
        "prompt": TEXT,
        "background": COLOR,
        "inks": {"type": "array", "items": INK},
    },
    "required": ["prompt", "background"],
    "additionalProperties": False,
}
POSTER = Function.from_schema(
    "acme/poster/paint",
    SCHEMA,
    kind="poster",
    media_type="image",
    rate=OwnRate(request_micro_usd=MicroUSD(10_000)),
)


@pytest.fixture
def color() -> Iterator[None]:
    control = Color()
    CONTROLS.insert(0, control)
    yield
    CONTROLS.remove(control)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    catalog = Catalog.default().including(POSTER)
    place = start(Sandbox(tmp_path / "sandbox", speed=20, catalog=catalog))
    home = tmp_path / "home"
    with Client(place.base_url, place.api_key, home=home, catalog=catalog) as client:
        yield client
    place.stop()


@pytest.fixture
def form(color: None, client: Client) -> Iterator[Form]:
    form = Form(client, POSTER, {"prompt": "a kite"})
    yield form
    finish(form)


def button(el: Locator, name: str) -> Locator:
    return el.get_by_role("button", name=name)


def test_an_added_control_is_drawn_and_its_value_is_sent(
    bare: BarePage, client: Client, form: Form
) -> None:
    el = bare.show(form.widget).locator(".mk-form")
    code = el.get_by_label("Background *", exact=True)
    picker = el.get_by_label("Pick background")
    expect(code).to_have_attribute("placeholder", "#rrggbb")
    expect(picker).to_have_attribute("type", "color")

    code.fill("orange")
    expect(el).to_contain_text("Must be a colour such as #ff8800")
    expect(code).to_have_attribute("aria-invalid", "true")
    expect(button(el, "Generate")).to_be_disabled()

    code.fill("#FF8800")
    expect(picker).to_have_value("#ff8800")
    expect(el).not_to_contain_text("Must be a colour")
    button(el, "Generate · $0.01").click()
    until(bare.page, lambda: len(form.jobs) == 1)
    sent = client.history.page(limit=1)[0]
    assert json.loads(sent.body) == {"prompt": "a kite", "background": "#ff8800"}


def test_an_added_control_also_works_in_rows_and_objects(
    bare: BarePage, form: Form
) -> None:
    el = bare.show(form.widget).locator(".mk-form")
    button(el, "More settings").click()
    button(el, "Add ink").click()
    el.get_by_label("Pick shade").fill("#00ff7f")
    expect(el.get_by_label("Shade", exact=True)).to_have_value("#00ff7f")
    until(bare.page, lambda: form.values.inks == [{"shade": "#00ff7f"}])
    form.values.update(background="#102030", inks=[{"shade": "#405060"}])
    expect(el.get_by_label("Pick shade")).to_have_value("#405060")
    assert form.request()["background"] == "#102030"
