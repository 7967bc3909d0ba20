"""Several jobs of the history at once: summed, compared, saved and erased."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Client
from mediakit.history import Entry, tuning
from mediakit.history.entry import fresh_entry
from mediakit.records import JobStatus
from mediakit.widgets.studio import Studio
from mediakit.widgets.studio.history.selection import Selection
from mediakit.widgets.studio.state import Place
from mediakit.widgets.toolkit.cell_outputs import Cell
from tests.support.samples.walls import Page
from tests.support.submissions import submission
from tests.support.widgets import shown, until
from tests.widgets.studio.test_studio import (
    bought,
    buttons,
    go,
    make_studio,
    press,
    prompts,
)

__all__ = ["make_studio"]

NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)


def entry(number: int, **more: object) -> Entry:
    made = fresh_entry(submission(f"k{number}"), number=number, created_at=NOON)
    return replace(made, **more)  # type: ignore[arg-type]


def completed(number: int, charge_micro_usd: int | None = 340_000) -> Entry:
    return entry(
        number,
        job_id=f"media_{number}",
        status=JobStatus.COMPLETED,
        output_url="https://a.test/a.mp4",
        charge_micro_usd=charge_micro_usd,
    )


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_what_is_selected_is_there_once_until_it_is_not_selected_any_more(
    chosen: list[int], left_out: list[int]
) -> None:
    selection = Selection()
    for number in chosen:
        selection = selection.including(entry(number))
    selection = selection.excluding(*map(entry, left_out))

    numbers = [each.number for each in selection.entries]
    assert numbers == [n for n in dict.fromkeys(chosen) if n not in left_out]
    assert selection.has_all(map(entry, numbers)) == bool(numbers)


def test_the_sum_is_exact_and_says_what_is_not_settled_yet() -> None:
    selection = Selection((completed(1, 970_704), completed(2, 29_297)))
    assert selection.text == "2 selected · $1.000001 charged"

    running = entry(3, job_id="media_3", status=JobStatus.RUNNING)
    more = selection.including(running, completed(4, None))
    assert more.text == "4 selected · $1.000001 charged · 2 not settled yet"
    assert Selection().text == ""


def test_only_what_is_there_is_compared_and_only_what_has_ended_is_erased() -> None:
    failed = entry(2, job_id="media_2", status=JobStatus.FAILED)
    running = entry(3, job_id="media_3", status=JobStatus.RUNNING)
    erased = replace(completed(4), deleted_at=NOON)
    gone = replace(completed(5), gone_at=NOON)
    selection = Selection((completed(1), failed, running, erased, gone, entry(6)))

    assert [each.number for each in selection.with_result] == [1]
    assert [each.number for each in selection.erasable] == [1, 2]
    settled = Selection((completed(1, None), completed(2))).renewed([completed(1, 5)])
    assert [each.charge_micro_usd for each in settled.entries] == [5, 340_000]


def ticks(studio: Studio) -> list[object]:
    view = studio._view.history()
    return [view._row_of(each).tick for each in studio.state.page.rows]


def tick(studio: Studio, nth: int, *, value: bool = True) -> None:
    ticks(studio)[nth].value = value  # type: ignore[attr-defined]


@pytest.fixture
def studio(make_studio: Callable[..., Studio], client: Client) -> Studio:
    """Return a studio on its history of three paid clips."""
    for prompt in ("a kite", "a boat", "a mill"):
        bought(client, prompt)
    made = make_studio()
    go(made, Place.HISTORY)
    assert prompts(made) == ["a mill", "a boat", "a kite"]
    return made


def test_ticked_rows_are_summed_and_the_box_above_selects_all(studio: Studio) -> None:
    assert buttons(studio, "Compare") == []
    assert "3 jobs · Times are in UTC." in shown(studio)
    tick(studio, 0)
    assert "1 selected · $0.204 charged" in shown(studio)
    assert buttons(studio, "Compare")[0].disabled
    tick(studio, 2)
    assert "2 selected · $0.408 charged" in shown(studio)
    assert not buttons(studio, "Compare")[0].disabled

    every = studio._view.history().bar.all
    every.value = True
    assert "3 selected · $0.612 charged" in shown(studio)
    tick(studio, 1, value=False)
    assert not every.value
    assert "2 selected" in shown(studio)
    press(studio, "Clear")
    assert "selected" not in shown(studio).rsplit("</style>", 1)[1]
    assert not any(box.value for box in ticks(studio))  # type: ignore[attr-defined]

    tick(studio, 0)
    studio._view.history().search.value = "kite"
    until(lambda: prompts(studio) == ["a kite"], studio)
    tick(studio, 0)  # what is not on the page stays selected
    assert "2 selected · $0.408 charged" in shown(studio)


def test_selected_results_are_compared_side_by_side_and_rated(
    studio: Studio, client: Client
) -> None:
    tick(studio, 0)
    tick(studio, 2)
    press(studio, "Compare")
    gallery = studio._selecting._gallery
    assert gallery is not None
    assert [cell.prompt for cell in gallery.cells] == ["a mill", "a kite"]
    until(lambda: len(gallery.widget.posters) == 2)
    assert gallery.widget.comm is not None

    page = Page(gallery)
    page.answer(page.judges(str(gallery.cells[0].job_id), rating=4))
    owner = client.components.account_history.owner
    (said,) = tuning.judgements(client.components.store, **owner)
    assert (said.job_id, said.rating) == (gallery.cells[0].job_id, 4)

    press(studio, "Back to the list")
    assert gallery.widget.comm is None
    assert "2 selected" in shown(studio)


def test_selected_results_are_saved_to_a_folder_where_the_kernel_is_ones_own(
    make_studio: Callable[..., Studio],
    studio: Studio,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "films" / "new"
    tick(studio, 0)
    tick(studio, 1)
    press(studio, "Save to folder…")
    studio._view.history().bar.folder.value = str(folder)
    press(studio, "Save 2 results")
    until(lambda: "Saved 2 results to" in shown(studio), studio)
    assert str(folder) in shown(studio)
    assert len(list(folder.glob("*.mp4"))) == 2
    assert len(list(folder.glob("*.json"))) == 2

    (tmp_path / "file").write_text("no folder")
    press(studio, "Save to folder…")
    studio._view.history().bar.folder.value = str(tmp_path / "file")
    press(studio, "Save 2 results")
    until(lambda: "The folder cannot be written" in shown(studio), studio)
    monkeypatch.setitem(os.environ, "VOILA_REQUEST_URL", "http://a.test/")
    visited = make_studio(cell=Cell("voila", "run 1"))
    go(visited, Place.HISTORY)
    tick(visited, 0)
    assert buttons(visited, "Erase…")
    assert buttons(visited, "Save to folder…") == []


def test_selected_jobs_are_erased_only_after_a_question(
    studio: Studio, client: Client
) -> None:
    tick(studio, 0)
    tick(studio, 1)
    press(studio, "Erase…")
    assert "Erase 2 results for good?" in shown(studio)
    press(studio, "Cancel")
    assert "for good?" not in shown(studio)
    assert "2 selected" in shown(studio)

    press(studio, "Erase…")
    press(studio, "Yes, erase 2 results")
    until(lambda: "Erased 2 results." in shown(studio), studio)
    until(lambda: shown(studio).count("Erased</span>") == 2, studio)
    assert len(studio.state.selection) == 0
    assert prompts(studio) == ["a mill", "a boat", "a kite"]
    erased = [each.deleted_at is not None for each in studio.state.page.rows]
    assert erased == [True, True, False]
