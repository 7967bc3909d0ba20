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

from mediakit.clock import SystemClock
from mediakit.errors import InputError
from mediakit.widgets.gallery import (
    Gallery,
    Preference,
    Ranked,
    WallActions,
    WallCell,
    WallSummary,
    board,
    gallery_widget,
)
from mediakit.widgets.toolkit.cell_outputs import CardHandle
from tests.support.advancing_clock import AdvancingClock
from tests.support.kernels import run_cells
from tests.support.samples.walls import Page, make_cell, make_cells, make_poster, until

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

    def judge(job_id: str, /, **changes: Any) -> None:
        time.sleep(0.02 if changes["rating"] == 1 else 0)
        ratings.append(changes["rating"])
        threads.add(threading.current_thread())

    wall = make(judge=judge)
    page = Page(wall)
    for rating in (1, 2, 3, 4, 5, 1):
        last = page.judges("media_0", rating=rating)

    page.answer(last)
    assert ratings == [1, 2, 3, 4, 5, 1]
    assert threading.main_thread() not in threads


def test_a_coroutine_function_is_awaited(make: Make) -> None:
    judged = []

    async def judge(job_id: str, /, **changes: Any) -> None:
        await asyncio.sleep(0.01)
        judged.append((job_id, changes))

    wall = make(judge=judge)
    page = Page(wall)
    page.answer(page.judges("media_1", rating=5))

    assert judged == [("media_1", {"rating": 5})]
    assert wall.cells[1].rating == 5


def test_a_judgement_that_is_not_stored_is_said_and_taken_back(make: Make) -> None:
    store = Store(InputError("rating", got=4, accepted="no ratings today"))
    wall = make([make_cell(0, rating=2)], judge=store.judge)
    page = Page(wall)

    answer = page.answer(page.judges("media_0", rating=4))

    assert "no ratings today" in answer["error"]
    assert wall.cells[0].rating == 2
    assert page.updates("cells")[-1]["0"]["rating"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"rating": 6},
        {"rating": True},
        {"rating": "5"},
        {"keep": 1},
        {"tags": ["x" * 61]},
        {"note": None},
        {"charge_micro_usd": 0},
        {},
    ],
)
def test_what_is_no_judgement_is_refused(
    make: Make, changes: dict[str, object]
) -> None:
    store = Store()
    page = Page(make(judge=store.judge))

    assert "must be" in page.answer(page.judges("media_0", **changes))["error"]
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
    assert wall.cells[0].rating is None


def test_cells_that_say_something_newer_than_a_rating_count(make: Make) -> None:
    before = make_cells()
    wall = make(before, judge=Store().judge)
    page = Page(wall)
    page.answer(page.judges("media_0", rating=4))

    wall.update([replace(before[0], rating=1), *before[1:]])

    assert wall.cells[0].rating == 1


def test_an_update_sends_the_cells_that_changed_and_no_others(make: Make) -> None:
    cells = make_cells()
    cells[4] = replace(cells[4], status="running", url=None, runtime_s=3.0)
    wall = make(cells)
    page = Page(wall)

    wall.update([*cells[:4], replace(cells[4], runtime_s=4.0), cells[5]])
    wall.update([*cells[:4], make_cell(4), cells[5]])

    until(lambda: page.sent)
    changed = {name for some in page.updates("cells") for name in some}
    assert changed == {"4"}
    assert page.updates("all") == []
    assert page.updates("header")[-1]["progress"] == "6 of 6 done"


def test_a_cell_more_sends_the_wall_again(make: Make) -> None:
    cells = make_cells()
    wall = make(cells, rows="light", cols="animal")
    page = Page(wall)

    child = replace(cells[0], index=6, labels={"animal": "owl", "light": "dawn"})
    wall.update([*cells, child])

    until(lambda: page.updates("all"))
    assert len(page.updates("all")[-1]) == 7
    assert [head[0][0] for head in page.updates("wall")[-1]["cols"]][-1] == "owl"


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


def test_a_page_that_is_loaded_later_finds_the_newest_state(make: Make) -> None:
    cells = make_cells()
    wall = make(cells)

    wall.update(
        [replace(cells[0], rating=5), *cells[1:]], summary=WallSummary(spent="$0.61")
    )

    state = wall.widget.get_state()
    assert state["cells"][0]["rating"] == 5
    assert ("$0.61", "spent") in state["header"]["figures"]


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


def test_a_poster_that_comes_later_is_announced_and_then_given(make: Make) -> None:
    cells = make_cells()
    wall = make(cells)
    page = Page(wall)
    assert "poster" not in wall.widget.cells[0]

    wall.update([replace(cells[0], poster=make_poster()), *cells[1:]])

    until(lambda: page.updates("cells"))
    assert page.updates("cells")[-1]["0"]["poster"] is True


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


def test_a_preference_that_is_not_stored_is_not_counted(make: Make) -> None:
    store = Store(OSError("the disk is full"))
    wall = make(prefer=store.prefer)
    page = Page(wall)

    answer = page.answer(page.asks("prefer", winner="media_1", loser="media_0"))

    assert "the disk is full" in answer["error"]
    assert wall.preferences == ()


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


def test_two_cells_of_one_index_are_refused() -> None:
    with pytest.raises(InputError, match="an index for each cell"):
        Gallery([make_cell(1), make_cell(1)])


def test_without_anywidget_the_wall_is_its_static_twin(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "has_anywidget", lambda: False)
    wall = make(title="A sweep")

    wall.update(make_cells(rating=3), summary=WallSummary(spent="$0.61"))

    bundle = wall._repr_mimebundle_()
    assert wall.widget is None
    assert VIEW not in bundle
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


def test_a_cell_that_is_run_again_closes_the_walls_of_its_run_before(
    make: Make,
) -> None:
    first, second, other, again = make(), make(), make(), make()
    show = gallery_widget._close_shown_before

    show("cell 1", "run 1", first)
    show("cell 1", "run 1", second)
    show("cell 2", "run 2", other)
    show("cell 1", "run 3", again)

    assert [wall._closed for wall in (first, second, other, again)] == [
        True,
        True,
        False,
        False,
    ]
