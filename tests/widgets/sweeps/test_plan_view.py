"""A displayed plan is up to date, and its button pays at most the shown price."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import ipywidgets as w
import pytest

from mediakit import Client
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.sweeps.plan_view import AMOUNT, NOTHING_FITS, PlanView
from tests.support.widgets import every, shown, until
from tests.sweep.runs import run

PROMPTS = ["a gull", "a kite"]


def run_button(view: PlanView) -> Any:
    """Return the button that runs the plan, or shows what is owned."""
    words = ("Run", "Show", NOTHING_FITS)
    return next(
        each
        for each in every(view.widget)
        if str(getattr(each, "description", "")).startswith(words)
    )


def words(view: PlanView) -> str:
    """Return what it shows, without its tags."""
    return re.sub("<[^>]*>", "", shown(view))


def test_the_budget_of_a_plan_is_asked_for_before_its_button(client: Client) -> None:
    view = PlanView(client.sweep("text-to-image", prompt=PROMPTS))
    names = [getattr(each, "description", "") for each in every(view.widget)]
    assert names.index("Budget") < names.index(run_button(view).description)
    view.close()


def test_the_button_says_what_the_budget_allows_and_then_what_is_left_of_it(
    client: Client,
) -> None:
    prompts = [f"{uuid4()}" for _ in range(3)]
    view = PlanView(client.sweep("text-to-video", prompt=prompts, duration=3))
    (budget,) = (each for each in every(view.widget) if isinstance(each, w.Text))
    assert run_button(view).description == "Run 3 cells · $0.612"
    budget.value = "$0.1"
    assert "No new cell fits in $0.10." in words(view)
    assert "no new cell fits the budget" in words(view)
    assert "balance afterwards" not in words(view)
    assert run_button(view).disabled
    budget.value = "abc"
    assert AMOUNT in words(view)
    assert run_button(view).disabled
    budget.value = "$0.45"
    assert "2 of 3 fit in $0.45." in words(view)
    assert run_button(view).description == "Run 2 of 3 · $0.408"

    run_button(view).click()

    until(lambda: "No new cell fits in the $0.042 left of $0.45." in words(view))
    until(lambda: run_button(view).description == "No cell fits the budget", view)
    assert run_button(view).disabled
    # What they have would cost as much anew.
    until(lambda: "already yours · $0 instead of $0.408" in words(view), view)
    budget.value = ""
    assert run_button(view).description == "Run 1 cell · $0.204"
    view.close()


@pytest.mark.parametrize("is_same", [True, False])
def test_a_plan_that_is_shown_follows_its_runs_and_those_of_equal_plans(
    client: Client, *, is_same: bool
) -> None:
    # Jobs that the service does not have yet, whichever tests ran before.
    prompts = [f"{uuid4()}", f"{uuid4()}"]
    plan: Any = client.sweep("text-to-image", prompt=prompts)
    view = plan.view = PlanView(plan)
    assert run_button(view).description == "Run 2 cells · price unknown"
    assert "unknownprice of 2 new" in words(view)

    run(client, plan if is_same else client.sweep("text-to-image", prompt=prompts))

    until(lambda: run_button(view).description == "Show 2 cells · $0.00")
    # Nobody knows the price of a picture, and no balance changes.
    until(lambda: "already yours · $0" in words(view), view)
    assert "instead of" not in words(view)
    assert "balance afterwards" not in words(view)
    view.close()


def test_a_click_on_a_plan_that_has_changed_sends_nothing_and_shows_it(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    view = PlanView(client.sweep("text-to-image", prompt=PROMPTS))
    service = sandbox.base_url, sandbox.api_key
    with Client(*service, home=tmp_path / "home", catalog=client.catalog) as other:
        run(other, other.sweep("text-to-image", prompt=PROMPTS[:1]))
    assert run_button(view).description.startswith("Run 2 cells")

    run_button(view).click()

    until(lambda: "Nothing was sent. Press it again" in shown(view))
    until(lambda: run_button(view).description.startswith("Run 1 cell"))
    until(lambda: not run_button(view).disabled)
    assert len(client.history.page()) == 1
    run_button(view).click()
    until(lambda: run_button(view).description.startswith("Show 2 cells"))
    assert len(client.history.page()) == 2
    view.close()
