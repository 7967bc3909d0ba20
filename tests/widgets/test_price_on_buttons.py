"""The price on a button is the price paid: on cards, walls, plans and in code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit import Client, Job
from mediakit.client import AsyncJob
from mediakit.widgets.form.controller import Form
from mediakit.widgets.job.payload import JobHost
from mediakit.widgets.job.view import JobView
from mediakit.widgets.sweeps.plan_view import PlanView
from tests.support.priced_service import (
    CLIP_URL,
    LONG_S,
    SHORT_S,
    PricedService,
)
from tests.support.samples.media_samples import make_mp4
from tests.support.samples.walls import Page
from tests.support.widgets import alert, page, press, say, until
from tests.sweep.runs import run
from tests.sweep.service import Outcome, Service

KITE: dict[str, Any] = {"prompt": "a kite", "duration": 5}
MakeForm = Callable[..., Form]


class Card:
    """The card of a job, from which other jobs can be submitted."""

    def __init__(self, job: Job) -> None:
        self.added: list[AsyncJob] = []
        self.view = JobView(job.core, job.client, home=JobHost(add=self.added.append))
        self.view.open()

    def text(self, act: str) -> str:
        return str(self.view.payload["prices"][act])

    def press(self, act: str, text: str) -> None:
        self.view._paid_at_s = float("-inf")  # long after the click before
        press(self.view, act, text=text)
        until(lambda: not self.view.payload["busy"])


def offers(shown: Page, job_id: str) -> dict[str, dict[str, Any]]:
    """Return what is offered for a job, by the first word of its label."""
    found = shown.offers(job_id).values()
    return {offer["text"].partition(" ·")[0]: offer for offer in found}


def test_a_card_says_todays_price_of_another_take_and_of_another_try(
    priced: PricedService,
) -> None:
    before = priced.connect("0.34")
    made = before.submit("text-to-video", **KITE).wait()
    priced.decide = lambda *_: Outcome(fails="provider_error", reads=1)
    failed = before.submit("text-to-video", **KITE, take=2)
    with pytest.raises(mk.JobFailedError):
        failed.wait()
    priced.decide = lambda *_: Outcome()

    client = priced.connect("2.00")
    for job, act, words in (
        (made, "take", "Another take"),
        (failed, "retry", "Try again"),
    ):
        card, count = Card(client.job(job.id)), len(priced.jobs)
        until(lambda card=card, act=act: card.text(act).endswith("$2.00"))  # type: ignore[misc]
        card.press(act, f"{words} · $0.34")
        assert f"“{words} · $2.00”" in alert(card.view)
        assert len(priced.jobs) == count
        card.press(act, f"{words} · $2.00")
        until(lambda card=card: card.added)  # type: ignore[misc]
        assert len(priced.jobs) == count + 1
        card.view.close()


def test_a_card_pays_no_more_than_its_label_for_a_clip_that_has_grown(
    priced: PricedService,
) -> None:
    client = priced.connect("0.34")
    job = client.submit("video-upscale", video_url=CLIP_URL).wait()
    card = Card(job)
    until(lambda: card.text("take") == "Another take · $0.152")
    priced.grow()
    card.press("take", "Another take · $0.152")
    assert "$0.608 instead of $0.152" in alert(card.view)
    assert len(priced.jobs) == 1
    assert card.text("take") == "Another take · $0.608"
    card.press("take", "Another take · $0.608")
    until(lambda: card.added)
    card.view.close()


def test_the_wall_of_a_past_sweep_says_todays_prices_and_pays_them(
    priced: PricedService, wall: Callable[[Any], Page]
) -> None:
    failing = Outcome(fails="provider_error", reads=1)
    priced.decide = lambda body, _: failing if body["prompt"] == "no" else Outcome()
    before = priced.connect("0.34")
    past = run(before, before.sweep("text-to-video", prompt=["yes", "no"], duration=5))
    priced.decide = lambda *_: Outcome()

    client = priced.connect("2.00")
    results = client.sweep_results(past.id).wait()
    shown = wall(results)
    until(lambda: shown.cell(1)["retry"] == "Retry (R) · $2.00")
    old = shown.answer(shown.asks("retry", cell=1, text="Retry (R) · $0.34"))
    assert "“Retry (R) · $2.00” instead of “Retry (R) · $0.34”" in old["error"]
    job_id = shown.cell(0)["job"]
    assert offers(shown, job_id)["Another take"]["text"] == "Another take · $2.00"
    assert len(priced.jobs) == 2

    now = shown.answer(shown.asks("retry", cell=1, text="Retry (R) · $2.00"))
    assert now["said"] == "Sent again. It may cost $2.00."
    assert len(priced.jobs) == 3
    until(lambda: shown.cell(1)["status"] == "completed")
    late = shown.answer(shown.asks("retry", cell=1, text="Retry (R) · $2.00"))
    assert "has a result" in late["error"]
    assert len(priced.jobs) == 3


def test_one_message_of_a_wall_buys_once_however_often_it_arrives(
    priced: PricedService,
) -> None:
    client = priced.connect("0.34")
    results: Any = run(client, client.sweep("text-to-video", prompt=["a"], duration=5))
    gallery = results.gallery()
    shown = Page(gallery)
    until(lambda: shown.cell(0)["status"] == "completed")
    job_id = shown.cell(0)["job"]
    take = offers(shown, job_id)["Another take"]
    number = shown.acts(job_id, offer=take)
    shown.answer(number)
    for _ in range(4):
        content = {"do": "act", "cells": [0], "offer": take, "number": number}
        shown.widget._handle_custom_msg(content, [])
        client.io.call(asyncio.sleep, 0)  # it has begun
        until(lambda: not gallery._tasks._tasks)
    assert len(priced.jobs) == 2
    gallery.close()


def test_one_click_on_generate_buys_once_however_often_it_arrives(
    client: Client, make_form: MakeForm
) -> None:
    form = make_form("text-to-video", prompt="a kite", duration=3)
    click = {
        "values": page(form)["values"],
        "edited": [],
        "price": page(form)["price"]["ends"],
        "another": True,
        "view": "a",
        "number": 7,
    }
    for _ in range(3):
        say(form, "generate", **click)
        until(lambda: not form.state.sending, form)
    assert len(client.history.frame()) == 1
    say(form, "generate", **{**click, "number": 8})
    until(lambda: not form.state.sending, form)
    assert len(client.history.frame()) == 2


def test_an_act_labelled_free_shows_the_existing_job_of_any_take(
    priced: PricedService, wall: Callable[[Any], Page]
) -> None:
    client = priced.connect("0.34")
    results = run(client, client.sweep("text-to-video", prompt=["a"], duration=5))
    [job_id] = results.frame()["job_id"]
    clip = client.job(job_id)
    large = client.submit("video-upscale", video_url=clip, take=2).wait()
    shown = wall(results)
    until(lambda: shown.cell(0)["status"] == "completed")
    free = offers(shown, job_id)["Show upscaled"]
    assert free["text"] == "Show upscaled · $0.00"
    answer = shown.answer(shown.acts(job_id, offer=free))
    assert answer["error"] == ""
    until(lambda: large.id in {cell["job"] for cell in shown.shown["cells"]})
    assert len(priced.jobs) == 2


def test_the_code_that_is_called_free_returns_the_job_that_there_is(
    client: Client, make_form: MakeForm
) -> None:
    job = client.submit("text-to-video", prompt="a kite", duration=3, take=2)
    form = make_form("text-to-video", prompt="a kite", duration=3)
    until(lambda: form.state.existing is not None, form)
    until(lambda: "free of charge" in page(form)["code_hint"], form)
    code = form.as_python()
    assert code.endswith("duration=3, take=2)")
    assert eval(code, {"client": client}).id == job.id
    assert len(client.history.frame()) == 1

    form.values.prompt = "another kite"
    until(lambda: form.state.existing is None, form)
    until(lambda: "free" not in page(form)["code_hint"], form)
    assert 'max_price="$0.204"' in form.as_python()


def test_a_rejected_request_is_the_same_take_so_that_its_call_finds_the_job(
    priced: PricedService,
) -> None:
    client = priced.connect("0.34")
    priced.decide = lambda *_: Outcome(rejects=403, code="insufficient_balance")
    with pytest.raises(mk.BalanceError):
        client.submit("text-to-video", **KITE, take="next")
    priced.decide = lambda *_: Outcome()
    job = client.submit("text-to-video", **KITE, take="next")
    assert client.submit("text-to-video", **KITE).id == job.id
    assert len(priced.jobs) == 1


def test_a_tile_over_the_budget_says_so_and_raises_it_before_it_is_sent(
    priced: PricedService, wall: Callable[[Any], Page]
) -> None:
    client = priced.connect("0.34")
    plan = client.sweep("text-to-video", prompt=["a"], duration=5)
    results = run(client, plan, "$0.50")
    shown = wall(results)
    until(lambda: ("$0.34", "of $0.50 spent") in shown.shown["figures"])
    job_id = shown.cell(0)["job"]
    take = offers(shown, job_id)["Another take"]
    assert take["text"] == "Another take · $0.34, raises the budget to $0.68"
    plain = {**take, "text": "Another take · $0.34"}
    refused = shown.answer(shown.acts(job_id, offer=plain))
    assert take["text"] in refused["error"]
    assert len(priced.jobs) == 1

    shown.answer(shown.acts(job_id, offer=take))
    until(lambda: ("$0.68", "of $0.68 spent") in shown.shown["figures"])
    assert ("1", "made from these results for $0.34, 0 kept") in shown.shown["figures"]
    assert results.progress.spent_micro_usd == 680_000
    assert len(results.frame()) == 1


def test_a_shared_budget_is_not_raised_by_a_tile(
    priced: PricedService, wall: Callable[[Any], Page]
) -> None:
    client = priced.connect("0.34")
    plan = client.sweep("text-to-video", prompt=["a"], duration=5)
    shown = wall(run(client, plan, mk.Budget("team", "$0.50")))
    until(lambda: shown.cell(0)["status"] == "completed")
    job_id = shown.cell(0)["job"]
    take = offers(shown, job_id)["Another take"]
    assert take["text"] == "Another take · $0.34"
    refused = shown.answer(shown.acts(job_id, offer=take))
    assert "over what is left of the budget team" in refused["error"].replace("'", "")
    assert len(priced.jobs) == 1


def test_the_head_of_a_wall_says_what_running_jobs_hold(
    priced: PricedService, wall: Callable[[Any], Page]
) -> None:
    client = priced.connect("0.34")
    priced.decide = lambda *_: Outcome(reads=10**9)
    plan = client.sweep("text-to-video", prompt=["a", "b"], duration=5)
    shown = wall(plan.run("$3"))
    held = ("$0.00", "of $3.00 spent, $0.68 held")
    until(lambda: held in shown.shown["figures"])


def test_run_sends_nothing_above_its_label_when_a_clip_has_grown(
    client: Client, make_form: MakeForm, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", duration_s=SHORT_S)
    form = make_form("video-upscale", video_url=str(clip))
    say(form, "sweep", open=True)
    say(form, "sweep", takes="2")
    view = PlanView(client.sweep("video-upscale", video_url=str(clip), takes=2))
    [button] = [each for each in view._row.children if each is view._run]
    old, new = "Run 2 cells · $0.304", "Run 2 cells · $1.216"
    until(lambda: page(form)["sweep"]["run"] == old, form)
    until(lambda: button.description == old, form)

    make_mp4(clip, duration_s=LONG_S)
    say(form, "sweep", run=old)
    button.click()
    until(lambda: page(form)["sweep"]["run"] == new, form)
    until(lambda: button.description == new)
    for said in (page(form)["sweep"]["error"], view._error.value):
        assert old in said
        assert new in said
    assert len(client.history.frame()) == 0
    view.close()


def test_the_copied_sweep_runs_within_the_budget_or_the_price_of_its_panel(
    client: Client, make_form: MakeForm
) -> None:
    form = make_form("text-to-video", prompt="a kite", duration=3)
    say(form, "sweep", open=True)
    say(form, "sweep", vary="duration", on=True)
    say(form, "sweep", axis="duration", text="3, 4")
    say(form, "sweep", takes="2")
    until(lambda: page(form)["sweep"]["run"] == "Run 4 cells · $0.952", form)
    code = page(form)["sweep"]["code"]
    assert "takes=2" in code
    assert code.endswith('.run(max_price="$0.952")')

    say(form, "sweep", budget="$0.45")
    code = page(form)["sweep"]["code"]
    assert code.endswith('.run(budget="$0.45")')
    results = eval(code, {"client": client}).wait()
    assert (
        results.plan.id
        == client.sweep("text-to-video", prompt="a kite", duration=[3, 4], takes=2).id
    )
    assert results.progress.budget_micro_usd == 450_000
    assert results.progress.spent_micro_usd <= 450_000


def test_a_wall_says_why_a_budget_does_not_let_a_cell_of_unknown_price_be_sent(
    tmp_path: Path, wall: Callable[[Any], Page]
) -> None:
    service = Service()
    service.decide = lambda *_: Outcome(fails="provider_error", reads=1)
    with service.client(tmp_path) as client:
        alone = wall(run(client, client.sweep("text-to-image", prompt=["a"])))
        until(lambda: alone.cell(0).get("retry") == "Retry (R) · price unknown")

        plan = client.sweep("text-to-image", prompt=["a", "b"])
        shown = wall(run(client, plan, budget="$5"))
        reason = "It cannot be retried: its price is unknown"
        until(lambda: reason in shown.cell(0).get("problem", ""))
        assert "price of this request is unknown" in shown.cell(1)["problem"]
        assert not any(shown.cell(index).get("retry") for index in (0, 1))
