"""The form on a real sandbox, without a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mediakit import Client
from mediakit.api_models import Balance
from mediakit.errors import ConflictError, InputError, ServiceError
from mediakit.estimates import Estimate
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form import funds_store
from mediakit.widgets.form.controller import (
    SHORT_BALANCE_AGE_S,
    Form,
    is_open,
)
from mediakit.widgets.form.fields_payload import is_main
from mediakit.widgets.toolkit.cell_outputs import NotebookCell
from tests.spec import accepted
from tests.support.advancing_clock import AdvancingClock
from tests.support.rows import assert_each
from tests.support.samples.media_samples import make_png
from tests.support.soak import trials
from tests.support.widgets import (
    box,
    drawn_jobs,
    edit,
    error_of,
    finish,
    generate_button,
    in_use,
    page,
    press_generate,
    said_of,
    say,
    shown,
    until,
)

MOST_MESSAGES = 5
MakeForm = Callable[..., Form]


def test_a_form_makes_a_job_and_the_balance_drops_by_its_price(
    own_client: Client,
) -> None:
    form = Form(own_client, own_client.catalog.function("text-to-video"), {})
    until(lambda: form.state.funds.balance is not None, form)
    before = own_client.balance().spendable_micro_usd

    assert generate_button(form).disabled
    assert "Enter a prompt." in shown(form)
    box(form, "prompt").value = "a kite over dunes"
    box(form, "duration").value = 3
    assert "$0.204" in shown(form)
    press_generate(form)
    (view,) = form.jobs
    assert drawn_jobs(form) == [view.id]
    until(lambda: view.state.charge_micro_usd is not None)

    assert view.state.charge_micro_usd == 204_000
    assert view.state.prompt == "a kite over dunes"
    assert own_client.balance().spendable_micro_usd == before - 204_000
    until(lambda: form.state.funds.left_micro_usd == before - 204_000)
    finish(form)


# -- a click and a price --------------------------------------------------------------


def test_two_clicks_at_once_send_one_request(make_form: MakeForm) -> None:
    form = make_form("text-to-video", prompt="once", duration=3)
    button = generate_button(form)

    button.click()
    assert button.disabled
    button.click()
    until(lambda: not form.state.sending, form)
    assert len(form.jobs) == 1
    assert not button.disabled


def test_a_price_that_is_called_exact_is_written_in_full(make_form: MakeForm) -> None:
    form = make_form("text-to-video", prompt="a kite", duration=3)
    price = page(form)["price"]
    assert (price["text"], price["kind"]) == ("$0.204", "exact")


def test_the_values_shown_last_are_sent(make_form: MakeForm) -> None:
    form = make_form("text-to-video", prompt="a ki", duration=3)

    generate_button(form).click(prompt="a kite")  # the last key comes with the click
    box(form, "prompt").value = "a kite, and more"  # this one comes after it
    until(lambda: not form.state.sending, form)
    assert form.jobs[0].state.prompt == "a kite"


def test_a_price_not_shown_before_the_click_is_not_paid(
    make_form: MakeForm,
) -> None:
    form = make_form("text-to-video", prompt="a kite", resolution="1080p", duration=8)
    click = generate_button(form).seen()

    click(duration="13")
    until(lambda: not form.state.sending, form)
    said = "The price is now $1.17 instead of $0.72. Nothing was sent."
    assert said in error_of(form)
    click()  # the second half of a double click, which saw the old price
    until(lambda: not form.state.sending, form)
    assert not form.jobs
    press_generate(form)
    assert [job.state.body["duration"] for job in form.jobs] == [13]
    assert error_of(form) == ""


def test_a_request_that_became_cheaper_is_submitted_at_once(
    make_form: MakeForm,
) -> None:
    form = make_form("text-to-video", prompt="cheaper", resolution="1080p", duration=8)
    generate_button(form).click(duration="4")
    until(lambda: not form.state.sending, form)
    assert [job.state.body["duration"] for job in form.jobs] == [4]


def test_the_values_in_the_click_are_submitted_in_any_order_of_messages(
    make_form: MakeForm, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = make_form("text-to-video", prompt="a kite", duration=3)
    sent: list[tuple[dict[str, Any], Estimate]] = []

    async def submit(body: dict[str, Any], price: Estimate) -> None:
        sent.append((body, price))
        raise InputError("prompt", got="a test", accepted="nothing")

    monkeypatch.setattr(form._actions, "submit", submit)
    draw, number = Random(7), 0
    for turn in range(trials(60, soak=1_000)):
        values, (_, seen) = dict(page(form)["values"]), page(form)["price"]["ends"]
        edited: dict[str, str] = {}
        messages: list[tuple[str, dict[str, Any]]] = []
        for _ in range(2):
            typed = {"prompt": f"{turn} {draw.random()}"}
            edited |= draw.choice((typed, {"duration": str(draw.randint(3, 15))}))
            number += 1
            messages.append(("edit", {"number": number, "values": dict(edited)}))
        values |= edited
        number += 1
        click = {"values": values, "edited": [*edited], "price": [seen, seen]}
        messages.append(("generate", {"number": number, "another": False, **click}))
        draw.shuffle(messages)
        sent.clear()
        for do, said in messages:
            say(form, do, view="a", **said)
        until(lambda: not form.state.sending, form)
        [(body, price)] = sent
        assert price.high == seen
        assert body["prompt"] == values["prompt"]
        assert body["duration"] == int(values["duration"])


def test_a_click_on_values_that_code_has_changed_sends_nothing(
    make_form: MakeForm,
) -> None:
    form = make_form("text-to-video", prompt="a kite", duration=8)
    click = generate_button(form).seen()

    form.values.prompt = "a boat"
    click()
    assert "The form changed before" in error_of(form)
    assert not form.state.sending
    press_generate(form)
    assert form.jobs[0].state.prompt == "a boat"


def test_an_edit_that_a_later_one_has_overtaken_changes_nothing(
    make_form: MakeForm,
) -> None:
    form = make_form("text-to-video")

    say(form, "edit", view="a", number=2, values={"prompt": "late", "duration": "7"})
    say(form, "edit", view="a", number=1, values={"prompt": "early"})
    assert form.values["prompt"] == "late"
    say(form, "edit", view="b", number=1, values={"prompt": "another view"})
    assert form.values["prompt"] == "another view"
    assert form.values["duration"] == 7


# -- what cannot be sent --------------------------------------------------------------


def test_a_local_picture_is_checked_uploaded_and_sent(
    make_form: MakeForm, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "cat.png", (64, 48))
    form = make_form("image-upscale")

    box(form, "image_url").value = str(picture)
    assert "Checking" in str(form.state.submit_reason)
    until(lambda: form.state.submit_reason is None, form)
    assert "64 \N{MULTIPLICATION SIGN} 48" in shown(form)
    assert "data:image/jpeg;base64," in shown(form)
    press_generate(form)
    assert str(form.jobs[0].state.body["image_url"]).startswith("http")
    assert form.request()["image_url"] == str(picture)


def test_a_file_that_vanished_is_found_before_anything_is_sent(
    make_form: MakeForm, client: Client, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "cat.png", (64, 48))
    form = make_form("image-upscale", image_url=picture)
    until(lambda: form.state.submit_reason is None, form)

    picture.unlink()
    press_generate(form)
    assert "cat.png: no such file" in error_of(form)
    assert "Nothing was sent." in error_of(form)
    assert form.jobs == ()
    assert client.history.frame().empty


def test_a_failed_submit_is_reported_and_leaves_the_form_unchanged(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with Client(sandbox.base_url, "not-the-key", home=tmp_path) as stranger:
        function = stranger.catalog.function("text-to-video")
        form = Form(stranger, function, {"prompt": "a kite"})
        until(lambda: form.state.funds.trouble, form)
        values = dict(form.values)

        assert "The balance is not known." in shown(form)
        press_generate(form)  # unknown is not zero
        assert "key" in error_of(form)
        assert form.values == values
        assert not generate_button(form).disabled
        assert form.jobs == ()
        finish(form)


class Admission:
    """The balance that a client reads, and the number of reads."""

    def __init__(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        self.usd, self.reads = 5, 0
        monkeypatch.setattr(client.core, "balance", self.balance)

    async def balance(self) -> Balance:
        self.reads += 1
        return Balance(balance_micro_usd=self.usd * 1_000_000)


@pytest.fixture
def admission(client: Client, monkeypatch: pytest.MonkeyPatch) -> Admission:
    return Admission(client, monkeypatch)


def test_in_a_terminal_each_widget_is_a_line_that_says_what_to_do_instead(
    own_client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    form = own_client.form("text-to-video")
    studio, dashboard = own_client.studio(), own_client.spend.dashboard()
    for each in (form, studio, dashboard):
        each._ipython_display_()
        line = capsys.readouterr().out
        assert line.count("\n") == 1
        assert "displayed only in notebooks; in code, use client." in line
        each.close()
    assert repr(form.widget) == "<form for text-to-video>"


def test_a_service_that_comes_back_is_noticed_without_a_click(
    client: Client, monkeypatch: pytest.MonkeyPatch, make_form: MakeForm
) -> None:
    monkeypatch.setattr(funds_store, "AGAIN_S", 0.01)
    answers = iter([ServiceError("The service does not answer.")] * 3)

    async def balance() -> Balance:
        for error in answers:
            raise error
        return Balance(balance_micro_usd=5_000_000)

    monkeypatch.setattr(client.core, "balance", balance)
    form = make_form("text-to-video", prompt="a kite")
    until(lambda: form.state.funds.balance is not None, form)
    assert form.state.funds.trouble is None
    assert "Balance $5.00" in shown(form)


def test_a_price_above_the_balance_is_reported_and_a_button_reads_the_balance_again(
    admission: Admission, make_form: MakeForm
) -> None:
    form = make_form("r1", prompt="a", duration="auto")
    assert "This may cost up to $7.28028, but only $5.00 is left (as of" in shown(form)
    assert page(form)["price"]["tone"] == "bad"
    assert generate_button(form).disabled
    admission.usd = 50
    say(form, "refresh")
    until(lambda: not generate_button(form).disabled, form)


def test_an_insufficient_balance_is_read_again_in_the_background(
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
    clock.skip(SHORT_BALANCE_AGE_S + 1)
    box(form, "prompt").value = "a kite"
    until(lambda: not generate_button(form).disabled, form)
    finish(form)


def test_a_price_above_the_budget_is_reported_before_sending(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    url, key = sandbox.base_url, sandbox.api_key
    with Client(url, key, home=tmp_path, budget="$0.50") as client:
        form = Form(client, client.catalog.function("text-to-video"), {"prompt": "a"})
        until(lambda: form.state.funds.balance is not None, form)

        assert "Budget $0.50" in shown(form)
        press_generate(form)
        until(lambda: form.state.submit_reason is not None, form)
        assert "This costs $0.34, but only $0.16 of your budget is left" in shown(form)
        assert generate_button(form).disabled
        finish(form)


# -- what is shown where --------------------------------------------------------------


def test_values_from_code_show_and_a_wrong_one_is_reported_in_the_form(
    make_form: MakeForm,
) -> None:
    form = make_form(
        "text-to-video", prompt="a", duration=99, resolution="8k", promt="b"
    )

    assert form.values["prompt"] == "a"
    assert form.values["resolution"] == "720p"
    assert said_of(form, "duration") == ["Must be a whole number from 3 to 15 seconds"]
    assert "(spec" not in shown(form)
    assert "(got '8k')" in error_of(form)
    assert "(did you mean prompt?). Not changed." in error_of(form)


@pytest.mark.parametrize(
    ("kind", "main"),
    [
        ("text-to-video", "prompt duration resolution aspect_ratio audio"),
        (
            "r1",
            "prompt duration resolution draft image_urls video_urls audio_urls "
            "omni_reference_task_type bitrate_mode",
        ),
    ],
)
def test_important_fields_are_visible_and_the_rest_is_collapsed(
    client: Client, kind: str, main: str
) -> None:
    function = client.catalog.function(kind)

    in_the_open = [n for n, spec in function.fields.items() if is_main(function, spec)]
    assert in_the_open == main.split()


FIRST_ACCEPTED = {case.kind: case.body for case in reversed(accepted())}


def test_every_function_has_a_form_that_keeps_the_first_body_of_its_table(
    messages: list[str], make_form: MakeForm
) -> None:
    def check(kind: str) -> None:
        messages.clear()
        empty = make_form(kind)
        assert messages.count("comm_open") == 1
        assert len(messages) <= MOST_MESSAGES
        body = FIRST_ACCEPTED[kind]
        form, again = make_form(kind, **body), make_form(kind, **body)
        assert empty.widget.comm is form.widget.comm is None
        canonical = form.function.canonical_body
        for each in (form, again):
            assert canonical(each.request()) == canonical(body)
            assert each.state.problems == ()
            assert error_of(each) == ""

    assert_each(FIRST_ACCEPTED, check)


def test_an_open_function_takes_any_field_and_sends_it_as_it_was_given(
    make_form: MakeForm,
) -> None:
    form = make_form("text-to-image", prompt="a kite", style="noir", take=2)

    assert form.values == {"prompt": "a kite", "style": "noir", "take": 2}
    further = box(form, "further fields")
    further.value = '{"style": "pop", "take": 2, "mask": null, "size": [1, 2]}'
    press_generate(form)
    until(lambda: form.jobs or error_of(form), form)
    assert error_of(form) == ""
    assert form.jobs[0].state.body == {
        "prompt": "a kite",
        "style": "pop",
        "take": 2,
        "mask": None,
        "size": [1, 2],
    }
    again = make_form("text-to-image", style="ink")
    assert again.request() == {"style": "ink", "mask": None, "size": [1, 2]}


def test_invalid_json_is_kept_and_blocks_sending(
    make_form: MakeForm,
) -> None:
    form = make_form("text-to-image", prompt="a kite")

    box(form, "further fields").value = '{"style": '
    assert "this is not valid JSON (line 1, character 11: expecting value)" in shown(
        form
    )
    assert "Further fields: this is not valid JSON" in str(form.state.submit_reason)
    again = make_form("text-to-image")
    further = box(again, "further fields")
    assert further.value == '{"style": '
    assert generate_button(again).disabled
    further.value = ""
    assert not generate_button(again).disabled


def test_a_key_press_sends_one_message_even_if_the_price_changes(
    messages: list[str], make_form: MakeForm
) -> None:
    form = make_form("text-to-video", prompt="a kit")
    messages.clear()

    edit(form, prompt="a kite")
    edit(form, duration="7")
    assert messages == ["comm_msg"] * 2


def test_an_error_in_a_handler_is_a_sentence_in_the_form(make_form: MakeForm) -> None:
    form = make_form("text-to-video")

    say(form, "edit", view="a", values={})
    assert "KeyError" in error_of(form)
    assert "Please report it" in error_of(form)


# -- a cell that is run again ---------------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(
            (NotebookCell("a", "run 1"), NotebookCell("a", "run 2")), id="the same cell"
        ),
        pytest.param((None, None), id="no notebook"),
        pytest.param(
            (NotebookCell("1", "1"), NotebookCell("2", "2")), id="cells are not known"
        ),
    ],
)
def test_a_rerun_takes_over_values_and_jobs_and_closes_the_form_before(
    make_form: MakeForm, cells: tuple[NotebookCell | None, NotebookCell | None]
) -> None:
    before = make_form("text-to-video", cells[0], prompt="from the code", duration=3)
    press_generate(before)
    box(before, "prompt").value = "from the hand"
    root = before.widget

    again = make_form("text-to-video", cells[1], prompt="from the code", duration=4)
    assert root.comm is None
    assert again.values["prompt"] == "from the hand"
    assert again.values["duration"] == 4
    (job,) = again.jobs
    assert drawn_jobs(again) == [job.id]
    with pytest.raises(ConflictError, match=r"its cell (was run again|gave last)"):
        before.values.prompt = "too late"


def test_forms_of_one_function_are_identified_by_their_cell_and_their_order_in_it(
    make_form: MakeForm,
) -> None:
    def run_cell(run: str, count: int) -> list[Form]:
        cell = NotebookCell("a", run)
        return [make_form("text-to-video", cell) for _ in range(count)]

    before = run_cell("run 1", 3)
    make_form("r1", NotebookCell("a", "run 1"))
    other = make_form("text-to-video", NotebookCell("b", "run 1"), prompt="other")
    for place, form in enumerate(before):
        box(form, "prompt").value = f"no. {place}"
    assert all(form.widget.comm is not None for form in before)

    run_cell("run 2", 1)
    assert [form.widget.comm is None for form in before] == [True, False, False]
    again = run_cell("run 3", 3)
    assert [form.values.prompt for form in again] == ["no. 0", "no. 1", "no. 2"]
    assert all(form.widget.comm is None for form in before)
    assert other.widget.comm is not None
    assert other.values.prompt == "other"


def test_a_job_that_is_accepted_after_a_rerun_is_not_lost(make_form: MakeForm) -> None:
    before = make_form("text-to-video", prompt="a", duration=3)

    generate_button(before).click()
    again = make_form("text-to-video")
    until(lambda: again.jobs, again)
    assert again.jobs[0].state.prompt == "a"


def test_a_closed_form_frees_its_widgets(make_form: MakeForm) -> None:
    counted = in_use()
    form = make_form("r1", image_urls=["https://a.test/1.png"])
    say(form, "code", open=True)

    form.close()
    form.close()
    assert in_use() == counted


def test_closing_a_client_closes_its_forms(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    before = in_use()
    url, key = sandbox.base_url, sandbox.api_key
    with Client(url, key, home=tmp_path) as client:
        function = client.catalog.function("text-to-video")
        form = Form(client, function, cell=NotebookCell("closing", "run 1"))
        assert is_open(client, function, NotebookCell("closing", "run 2"))
    assert not is_open(client, function, NotebookCell("closing", "run 2"))
    assert in_use() == before
    finish(form)


# -- what a notebook keeps ------------------------------------------------------------


def test_the_saved_copy_follows_what_is_typed_and_is_not_written_at_every_key(
    make_form: MakeForm, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    form = make_form("text-to-video")
    monkeypatch.setattr(
        form._page.handle,
        "_publish",
        lambda data, **more: sent.append(data["text/html"]),
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


def test_the_static_copy_of_a_form_has_its_values_and_price(
    make_form: MakeForm,
) -> None:
    form = make_form("text-to-video", prompt="a kite over dunes")
    bundle = form._repr_mimebundle_()

    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "a kite over dunes" in bundle["text/html"]
    assert "<span>$</span>0.34" in bundle["text/html"]
    plain = repr(form)
    assert bundle["text/plain"] == plain


SIGNED = "https://user:hunter2@127.0.0.1/x.png?X-Amz-Signature=abc123"
SECRETS = ("hunter2", "user:", "X-Amz", "abc123")


def test_the_saved_copy_of_a_form_has_no_password_signature_or_token(
    client: Client,
) -> None:
    form = client.form("r1", prompt="a", duration=5, image_urls=[SIGNED])
    saved = form._repr_mimebundle_()["text/html"]
    assert not [secret for secret in SECRETS if secret in saved]
    assert "https://127.0.0.1/x.png?…" in saved
    # The form itself still has it, and sends it.
    assert form.request()["image_urls"] == [SIGNED]
    frame = {"url": SIGNED, "timestamp": 0, "duration": 1_000}
    track = {"id": "a", "type": "video", "keyframes": [frame]}
    saved = client.form("compose-video", tracks=[track])._repr_mimebundle_()
    assert "127.0.0.1/x.png" in saved["text/html"]
    assert not [secret for secret in SECRETS if secret in saved["text/html"]]
