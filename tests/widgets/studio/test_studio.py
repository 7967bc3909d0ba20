"""The studio on a real sandbox, without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from mediakit import Client, Job
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.price.funds import Funds
from mediakit.widgets.studio import Studio
from mediakit.widgets.studio.history.query import HOW_TO_BEGIN, PAGE_ROWS
from mediakit.widgets.studio.state import Place
from mediakit.widgets.toolkit.cell_outputs import Cell
from tests.support.advancing_clock import AdvancingClock
from tests.support.submissions import submission
from tests.support.widgets import PATIENCE_S, all_named, in_use, shown, until


def left_in(studio: Studio) -> int | None:
    summary = studio.state.summary
    return None if summary is None else summary.funds.left_micro_usd


@pytest.fixture
def make_studio(client: Client) -> Iterator[Callable[..., Studio]]:
    """Make studios that have read balance and history, and close them in the end."""
    studios: list[Studio] = []

    def make(of: Client = client, cell: Cell | None = None) -> Studio:
        studio = Studio(of, cell=cell)
        studios.append(studio)
        until(lambda: is_read(studio), studio)
        return studio

    yield make
    for studio in studios:
        finish(studio)


def is_read(studio: Studio) -> bool:
    funds = studio.state.summary.funds if studio.state.summary else Funds()
    return funds != Funds() and not studio.state.page.reading


def finish(studio: Studio) -> None:
    """Close a studio and wait until nothing of it is under way any more."""
    forms = tuple(studio._forms._forms.values())
    studio.close()
    until(lambda: not studio._tasks._tasks)
    until(lambda: not any(form._tasks._tasks for form in forms))


def buttons(studio: Studio, words: str) -> list[Any]:
    return all_named(studio, words, ipywidgets.Button)


def press(studio: Studio, words: str, nth: int = 0) -> None:
    buttons(studio, words)[nth].click()


def go(studio: Studio, place: Place) -> None:
    studio._view.places.value = place.value
    until(lambda: not studio.state.page.reading, studio)


def prompts(studio: Studio) -> list[str | None]:
    return [entry.prompt for entry in studio.state.page.rows]


def bought(client: Client, prompt: str, **more: Any) -> Job:
    """Buy a job and wait until it is paid."""
    job = client.submit("text-to-video", prompt=prompt, duration=3, **more)
    return job.wait(PATIENCE_S).settle(PATIENCE_S)


def test_an_empty_history_says_how_to_begin_and_every_function_is_offered(
    make_studio: Callable[..., Studio], client: Client
) -> None:
    studio = make_studio()

    catalogue = studio._view.catalogue
    assert len(catalogue.titles) == len(client.catalog)
    assert "Make a video from words" in shown(studio)
    assert "from $0.068 a second" in shown(studio)
    catalogue.search.value = "picture an image"
    assert "Image upscale" in catalogue.titles
    assert "Text to video" not in catalogue.titles
    assert "Make a video from words" not in shown(studio)
    catalogue.search.value = "submarine"
    assert catalogue.titles == ()
    assert "No matching functions. Try fewer words." in shown(studio)
    catalogue.search.value = ""
    assert len(catalogue.titles) == len(client.catalog)
    go(studio, Place.HISTORY)
    assert HOW_TO_BEGIN in shown(studio)


def test_from_the_catalogue_over_a_form_to_the_history_and_back(
    make_studio: Callable[..., Studio], own_client: Client
) -> None:
    studio = make_studio(own_client)
    balance = own_client.balance().spendable_micro_usd

    press(studio, "Text to video")
    form = studio.form
    assert form is not None
    form.values.update(prompt="a kite over dunes", duration=3)
    until(lambda: form.state.submit_reason is None and form.state.funds.balance, studio)
    press(studio, "Generate · $0.20")
    until(lambda: form.jobs)
    (made,) = form.jobs
    until(lambda: made.state.charge_micro_usd is not None)
    until(
        lambda: studio.state.summary and studio.state.summary.month_micro_usd == 204_000
    )
    assert studio.state.summary is not None
    until(lambda: left_in(studio) == balance - 204_000, studio)
    assert "<b>$0.20</b> today" in shown(studio)
    assert "Charged today (UTC): $0.20" in shown(studio)

    go(studio, Place.HISTORY)
    until(lambda: "Completed" in shown(studio), studio)
    assert "a kite over dunes" in shown(studio)
    press(studio, "Open")
    until(lambda: studio.state.opened == made.state.record.id, studio)
    press(studio, "Close")
    assert studio.state.opened is None

    form.values.update(prompt="something else", duration=9)
    press(studio, "Reuse settings")
    assert studio.form is form
    assert form.values["prompt"] == "a kite over dunes"
    assert form.values["duration"] == 3
    assert studio.state.said == ""


def test_a_form_keeps_its_values_while_others_and_other_studios_are_shown(
    make_studio: Callable[..., Studio], client: Client
) -> None:
    studio = make_studio(cell=Cell("a", "run 1"))
    outside = client.form("text-to-video", prompt="of another cell")

    press(studio, "Text to video")
    assert studio.form is not None
    studio.form.values.prompt = "kept"
    press(studio, "All functions")
    press(studio, "Image upscale")
    press(studio, "All functions")
    press(studio, "Text to video")
    other = make_studio(cell=Cell("b", "run 2"))
    press(other, "Text to video")
    assert other.form is not None
    assert other.form.values.prompt is None
    assert studio.form.values.prompt == "kept"
    assert studio.widget.comm is not None
    assert outside.values.prompt == "of another cell"
    outside.close()


def test_the_history_is_searched_filtered_sorted_and_turned_over(
    make_studio: Callable[..., Studio], client: Client
) -> None:
    store, service = client.components.store, client.service
    for number in range(PAGE_ROWS * 2 + 1):
        kind = "text-to-video" if number % 2 else "text-to-image"
        mine = submission(f"k{number}", prompt=f"kite {number}", kind=kind)
        store.claim(replace(mine, service=service.identity, project="Dunes"))
    studio = make_studio()
    go(studio, Place.HISTORY)
    view = studio._view.history()
    assert prompts(studio)[0] == "kite 24"
    press(studio, "Next")
    press(studio, "Next")  # before the answer it is the same page
    until(lambda: "13 to 24" in shown(studio), studio)
    press(studio, "Next")
    until(lambda: prompts(studio) == ["kite 0"], studio)
    assert "Jobs 25 to 25 of 25" in shown(studio)
    press(studio, "Previous")
    until(lambda: prompts(studio)[0] == "kite 12", studio)

    view.search.value = "kite 2"
    until(lambda: len(prompts(studio)) == 7, studio)
    view.kind.value = "text-to-image"
    until(lambda: len(prompts(studio)) == 5, studio)
    view.order.value = "oldest"
    until(lambda: prompts(studio)[0] == "kite 2" and is_read(studio), studio)
    view.project.value = "Dunes"
    view.status.value = "completed"
    until(lambda: "No matching jobs." in shown(studio), studio)
    view.search.value = "a" * 1_001
    until(lambda: "up to 1,000 characters" in shown(studio), studio)


def test_what_has_no_job_is_not_opened_and_its_settings_are_used_again(
    make_studio: Callable[..., Studio], client: Client
) -> None:
    mine = submission(
        "k1", prompt="a kite", body=b'{"prompt": "a kite", "style": "noir"}'
    )
    client.components.store.claim(replace(mine, service=client.service.identity))
    client.components.store.record_refusal("k1", code="422", message="duration: got 99")
    studio = make_studio()
    go(studio, Place.HISTORY)

    (open_button,) = buttons(studio, "Open")
    assert open_button.disabled
    assert open_button.tooltip.endswith("duration: got 99")
    press(studio, "Reuse settings")
    assert studio.form is not None
    assert studio.form.values.prompt == "a kite"
    assert "The form has no field for style" in shown(studio)


def test_a_late_click_acts_on_the_row_that_was_shown_when_it_was_pressed(
    make_studio: Callable[..., Studio], client: Client
) -> None:
    def claim(key: str, prompt: str) -> None:
        body = json.dumps({"prompt": prompt}).encode()
        mine = replace(submission(key, body=body), service=client.service.identity)
        client.components.store.claim(mine)

    claim("k1", "a kite")
    studio = make_studio()
    go(studio, Place.HISTORY)
    (pressed,) = buttons(studio, "Reuse settings")
    claim("k2", "a boat")
    studio._refresh()
    until(lambda: len(studio.state.page.rows) == 2, studio)

    pressed.click()
    assert studio.form is not None
    assert studio.form.values.prompt == "a kite"


def test_an_unreachable_service_is_a_sentence_and_the_history_stays(
    make_studio: Callable[..., Studio], tmp_path: Path
) -> None:
    nowhere, key = "http://127.0.0.1:9", "key-of-nobody"
    with Client(nowhere, key, home=tmp_path, clock=AdvancingClock()) as alone:
        mine = replace(
            submission("k1", prompt="a kite"), service=alone.service.identity
        )
        alone.components.store.claim(mine)
        studio = make_studio(alone)

        assert "The balance is not known." in shown(studio)
        assert key not in shown(studio)
        go(studio, Place.HISTORY)
        assert prompts(studio) == ["a kite"]
        finish(studio)


def test_a_rerun_closes_the_studio_before_and_continues_where_it_was(
    make_studio: Callable[..., Studio], sandbox: RunningSandbox, tmp_path: Path
) -> None:
    before = make_studio()
    press(before, "Text to video")
    assert before.form is not None
    before.form.values.prompt = "kept"
    form, root = before.form, before.widget
    go(before, Place.HISTORY)
    before._view.history().search.value = "kite"

    again = make_studio()
    assert root.comm is None
    assert again.form is form
    assert again.state.place is Place.HISTORY
    assert again.state.page.query.text == "kite"
    assert again._view.history().search.value == "kite"

    home = tmp_path / "home"
    with Client(sandbox.base_url, sandbox.api_key, home=home) as another:
        last = make_studio(another)
        assert last.form is not None
        assert last.form is not form
        assert last.form.values.prompt == "kept"
        assert form.widget.comm is None


def test_a_client_gives_its_studio_and_closes_it_with_all_its_widgets(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    before = in_use()
    url, key = sandbox.base_url, sandbox.api_key
    with Client(url, key, home=tmp_path, budget="$5") as client:
        studio = client.studio()
        until(lambda: is_read(studio), studio)
        assert studio.client is client
        assert "$5.00 left of $5.00" in shown(studio)
        press(studio, "Text to video")
        go(studio, Place.HISTORY)
        bundle = studio._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert "Balance: <span>$</span>" in bundle["text/html"]
        assert bundle["text/plain"] == f"<Studio of {client.service.label}>"
    assert in_use() == before
