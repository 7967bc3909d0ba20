"""The wall in the kernel: users' actions are stored, and one page of cells is sent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from IPython.core.formatters import DisplayFormatter

from mediakit import Client
from mediakit.clock import SystemClock
from mediakit.errors import InputError
from mediakit.history import Preference
from mediakit.widgets.gallery import (
    Done,
    Gallery,
    WallActions,
    WallCell,
    WallSummary,
)
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from tests.support.advancing_clock import AdvancingClock
from tests.support.kernels import run_cells
from tests.support.samples.walls import Page, make_cell, make_cells, make_poster
from tests.support.soak import trials
from tests.support.submissions import preference
from tests.support.widgets import until
from tests.sweep.runs import begin, run, statuses

Make = Callable[..., Gallery]
VIEW = "application/vnd.jupyter.widget-view+json"
UPDATES, UPDATES_S, PAGES_A_SECOND = 400, 1.5, 5
SHOWN = """
from mediakit.widgets.gallery import Gallery, WallCell
cells = [WallCell(n, f"media_{n}", {"animal": f"animal {n}"}, status="completed",
                  media_type="video", url=f"https://a.test/{n}.mp4") for n in range(3)]
wall = Gallery(cells, title="Three animals")
wall
"""
RATED = """
from dataclasses import replace
wall.update([replace(cell, rating=4) for cell in cells])
import time
written = wall._handle._sent.values
while not any("★★★★☆" in html for html, text in list(written())):
    time.sleep(0.1)
with wall._handle._lock:
    pass  # it is published by now
"""


def free(offers: dict[str, Any]) -> list[str]:
    return [name for name, o in offers.items() if o["text"] == "Show upscaled · $0.00"]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make walls, and close them in the end."""
    walls: list[Gallery] = []

    def build(cells: Sequence[WallCell] | None = None, **more: Any) -> Gallery:
        walls.append(Gallery(make_cells() if cells is None else cells, **more))
        return walls[-1]

    yield build
    for wall in walls:
        wall.close()


class Store:
    """Records judgements and preferences, or rejects them."""

    def __init__(self) -> None:
        self.judged: list[tuple[str, dict[str, Any]]] = []
        self.preferred: list[tuple[str, str, bool]] = []
        self.threads: set[threading.Thread] = set()
        self.error: Exception | None = None

    async def judge(self, job_id: str, /, **changes: Any) -> None:
        if self.error is not None:
            raise self.error
        await asyncio.sleep(0.02 if changes.get("rating") == 1 else 0)
        self.judged.append((job_id, changes))
        self.threads.add(threading.current_thread())

    async def prefer(self, winner: str, loser: str, *, tie: bool) -> Preference:
        if self.error is not None:
            raise self.error
        self.preferred.append((winner, loser, tie))
        self.threads.add(threading.current_thread())
        return preference(winner, loser, tie=tie)


def test_judgements_are_stored_in_order_and_shown(make: Make) -> None:
    store = Store()
    wall = make(judge=store.judge)
    page = Page(wall)

    for rating in (1, 2, 4):
        page.judges("media_2", rating=rating)
    page.judges("media_0", keep=True)
    answer = page.answer(page.judges("media_0", tags=["sharp", "red"]))

    assert answer["error"] == ""
    assert [changes for _, changes in store.judged] == [
        *({"rating": rating} for rating in (1, 2, 4)),
        {"keep": True},
        {"tags": ("sharp", "red")},
    ]
    assert threading.main_thread() not in store.threads
    assert wall.cells[2].rating == page.cell(2)["rating"] == 4
    assert page.cell(0)["tags"] == page.shown["tags"][::-1] == ["sharp", "red"]
    assert ("1", "kept") in page.shown["figures"]


def test_a_judgement_that_was_not_stored_is_reported_and_not_shown(make: Make) -> None:
    store = Store()
    store.error = InputError("rating", got=4, accepted="no ratings today")
    wall = make([make_cell(0, rating=2), make_cell(1)], judge=store.judge)
    page = Page(wall)

    assert "no ratings today" in page.answer(page.judges("media_0", rating=4))["error"]
    assert page.cell(0)["rating"] == 2
    assert "no such action" in page.answer(page.asks("export"))["error"]


def test_filters_and_pages_are_those_of_all_cells(make: Make) -> None:
    posters = [make_poster(colour) for colour in ("red", "blue")]
    cells = [make_cell(n, poster=posters[n % 2]) for n in range(100)]
    cells[99] = replace(cells[99], rating=5, keep=True, tags=("sharp",), note="Hand.")
    cells[98] = make_cell(98, status="queued", url=None)
    wall = make(cells)
    page = Page(wall)

    assert (page.shown["pages"], page.shown["found"]) == (3, 100)
    assert len(wall.widget.posters) == 49  # and the kept one
    assert [cell["index"] for cell in page.shown["cells"]] == [*range(48)]
    last = page.views(page=2)
    assert [cell["index"] for cell in last["cells"]] == [*range(96, 100)]
    assert wall.widget.posters["97"] == posters[1]
    # The kept one is compared from wherever one is.
    assert set(wall.widget.posters) == {"96", "97", "99"}
    assert page.views(page=99)["page"] == 2

    def found(**filters: object) -> list[int]:
        none = {"status": "", "rating": 0, "kept": False, "tag": "", "text": ""}
        return [c["index"] for c in page.views(**{**none, **filters})["cells"]]

    assert found(status="running") == [98]
    assert found(rating=5) == found(kept=True) == found(tag="sharp") == [99]
    assert found(text="HAND") == [99]
    assert found(text="no such words") == []
    assert page.shown["page"] == 0


def test_results_are_compared_that_are_selected_or_else_kept(make: Make) -> None:
    cells = make_cells(60)
    cells[59] = replace(cells[59], keep=True)
    page = Page(make(cells))

    assert [cell["index"] for cell in page.shown["chosen"]] == [59]
    shown = page.views(selected=[1, 58])
    assert [cell["index"] for cell in shown["chosen"]] == [1, 58]
    assert (shown["chosen_count"], shown["selected"]) == (2, [1, 58])


def test_a_running_sweep_sends_at_most_five_small_pages_a_second(make: Make) -> None:
    cells = make_cells(200, status="running", url=None)
    wall = make(cells, clock=SystemClock())
    sent: list[int] = []
    wall.widget.observe(lambda change: sent.append(len(str(change.new))), "page")

    started_s = time.monotonic()
    for done in range(UPDATES):
        at = done % len(cells)
        cells[at] = replace(cells[at], charge_micro_usd=done)
        wall.update(tuple(cells), summary=WallSummary(spent=f"${done}"))
        time.sleep(UPDATES_S / UPDATES)
    until(lambda: ("$399", "spent") in wall.widget.page["figures"])
    took_s = time.monotonic() - started_s

    assert len(sent) <= PAGES_A_SECOND * took_s + 1
    assert max(sent) < 40_000


def test_cells_that_come_later_are_arranged_and_found_by_a_page_loaded_later(
    make: Make,
) -> None:
    cells = make_cells()
    wall = make(cells, rows="light", cols="animal")

    child = replace(cells[0], index=6, labels={"animal": "owl", "light": "dawn"})
    wall.update([*cells, child], summary=WallSummary(spent="$0.61"))
    until(lambda: len(wall.widget.get_state()["page"]["cells"]) == 7)

    state = wall.widget.get_state()["page"]
    assert state["cols"][3] == [["owl", 0]]
    assert ("$0.61", "spent") in state["figures"]
    with pytest.raises(InputError, match="index"):
        wall.update([*cells, cells[0]])


def test_the_most_informative_pair_is_asked_and_stored_answers_are_counted(
    make: Make,
) -> None:
    store = Store()
    before = preference("media_0", "media_1")
    wall = make(prefer=store.prefer, preferences=[before])
    page = Page(wall)

    asked = page.answer(page.asks("pair"))
    assert (asked["count"], asked["left"]) == (0, 14)
    pairs = set()
    for count in range(1, 4):
        one, other = (cell["job"] for cell in asked["pair"])
        pairs.add(frozenset((one, other)))
        asked = page.answer(page.asks("prefer", winner=one, loser=other, tie=False))
        assert asked["count"] == count
    store.error = OSError("the disk is full")
    refused = page.answer(
        page.asks("prefer", winner="media_4", loser="media_5", tie=False)
    )

    assert "the disk is full" in refused["error"]
    # Those that were never compared come first.
    assert {frozenset(("media_0", "media_1"))}.isdisjoint(pairs)
    assert {job for pair in pairs for job in pair} >= {
        f"media_{n}" for n in range(2, 6)
    }
    ranked = page.answer(page.asks("rank"))
    assert (ranked["count"], ranked["used"]) == (3, 4)
    assert [
        row["strength"] for row in ranked["ranking"] if row["group"] == 0
    ] == sorted(
        (row["strength"] for row in ranked["ranking"] if row["group"] == 0),
        reverse=True,
    )


def test_buttons_do_what_the_caller_gave_and_say_what_it_returns(make: Make) -> None:
    done: list[object] = []

    async def retry(cell: int, text: str) -> str:
        done.append((cell, text))
        return ""

    async def export() -> Done:
        return Done("Saved 6 files.", path="/here/report.html")

    actions = WallActions(retry=retry, export=export)
    wall = make(make_cells(status="failed"), actions=actions)
    page = Page(wall)

    page.answer(page.asks("retry", cell=3, text="Retry (R)"))
    answer = page.answer(page.asks("export"))
    assert (answer["said"], answer["path"]) == ("Saved 6 files.", "/here/report.html")

    assert done == [(3, "Retry (R)")]
    offered = {name for name, is_offered in wall.widget.can.items() if is_offered}
    assert offered == {"retry", "export"}


def test_a_closed_wall_receives_sends_and_fetches_nothing(make: Make) -> None:
    store, asked = Store(), []

    async def picture(cell: WallCell) -> None:
        asked.append(cell.index)

    wall = make(judge=store.judge, actions=WallActions(picture=picture))
    until(lambda: len(asked) == 6)
    page = Page(wall)
    wall.close()

    page.judges("media_0", rating=1)
    wall.update(make_cells(60, rating=2))
    time.sleep(0.3)

    assert (store.judged, page.answers, len(asked)) == ([], [], 6)


def test_a_wall_that_closes_while_it_is_written_is_not_written_again(
    make: Make,
) -> None:
    written: list[str] = []
    wall = make(clock=AdvancingClock())

    class Twin(CardHandle):
        def show(self, html: str, text: str = "") -> None:
            written.append(html)
            wall.follow_with(self)
            wall.close()

    wall.follow_with(Twin())
    until(lambda: written)
    time.sleep(0.3)

    assert len(written) == 1


def test_a_cell_keeps_the_newest_static_twin_and_the_live_wall(tmp_path: Path) -> None:
    shown, _ = run_cells([SHOWN, RATED], tmp_path)

    html = [
        output["data"]["text/html"]
        for output in shown["outputs"]
        # The other one says what to do where no widgets are.
        if output["data"].get("text/html") and VIEW not in output["data"]
    ]
    views = [output for output in shown["outputs"] if VIEW in output["data"]]
    assert len(html) == len(views) == 1
    assert html[0].count("★★★★☆") == 3
    assert 'src="https://a.test/2.mp4"' in html[0]


def test_in_a_terminal_results_are_displayed_as_the_text_of_their_wall(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    results = run(client, client.sweep("text-to-image", prompt=["a kite"]))
    assert DisplayFormatter().format(results) == ({}, {})
    with closing(cast("Any", results).gallery()) as wall:
        assert capsys.readouterr().out == f"{wall!r}\n"


def test_a_wall_of_owned_and_new_clips_ends_with_all_of_them_done(
    client: Client,
) -> None:
    """The run ends while the wall is made, as where it is a cell's last line."""
    owned = [f"a kite over dune {at}" for at in range(10)]
    run(client, client.sweep("text-to-image", prompt=owned))
    for n in range(trials(2, soak=12)):
        new = [f"a gull over dune {n}, {at}" for at in range(2)]
        results: Any = client.sweep("text-to-image", prompt=[*owned, *new]).run()
        wall = results.gallery()
        until(lambda wall=wall: "12 of 12 done" in wall.widget.page["progress"])  # type: ignore[misc]
        wall.close()


def test_a_result_is_drawn_again_at_the_price_shown_and_upscaled_once(
    client: Client,
) -> None:
    clip = run(client, client.sweep("text-to-video", prompt=["a gull"], duration=3))
    with wall_of(clip) as (wall, page, job):
        offers = page.offers(job)
        assert offers["take"]["text"] == "Another take · $0.204"
        assert offers["upscale"]["text"].startswith("Upscale · $")
        assert offers["download"]["file"].startswith("a-gull-")
        assert not offers["use:sandbox/video-upscale/video-upscale"]["is_paid"]
        old = {**offers["take"], "text": "Another take · $0.10"}
        refused = page.answer(page.acts(job, offer=old))
        for price in ("“Another take · $0.204”", "“Another take · $0.10”"):
            assert price in refused["error"]
        assert len(client.history.page()) == 1
        taken = page.answer(page.acts(job, offer=offers["take"]))
        assert taken["error"] == ""
        until(lambda: page.shown["progress"] == "2 of 2 done")
        assert [cell.made for cell in wall.cells] == ["", "take 2"]
        # It is no cell of the sweep, and counts against its budget all the same.
        other = wall.cells[1].job_id
        page.answer(page.judges(str(other), keep=True))
        assert ("1", "cell") in page.shown["figures"]
        made = ("1", "made from these results for $0.204, 1 kept")
        until(lambda: made in page.shown["figures"])
        assert (clip.kept, len(clip.frame())) == ([], 1)
        until(lambda: ("$0.408", "spent") in page.shown["figures"])
        assert clip.progress.spent_micro_usd == 408_000

    picture = run(client, client.sweep("text-to-image", prompt=["a gull"]))
    with wall_of(picture) as (wall, page, job):
        upscale = page.offers(job)["upscale"]
        page.answer(page.acts(job, offer=upscale))
        until(lambda: page.shown["progress"] == "2 of 2 done")
        assert [cell.made for cell in wall.cells] == ["", "Image upscale"]
        assert free(page.offers(job)) == [f"show:{wall.cells[1].job_id}"]


def test_forms_open_right_below_the_wall_and_are_closed_one_by_one(
    client: Client,
) -> None:
    clip = run(client, client.sweep("text-to-image", prompt=["a gull"]))
    with wall_of(clip) as (wall, page, job):
        uses = [name for name in page.offers(job) if name.startswith("use:")][:2]
        for name in (*uses, uses[1]):
            page.answer(page.acts(job, offer=page.offers(job)[name]))
        first, *boxes = wall.view.children
        assert first is wall.widget
        assert len(boxes) == 2  # the one that is opened again replaces itself
        close, form = boxes[0].children
        close.click()
        assert wall.view.children == (first, boxes[1])
        assert form.comm is None
        assert boxes[1].children[1].comm is not None


def test_jobs_requested_on_a_wall_are_shown_when_its_cell_is_rerun(
    client: Client,
) -> None:
    plan = client.sweep("text-to-image", prompt=["a gull", "a kite"])
    with wall_of(run(client, plan)) as (wall, page, job):
        page.answer(page.acts(job, offer=page.offers(job)["take"]))
        other = str(wall.cells[2].job_id)
        page.answer(page.judges(other, rating=5))
        until(lambda: page.shown["progress"] == "3 of 3 done")
        offer = page.offers(other)["upscale"]
        page.answer(page.acts(other, offer=offer))
        until(lambda: page.shown["progress"] == "4 of 4 done")
    count = len(client.history.page())

    with wall_of(run(client, plan)) as (wall, page, job):
        until(lambda: page.shown["progress"] == "4 of 4 done")
        made = [(cell.made, cell.prompt, cell.rating) for cell in wall.cells[2:]]
        assert made == [("take 2", "a gull", 5), ("Image upscale", None, None)]
        assert len(free(page.offers(other))) == 1
    assert len(client.history.page()) == count
    # Another sweep of the same prompt asked for none of them.
    with wall_of(run(client, client.sweep("text-to-image", prompt="a gull"))) as alone:
        time.sleep(0.5)
        assert len(alone[0].cells) == 1


def test_a_cell_that_the_budget_left_out_is_sent_once_the_budget_is_raised(
    client: Client,
) -> None:
    plan = client.sweep("text-to-video", prompt=["a gull", "a kite"], duration=3)
    results: Any = run(client, plan, "$0.30")
    wall = results.gallery()
    page = Page(wall)
    figures = ("2", "cells"), ("$0.204", "of $0.30 spent"), ("0", "kept")
    until(lambda: page.shown["figures"] == figures)
    until(lambda: "Raise" in page.cell(1)["retry"])
    text = page.cell(1)["retry"]
    assert text == "Raise the budget to $0.408 and send (R) · $0.204"
    assert "retry" not in page.cell(0)

    refused = page.answer(page.asks("retry", cell=1, text="Retry (R) · $0.204"))
    assert text in refused["error"]
    assert len(client.history.page()) == 1
    wall.close()

    with wall_of(run(client, plan, "$0.30")) as (_, again, _):
        owned = ("1", "already yours · $0")
        spent = ("$0.204", "of $0.30 spent, including earlier runs")
        until(lambda: {owned, spent} <= {*again.shown["figures"]})
        answer = again.answer(again.asks("retry", cell=1, text=text))
        assert answer["said"] == "Sent again. It may cost $0.204."
        spent = ("$0.408", "of $0.408 spent, including earlier runs")
        until(lambda: spent in again.shown["figures"])
        gone = again.answer(again.asks("retry", cell=1, text=text))
        assert "cannot be sent again" in gone["error"]
        for cell in (-1, 2, True):
            lost = again.answer(again.asks("retry", cell=cell, text=text))
            assert lost["error"]


def test_the_rest_is_sent_at_once_at_the_price_on_its_button_and_never_twice(
    client: Client,
) -> None:
    prompts = ["a gull at dusk", "a kite at dusk", "a fox at dusk"]
    plan = client.sweep("text-to-video", prompt=prompts, duration=3)
    wall = cast("Any", run(client, plan, "$0.30")).gallery()
    page = Page(wall)
    text = "Raise the budget to $0.612 and send 2 · $0.408"
    until(lambda: page.shown["rest"] == text)

    for stale in (
        "Send the remaining 2 · $0.102",
        "Raise the budget to $0.3 and send 1",
    ):
        refused = page.answer(page.asks("rest", text=stale))
        assert text in refused["error"]
    assert len(client.history.page()) == 1

    first, second = (page.asks("rest", text=text) for _ in range(2))
    assert page.answer(first)["said"] == "Sending 2 cells. They may cost $0.408."
    assert "cannot be sent again" in page.answer(second)["error"]
    spent = ("$0.612", "of $0.612 spent")
    until(lambda: spent in page.shown["figures"])
    assert not page.shown["rest"]
    assert len(client.history.page()) == 3
    wall.close()


def test_a_run_that_is_stopped_on_its_wall_sends_nothing_more(client: Client) -> None:
    plan = client.sweep("text-to-video", prompt=[f"a gull {n}" for n in range(12)])
    results = begin(client, plan, in_flight=1)
    wall = cast("Any", results).gallery()
    page = Page(wall)
    until(lambda: page.shown["can_stop"] and client.history.page())

    answer = page.answer(page.asks("stop"))

    assert (answer["tone"], answer["said"][:8]) == ("warn", "Stopped.")
    results.wait()
    until(lambda: not page.shown["can_stop"])
    sent = len(client.history.page())
    assert 0 < sent < 12
    assert statuses(results) == {"completed": sent, "unsent": 12 - sent}
    wall.close()


def test_results_as_an_axis_are_called_by_their_titles(client: Client) -> None:
    drawn = [
        client.run("text-to-image", prompt="a gull"),
        client.run("text-to-image", prompt="a gull", size="64x64"),
        client.run("text-to-image", prompt="a kite"),
    ]
    plan = client.sweep("image-upscale", image_url=drawn)
    results: Any = plan.run().wait()
    wall = results.gallery()

    heads = [cell["caption"] for cell in wall.widget.page["cells"]]
    first, second = (job.id.partition("_")[2][:8] for job in drawn[:2])
    assert heads == [f"a gull · {first}", f"a gull · {second}", "a kite"]
    assert [*plan.axes_frame()["image_url"]] == [job.id for job in drawn]
    wall.close()


@contextmanager
def wall_of(results: Any) -> Iterator[tuple[Gallery, Page, str]]:
    """Show the wall of a sweep of one cell."""
    wall = results.gallery()
    try:
        yield wall, Page(wall), str(results.frame()["job_id"][0])
    finally:
        wall.close()
