"""An act that a test adds to the table is offered, confirmed and done everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from mediakit import Client, Job
from mediakit.client import AsyncJob
from mediakit.client.job_acts import ACTS, Act, Consent, Question
from mediakit.widgets.gallery import Gallery, ResultActions, WallCell
from mediakit.widgets.job.jobs import JobsWidget
from mediakit.widgets.job.payload import JobHost
from mediakit.widgets.job.view import JobView
from tests.browser.harness.wait import rest, until
from tests.browser.modules.bare_page import BarePage
from tests.support.samples.media_samples import make_png

pytestmark = pytest.mark.browser


@pytest.fixture
def job(client: Client, tmp_path: Path) -> Job:
    picture = make_png(tmp_path / "in.png", (96, 64))
    made = client.submit("image-upscale", image_url=str(picture), take="next")
    return made.wait().settle()


class Polishing:
    """Two invented acts, a free one and a paid one, which record their jobs."""

    def __init__(self) -> None:
        self.polished: list[tuple[str, bool]] = []
        self.bought: list[str] = []
        question = Question(
            text="Polish this job?",
            yes="Polish it",
            points=("It shines.",),
            tick="Wax it, too",
        )
        self.acts = (
            *ACTS,
            Act(
                name="polish",
                label="Polish",
                hint="Make it shine",
                can=lambda job: job.has_output,
                do=self._polish,
                question=question,
                key="X",
            ),
            Act(
                name="gild",
                label="Gild",
                can=lambda job: job.has_output,
                do=self._gild,
                result="The gilded result",
                is_paid=True,
                price=AsyncJob.next_price,
                question=Question(text="Gild it?", yes="Gild"),
            ),
            Act(name="mend", label="Mend", can=lambda job: not job.has_output),
        )

    async def _polish(self, job: AsyncJob, consent: Consent) -> str:
        self.polished.append((job.id, consent.ticked))
        return "It is polished."

    async def _gild(self, job: AsyncJob, consent: Consent) -> AsyncJob:
        made = await job.next_take(max_price=consent.max_price)
        self.bought.append(made.id)
        return made


@pytest.fixture
def made_up() -> Polishing:
    return Polishing()


@pytest.fixture
def card(
    bare: BarePage, client: Client, job: Job, made_up: Polishing
) -> Iterator[Locator]:
    host = JobHost(add=lambda _: None, acts=made_up.acts)
    view, widget = JobView(job.core, client, home=host), JobsWidget()
    widget.show_jobs([view])
    until(bare.page, lambda: not view._tasks._tasks)
    yield bare.show(widget).get_by_role("article")
    widget.close()
    view.close()


@pytest.fixture
def wall(
    bare: BarePage, client: Client, job: Job, made_up: Polishing
) -> Iterator[Locator]:
    cells = [
        WallCell(0, job.id, status="completed", media_type="image", url=job.url),
        WallCell(1, "media_queued", status="queued"),
    ]
    own = ResultActions(client.core, acts=made_up.acts)
    gallery = Gallery(cells, judge=own.judge, actions=own.wall_actions())
    until(bare.page, lambda: not gallery._tasks._tasks)
    yield bare.show(gallery.widget).locator(".mk-wall")
    gallery.close()


def button(place: Locator, name: str) -> Locator:
    return place.get_by_role("button", name=name, exact=True)


def test_a_card_offers_an_added_act_confirms_it_and_does_it(
    bare: BarePage, card: Locator, job: Job, made_up: Polishing
) -> None:
    expect(button(card, "Mend")).to_have_count(0)
    expect(button(card, "Polish")).to_have_attribute("title", "Make it shine")
    button(card, "Polish").click()
    expect(card).to_contain_text("Polish this job?")
    expect(card).to_contain_text("It shines.")
    expect(button(card, "Cancel")).to_be_focused()
    button(card, "Cancel").click()
    assert not made_up.polished

    button(card, "Polish").click()
    card.get_by_label("Wax it, too").check()
    button(card, "Polish it").click()
    expect(card).to_contain_text("It is polished.")
    assert made_up.polished == [(job.id, True)]


def test_an_added_paid_act_pays_the_price_in_its_question(
    bare: BarePage, card: Locator, made_up: Polishing
) -> None:
    card.get_by_role("button", name="Gild · $").click()
    expect(card).to_contain_text("Gild it?")
    yes = card.get_by_role("button", name="Gild · $0.126")
    yes.hover()
    rest(bare.page)
    yes.dblclick()
    until(bare.page, lambda: bool(made_up.bought))
    expect(card.get_by_role("button", name="Gild · $0.126")).to_be_enabled()
    assert len(made_up.bought) == 1


def test_a_wall_names_the_key_of_an_act_and_opens_its_menu_there(
    bare: BarePage, wall: Locator, job: Job, made_up: Polishing
) -> None:
    expect(wall.locator(".mk-keys")).to_contain_text("X polish")
    tile = wall.locator("[data-index='0']")
    tile.focus()
    bare.page.keyboard.press("x")
    expect(button(wall, "Polish")).to_be_focused()
    expect(button(wall, "Mend")).to_have_count(0)
    bare.page.keyboard.press("Enter")
    expect(wall).to_contain_text("Polish this job?")
    expect(button(wall, "Cancel")).to_be_focused()
    assert not made_up.polished
    button(wall, "Polish it").click()
    expect(wall.get_by_role("status").first).to_have_text("It is polished.")
    assert made_up.polished == [(job.id, False)]


def test_a_wall_shows_the_result_of_a_paid_act_beside_its_source(
    bare: BarePage, wall: Locator, made_up: Polishing
) -> None:
    wall.locator("[data-index='0']").focus()
    bare.page.keyboard.press("a")
    wall.get_by_role("button", name="Gild · $0.126").click()
    yes = wall.get_by_role("button", name="Gild · $0.126")
    yes.hover()
    rest(bare.page)
    yes.click()
    expect(wall).to_contain_text("The gilded result appears beside this one.")
    expect(wall.get_by_role("gridcell")).to_have_count(3)
    assert len(made_up.bought) == 1


def test_an_act_of_running_jobs_opens_the_menu_of_their_tiles(
    bare: BarePage, wall: Locator
) -> None:
    tile = wall.locator("[data-index='1']")
    expect(button(tile, "More actions (A)")).to_be_visible()
