"""A form continues after a kernel restart, and never buys twice unnoticed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm

from mediakit import Client
from mediakit.api_models import JobStatus
from mediakit.client.submissions import asking_from
from mediakit.errors import InputError
from mediakit.history import Entry, forms
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form import controller as form_module
from mediakit.widgets.form import draft_store
from mediakit.widgets.form.actions import ANOTHER
from mediakit.widgets.form.controller import Form, is_open
from mediakit.widgets.form.draft_store import origin_of
from mediakit.widgets.job.jobs import MOST_JOBS
from mediakit.widgets.studio import Studio
from mediakit.widgets.toolkit.cell_identity import CellPlace, ReplacedByCell
from mediakit.widgets.toolkit.cell_outputs import NotebookCell
from tests.support.samples.media_samples import make_png
from tests.support.waiting import PATIENCE_S
from tests.support.widgets import (
    box,
    drawn_jobs,
    error_of,
    finish,
    generate_button,
    page,
    press,
    press_generate,
    until,
)

KIND = "text-to-video"
A_PICTURE = "https://a.test/1.png"
KITE: dict[str, Any] = {"prompt": "a kite", "duration": 3}


class Kernels:
    """Successive kernels of notebooks, with one history.

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
        patch.setattr(draft_store, "current_notebook", lambda: self.notebook)
        self.client = self.start()

    def start(self) -> Client:
        """Start a kernel, which has only the files of the one before."""
        self.client = Client(
            self._sandbox.base_url, self._sandbox.api_key, home=self._home
        )
        self._open.append(self.client)
        self._patch.setattr(form_module, "_open_forms", ReplacedByCell())
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
        form = Form(self.client, function, more, cell=NotebookCell(cell, run), **named)
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


@pytest.mark.parametrize("is_killed", [False, True])
def test_unsent_input_is_restored_after_a_restart(
    kernels: Kernels, *, is_killed: bool
) -> None:
    form = kernels.form(kind="keyframes", images=[A_PICTURE])
    form.values.update(images=[A_PICTURE, "cat.png"], seed=3)
    box(form, "transition_duration_s").value = 99
    box(form, "prompt").value = "typed, and not sent"
    store, origin = form.client.components.store, form._draft_store.origin
    assert origin is not None
    until(lambda: "typed" in (forms.draft(store, origin) or ""))

    kernels.start() if is_killed else kernels.restart()
    function, cell = form.function, NotebookCell("cell-1", "later")
    assert not is_open(kernels.client, function, cell, "another")
    assert is_open(kernels.client, function, cell)
    again = kernels.form(kind="keyframes", images=[A_PICTURE], seed=4)
    assert page(again)["returns"]
    assert again.values.prompt == "typed, and not sent"
    assert again.values.images == [A_PICTURE, "cat.png"]
    assert again.values.seed == 4  # the code has changed
    assert again.values.transition_duration_s == 99
    assert again.state.problems_of("transition_duration_s")
    assert again.jobs == ()


def test_a_slow_save_of_a_draft_does_not_replace_what_is_saved_later(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, has_begun, may_go_on, has_ended = forms.save_draft, *(Event() for _ in "abc")

    def slow(*args: Any) -> None:
        is_first = not has_begun.is_set()
        has_begun.set()
        may_go_on.wait()
        save(*args)
        if is_first:
            has_ended.set()

    form = kernels.form(**KITE)
    monkeypatch.setattr(forms, "save_draft", slow)
    form.values.prompt = "typed first"
    until(has_begun.is_set)
    monkeypatch.setattr(forms, "save_draft", save)
    form.values.prompt = "typed last"
    Timer(0.1, may_go_on.set).start()
    kernels.restart()
    has_ended.wait()
    assert kernels.form(**KITE).values.prompt == "typed last"


@pytest.mark.parametrize("is_restarted", [False, True])
def test_fresh_begins_empty_for_good(kernels: Kernels, *, is_restarted: bool) -> None:
    form = kernels.form(**KITE)
    press_generate(form)
    box(form, "prompt").value = "a boat"

    if is_restarted:
        kernels.restart()
    fresh = kernels.form(**KITE, fresh=True)
    assert not page(fresh)["returns"]
    assert fresh.values.prompt == "a kite"
    assert fresh.jobs == ()
    assert not fresh.state.is_another_take

    kernels.restart()
    again = kernels.form(**KITE)
    assert again.values.prompt == "a kite"
    assert again.jobs == ()


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
    assert drawn_jobs(again) == [view.id for view in again.jobs]
    for view in again.jobs:
        # Complete from the start: a cell that nobody looks at keeps it so.
        assert view.state.record.id in view.card_html
        assert "data:image/jpeg" in view.card_html
    assert [path for path in asked if "media" in path] == []


def test_a_job_that_show_it_brought_is_there_after_a_restart_and_needs_no_offer(
    kernels: Kernels,
) -> None:
    bought = kernels.client.submit(KIND, **KITE)
    form = kernels.form(**KITE)
    until(lambda: form.state.owned is not None)
    form._on_message({"do": "show_owned"}, [])
    until(lambda: ids(form) == [bought.id])
    assert form.state.owned is None

    kernels.restart()
    back = kernels.form(**KITE)
    assert ids(back) == [bought.id]
    assert generate_button(back).description == "Another take · $0.204"
    back.values.prompt = "another kite"
    back.values.prompt = KITE["prompt"]
    assert back.state.owned is None
    assert back.state.is_another_take

    kernels.restart()
    again = kernels.form(**KITE, fresh=True)
    until(lambda: again.state.owned is not None)
    again._on_message({"do": "show_owned"}, [])
    until(lambda: ids(again) == [bought.id])
    kernels.restart()
    without = kernels.form(**KITE)
    assert ids(without) == []
    until(lambda: without.state.owned is not None)


def test_a_value_that_the_code_gives_no_more_is_its_default_again_unless_typed(
    kernels: Kernels,
) -> None:
    form = kernels.form(prompt="a", duration=3, resolution="1080p")
    form.values.resolution = "4k"
    assert generate_button(form).description == "Generate · $1.008"
    for restarts in (False, True):
        if restarts:
            kernels.restart()
        form = kernels.form(prompt="b")
        assert form.values["duration"] == 5
        assert form.values["resolution"] == "4k"
        assert form.values["prompt"] == "b"

    kernels.form(cell="two", prompt="a", duration=3, resolution="1080p")
    kernels.restart()
    again = kernels.form(cell="two", prompt="b")
    price = kernels.client.estimate(KIND, prompt="b")
    assert generate_button(again).description == f"Generate · {price.text}"


@pytest.mark.soak
def test_a_form_of_a_hundred_jobs_comes_back_in_few_small_messages(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = kernels.form(**KITE)
    core, origin = form.client.core, form._draft_store.origin

    async def submit(number: int) -> None:
        with asking_from(origin):
            await core.submit(KIND, prompt=f"kite {number}", duration=3)

    for number in range(100):
        form.client.io.call(submit, number)
    kernels.restart()
    sizes_bytes: list[int] = []

    class MeasuredComm(BaseComm):
        """A fake comm that measures its messages."""

        def publish_msg(self, *args: Any, **content: Any) -> None:
            sizes_bytes.append(len(json.dumps([args, content], default=str)))

    monkeypatch.setattr(comm, "create_comm", MeasuredComm)
    again = kernels.form(**KITE)
    assert len(again.jobs) == 100
    assert len(drawn_jobs(again)) == MOST_JOBS
    until(lambda: not again._tasks._tasks)
    assert len(sizes_bytes) <= 20
    assert sum(sizes_bytes) <= 200_000


def test_a_running_job_is_watched_again(kernels: Kernels) -> None:
    form = kernels.form(prompt="a slow kite", duration=15, resolution="1080p")
    press_generate(form)
    (before,) = form.jobs
    assert not before.state.record.status.terminal
    kernels.client.close()  # the ended kernel no longer polls it

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
    origin = form._draft_store.origin
    entry = claimed(form, origin)

    client = kernels.start()
    again = kernels.form(**KITE)
    assert again.jobs == ()
    assert not again.state.is_another_take
    client.resume()
    until(lambda: again.jobs, again)
    assert client.components.store.find_key(entry.key) is not None
    assert label(again) == "Another take · $0.204"


def claimed(form: Form, origin: str | None) -> Entry:
    """Write a request of the form down, as if the kernel was killed right then."""
    components = form.client.components
    request = form.client.io.call(components.prepared, form.function.path, **KITE)
    entry, _ = components.store.claim(components.submissions.of(request), origin=origin)
    return entry


def test_a_local_file_and_the_next_take_of_its_result_belong_to_their_form(
    kernels: Kernels, tmp_path: Path
) -> None:
    cat = str(make_png(tmp_path / "cat.png", (96, 64)))
    form = kernels.form(kind="image-upscale", image_url=cat)
    until(lambda: form.state.submit_reason is None, form)
    press_generate(form)
    (view,) = form.jobs
    until(lambda: "take" in view.payload["acts"])
    press(view, "take", text=view.payload["prices"]["take"])
    until(lambda: len(form.jobs) == 2, form)
    made = ids(form)

    kernels.restart()
    again = kernels.form(kind="image-upscale", image_url=cat)
    assert again.values.image_url == cat
    until(lambda: again.state.submit_reason is None, again)
    assert ids(again) == made
    assert again.state.is_another_take


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
        studio = Studio(kernels.client)
        path = kernels.client.catalog.function(KIND).path
        studio.lists._handle_custom_msg({"act": "choose", "path": path}, [])
        assert studio.form is not None
        kernels.add(studio.form)
        return studio.form

    form = opened()
    form.values.update(KITE)
    press_generate(form)
    form.values.prompt = "typed in the studio"
    kernels.restart()
    again = opened()
    assert ids(again) == ids(form)
    assert again.values.prompt == "typed in the studio"


def test_an_unreadable_history_is_reported_and_the_form_works(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("history", got="a page", accepted="another page")

    monkeypatch.setattr(forms, "draft", refuse)
    form = kernels.form(**KITE)
    assert "history must be" in error_of(form)
    assert form.values.prompt == "a kite"


# -- another take ---------------------------------------------------------------------


def label(form: Form) -> str:
    return str(generate_button(form).description)


def test_a_click_on_what_the_button_said_before_submits_no_other_take(
    kernels: Kernels,
) -> None:
    form = kernels.form(**KITE)
    twice = generate_button(form).seen()
    press_generate(form)
    assert label(form) == "Another take · $0.204"
    twice()
    until(lambda: not form.state.sending, form)
    assert len(ids(form)) == 1
    assert error_of(form) == ANOTHER

    # The last key of a click may make the same request of it.
    box(form, "prompt").value = "a kit"
    generate_button(form).click(prompt="a kite")
    until(lambda: not form.state.sending, form)
    assert len(ids(form)) == 1
    assert error_of(form) == ANOTHER

    first = ids(form)
    press_generate(form)
    assert ids(form)[1:] == first
    assert error_of(form) == ""


def test_a_button_is_off_until_all_of_a_submission_is_saved(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = kernels.form(**KITE)
    save, was_off = form._save_draft, []

    async def save_slowly() -> None:
        await asyncio.sleep(0.1)
        await save()
        was_off.append(generate_button(form).disabled)

    monkeypatch.setattr(form, "_save_draft", save_slowly)
    press_generate(form)
    assert was_off[0]


def test_a_failed_job_is_not_charged_and_not_counted_as_submitted(
    kernels: Kernels,
) -> None:
    form = kernels.form(prompt="a gull sandbox:fail=provider_error", duration=3)
    press_generate(form)
    until(lambda: form.jobs[0].state.record.status is JobStatus.FAILED)
    until(lambda: label(form) == "Generate · $0.204", form)
    assert not form.state.is_another_take
    kernels.restart()
    again = kernels.form(prompt="a gull sandbox:fail=provider_error", duration=3)
    assert len(again.jobs) == 1
    assert label(again) == "Generate · $0.204"


def test_people_who_share_a_database_do_not_share_forms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(draft_store, "current_notebook", lambda: "/notebooks/a.ipynb")
    key = (("service", KIND, ""), CellPlace("cell-1", 0))
    origins: dict[tuple[str, bool], str | None] = {}
    for person in ("ada", "bob"):
        monkeypatch.setenv("JUPYTERHUB_USER", person)
        for is_local in (True, False):
            store: Any = SimpleNamespace(is_local=is_local)
            origins[person, is_local] = origin_of(store, key)
    assert origins["ada", True] == origins["bob", True]
    assert origins["ada", False] != origins["bob", False]
