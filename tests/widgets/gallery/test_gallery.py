"""The wall in the kernel: what people do is stored, and what changes is sent."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.clock import SystemClock
from mediakit.errors import InputError
from mediakit.widgets.gallery import (
    Gallery,
    Preference,
    Ranked,
    WallActions,
    WallCell,
    WallSummary,
)
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from tests.support.advancing_clock import AdvancingClock
from tests.support.kernels import run_cells
from tests.support.rows import assert_each
from tests.support.samples.walls import Page, make_cell, make_cells, make_poster
from tests.support.soak import trials
from tests.support.widgets import until
from tests.sweep.runs import run

Make = Callable[..., Gallery]
VIEW = "application/vnd.jupyter.widget-view+json"
UPDATES, UPDATES_S, MESSAGES_A_SECOND = 400, 1.5, 5
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
time.sleep(3)
"""


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
    """Keeps what is judged and preferred; or refuses it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.judged: list[tuple[str, dict[str, Any]]] = []
        self.preferred: list[tuple[str, str, bool]] = []
        self.error = error

    def judge(self, job_id: str, /, **changes: Any) -> None:
        if self.error is not None:
            raise self.error
        self.judged.append((job_id, changes))

    def prefer(self, winner: str, loser: str, /, *, tie: bool) -> None:
        if self.error is not None:
            raise self.error
        self.preferred.append((winner, loser, tie))


def test_a_rating_is_stored_shown_and_part_of_the_cells(make: Make) -> None:
    store = Store()
    wall = make(judge=store.judge)
    page = Page(wall)

    answer = page.answer(page.judges("media_2", rating=4))

    assert answer["error"] == ""
    assert store.judged == [("media_2", {"rating": 4})]
    assert wall.cells[2].rating == 4
    until(lambda: page.updates("cells"))
    assert page.updates("cells")[0]["2"]["rating"] == 4
    assert wall.widget.get_state()["cells"][2]["rating"] == 4


def test_keep_tags_and_notes_arrive_as_typed_values(make: Make) -> None:
    store = Store()
    wall = make(judge=store.judge)
    page = Page(wall)

    page.judges("media_0", keep=True)
    page.judges("media_0", tags=["sharp", " sharp ", "", "red"])
    page.answer(page.judges("media_0", note=" a hand "))

    changes = [changes for _, changes in store.judged]
    assert changes == [{"keep": True}, {"tags": ("sharp", "red")}, {"note": "a hand"}]
    assert ("1", "kept") in wall.widget.get_state()["header"]["figures"]


def test_callbacks_are_called_in_the_order_of_the_keys_off_the_main_thread(
    make: Make,
) -> None:
    ratings, threads = [], set()

    async def judge(job_id: str, /, **changes: Any) -> None:
        await asyncio.sleep(0.02 if changes["rating"] == 1 else 0)
        ratings.append(changes["rating"])
        threads.add(threading.current_thread())

    page = Page(make(judge=judge))
    for rating in (1, 2, 3, 4, 5, 1):
        last = page.judges("media_0", rating=rating)

    page.answer(last)
    assert ratings == [1, 2, 3, 4, 5, 1]
    assert threading.main_thread() not in threads


def test_what_is_not_stored_is_said_and_taken_back(make: Make) -> None:
    store = Store(InputError("rating", got=4, accepted="no ratings today"))
    wall = make([make_cell(0, rating=2)], judge=store.judge, prefer=store.prefer)
    page = Page(wall)

    answer = page.answer(page.judges("media_0", rating=4))
    assert "no ratings today" in answer["error"]
    assert wall.cells[0].rating == 2
    assert page.updates("cells")[-1]["0"]["rating"] == 2
    store.error = OSError("the disk is full")
    wall.update(make_cells())
    answer = page.answer(page.asks("prefer", winner="media_1", loser="media_0"))
    assert "the disk is full" in answer["error"]
    assert wall.preferences == ()


def test_what_is_no_judgement_is_refused(make: Make) -> None:
    store = Store()
    page = Page(make(judge=store.judge))

    def check(changes: dict[str, object]) -> None:
        assert "must be" in page.answer(page.judges("media_0", **changes))["error"]

    wrong: list[dict[str, object]] = [
        {"rating": 6},
        {"rating": True},
        {"rating": "5"},
        {"keep": 1},
        {"tags": ["x" * 61]},
        {"note": None},
        {"charge_micro_usd": 0},
        {},
    ]
    assert_each(wrong, check)
    assert store.judged == []


def test_what_nobody_offered_is_not_done(make: Make) -> None:
    store = Store()
    page = Page(make(judge=store.judge, prefer=store.prefer))

    page.judges("media_99", rating=1)
    page.asks("prefer", winner="media_1", loser="media_1")
    page.asks("prefer", winner="media_1", loser="media_99")
    page.asks("export")
    page.asks("retry", cell=0)
    page.asks("rm -rf")
    page.widget._handle_custom_msg("nonsense", [])
    page.answer(page.judges("media_0", rating=1))

    assert store.judged == [("media_0", {"rating": 1})]
    assert store.preferred == []


def test_cells_that_were_read_before_a_rating_do_not_undo_it(make: Make) -> None:
    before = make_cells()
    wall = make(before, judge=Store().judge)
    page = Page(wall)
    page.judges("media_0", rating=3)
    page.answer(page.judges("media_0", rating=4))

    wall.update([replace(before[0], status="completed"), *before[1:]])
    assert wall.cells[0].rating == 4
    wall.update([replace(before[0], rating=3), *before[1:]])
    assert wall.cells[0].rating == 4
    wall.update([replace(before[0], rating=4), *before[1:]])
    wall.update([replace(before[0], rating=None), *before[1:]])
    assert wall.cells[0].rating is None  # it says something newer


def test_an_update_sends_the_cells_that_changed_and_all_when_there_are_more(
    make: Make,
) -> None:
    cells = make_cells()
    cells[4] = replace(cells[4], status="running", url=None, runtime_s=3.0)
    wall = make(cells, rows="light", cols="animal")
    page = Page(wall)

    wall.update([*cells[:4], replace(cells[4], runtime_s=4.0), cells[5]])
    done = [*cells[:4], make_cell(4, poster=make_poster()), cells[5]]
    wall.update(done)
    until(lambda: page.updates("header"))
    changed = {name for some in page.updates("cells") for name in some}
    assert changed == {"4"}
    assert page.updates("cells")[-1]["4"]["poster"] is True
    assert page.updates("all") == []
    assert page.updates("header")[-1]["progress"] == "6 of 6 done"

    child = replace(cells[0], index=6, labels={"animal": "owl", "light": "dawn"})
    wall.update([*done, child], summary=WallSummary(spent="$0.61"))
    until(lambda: page.updates("all"))
    assert len(page.updates("all")[-1]) == 7
    assert [head[0][0] for head in page.updates("wall")[-1]["cols"]][-1] == "owl"
    # A page that is loaded later finds the newest state.
    state = wall.widget.get_state()
    assert len(state["cells"]) == 7
    assert ("$0.61", "spent") in state["header"]["figures"]


def test_a_running_sweep_sends_at_most_five_messages_a_second(make: Make) -> None:
    cells = make_cells(200, status="running", url=None)
    wall = make(cells, clock=SystemClock())
    page = Page(wall)

    started_s = time.monotonic()
    for done in range(UPDATES):
        at = done % len(cells)
        cells[at] = replace(cells[at], runtime_s=float(done), charge_micro_usd=done)
        wall.update(tuple(cells))
        time.sleep(UPDATES_S / UPDATES)
    took_s = time.monotonic() - started_s

    assert len(page.sent) <= MESSAGES_A_SECOND * took_s + 1
    until(lambda: page.sent[-1:] and page.widget.get_state()["cells"][199]["price"])


def test_posters_of_later_pages_come_when_they_are_asked_for(make: Make) -> None:
    posters = [make_poster(colour) for colour in ("red", "blue")]
    cells = [make_cell(n, poster=posters[n % 2]) for n in range(60)]
    wall = make(cells)
    page = Page(wall)

    assert set(wall.widget.posters) == {str(n) for n in range(48)}
    assert "data:" not in json.dumps(wall.widget.cells)
    page.asks("posters", of=[58, 59, 1000, "x", None])
    until(lambda: page.updates("posters"))
    assert page.updates("posters") == [{"58": posters[0], "59": posters[1]}]


def test_a_preference_is_stored_and_ranked_with_those_before(make: Make) -> None:
    store, ranked = Store(), []

    def rank(preferences: Sequence[Preference]) -> list[Ranked]:
        ranked.append(tuple(preferences))
        return [("media_1", 1.5, 0.5, 2.5, 0), ("media_0", -1.5, -2.5, -0.5, 0)]

    before = Preference("media_2", "media_3")
    wall = make(prefer=store.prefer, rank=rank, preferences=[before])
    page = Page(wall)
    page.answer(page.asks("prefer", winner="media_1", loser="media_0", tie=False))
    page.answer(page.asks("prefer", winner="media_4", loser="media_5", tie=True))

    assert store.preferred == [
        ("media_1", "media_0", False),
        ("media_4", "media_5", True),
    ]
    assert ranked[-1] == wall.preferences
    assert wall.preferences[0] == before
    first = {"job": "media_1", "strength": 1.5, "low": 0.5, "high": 2.5, "group": 0}
    assert page.updates("ranking")[-1][0] == first


def test_buttons_do_what_the_caller_gave_and_say_what_it_returns(make: Make) -> None:
    done: list[object] = []
    actions = WallActions(
        retry=done.append,
        export=lambda: "Saved 6 files.",
        next=lambda: done.append("next"),
    )
    wall = make(make_cells(status="failed"), actions=actions)
    page = Page(wall)

    page.asks("retry", cell=3)
    page.asks("next")
    answer = page.answer(page.asks("export"))

    assert done == [3, "next"]
    assert answer["said"] == "Saved 6 files."
    assert wall.widget.can == {
        "judge": False,
        "prefer": False,
        "retry": True,
        "export": True,
        "next": True,
        "copy": False,
    }


def test_a_closed_wall_hears_and_says_nothing(make: Make) -> None:
    store = Store()
    wall = make(judge=store.judge)
    page = Page(wall)
    wall.close()

    page.judges("media_0", rating=1)
    wall.update(make_cells(rating=2))
    time.sleep(0.3)

    assert store.judged == []
    assert page.sent == []


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
    until(lambda: wall.is_closed)
    time.sleep(0.3)

    assert len(written) == 1


def test_the_static_twin_of_a_wall_has_what_the_wall_has(make: Make) -> None:
    wall = make(title="A sweep")

    wall.update(make_cells(rating=3), summary=WallSummary(spent="$0.61"))

    bundle = wall._repr_mimebundle_()
    assert VIEW in bundle
    assert "★★★☆☆" in bundle["text/html"]
    assert "$0.61 spent" in bundle["text/plain"]


def test_a_cell_keeps_the_newest_static_twin_and_the_live_wall(tmp_path: Path) -> None:
    shown, _ = run_cells([SHOWN, RATED], tmp_path)

    html = [
        output["data"]["text/html"]
        for output in shown["outputs"]
        if output["data"].get("text/html")
    ]
    views = [output for output in shown["outputs"] if VIEW in output["data"]]
    assert len(html) == len(views) == 1
    assert html[0].count("★★★★☆") == 3
    assert 'src="https://a.test/2.mp4"' in html[0]


def test_a_wall_of_owned_clips_shows_all_of_them_as_done(client: Client) -> None:
    """The run ends while the wall is made."""
    prompts = [f"a kite over dune {n}" for n in range(3)]
    plan = client.sweep("text-to-image", prompt=prompts)
    run(client, plan)

    for _ in range(trials(2, 20)):
        results: Any = plan.refresh().run()
        wall = results.gallery()
        until(lambda wall=wall: {c.status for c in wall.cells} == {"completed"})  # type: ignore[misc]
        wall.close()
