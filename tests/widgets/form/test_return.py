"""A form goes on after its kernel was restarted, and never buys twice unseen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pytest

from mediakit import Client
from mediakit.errors import InputError
from mediakit.history import Entry, tuning
from mediakit.records import JobStatus
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form import controller as form_module
from mediakit.widgets.form.controller import ANOTHER, Form, is_open
from mediakit.widgets.form.memory import form_memory
from mediakit.widgets.form.memory.form_memory import current_notebook, origin_of
from mediakit.widgets.job.actions import NEXT
from mediakit.widgets.studio.catalogue.forms import StudioForms
from mediakit.widgets.toolkit.cell_identity import CellPlace, CellPlaces
from mediakit.widgets.toolkit.cell_outputs import Cell
from tests.support.kernels import run_cells
from tests.support.samples.media_samples import make_png
from tests.widgets.form.test_form import (
    PATIENCE_S,
    box,
    error_of,
    finish,
    generate_button,
    press_generate,
    result_widgets,
    until,
)
from tests.widgets.job.test_view import buttons, press

KIND = "text-to-video"
KITE: dict[str, Any] = {"prompt": "a kite", "duration": 3}


class Kernels:
    """Kernels of notebooks, one after the other, with one history.

    Args:
        sandbox: The service.
        home: Where the history is.
        patch: Says which notebook it is.
    """

    def __init__(
        self, sandbox: RunningSandbox, home: Path, patch: pytest.MonkeyPatch
    ) -> None:
        self._sandbox = sandbox
        self._home = home
        self._patch = patch
        self._open: list[Client] = []
        self._forms: list[Form] = []
        self.notebook = "/home/me/a.ipynb"
        patch.setattr(form_memory, "current_notebook", lambda: self.notebook)
        self.client = self.start()

    def start(self) -> Client:
        """Start a kernel: nothing is there of the one before but what it wrote."""
        self.client = Client(
            self._sandbox.base_url, self._sandbox.api_key, home=self._home
        )
        self._open.append(self.client)
        self._patch.setattr(form_module, "_open_forms", {})
        self._patch.setattr(form_module, "_places", CellPlaces())
        return self.client

    def restart(self) -> Client:
        """End a kernel, which runs what it runs at exit, and start another one."""
        form_module._save_drafts()
        return self.start()

    def form(self, cell: str = "cell-1", **more: Any) -> Form:
        """Run a cell that makes a form."""
        named = {n: more.pop(n) for n in ("name", "fresh") if n in more}
        function = self.client.catalog.function(more.pop("kind", KIND))
        run = f"run {len(self._forms)}"
        form = Form(self.client, function, more, cell=Cell(cell, run), **named)
        self.add(form)
        return form

    def add(self, form: Form) -> None:
        """Wait until a form knows the balance, and close it in the end."""
        self._forms.append(form)
        until(lambda: form.state.funds.balance is not None, form)

    def end(self) -> None:
        """Close everything, once nobody looks at a result any more."""
        for form in self._forms:
            for view in (
                form.jobs if not form.client.components.transport.closed else ()
            ):
                until(lambda view=view: view.state.record.status.terminal)  # type: ignore[misc]
                until(lambda view=view: "look" not in view._tasks._tasks)  # type: ignore[misc]
            finish(form)
        for client in self._open:
            client.close()


@pytest.fixture
def kernels(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Kernels]:
    made = Kernels(sandbox, tmp_path / "home", monkeypatch)
    yield made
    made.end()


def ids(form: Form) -> list[str]:
    return [view.state.record.id for view in form.jobs]


# -- values ---------------------------------------------------------------------------


def test_what_was_typed_and_not_sent_is_there_after_a_restart(
    kernels: Kernels,
) -> None:
    form = kernels.form(prompt="from code")
    box(form, "prompt").value = "typed, and not sent"
    box(form, "duration").value = 99

    kernels.restart()
    again = kernels.form(prompt="from code")
    assert again.values.prompt == "typed, and not sent"
    assert again.values.duration == 99
    assert [p.field for p in again.state.problems_of("duration")] == ["duration"]
    assert again.jobs == ()


def test_it_is_written_without_a_restart_in_good_order(kernels: Kernels) -> None:
    form = kernels.form()
    box(form, "prompt").value = "typed"
    store, origin = form.client.components.store, form._memory.origin
    assert origin is not None
    until(lambda: "typed" in (tuning.draft(store, origin) or ""))

    kernels.start()
    assert kernels.form().values.prompt == "typed"


def test_a_form_that_nobody_changed_writes_nothing(kernels: Kernels) -> None:
    form = kernels.form(prompt="from code")
    kernels.restart()
    assert form._memory.origin is not None
    assert tuning.draft(kernels.client.components.store, form._memory.origin) is None


def test_what_the_code_gives_differently_wins_over_what_was_held(
    kernels: Kernels,
) -> None:
    form = kernels.form(prompt="from code", duration=5)
    box(form, "prompt").value = "by hand"
    box(form, "duration").value = 7

    kernels.restart()
    again = kernels.form(prompt="new code", duration=5)
    assert again.values.prompt == "new code"
    assert again.values.duration == 7


def test_a_local_file_comes_back_as_a_local_file(
    kernels: Kernels, tmp_path: Path
) -> None:
    cat = str(make_png(tmp_path / "cat.png", (96, 64)))
    form = kernels.form(kind="image-upscale", image_url=cat)
    box(form, "image_url").value = ""
    box(form, "image_url").value = cat
    until(lambda: form.state.submit_reason is None, form)
    press_generate(form)

    kernels.restart()
    again = kernels.form(kind="image-upscale", image_url=cat)
    assert again.values.image_url == cat
    until(lambda: again.state.submit_reason is None, again)
    assert again.state.media.files
    assert len(again.jobs) == 1
    assert again.state.is_another_take


def test_lists_come_back_with_their_files_and_urls(kernels: Kernels) -> None:
    given: dict[str, Any] = {"kind": "r1", "image_urls": ["https://a.test/1.png"]}
    form = kernels.form(**given)
    form.values.update(prompt="a", video_urls=["clip.mp4"])
    kernels.restart()
    again = kernels.form(**given)
    assert again.values.image_urls == ["https://a.test/1.png"]
    assert again.values.video_urls == ["clip.mp4"]


def test_fresh_begins_empty_for_good(kernels: Kernels) -> None:
    form = kernels.form(**KITE)
    box(form, "prompt").value = "a boat"
    press_generate(form)

    kernels.restart()
    fresh = kernels.form(**KITE, fresh=True)
    assert fresh.values.prompt == "a kite"
    assert fresh.jobs == ()
    assert not fresh.state.is_another_take
    press_generate(fresh)
    made = ids(fresh)

    kernels.restart()
    again = kernels.form(**KITE)
    assert again.values.prompt == "a kite"
    assert ids(again) == made


def test_fresh_begins_empty_in_the_same_kernel_too(kernels: Kernels) -> None:
    form = kernels.form(**KITE)
    press_generate(form)
    box(form, "prompt").value = "a boat"
    fresh = kernels.form(**KITE, fresh=True)
    assert fresh.values.prompt == "a kite"
    assert fresh.jobs == ()
    assert form.widget.comm is None
    kernels.restart()
    assert kernels.form(**KITE).jobs == ()


def test_a_form_says_that_all_comes_back_only_where_it_does(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "mk-returns" in kernels.form().widget._dom_classes
    assert "mk-returns" not in kernels.form(fresh=True).widget._dom_classes
    monkeypatch.setattr(form_memory, "current_notebook", lambda: None)
    assert "mk-returns" not in kernels.form("cell-2").widget._dom_classes


# -- jobs -----------------------------------------------------------------------------


def test_jobs_come_back_newest_first_without_the_network(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = kernels.form(**KITE)
    press_generate(form)
    press_generate(form)
    until(lambda: all(v.state.charge_micro_usd is not None for v in form.jobs))
    assert all(view.wait_until_seen(PATIENCE_S) for view in form.jobs)
    made = ids(form)

    client = kernels.restart()
    asked: list[str] = []
    read = client.components.transport.exchange

    async def exchange(method: str, path: str, **more: Any) -> Any:
        asked.append(path)
        return await read(method, path, **more)

    monkeypatch.setattr(client.components.transport, "exchange", exchange)
    again = kernels.form(**KITE)
    assert ids(again) == made
    assert [view.state.charge_micro_usd for view in again.jobs] == [204_000] * 2
    assert result_widgets(again) == tuple(view.widget for view in again.jobs)
    for view in again.jobs:
        # Complete from the start: a cell that nobody looks at keeps it so.
        assert view.state.record.id in view.card_html
        assert "data:image/jpeg" in view.card_html
    assert [path for path in asked if "media" in path] == []


def test_a_running_job_is_watched_again(kernels: Kernels) -> None:
    form = kernels.form(prompt="a slow kite", duration=15, resolution="1080p")
    press_generate(form)
    (before,) = form.jobs
    assert not before.state.record.status.terminal
    kernels.client.close()  # nobody there watches it any more

    kernels.start()
    again = kernels.form(prompt="a slow kite", duration=15, resolution="1080p")
    (view,) = again.jobs
    assert view.state.record.id == before.state.record.id
    until(lambda: view.state.charge_micro_usd is not None)
    assert view.state.charge_micro_usd == 15 * 90_000


def test_a_request_that_a_killed_kernel_left_unanswered_comes_with_its_job(
    kernels: Kernels,
) -> None:
    form = kernels.form(**KITE)
    origin = form._memory.origin
    entry = claimed(form, origin)

    client = kernels.start()
    again = kernels.form(**KITE)
    assert again.jobs == ()
    assert not again.state.is_another_take
    client.resume()
    until(lambda: again.jobs, again)
    assert client.components.store.find_key(entry.key) is not None
    assert label(again) == "Another take · $0.20"


def claimed(form: Form, origin: str | None) -> Entry:
    """Write a request of the form down, as if the kernel was killed right then."""
    components = form.client.components
    request = form.client.io.call(components.prepared, form.function.path, KITE)
    entry, _ = components.store.claim(components.submissions.of(request), origin=origin)
    return entry


def test_the_next_take_of_a_result_belongs_to_its_form(kernels: Kernels) -> None:
    form = kernels.form(**KITE)
    press_generate(form)
    (view,) = form.jobs
    until(lambda: view.state.record.status is JobStatus.COMPLETED)
    take = f"{NEXT} · $0.20"
    until(lambda: take in buttons(view))
    press(view, take)
    until(lambda: len(form.jobs) == 2, form)
    made = ids(form)

    kernels.restart()
    assert ids(kernels.form(**KITE)) == made


def test_a_copy_of_a_notebook_shows_nothing_of_the_first_one(
    kernels: Kernels,
) -> None:
    form = kernels.form(**KITE)
    box(form, "prompt").value = "typed in the first"
    press_generate(form)

    kernels.restart()
    kernels.notebook = "/home/me/a-Copy1.ipynb"
    copy = kernels.form(**KITE)
    assert copy.jobs == ()
    assert copy.values.prompt == "a kite"

    job = kernels.client.job(ids(form)[0])
    job.next_take()
    kernels.notebook = "/home/me/a.ipynb"
    kernels.restart()
    assert ids(kernels.form(**KITE)) == ids(form)


def test_cells_and_names_tell_forms_apart_after_a_restart(kernels: Kernels) -> None:
    for cell, name in (("a", ""), ("b", ""), ("b", "second")):
        form = kernels.form(cell, name=name)
        box(form, "prompt").value = f"{cell} {name}"
    kernels.restart()
    assert kernels.form("b", name="second").values.prompt == "b second"
    assert kernels.form("b").values.prompt == "b "
    assert kernels.form("a").values.prompt == "a "
    assert kernels.form("a", kind="r1").values.prompt is None


def test_the_form_of_a_studio_continues_when_it_is_opened_again(
    kernels: Kernels,
) -> None:
    def opened() -> Form:
        forms = StudioForms(kernels.client, lambda: None, "studio cell-1 0")
        form = forms.open(kernels.client.catalog.function(KIND))
        kernels.add(form)
        return form

    form = opened()
    form.values.update(KITE)
    press_generate(form)
    form.values.prompt = "typed in the studio"
    kernels.restart()
    again = opened()
    assert ids(again) == ids(form)
    assert again.values.prompt == "typed in the studio"


def test_like_last_is_for_a_form_that_held_nothing(kernels: Kernels) -> None:
    function = kernels.client.catalog.function(KIND)
    cell = Cell("cell-1", "later")
    assert not is_open(kernels.client, function, cell)
    box(kernels.form(), "prompt").value = "typed"
    kernels.restart()
    assert is_open(kernels.client, function, cell)
    assert not is_open(kernels.client, function, cell, "another")


def test_a_history_that_cannot_be_read_is_said_and_the_form_is_there(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("history", got="a page", accepted="another page")

    monkeypatch.setattr(tuning, "draft", refuse)
    form = kernels.form(**KITE)
    assert "history must be" in error_of(form)
    assert form.values.prompt == "a kite"


def test_many_results_are_shown_twelve_at_first_and_all_when_asked_for(
    kernels: Kernels,
) -> None:
    form = kernels.form()
    jobs = [ipywidgets.HTML() for _ in range(15)]
    form._view.show_results(tuple(jobs))
    assert list(result_widgets(form)) == jobs[:12]
    more = form._view.results.children[0]
    assert more.description == "Show 3 earlier results"
    more.click()
    assert list(result_widgets(form)) == jobs
    form.close()
    assert more.comm is None
    for job in jobs:
        job.close()


# -- another take ---------------------------------------------------------------------


def label(form: Form) -> str:
    return str(generate_button(form).description)


def test_the_button_says_when_the_same_would_be_paid_again(
    kernels: Kernels,
) -> None:
    form = kernels.form(**KITE)
    assert label(form) == "Generate · $0.20"
    press_generate(form)
    assert label(form) == "Another take · $0.20"

    box(form, "prompt").value = "a kite in snow"
    assert label(form) == "Generate · $0.20"
    box(form, "duration").value = 5
    assert label(form) == "Generate · $0.34"
    form.values.update(KITE)
    assert label(form) == "Another take · $0.20"

    kernels.restart()
    assert label(kernels.form(**KITE)) == "Another take · $0.20"


def test_a_second_click_before_the_button_could_be_read_submits_nothing(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = kernels.form(**KITE)
    press_generate(form)
    with monkeypatch.context() as patch:
        patch.setattr(form_module, "ARRIVES_S", PATIENCE_S)  # however slow the machine
        generate_button(form).click()
        until(lambda: not form.state.sending, form)
        assert len(ids(form)) == 1
        assert "already" in error_of(form)

    press_generate(form)
    assert len(ids(form)) == 2
    assert error_of(form) == ""


def test_a_button_cannot_be_read_before_all_of_a_submission_is_saved(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = kernels.form(**KITE)
    save, saved_at_s = form._save_draft, []

    async def save_slowly() -> None:
        await asyncio.sleep(0.1)
        await save()
        saved_at_s.append(form._clock.monotonic_s())

    monkeypatch.setattr(form, "_save_draft", save_slowly)
    press_generate(form)
    assert form._another_since_s is not None
    assert form._another_since_s >= saved_at_s[0]


def test_a_last_key_does_not_turn_a_click_into_another_take(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = kernels.form(**KITE)
    press_generate(form)
    monkeypatch.setattr(form_module, "CLICK_PAUSE_S", 1.0)  # on a slow machine, too
    box(form, "prompt").value = "a kit"
    generate_button(form).click()
    box(form, "prompt").value = "a kite"
    until(lambda: not form.state.sending, form)
    assert len(form.jobs) == 1
    assert ANOTHER.split(".")[0] in error_of(form)


def test_what_failed_is_not_charged_and_not_counted_as_submitted(
    kernels: Kernels,
) -> None:
    form = kernels.form(prompt="a gull sandbox:fail=provider_error", duration=3)
    press_generate(form)
    until(lambda: form.jobs[0].state.record.status is JobStatus.FAILED)
    until(lambda: not form.state.is_another_take, form)
    assert label(form) == "Generate · $0.20"
    kernels.restart()
    again = kernels.form(prompt="a gull sandbox:fail=provider_error", duration=3)
    assert len(again.jobs) == 1
    assert label(again) == "Generate · $0.20"


# -- a real kernel --------------------------------------------------------------------


def cells(sandbox: RunningSandbox, home: Path, then: str) -> list[str]:
    return [
        "import mediakit as mk\n"
        f"client = mk.Client({sandbox.base_url!r}, {sandbox.api_key!r}, "
        f"home={str(home)!r})\n"
        'form = client.form("text-to-video", prompt="a kite", duration=3, name="n")',
        then,
    ]


FILL = 'form.values.prompt = "typed"'
TELL = "print(form.values.prompt)"


@pytest.mark.soak
def test_without_cell_ids_a_form_is_known_by_notebook_function_and_name(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "a.ipynb"))
    run_cells(cells(sandbox, tmp_path / "home", FILL), tmp_path)
    after = run_cells(cells(sandbox, tmp_path / "home", TELL), tmp_path)
    assert after[-1].outputs[0].text.strip() == "typed"


def test_outside_of_a_kernel_there_is_no_notebook(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "a.ipynb"))
    assert current_notebook() is None


def test_people_who_share_a_database_do_not_share_forms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(form_memory, "current_notebook", lambda: "/notebooks/a.ipynb")
    key = (("service", KIND, ""), CellPlace("cell-1", 0))
    origins: dict[tuple[str, bool], str | None] = {}
    for person in ("ada", "bob"):
        monkeypatch.setenv("JUPYTERHUB_USER", person)
        for is_local in (True, False):
            store: Any = SimpleNamespace(is_local=is_local)
            origins[person, is_local] = origin_of(store, key)
    assert origins["ada", True] == origins["bob", True]
    assert origins["ada", False] != origins["bob", False]
