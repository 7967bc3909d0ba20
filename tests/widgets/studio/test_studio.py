"""The studio on a real sandbox: its page, and users' actions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client, Job
from mediakit.client import AsyncJob
from mediakit.client.job_acts import ACTS, Act, Consent, Many, free_acts_on_many
from mediakit.history import ratings
from mediakit.history.store import History
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.studio import Studio
from mediakit.widgets.studio.history import HOW_TO_BEGIN, PAGE_ROWS
from mediakit.widgets.toolkit.cell_outputs import NotebookCell
from tests.support.advancing_clock import AdvancingClock
from tests.support.submissions import submission
from tests.support.widgets import in_use, shown, until

Make = Callable[..., Studio]
KIND = "text-to-video"


@pytest.fixture
def make_studio(client: Client) -> Iterator[Make]:
    """Make studios that have read balance and history; close them after the test."""
    studios: list[Studio] = []

    def make(
        of: Client = client, cell: NotebookCell | None = None, **more: Any
    ) -> Studio:
        studios.append(Studio(of, cell=cell, **more))
        until(lambda: is_read(studios[-1]), studios[-1])
        return studios[-1]

    yield make
    for studio in studios:
        finish(studio)


def is_read(studio: Studio) -> bool:
    state = studio.lists.state
    has_balance = state["facts"][0]["amount"] != "–" or state["trouble"]  # noqa: RUF001
    return bool(has_balance) and not state["page"].startswith("Reading")


def finish(studio: Studio) -> None:
    """Close a studio and wait until all its tasks have ended."""
    forms = tuple(studio._forms.values())
    studio.close()
    until(lambda: not studio._tasks._tasks)
    until(lambda: not any(form._tasks._tasks for form in forms))


def tell(studio: Studio, act: str, **more: Any) -> None:
    """Do what a click on the page does."""
    studio.lists._handle_custom_msg({"act": act, **more}, [])


def ask(studio: Studio, **wishes: str) -> None:
    tell(studio, "query", query={**studio.lists.state["query"], **wishes})


def rows(studio: Studio) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = studio.lists.state["rows"]
    return found


def titles(studio: Studio) -> list[str]:
    return [row["title"] for row in rows(studio)]


def path_of(client: Client, kind: str = KIND) -> str:
    return client.catalog.function(kind).path


def bought(client: Client, prompt: str, **more: Any) -> Job:
    """Buy a job and wait until it is paid."""
    job = client.submit(KIND, prompt=prompt, duration=3, **more)
    return job.wait().settle()


def claimed(client: Client, key: str, prompt: str, **changes: Any) -> None:
    """Record a submission in the history; nothing is sent."""
    body = json.dumps({"prompt": prompt}).encode()
    mine = submission(key, prompt=prompt, body=body, **changes)
    mine = replace(mine, service=client.service.identity)
    client.components.store.claim(mine)


def test_an_empty_history_says_how_to_begin_and_every_function_is_offered(
    make_studio: Make, client: Client
) -> None:
    studio = make_studio()
    assert len(studio.lists.functions) == len(client.catalog)
    assert studio.lists.state["page"] == HOW_TO_BEGIN
    tell(studio, "choose", path=path_of(client))
    assert studio.form is not None
    assert studio.content.children == (studio.form.widget,)
    tell(studio, "choose", path=None)
    assert studio.content.children == ()


def test_from_a_form_to_the_history_and_back_with_settings_that_are_owned(
    make_studio: Make, own_client: Client
) -> None:
    studio = make_studio(own_client)
    tell(studio, "choose", path=path_of(own_client))
    assert studio.form is not None
    made = bought(own_client, "a kite over dunes")
    tell(studio, "go", place="History")
    until(lambda: rows(studio) and rows(studio)[0]["charge"] == "$0.204", studio)
    facts = {fact["label"]: fact for fact in studio.lists.state["facts"]}
    assert facts["today"]["amount"] == "$0.20"
    assert facts["today"]["exact"] == "Charged today (UTC): $0.204"
    (row,) = rows(studio)
    assert (row["title"], row["state"]) == ("a kite over dunes", "Completed")
    until(lambda: rows(studio)[0]["thumb"].startswith("data:image/jpeg"), studio)

    tell(studio, "open", number=row["number"])
    until(lambda: studio.lists.state["opened"] == made.id, studio)
    studio._shut.click()
    assert studio.lists.state["opened"] is None

    tell(studio, "reuse", number=row["number"])
    assert studio.form is not None
    assert studio.form.values["prompt"] == "a kite over dunes"
    assert studio.form.values["duration"] == 3
    assert "You already have this result" in studio.lists.state["said"]


def test_a_form_keeps_its_values_while_others_and_other_studios_are_shown(
    make_studio: Make, client: Client
) -> None:
    studio = make_studio(cell=NotebookCell("a", "run 1"))
    tell(studio, "choose", path=path_of(client))
    assert studio.form is not None
    studio.form.values.prompt = "kept"
    tell(studio, "choose", path=path_of(client, "image-upscale"))
    tell(studio, "choose", path=path_of(client))
    other = make_studio(cell=NotebookCell("b", "run 2"))
    tell(other, "choose", path=path_of(client))
    assert other.form is not None
    assert other.form.values.prompt is None
    assert studio.form.values.prompt == "kept"
    assert studio.widget.comm is not None


def test_the_history_is_searched_filtered_sorted_and_turned_over(
    make_studio: Make, client: Client
) -> None:
    for number in range(PAGE_ROWS + 5):
        kind = KIND if number % 2 else "text-to-image"
        claimed(client, f"k{number}", f"kite {number}", kind=kind, project="Dunes")
    studio = make_studio()
    tell(studio, "go", place="History")
    until(lambda: titles(studio)[:1] == ["kite 24"], studio)
    tell(studio, "turn", by=1)
    tell(studio, "turn", by=1)  # before the answer there is no further page
    until(lambda: titles(studio)[-1] == "kite 0", studio)
    assert "Jobs 21 to 25 of 25" in studio.lists.state["page"]
    tell(studio, "turn", by=-1)
    until(lambda: titles(studio)[0] == "kite 24", studio)

    ask(studio, text="kite 2")
    until(lambda: len(titles(studio)) == 7, studio)
    ask(studio, kind="text-to-image", order="oldest", project="Dunes")
    until(lambda: titles(studio)[:1] == ["kite 2"], studio)
    assert len(titles(studio)) == 5
    ask(studio, status="completed")
    until(lambda: "No matching jobs." in studio.lists.state["page"], studio)
    ask(studio, text="a" * 1_001)
    until(lambda: "up to 1,000 characters" in studio.lists.state["trouble"], studio)


def test_all_that_match_are_selected_summed_and_stay_selected_on_other_pages(
    make_studio: Make, client: Client
) -> None:
    for number in range(PAGE_ROWS + 5):
        claimed(client, f"k{number}", f"kite {number}")
    studio = make_studio()
    tell(studio, "go", place="History")
    until(lambda: rows(studio), studio)
    ask(studio, text="kite")
    tell(studio, "select_match")
    text = f"{PAGE_ROWS + 5} selected · $0.00 charged"
    until(lambda: studio.lists.state["selection"] == text, studio)
    until(lambda: studio.lists.state["has_next"], studio)
    shown_now = [row["number"] for row in rows(studio)]
    tell(studio, "select", numbers=shown_now, on=False)
    tell(studio, "turn", by=1)
    until(lambda: len(rows(studio)) == 5, studio)
    numbers = {row["number"] for row in rows(studio)}
    assert set(studio.lists.state["selected"]) == numbers
    tell(studio, "clear")
    assert studio.lists.state["selection"] == ""


def test_selected_results_are_compared_saved_and_erased(
    make_studio: Make, own_client: Client, tmp_path: Path
) -> None:
    for prompt in ("a kite", "a boat"):
        bought(own_client, prompt)
    studio = make_studio(own_client)
    tell(studio, "go", place="History")
    until(lambda: len(rows(studio)) == 2, studio)
    tell(studio, "select", numbers=[row["number"] for row in rows(studio)], on=True)
    assert studio.lists.state["selection"] == "2 selected · $0.408 charged"
    acts = ["compare", *(act.name for act in free_acts_on_many(ACTS))]
    assert {"save", "erase"} < {*acts}
    assert studio.lists.state["counts"] == dict.fromkeys(acts, 2)
    tell(studio, "compare")
    until(lambda: studio.lists.state["comparing"], studio)
    tell(studio, "stop_comparing")
    assert not studio.lists.state["comparing"]

    tell(studio, "question", of="save")
    until(lambda: studio.lists.state["question"] == "save", studio)
    tell(studio, "all", name="save", folder=str(tmp_path / "films"))
    until(lambda: "Saved 2 results to" in studio.lists.state["said"], studio)
    assert len(list((tmp_path / "films").glob("*.mp4"))) == 2
    (tmp_path / "a file").write_text("")
    tell(studio, "all", name="save", folder=str(tmp_path / "a file"))
    until(
        lambda: "a folder that can be created" in studio.lists.state["trouble"], studio
    )

    parts = own_client.components
    its: dict[str, Any] = parts.account_history.owner | {
        "job_id": rows(studio)[0]["job"]
    }
    ratings.judge(parts.store, **its, keep=True, note="Best horizon")
    tell(studio, "rate", number=rows(studio)[0]["number"], rating=4)
    until(lambda: rows(studio)[0]["rating"] == 4, studio)
    assert rows(studio)[0]["kept"]
    ask(studio, text="horizon")
    until(lambda: len(rows(studio)) == 1, studio)
    tell(studio, "rate", number=rows(studio)[0]["number"], rating=0)
    until(lambda: rows(studio)[0]["rating"] == 0, studio)
    ask(studio, text="")
    until(lambda: len(rows(studio)) == 2, studio)
    tell(studio, "question", of="erase")
    until(lambda: studio.lists.state["kept"] == 1, studio)
    tell(studio, "all", name="erase", folder="")
    until(lambda: "Erased 2 results." in studio.lists.state["said"], studio)
    until(lambda: [row["state"] for row in rows(studio)] == ["Erased", "Erased"])
    until(lambda: studio.lists.state["selected"] == [])


def test_an_act_that_only_this_table_has_is_done_with_every_selected_job(
    make_studio: Make, own_client: Client
) -> None:
    jobs, polished = [bought(own_client, each) for each in ("a fox", "an owl")], set()

    async def polish(job: AsyncJob, _: Consent) -> str:
        polished.add(job.id)
        return "It is polished."

    many = Many(question="Polish {}?", yes="Yes, polish {}", done="Polished {}.")
    act = Act(
        name="polish",
        label="Polish",
        can=lambda job: job.has_output,
        do=polish,
        meanwhile="Polishing…",
        many=many,
    )
    studio = make_studio(own_client, acts=(*ACTS, act))
    tell(studio, "go", place="History")
    until(lambda: len(rows(studio)) == 2, studio)
    tell(studio, "select", numbers=[row["number"] for row in rows(studio)], on=True)
    assert studio.lists.state["counts"]["polish"] == 2
    assert studio.lists.acts["polish"]["many"]["yes"] == "Yes, polish {}"
    tell(studio, "question", of="polish")
    until(lambda: studio.lists.state["question"] == "polish", studio)
    assert not polished
    tell(studio, "all", name="polish", folder="")
    until(lambda: "Polished 2 results." in studio.lists.state["said"], studio)
    assert polished == {job.id for job in jobs}


def test_a_row_without_a_job_does_not_open_but_its_settings_can_be_reused(
    make_studio: Make, client: Client
) -> None:
    mine = submission("k1", body=b'{"prompt": "a kite", "style": "noir"}')
    client.components.store.claim(replace(mine, service=client.service.identity))
    client.components.store.record_refusal("k1", code="422", message="duration: got 99")
    studio = make_studio()
    (row,) = rows(studio)
    assert row["job"] == ""
    assert row["problem"].endswith("duration: got 99")
    tell(studio, "reuse", number=row["number"])
    assert studio.form is not None
    assert studio.form.values.prompt == "a kite"
    assert "The form has no field for style" in studio.lists.state["said"]
    assert "already have" not in studio.lists.state["said"]


def test_a_slow_reading_is_not_shown_after_a_later_one(
    make_studio: Make, own_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = make_studio(own_client)
    until(lambda: not studio._tasks._tasks)
    read, page = list[object](), History.page

    def slow(self: History, **wishes: Any) -> Any:
        found = page(self, **wishes)
        read.append(found)
        if len(read) == 1:
            time.sleep(0.5)
        return found

    monkeypatch.setattr(History, "page", slow)
    tell(studio, "refresh")
    until(lambda: len(read) == 1)
    bought(own_client, "a kite")
    tell(studio, "refresh")
    until(lambda: len(read) > 1 and not studio._tasks._tasks)
    assert [row["title"] for row in rows(studio)] == ["a kite"]


def test_the_spend_tab_is_the_dashboard_and_stays_where_it_was(
    make_studio: Make, own_client: Client
) -> None:
    studio = make_studio(own_client)
    tell(studio, "go", place="Spend")
    dashboard = studio.dashboard
    assert dashboard is not None
    assert studio.content.children == (dashboard.widget,)
    until(lambda: "Nothing has been charged in" in shown(dashboard), dashboard)
    tell(studio, "go", place="Make")
    tell(studio, "go", place="Spend")
    assert studio.dashboard is dashboard


def test_an_unreachable_service_is_a_sentence_and_the_history_stays(
    make_studio: Make, tmp_path: Path
) -> None:
    nowhere, key = "http://127.0.0.1:9", "key-of-nobody"
    with Client(nowhere, key, home=tmp_path, clock=AdvancingClock()) as alone:
        claimed(alone, "k1", "a kite")
        studio = make_studio(alone)
        assert "The balance is not known." in studio.lists.state["trouble"]
        assert key not in json.dumps(studio.lists.state)
        assert titles(studio) == ["a kite"]
        finish(studio)


def test_a_rerun_closes_the_studio_before_and_continues_where_it_was(
    make_studio: Make, sandbox: RunningSandbox, tmp_path: Path, client: Client
) -> None:
    before = make_studio()
    tell(before, "choose", path=path_of(client))
    assert before.form is not None
    before.form.values.prompt = "kept"
    form, root = before.form, before.widget
    tell(before, "go", place="History")
    ask(before, text="kite")

    again = make_studio()
    assert root.comm is None
    assert again.form is not None
    assert again.form.values.prompt == "kept"
    assert form.widget.comm is None
    assert again.lists.state["place"] == "History"
    assert again.lists.state["query"]["text"] == "kite"

    home = tmp_path / "home"
    with Client(sandbox.base_url, sandbox.api_key, home=home) as another:
        last = make_studio(another)
        assert last.form is not None
        assert last.form.values.prompt == "kept"
        assert again.form.widget.comm is None


def test_a_client_gives_its_studio_and_closes_it_with_all_its_widgets(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    before = in_use()
    url, key = sandbox.base_url, sandbox.api_key
    with Client(url, key, home=tmp_path, budget="$5") as client:
        studio = client.studio()
        until(lambda: is_read(studio), studio)
        assert studio.client is client
        facts = [fact["exact"] for fact in studio.lists.state["facts"]]
        assert "Budget: $5.00 left of $5.00" in facts
        tell(studio, "choose", path=path_of(client))
        tell(studio, "go", place="Spend")
        bundle = studio._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert "Balance: <span>$</span>" in bundle["text/html"]
        assert bundle["text/plain"].startswith(f"<Studio of {client.service.label}, ")
    assert in_use() == before
