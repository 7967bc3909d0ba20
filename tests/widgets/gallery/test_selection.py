"""Acts on all selected tiles of a wall: one button, one price, one sentence."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from mediakit import Client
from mediakit.client import AsyncJob
from mediakit.client.job_acts import ACTS, Act, Consent, Many, Place
from mediakit.widgets.gallery import Done, Gallery, Offer, ResultActions, WallActions
from tests.support.priced_service import PricedService
from tests.support.samples.walls import Page, make_cell, make_cells
from tests.support.soak import trials
from tests.support.widgets import until
from tests.sweep.runs import run
from tests.sweep.service import Outcome

FAILING = Outcome(fails="provider_error", reads=1)
TAKES = "Another take of 2 of 3 results · $0.68"


@pytest.fixture
def three(priced: PricedService, wall: Callable[[Any], Page]) -> Page:
    """Show two results, and a failed cell that may be sent again."""
    priced.decide = lambda body, _: FAILING if body["prompt"] == "no" else Outcome()
    client = priced.connect("0.34")
    prompts = ["a", "b", "no"]
    page = wall(run(client, client.sweep("text-to-video", prompt=prompts, duration=5)))
    priced.decide = lambda *_: Outcome()
    until(lambda: page.shown["progress"] == "2 of 3 done · 1 failed")
    until(lambda: page.cell(2)["retry"] == "Retry (R) · $0.34")
    return page


def jobs_reach(priced: PricedService, number: int) -> bool:
    return len(priced.jobs) >= number


def jobs(page: Page) -> list[str]:
    return [str(cell.job_id) for cell in page.gallery.cells]


def test_a_take_of_the_selected_results_is_bought_at_the_sum_on_its_button(
    priced: PricedService, three: Page
) -> None:
    offers = three.offers(*jobs(three))
    assert [(each["text"], each["is_paid"]) for each in offers.values()][-2:] == [
        ("Save 2 of 3 results", False),
        ("Retry 1 · $0.34", True),
    ]
    assert offers["take"]["text"] == TAKES

    old = {**offers["take"], "text": "Another take of 2 of 3 results · $0.60"}
    refused = three.answer(three.acts(*jobs(three), offer=old))
    assert f"“{TAKES}”" in refused["error"]
    fewer = three.answer(three.acts(*jobs(three)[:2], offer=offers["take"]))
    assert "“Another take of 2 results · $0.68”" in fewer["error"]
    assert len(priced.jobs) == 3

    answer = three.answer(three.acts(*jobs(three), offer=offers["take"]))
    assert (answer["error"], answer["said"]) == (
        "",
        "Sent another take of 2 results. Each appears beside its result.",
    )
    assert len(priced.jobs) == 5
    made = [cell for cell in three.gallery.cells if cell.made]
    assert [(cell.prompt, cell.made) for cell in made] == [
        ("a", "take 2"),
        ("b", "take 2"),
    ]


def test_one_message_about_several_results_buys_once_however_often_it_arrives(
    priced: PricedService, three: Page
) -> None:
    chosen = jobs(three)
    offer = three.offers(*chosen)["take"]
    number = three.acts(*chosen, offer=offer)
    content = {"do": "act", "cells": [0, 1, 2], "offer": offer, "number": number}
    for _ in range(3):
        three.widget._handle_custom_msg(content, [])
    three.answer(number)
    three.widget._handle_custom_msg(content, [])
    until(lambda: not three.gallery._tasks._tasks)
    assert len(priced.jobs) == 5


def test_an_act_refused_for_one_result_is_reported_and_done_for_the_others(
    priced: PricedService, three: Page
) -> None:
    refusal = Outcome(rejects=403, code="insufficient_balance")
    priced.decide = lambda body, _: refusal if body["prompt"] == "a" else Outcome()
    offer = three.offers(*jobs(three))["take"]
    answer = three.answer(three.acts(*jobs(three), offer=offer))
    assert answer["said"].startswith("Sent another take of 1 of 2 results.")
    assert answer["error"].startswith("1 of 2 results not done: ")
    assert "balance" in answer["error"]
    assert len(priced.jobs) == 4


def test_a_take_that_is_refused_for_all_is_only_an_error(
    priced: PricedService, three: Page
) -> None:
    priced.decide = lambda *_: Outcome(rejects=403, code="insufficient_balance")
    offer = three.offers(*jobs(three))["take"]
    answer = three.answer(three.acts(*jobs(three), offer=offer))
    assert answer["said"] == ""
    assert answer["error"].startswith("2 results not done: ")


def test_selected_cells_are_sent_again_at_the_sum_on_their_button(
    priced: PricedService, wall: Callable[[Any], Page]
) -> None:
    priced.decide = lambda body, _: FAILING if body["prompt"] != "a" else Outcome()
    client = priced.connect("0.34")
    plan = client.sweep("text-to-video", prompt=["a", "no", "nor"], duration=5)
    page = wall(run(client, plan))
    priced.decide = lambda *_: Outcome()
    until(lambda: all("retry" in page.cell(index) for index in (1, 2)))
    offer = page.offers(*jobs(page))["resend"]
    assert offer["text"] == "Retry 2 · $0.68"

    old = {**offer, "text": "Retry 2 · $0.34"}
    assert (
        "“Retry 2 · $0.68”" in page.answer(page.acts(*jobs(page), offer=old))["error"]
    )
    assert len(priced.jobs) == 3
    first = page.asks("act", cells=[1, 2], offer=offer)
    second = page.asks("act", cells=[1, 2], offer=offer)
    assert page.answer(first)["said"] == "Sending 2 cells. They may cost $0.68."
    assert page.answer(second)["error"]
    until(lambda: page.shown["progress"] == "3 of 3 done")
    assert len(priced.jobs) == 5


def test_a_budget_is_raised_once_for_all_selected_results(
    priced: PricedService, wall: Callable[[Any], Page]
) -> None:
    client = priced.connect("0.34")
    plan = client.sweep("text-to-video", prompt=["a", "b"], duration=5)
    page = wall(run(client, plan, "$0.70"))
    until(lambda: page.shown["progress"] == "2 of 2 done")
    offer = page.offers(*jobs(page))["take"]
    assert offer["text"] == (
        "Another take of 2 results · $0.68, raises the budget to $1.36"
    )
    assert page.answer(page.acts(*jobs(page), offer=offer))["error"] == ""
    until(lambda: ("$1.36", "of $1.36 spent") in page.shown["figures"])


def test_selected_results_are_rated_and_kept_but_no_failed_job(three: Page) -> None:
    rated = three.asks("judge", cells=[0, 1, 2], changes={"rating": 4})
    assert three.answer(rated)["count"] == 2
    kept = three.asks("judge", cells=[0, 1, 2], changes={"keep": True})
    assert three.answer(kept)["count"] == 2
    assert [(cell.rating, cell.keep) for cell in three.gallery.cells] == [
        (4, True),
        (4, True),
        (None, False),
    ]
    alone = three.answer(three.asks("judge", cells=[2], changes={"keep": True}))
    assert "This job failed" in alone["error"]


def test_selected_results_are_saved_and_upscaled_where_that_is_possible(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = client.sweep("text-to-image", prompt=["a gull", "a kite"])
    results: Any = run(client, plan)
    gallery = results.gallery()
    page = Page(gallery)
    first, second = jobs(page)
    page.answer(page.acts(first, offer=page.offers(first)["upscale"]))
    offers = page.offers(first, second)
    assert offers["upscale"]["text"].startswith("Upscale 1 of 2 results · $")
    assert not any(name.startswith(("use:", "show:")) for name in offers)

    saved = page.answer(page.acts(first, second, offer=offers["save"]))
    assert saved["said"].startswith(f"Saved 2 results to {tmp_path}.")
    assert len([*tmp_path.glob("*.png")]) == len([*tmp_path.glob("*.json")]) == 2
    gallery.close()


def test_an_act_that_only_this_table_has_is_done_with_all_selected_results(
    priced: PricedService,
) -> None:
    polished: list[str] = []

    async def polish(job: AsyncJob, _: Consent) -> str:
        polished.append(job.id)
        return "It is polished."

    act = Act(
        name="polish",
        label="Polish",
        can=lambda job: job.has_output,
        do=polish,
        places=frozenset({Place.SELECTION}),
        many=Many(yes="Polish {}", done="Polished {}."),
    )
    client = priced.connect("0.34")
    made = [
        client.submit("text-to-video", prompt=prompt, duration=5).wait()
        for prompt in ("a", "b")
    ]
    cells = [make_cell(n, job_id=job.id, url=job.url) for n, job in enumerate(made)]
    own = ResultActions(client.core, acts=(*ACTS, act))
    page = Page(Gallery(cells, actions=own.wall_actions()))
    assert "polish" not in page.offers(made[0].id)
    offer = page.offers(*jobs(page))["polish"]
    assert offer["text"] == "Polish 2 results"
    answer = page.answer(page.acts(*jobs(page), offer=offer))
    assert (answer["said"], answer["error"]) == ("Polished 2 results.", "")
    assert polished == [job.id for job in made]
    page.gallery.close()


@pytest.mark.parametrize("seed", range(3))
def test_no_message_buys_anything_not_on_its_button_or_anything_twice(
    priced: PricedService, three: Page, seed: int
) -> None:
    """Messages about any cells, with any offer seen so far, arrive in any order."""
    drawn = random.Random(seed)
    seen: list[dict[str, Any]] = []
    sent: list[dict[str, Any]] = []
    done = 0
    for _ in range(trials(10, 60)):
        cells = [cell.index for cell in three.gallery.cells]
        chosen = drawn.sample(cells, drawn.randint(1, min(4, len(cells))))
        found = three.answer(three.asks("offers", cells=chosen))["offers"]
        offers = {each["text"]: each for each in found if each["is_paid"]}
        seen += offers.values()
        before = len(priced.jobs)
        for late in sent[-3:]:
            three.widget._handle_custom_msg(late, [])
        if seen:
            offer = drawn.choice([*offers.values(), *offers.values(), *seen])
            number = three.asks("act", cells=chosen, offer=offer)
            message = {"do": "act", "cells": chosen, "offer": offer, "number": number}
            sent.append(message)
            wanted = results_on(offer["text"]) if offer["text"] in offers else 0
            for _ in range(drawn.randint(0, 2)):
                three.widget._handle_custom_msg(message, [])
            answer = three.answer(number)
            until(partial(jobs_reach, priced, before + wanted))
            until(lambda: three.shown["running"] == 0)
            assert bool(answer["error"]) == (not wanted), answer
            assert len(priced.jobs) - before == wanted, answer
            done += wanted
    assert len(priced.jobs) == 3 + done > 3


def results_on(text: str) -> int:
    """Return for how many results a button pays."""
    found = re.match(r"(?:Another take of|Upscale|Retry) (\d+)", text)
    return int(found[1]) if found else 1


class Slow:
    """Carries out offers, each once it may."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = threading.Event()

    async def offers(self, job_id: str) -> list[Offer]:
        return []

    async def joint_offers(self, job_ids: Sequence[str]) -> list[Offer]:
        own = Offer("take", "Another take", "", is_paid=True)
        return [own._replace(parts=tuple((job_id, own) for job_id in job_ids))]

    async def act(self, job_id: str, offer: Offer) -> Done:
        self.begun.append(job_id)
        await to_thread.run_sync(self.may_end.wait)
        return Done("")

    async def made(self) -> list[Any]:
        return []


def test_a_stop_keeps_the_rest_of_the_selected_results_from_being_sent() -> None:
    slow = Slow()
    gallery = Gallery(make_cells(3), actions=WallActions(tile=slow))
    page = Page(gallery)
    offer = page.offers("media_0", "media_1", "media_2")["take"]
    number = page.asks("act", cells=[0, 1, 2], offer=offer)
    until(lambda: slow.begun)
    page.answer(page.asks("stop_sending"))
    slow.may_end.set()
    answer = page.answer(number)
    assert slow.begun == ["media_0"]
    assert answer["said"].startswith("Sent another take of 1 of 3 results.")
    assert answer["error"] == "2 of 3 results not done: You stopped it."
    gallery.close()


def test_selected_failed_cells_are_not_compared() -> None:
    cells = make_cells(3, keep=True)
    page = Page(Gallery(cells))
    assert page.shown["chosen_count"] == 3
    assert page.views(selected=[9])["chosen_count"] == 0
    page.gallery.close()
