"""The form on a real sandbox, without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import comm
import ipywidgets
import pytest
from comm.base_comm import BaseComm

from mediakit import Client
from mediakit.clock import VirtualClock
from mediakit.errors import ConflictError
from mediakit.records import Balance
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.controls.messages import sentence_case
from mediakit.widgets.form import controller as form_module
from mediakit.widgets.form.controller import (
    CLICK_PAUSE_S,
    STALE_S,
    TYPING_PAUSE_S,
    Form,
    is_open,
)
from mediakit.widgets.form.price.seen_price import ARRIVES_S
from mediakit.widgets.form.sections import is_main
from mediakit.widgets.toolkit.cell_outputs import Cell
from tests.spec import accepted
from tests.support.advancing_clock import AdvancingClock
from tests.support.rows import assert_each
from tests.support.samples.media_samples import make_png
from tests.widgets.job.test_view import in_use

PATIENCE_S = 60.0
BUDGET_MESSAGES = 100


def until(condition: Callable[[], object], form: Form | None = None) -> None:
    """Wait until something holds, and is shown; the I/O thread works meanwhile."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.01)
    if form is not None:
        with form._lock:  # whoever changed the state shows it under the same lock
            return


@pytest.fixture
def make_form(client: Client) -> Iterator[Callable[..., Form]]:
    """Make forms that know the balance, and close them in the end."""
    forms: list[Form] = []

    def make(kind: str, cell: Cell | None = None, **values: object) -> Form:
        form = Form(client, client.catalog.function(kind), values, cell=cell)
        forms.append(form)
        until(lambda: form.state.funds.balance is not None, form)
        return form

    yield make
    for form in forms:
        finish(form)


def finish(form: Form) -> None:
    """Close a form and wait until nothing of it is under way any more."""
    form.close()
    until(lambda: not form._tasks._tasks)


def control(form: Form, name: str) -> Control:
    return form._view.controls[name]


def box(form: Form, name: str) -> Any:
    """Return what people type into."""
    return control(form, name).parts[0]


def generate_button(form: Form) -> Any:
    return form._view._generate


def shown(form: Form) -> str:
    """Return everything that the form shows as HTML."""
    htmls = (w for w in _all(form.widget) if isinstance(w, ipywidgets.HTML))
    return "\n".join(html.value for html in htmls)


def unfold(form: Form) -> None:
    """Open what stands under "More settings"."""
    (fold,) = (w for w in _all(form.widget) if _described(w) == "More settings")
    fold.value = True


def _described(widget: Any) -> object:
    return getattr(widget, "description", None)


def _all(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _all(child)


def result_widgets(form: Form) -> tuple[Any, ...]:
    """Return the widgets of the results that are shown, the newest first."""
    if not form._view.results.children:
        return ()
    _, earlier, *slots = form._view.results.children
    late = (each for slot in reversed(slots) for each in slot.children)
    return (*late, *reversed(earlier.children))


def error_of(form: Form) -> str:
    return str(form._view._error.value)


def press_generate(form: Form) -> None:
    assert not generate_button(form).disabled, form.state.submit_reason
    # As people do: once the price, and what the button does, are there to be read.
    now_s = form._clock.monotonic_s

    def is_read() -> bool:
        with form._lock:  # another thread may be between the state and what it shows
            since_s = form._another_since_s or 0.0
            is_seen = form._seen.at(now_s()) == form.state.estimate
            return is_seen and now_s() - since_s >= ARRIVES_S

    until(is_read)
    generate_button(form).click()
    until(lambda: not form.state.sending, form)


def test_a_form_makes_a_job_and_the_balance_drops_by_its_price(
    own_client: Client,
) -> None:
    form = Form(own_client, own_client.catalog.function("text-to-video"), {})
    until(lambda: form.state.funds.balance is not None, form)
    before = own_client.balance().spendable_micro_usd

    assert generate_button(form).disabled
    assert "Prompt is required." in shown(form)
    box(form, "prompt").value = "a kite over dunes"
    box(form, "duration").value = 3
    assert "<b>$0.204</b>" in shown(form)
    press_generate(form)
    (view,) = form._jobs
    assert result_widgets(form) == (view.widget,)
    until(lambda: view.state.charge_micro_usd is not None)

    assert view.state.charge_micro_usd == 204_000
    assert view.state.prompt == "a kite over dunes"
    assert own_client.balance().spendable_micro_usd == before - 204_000
    until(lambda: form.state.funds.left_micro_usd == before - 204_000)
    finish(form)


def test_generate_always_submits_another_draw_and_shows_the_newest_first(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="twice", duration=3)

    press_generate(form)
    press_generate(form)
    newest, oldest = form._jobs
    assert newest.state.record.id != oldest.state.record.id
    assert newest.state.submitted_at > oldest.state.submitted_at  # type: ignore[operator]
    assert result_widgets(form) == (newest.widget, oldest.widget)


def test_two_clicks_at_once_send_one_request(make_form: Callable[..., Form]) -> None:
    form = make_form("text-to-video", prompt="once", duration=3)
    button = generate_button(form)

    button.click()
    assert button.disabled
    button.click()
    until(lambda: not form.state.sending, form)
    assert len(form._jobs) == 1
    assert not button.disabled


def test_what_is_sent_is_what_people_see_at_last(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a ki", duration=3)

    generate_button(form).click()
    box(form, "prompt").value = "a kite"  # the last key was still on its way
    until(lambda: not form.state.sending, form)
    assert form._jobs[0].state.prompt == "a kite"


class SlowHand:
    """A person whose time stands still between what they do.

    Args:
        client: The client of the form.
        values: What the form holds at first.
    """

    def __init__(self, client: Client, **values: object) -> None:
        self.clock = VirtualClock()
        function = client.catalog.function("text-to-video")
        first = {"prompt": "a kite", "resolution": "1080p", "duration": 8} | values
        self.form = Form(client, function, first, clock=self.clock)
        until(lambda: self.form.state.funds.balance is not None, self.form)
        self.wait(ARRIVES_S)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.form.client.io.call(self.clock.advance, seconds)

    def type(self, duration: int) -> None:
        """Press a key in the box of the duration; it holds this number now."""
        box(self.form, "duration").value = duration

    def click(self) -> None:
        """Press Generate, and do nothing more for now."""
        generate_button(self.form).click()

    def bought(self) -> list[object]:
        """Wait for what was clicked, and return the durations that were bought."""
        self.wait(CLICK_PAUSE_S)
        until(lambda: not self.form.state.sending, self.form)
        return [job.state.body["duration"] for job in self.form.jobs]


@pytest.fixture
def hand(client: Client) -> Iterator[SlowHand]:
    """Give a person at a form whose price is $0.72."""
    hand = SlowHand(client)
    yield hand
    hand.form.close()
    hand.wait(TYPING_PAUSE_S)
    finish(hand.form)


def test_the_price_follows_every_key_of_a_number(hand: SlowHand) -> None:
    assert "<b>$0.72</b>" in shown(hand.form)

    hand.type(1)
    assert "Must be a whole number from 3 to 15 seconds" in shown(hand.form)
    assert generate_button(hand.form).disabled
    hand.type(13)
    assert "<b>$1.17</b>" in shown(hand.form)
    assert "got 1" not in shown(hand.form)
    assert not generate_button(hand.form).disabled


def test_a_number_whose_last_keys_come_after_the_click_is_not_submitted_unseen(
    hand: SlowHand,
) -> None:
    hand.click()
    hand.type(1)
    hand.type(13)
    assert hand.bought() == []
    assert "The price is now $1.17. Press Generate again to submit it." in error_of(
        hand.form
    )
    assert "Nothing was sent" in error_of(hand.form)
    assert not generate_button(hand.form).disabled

    hand.wait(ARRIVES_S)
    hand.click()
    assert hand.bought() == [13]
    assert error_of(hand.form) == ""


def test_a_click_that_comes_with_the_last_key_saw_the_price_before(
    hand: SlowHand,
) -> None:
    hand.type(1)
    hand.type(13)
    hand.click()
    assert hand.bought() == []
    hand.click()  # the second half of a double click reads nothing either
    assert hand.bought() == []
    hand.wait(ARRIVES_S)
    hand.click()
    assert hand.bought() == [13]


def test_a_click_while_a_number_is_half_typed_saw_the_price_before(
    hand: SlowHand,
) -> None:
    hand.type(1)
    hand.wait(ARRIVES_S)
    hand.click()
    hand.type(13)
    assert hand.bought() == []
    assert "The price is now $1.17." in error_of(hand.form)
    hand.type(12)
    assert error_of(hand.form) == ""


def test_what_has_become_cheaper_is_submitted_at_once(hand: SlowHand) -> None:
    hand.click()
    hand.type(4)
    assert hand.bought() == [4]


def test_a_local_picture_is_looked_at_uploaded_and_sent(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "cat.png", (64, 48))
    form = make_form("image-upscale")

    box(form, "image_url").value = str(picture)
    assert "Looking at" in str(form.state.submit_reason)
    until(lambda: form.state.submit_reason is None, form)
    assert "64 x 48" in shown(form)
    assert "data:image/jpeg;base64," in shown(form)
    press_generate(form)
    body = form._jobs[0].state.body
    assert str(body["image_url"]).startswith("http")
    assert form.request()["image_url"] == str(picture)


def test_a_file_that_is_no_picture_has_its_sentence_in_its_row(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a picture")
    form = make_form("keyframes")

    box(form, "images").value = str(notes)
    until(lambda: "notes.txt: " in shown(form))
    assert "a picture that can be read" in shown(form)
    assert generate_button(form).disabled


def test_a_file_that_vanished_is_found_before_anything_is_sent(
    make_form: Callable[..., Form], client: Client, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "cat.png", (64, 48))
    form = make_form("image-upscale", image_url=picture)
    until(lambda: form.state.submit_reason is None, form)

    picture.unlink()
    press_generate(form)
    assert "cat.png: no such file" in error_of(form)
    assert "Nothing was sent." in error_of(form)
    assert form._jobs == ()
    assert client.history.frame().empty


def test_a_submit_that_fails_says_so_and_leaves_the_form_as_it_was(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with Client(sandbox.base_url, "not-the-key", home=tmp_path) as stranger:
        function = stranger.catalog.function("text-to-video")
        form = Form(stranger, function, {"prompt": "a kite"})
        until(lambda: form.state.funds.trouble, form)
        values = dict(form.values)

        assert "The balance is not known." in shown(form)
        assert form.state.submit_reason is None  # unknown is not zero
        press_generate(form)
        assert "key" in error_of(form)
        assert form.values == values
        assert not generate_button(form).disabled
        assert form._jobs == ()
        finish(form)


def test_what_cannot_be_paid_is_said_before_it_is_sent(tmp_path: Path) -> None:
    running = start(Sandbox(tmp_path / "data", balance_micro_usd=5_000_000))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        form = Form(
            client, client.catalog.function("r1"), {"prompt": "a", "duration": "auto"}
        )
        until(lambda: form.state.funds.balance is not None, form)

        assert "It may cost up to $7.28028; $5.00 is left." in shown(form)
        assert 'class="mk-price mk-bad"' in shown(form)
        assert generate_button(form).disabled
        control(form, "duration").widget.index = 2
        assert form.values["duration"] == 4
        assert not generate_button(form).disabled
        finish(form)
    running.stop()


class Admission:
    """What a client reads as its balance, and how often."""

    def __init__(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        self.usd, self.reads = 5, 0
        monkeypatch.setattr(client.core, "balance", self.balance)

    async def balance(self) -> Balance:
        self.reads += 1
        return Balance(balance_micro_usd=self.usd * 1_000_000)


@pytest.fixture
def admission(client: Client, monkeypatch: pytest.MonkeyPatch) -> Admission:
    return Admission(client, monkeypatch)


def test_after_a_top_up_elsewhere_the_balance_is_read_again_beside_generate(
    admission: Admission, make_form: Callable[..., Form]
) -> None:
    form = make_form("r1", prompt="a", duration="auto")
    reason = form.state.submit_reason or ""
    assert reason.startswith("It may cost up to $7.28028; $5.00 is left. The balance")
    admission.usd = 50
    (refresh,) = (w for w in _all(form.widget) if _described(w) == "Refresh balance")
    refresh.click()
    until(lambda: not generate_button(form).disabled, form)


def test_a_balance_that_keeps_from_generating_is_read_again_while_people_work(
    admission: Admission, client: Client
) -> None:
    function, clock = client.catalog.function("r1"), AdvancingClock()
    form = Form(client, function, {"prompt": "a", "duration": "auto"}, clock=clock)
    until(lambda: form.state.submit_reason is not None, form)
    reads = admission.reads
    box(form, "prompt").value = "a kit"  # what was read just now is not asked again
    until(lambda: not form._tasks._tasks)
    assert admission.reads == reads
    admission.usd = 50
    clock.skip(STALE_S + 1)
    box(form, "prompt").value = "a kite"
    until(lambda: not generate_button(form).disabled, form)
    finish(form)


def test_ten_forms_read_the_balance_of_a_settled_job_no_more_than_twice(
    admission: Admission, client: Client, make_form: Callable[..., Form]
) -> None:
    forms = [make_form("r2", Cell(str(number), "run")) for number in range(10)]
    admission.reads, admission.usd = 0, 7
    # Of its own: what this sandbox made before has settled already.
    job = client.run("text-to-video", prompt="a kite for ten forms", duration=3)
    job.settle(PATIENCE_S)
    until(lambda: {f.state.funds.left_micro_usd for f in forms} == {7_000_000})
    assert admission.reads <= 2


def test_what_the_budget_cannot_carry_is_said_before_it_is_sent(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    url, key = sandbox.base_url, sandbox.api_key
    with Client(url, key, home=tmp_path, budget="$0.50") as client:
        form = Form(client, client.catalog.function("text-to-video"), {"prompt": "a"})
        until(lambda: form.state.funds.balance is not None, form)

        assert "Budget: $0.50" in shown(form)
        press_generate(form)
        until(lambda: form.state.submit_reason is not None, form)
        assert "It costs $0.34; $0.16 of your budget is left" in shown(form)
        assert generate_button(form).disabled
        finish(form)
        unknown = Form(client, client.catalog.function("text-to-image"), {})
        box(unknown, "prompt").value = "a kite"
        until(lambda: unknown.state.submit_reason is not None, unknown)
        assert "so your budget could not be kept." in shown(unknown)
        assert generate_button(unknown).disabled
        finish(unknown)


def test_a_problem_appears_beside_its_field_once_it_was_touched(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video")
    assert 'class="mk-bad"' not in shown(form)

    box(form, "prompt").value = "a"
    box(form, "prompt").value = ""
    assert 'class="mk-bad"' in shown(form)
    assert "Required (" in shown(form)
    box(form, "prompt").value = "a"
    assert 'class="mk-bad"' not in shown(form)


def test_a_rule_switches_a_field_off_and_says_why(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("image-upscale", model="wonder", creativity=7)
    unfold(form)
    assert form.request()["creativity"] == 7

    control(form, "model").widget.value = "cgi"
    assert box(form, "creativity").disabled
    assert "Applies only when model is redefine" in shown(form)
    assert "creativity" not in form.request()
    control(form, "model").widget.value = "wonder"
    assert form.request()["creativity"] == 7


def test_what_becomes_required_is_marked(make_form: Callable[..., Form]) -> None:
    form = make_form("image-upscale", model="wonder")
    strength = control(form, "detail_strength")

    assert strength.named.description == "Detail strength"
    control(form, "detail").widget.index = 1
    assert strength.named.description == "Detail strength *"


def test_values_from_code_show_and_a_wrong_one_is_reported_in_the_form(
    make_form: Callable[..., Form],
) -> None:
    form = make_form(
        "text-to-video", prompt="a", duration=99, resolution="8k", promt="b"
    )

    assert form.values["prompt"] == "a"
    assert form.values["resolution"] == "720p"
    assert "Must be a whole number from 3 to 15 seconds" in shown(form)
    assert "(got &#39;8k&#39;)" in error_of(form)
    assert "(did you mean prompt?). Not changed." in error_of(form)


def test_a_rerun_takes_over_values_and_jobs_and_closes_the_form_before(
    make_form: Callable[..., Form],
) -> None:
    before = make_form("text-to-video", prompt="from the code", duration=3)
    press_generate(before)
    box(before, "prompt").value = "from the hand"
    root = before.widget

    again = make_form("text-to-video", prompt="from the code", duration=4)
    assert root.comm is None
    assert again.values["prompt"] == "from the hand"
    assert again.values["duration"] == 4
    (job,) = again.jobs
    assert job.widget.comm is not None
    assert result_widgets(again) == (job.widget,)


def test_a_cell_that_is_run_again_replaces_its_own_form_and_no_other(
    make_form: Callable[..., Form],
) -> None:
    mine = make_form("text-to-video", Cell("a", "run 1"), prompt="mine")
    press_generate(mine)
    other = make_form("text-to-video", Cell("b", "run 2"), prompt="other")
    assert mine.widget.comm is not None
    assert other.values.prompt == "other"
    assert other.jobs == ()

    box(mine, "prompt").value = "by hand"
    again = make_form("text-to-video", Cell("a", "run 3"), prompt="mine")
    assert mine.widget.comm is None
    assert again.values.prompt == "by hand"
    assert len(again.jobs) == 1
    assert other.widget.comm is not None
    with pytest.raises(ConflictError, match="its cell was run again"):
        mine.values.prompt = "too late"


def test_forms_of_one_function_in_one_cell_are_identified_by_their_order(
    make_form: Callable[..., Form],
) -> None:
    def run_cell(run: str, count: int) -> list[Form]:
        cell = Cell("a", run)
        return [make_form("text-to-video", cell) for _ in range(count)]

    before = run_cell("run 1", 3)
    make_form("r1", Cell("a", "run 1"))
    for place, form in enumerate(before):
        box(form, "prompt").value = f"no. {place}"
    assert all(form.widget.comm is not None for form in before)

    run_cell("run 2", 1)
    assert [form.widget.comm is None for form in before] == [True, False, False]
    again = run_cell("run 3", 3)
    assert [form.values.prompt for form in again] == ["no. 0", "no. 1", "no. 2"]
    assert all(form.widget.comm is None for form in before)


def test_where_no_cell_is_known_the_last_form_of_a_function_replaces_the_one_before(
    make_form: Callable[..., Form],
) -> None:
    before = make_form("text-to-video", Cell("run 1", "run 1"), prompt="kept")

    again = make_form("text-to-video", Cell("run 2", "run 2"))
    assert before.widget.comm is None
    assert again.values.prompt == "kept"


def test_a_job_that_is_accepted_after_a_rerun_is_not_lost(
    make_form: Callable[..., Form],
) -> None:
    before = make_form("text-to-video", prompt="a", duration=3)

    generate_button(before).click()
    again = make_form("text-to-video")
    until(lambda: again.jobs, again)
    assert again.jobs[0].state.prompt == "a"


def test_a_closed_form_frees_its_widgets(make_form: Callable[..., Form]) -> None:
    counted = len(ipywidgets.widgets.widget._instances)
    form = make_form("r1", image_urls=["https://a.test/1.png"])

    form.close()
    form.close()
    assert len(ipywidgets.widgets.widget._instances) == counted


def test_the_saved_copy_follows_what_is_typed_and_is_not_written_at_every_key(
    make_form: Callable[..., Form], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    form = make_form("text-to-video")
    monkeypatch.setattr(form_module, "publish_display_data", lambda data: None)
    monkeypatch.setattr(
        form._handle, "_publish", lambda data, **more: sent.append(data["text/html"])
    )
    form._ipython_display_()
    assert "kite" not in sent[-1]
    for length in range(len("a kite")):
        box(form, "prompt").value = "a kite"[: length + 1]
    until(lambda: "a kite" in sent[-1])
    assert len(sent) <= 3

    form.values.prompt = "a boat"
    form.close()  # what was typed last is not lost
    assert "a boat" in sent[-1]


def test_closing_a_client_closes_its_forms(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    before = in_use()
    url, key = sandbox.base_url, sandbox.api_key
    with Client(url, key, home=tmp_path) as client:
        function = client.catalog.function("text-to-video")
        form = Form(client, function, cell=Cell("closing", "run 1"))
        assert is_open(client, function, Cell("closing", "run 2"))
    assert not is_open(client, function, Cell("closing", "run 2"))
    assert in_use() == before
    finish(form)


def test_an_error_in_a_handler_is_a_sentence_in_the_form(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video")
    form._view.controls.pop("prompt")

    form._guard(form._edited)("prompt")
    assert "KeyError" in error_of(form)
    assert "please report it" in error_of(form)


def test_what_a_form_leaves_without_a_kernel_names_values_and_price_escaped(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="<script>alert(1)</script>")
    bundle = form._repr_mimebundle_()

    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "&lt;script&gt;" in bundle["text/html"]
    assert "<span>$</span>0.34" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
    assert (
        bundle["text/plain"]
        == f"<Form for text-to-video of {form.client.service.label}>"
    )


@pytest.mark.parametrize(
    ("kind", "main"),
    [
        ("text-to-video", "prompt duration resolution aspect_ratio audio"),
        ("image-upscale", "image_url upscale_factor model"),
        (
            "keyframes",
            "images resolution prompt transition_duration_s loop "
            "transition_durations_s",
        ),
        (
            "r1",
            "prompt duration resolution draft image_urls video_urls audio_urls "
            "omni_reference_task_type bitrate_mode",
        ),
        (
            "region-replace",
            "video prompt modify_region_roi modify_region_mask image resolution "
            "duration_s",
        ),
    ],
)
def test_what_matters_stands_in_the_open_and_the_rest_is_folded_away(
    client: Client, kind: str, main: str
) -> None:
    function = client.catalog.function(kind)

    in_the_open = [n for n, spec in function.fields.items() if is_main(function, spec)]
    assert in_the_open == main.split()


FIRST_ACCEPTED = {case.kind: case.body for case in reversed(accepted())}


def test_every_function_has_a_form_that_makes_the_bodies_of_its_table_and_keeps_them(
    messages: list[str], make_form: Callable[..., Form]
) -> None:
    def check(kind: str) -> None:
        messages.clear()
        form = make_form(kind)
        assert 0 < len(messages) <= BUDGET_MESSAGES
        canonical = form.function.canonical_body
        body = FIRST_ACCEPTED[kind]
        fields = {n: value for n, value in body.items() if n in form.function.fields}
        further = {n: value for n, value in body.items() if n not in fields}

        for name, value in fields.items():
            control(form, name).value = value
            control(form, name).tell()
        if further:
            control(form, FURTHER.name).value = further
            control(form, FURTHER.name).tell()
        assert canonical(form.request()) == canonical(body)
        assert form.state.problems == ()
        assert 'class="mk-bad"' not in shown(form)
        again = make_form(kind)
        assert form.widget.comm is None
        assert canonical(again.request()) == canonical(body)
        assert again.state.problems == ()
        assert error_of(again) == ""

    assert_each(FIRST_ACCEPTED, check)


def named(form: Form, name: str, nth: int = 0) -> Any:
    """Return the widget with this name."""
    return [
        each
        for each in _all(form.widget)
        if str(_described(each)).lower() == name.lower()
    ][nth]


def test_a_timeline_is_filled_in_by_hand_and_submitted(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "cat.png", (64, 48))
    form = make_form("compose-video")
    assert "Track 1, keyframe 1, timestamp is required." in shown(form)
    assert 'class="mk-bad"' not in shown(form)

    named(form, "type *").value = "image"
    named(form, "id *").value = "stills"
    named(form, "timestamp (ms) *").value = "0"
    named(form, "duration (ms) *").value = "500"
    named(form, "url *").value = str(picture)
    until(lambda: form.state.submit_reason is None, form)
    assert "64 x 48" in shown(form)
    assert "data:image/jpeg;base64," in shown(form)
    named(form, "Add keyframe").click()
    assert "Track 1, keyframe 2, timestamp is required." in shown(form)
    named(form, "timestamp (ms) *", 1).value = "400"
    named(form, "duration (ms) *", 1).value = "600"
    named(form, "url *", 1).value = str(picture)
    assert "Must be at least 500 ms" in shown(form)
    named(form, "timestamp (ms) *", 1).value = "500"
    until(lambda: form.state.submit_reason is None, form)
    assert 'class="mk-bad"' not in shown(form)
    press_generate(form)
    sent: Any = form._jobs[0].state.body["tracks"]
    assert [each["duration"] for each in sent[0]["keyframes"]] == [500, 600]
    assert sent[0]["keyframes"][1]["url"].startswith("http")


def test_a_file_that_is_no_picture_is_reported_inside_its_keyframe(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a picture")
    form = make_form("compose-video")

    named(form, "type *").value = "image"
    named(form, "url *").value = str(notes)
    until(lambda: "notes.txt: " in shown(form))
    assert generate_button(form).disabled


def test_an_open_function_takes_any_field_and_sends_it_as_it_was_given(
    make_form: Callable[..., Form], client: Client
) -> None:
    form = make_form("text-to-image", prompt="a kite", style="noir", take=2)

    assert form.values == {"prompt": "a kite", "style": "noir", "take": 2}
    box = named(form, "Additional fields (JSON)")
    box.value = '{"style": "pop", "take": 2, "mask": null, "size": [1, 2]}'
    press_generate(form)
    until(lambda: form._jobs or error_of(form), form)
    assert error_of(form) == ""
    assert form._jobs[0].state.body == {
        "prompt": "a kite",
        "style": "pop",
        "take": 2,
        "mask": None,
        "size": [1, 2],
    }
    again = make_form("text-to-image", style="ink")
    assert again.request() == form.request() | {"style": "ink"}


def test_what_is_no_json_is_kept_and_keeps_the_form_from_being_sent(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-image", prompt="a kite")
    box = named(form, "Additional fields (JSON)")

    box.value = '{"style": '
    assert "this is no JSON (line 1, character 11: expecting value)" in shown(form)
    assert "Further fields: this is no JSON" in str(form.state.submit_reason)
    assert generate_button(form).disabled
    again = make_form("text-to-image")
    box = named(again, "Additional fields (JSON)")
    assert box.value == '{"style": '
    assert generate_button(again).disabled
    box.value = '{"prompt": "a"}'
    assert "prompt has a control of its own" in shown(again)
    box.value = ""
    assert not generate_button(again).disabled


def test_a_closed_function_still_refuses_what_it_does_not_know(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("compose-video", style="noir")

    assert "style" in error_of(form)
    assert "style" not in form.values


def test_a_value_that_no_control_can_show_leaves_the_form_as_it_was(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("compose-video", tracks=[{"id": "a", "type": "sound"}])

    assert "Not changed." in error_of(form)
    first = {"type": "video", "id": "track-1", "keyframes": [{}]}
    assert form.values == {"tracks": [first]}


def test_the_help_names_nested_fields_as_code_does_and_tells_limits(
    make_form: Callable[..., Form],
) -> None:
    assert "<code>tracks[].keyframes[].url</code>" in shown(make_form("compose-video"))
    assert "24 to 60 frames per second" in shown(make_form("r1"))


class CountedComm(BaseComm):
    """A connection to nowhere that counts what goes through it."""

    messages: ClassVar[list[str]] = []

    def publish_msg(self, msg_type: str, *args: Any, **kwargs: Any) -> None:
        """Count a message."""
        self.messages.append(msg_type)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the messages that widgets send to the browser from now on."""
    monkeypatch.setattr(comm, "create_comm", CountedComm)
    monkeypatch.setattr(CountedComm, "messages", [])
    return CountedComm.messages


def test_a_key_costs_a_message_for_each_thing_that_it_changes(
    messages: list[str], make_form: Callable[..., Form]
) -> None:
    form = make_form("text-to-video", prompt="a kit")
    messages.clear()

    box(form, "prompt").set_state({"value": "a kite"})
    # The echo of the text itself, and its count of characters.
    assert messages == ["comm_msg", "comm_msg"]


def test_a_line_below_a_control_comes_without_a_new_child_of_its_box(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    """A box with another child draws what stands behind it anew, under the cursor."""
    cat = make_png(tmp_path / "cat.png", (64, 48))
    form = make_form("image-upscale", image_url=str(cat))
    until(lambda: form.state.submit_reason is None, form)
    unfold(form)
    boxes = [box for box in _all(form.widget) if "mk-fields" in box._dom_classes]
    before = [box.children for box in boxes]

    box(form, "image_url").value = "gone.png"
    until(lambda: 'class="mk-bad"' in shown(form), form)
    assert [box.children for box in boxes] == before


def test_lines_below_folded_controls_are_there_once_they_are_unfolded(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("image-upscale")
    assert "Applies only when" not in shown(form)

    unfold(form)
    assert form.state.disabled
    assert all(
        sentence_case(reason) in shown(form) for reason in form.state.disabled.values()
    )
