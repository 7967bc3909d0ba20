"""How the client reads responses: amounts, and large, damaged or hostile content."""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from mediakit.catalog import Catalog
from mediakit.money import format_usd
from tests.support.advancing_clock import AdvancingClock
from tests.support.servers.answering_server import VIDEO, AnsweringServer, Answers
from tests.support.servers.job_server import SETTLED
from tests.support.servers.loopback import Said

CLIP: dict[str, Any] = {"prompt": "a kite", "duration": 5}


@contextmanager
def client_of(server: AnsweringServer, home: Path, **more: Any) -> Iterator[mk.Client]:
    """Return a client of a service, whose clock runs fast."""
    with mk.Client(
        server.base_url,
        "a-key-for-this-test",
        home=home,
        clock=AdvancingClock(),
        **{"catalog": Catalog.default(), **more},
    ) as client:
        yield client


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer() as server:
        yield server


@pytest.fixture
def c(server: AnsweringServer, tmp_path: Path) -> Iterator[mk.Client]:
    with client_of(server, tmp_path / "home") as client:
        yield client


def charging(charge: object) -> Answers:
    """Return the responses of a service that reports this charge for each job."""
    billing = {"state": "settled", "charge_micro_usd": charge}
    return Answers(job={"output": VIDEO, "billing": billing})


UNREADABLE = ["340000", None, True, -1, 0.5, 2**53 + 1, 2**63 - 1, [340_000]]


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("charge", [340_000.0, 340_000, 0.0])
def test_a_charge_is_read_if_it_is_a_whole_number_in_any_spelling(
    charge: float, server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = charging(charge)
    job = c.submit("text-to-video", **CLIP).settle()

    assert (type(job.charge_micro_usd), job.charge_micro_usd) == (int, charge)
    row = c.history.frame().iloc[0]
    assert (row.billing_state, row.charge_micro_usd) == ("settled", charge)


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("charge", UNREADABLE, ids=repr)
def test_waiting_for_a_charge_that_stays_unreadable_ends_with_a_sentence(
    charge: object, server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = charging(charge)
    job = c.submit("text-to-video", **CLIP).wait()
    with pytest.raises(mk.ServiceError) as error:
        job.settle()

    text = str(error.value)
    assert "`charge_micro_usd` must be a whole number" in text
    assert f"(got {charge!r})" in text
    assert job.id in text
    assert c.history.frame().iloc[0].billing_state == "settled"
    assert c.reserved_micro_usd() == 340_000


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("billing", [{"state": "refunded"}, "settled", {}], ids=repr)
def test_an_unknown_billing_state_is_not_recorded_as_a_known_one(
    billing: object, server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = Answers(job={"output": VIDEO, "billing": billing})
    with pytest.raises(mk.ServiceError, match="billing state must be settled"):
        c.submit("text-to-video", **CLIP).settle()

    assert c.history.frame().billing_state.isna().all()


@pytest.mark.spec("2.2")
def test_a_charge_that_can_be_read_later_is_recorded(
    server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = charging("340000")
    job = c.submit("text-to-video", **CLIP)
    with pytest.raises(mk.ServiceError):
        job.settle()
    server.answers = charging(340_000)

    assert job.refresh().settle().charge_micro_usd == 340_000
    assert c.history.frame().iloc[0].charge_micro_usd == 340_000


@pytest.mark.spec("2.2")
def test_a_settle_timeout_says_that_the_charge_is_missing(
    server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = Answers(job={"output": VIDEO, "billing": {"state": "pending"}})
    job = c.submit("text-to-video", **CLIP).wait()
    with pytest.raises(mk.WaitTimeoutError) as error:
        job.settle(0.1)

    assert f"for the charge of {job.id} (completed)." in str(error.value)
    assert "The job continues" not in str(error.value)


@pytest.mark.spec("2.2")
def test_a_sweep_that_fills_its_budget_ends_though_no_charge_can_be_read(
    server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = charging("340000")
    plan = c.sweep("text-to-video", prompt=list("abcdef"), duration=5)
    results = plan.run(budget="$1").wait()

    statuses = results.frame().status.value_counts()
    assert (statuses["completed"], statuses["unsent"]) == (2, 4)
    assert c.reserved_micro_usd() == 2 * 340_000


class NumberedServer(AnsweringServer):
    """A service whose job IDs are numbers."""

    def _taken(self, key: str) -> Said:
        return Said({"id": 7, "status": "queued", "billing": None})


def test_a_job_with_a_number_as_its_id_is_refused_at_once_with_a_sentence(
    tmp_path: Path,
) -> None:
    with NumberedServer() as server, client_of(server, tmp_path) as c:
        with pytest.raises(
            mk.ServiceError, match="a job whose ID is 7, but an ID must be a string"
        ):
            c.submit("text-to-video", **CLIP)

        assert sum(each.startswith("POST") for each in server.seen) == 1


def test_a_call_without_an_argument_names_the_class_that_was_called(
    c: mk.Client,
) -> None:
    job = c.submit("text-to-video", **CLIP)
    with pytest.raises(TypeError, match=r"^Job\.fetch_output\(\).*'max_bytes'"):
        job.fetch_output()  # type: ignore[call-arg]


@pytest.mark.spec("2.4")
def test_whole_numbers_of_a_balance_are_read_in_any_spelling(
    server: AnsweringServer, c: mk.Client
) -> None:
    answers = Answers(balance={"balance_micro_usd": 100_000_000.0})
    server.answers = answers
    assert c.balance().spendable_micro_usd == 100_000_000
    answers.balance = {
        "balance_micro_usd": 1.0,
        "postpaid": {"cycle": {"remaining_micro_usd": 5_000_000.0}},
    }
    assert c.balance().spendable_micro_usd == 5_000_000


@pytest.mark.spec("2.4")
@pytest.mark.parametrize(
    ("balance", "spendable"),
    [
        ({"postpaid": {"cycle": {"remaining_micro_usd": 7_000_000}}}, "$7.00"),
        (
            {
                "balance_micro_usd": 5_000_000,
                "postpaid": {"active": False, "cycle": {"remaining_micro_usd": 0}},
            },
            "$5.00",
        ),
    ],
    ids=["invoice alone", "inactive"],
)
def test_a_customer_with_an_invoice_cycle_submits_within_the_spendable_amount(
    balance: object, spendable: str, server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = Answers(balance=balance)
    assert format_usd(c.balance().spendable_micro_usd) == spendable
    job = c.run("text-to-video", prompt="a kite", duration=3)
    assert job.charge_micro_usd is not None


def test_a_used_up_cycle_without_a_balance_refuses_a_request(
    server: AnsweringServer, c: mk.Client
) -> None:
    spent = {"postpaid": {"cycle": {"remaining_micro_usd": 0}}}
    server.answers = Answers(balance=spent)
    with pytest.raises(mk.BalanceError, match=r"only \$0.00 of the balance"):
        c.submit("text-to-video", prompt="a kite", duration=3)


@pytest.mark.spec("2.4")
@pytest.mark.parametrize(
    ("balance", "sentence"),
    [
        (
            {"balance_micro_usd": "5"},
            "`balance_micro_usd` must be a whole number of micro-USD (got '5').",
        ),
        ({"balance_micro_usd": 0.5}, "a whole number of micro-USD (got 0.5)."),
        ({}, "`balance_micro_usd` is missing."),
        (
            {
                "balance_micro_usd": 5,
                "postpaid": {"cycle": {"remaining_micro_usd": ""}},
            },
            "`postpaid.cycle.remaining_micro_usd` must be a whole number of micro-USD",
        ),
        ([], "it has an unexpected value."),
    ],
    ids=str,
)
def test_an_unreadable_balance_raises_a_readable_error(
    balance: object, sentence: str, server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = Answers(balance=balance)
    with pytest.raises(mk.ServiceError) as error:
        c.balance()

    assert str(error.value).startswith(
        "The service returned 200 with a balance that cannot be read: "
    )
    assert sentence in str(error.value)


def test_a_request_is_not_sent_while_the_balance_cannot_be_read_and_says_so(
    server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = Answers(balance={})
    with pytest.raises(mk.ServiceError, match=r"^Nothing was sent, because") as error:
        c.submit("text-to-video", prompt="a kite", duration=5)

    assert "`balance_micro_usd` is missing." in str(error.value)
    assert error.value.sent is False
    assert error.value.status == 200


@pytest.mark.spec("2.2")
def test_charges_that_no_account_can_have_do_not_lock_the_account(
    server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = charging(2**63 - 1)
    for prompt in ("a", "b"):
        with pytest.raises(mk.ServiceError):
            c.submit("text-to-video", prompt=prompt, duration=5).settle()
    server.answers = charging(340_000)
    job = c.submit("text-to-video", prompt="c", duration=5).settle()

    assert job.charge_micro_usd == 340_000
    charges = c.history.frame().charge_micro_usd
    assert charges.dropna().eq(340_000).all()


# -- answers of every other kind -------------------------------------------------------


PICTURE = b"\x89PNG\r\n\x1a\n a picture"
A_TOKEN = "t0ken-of-the-receiver"


def failing(message: str) -> Answers:
    """Return the responses of a service whose jobs fail with a message."""
    error = {"code": "content_moderation", "message": message}
    free = {"state": "settled", "charge_micro_usd": 0}
    return Answers(job={"status": "failed", "error": error, "billing": free})


def plain_text(job: mk.Job) -> str:
    """Return a job as a terminal shows it."""
    with redirect_stdout(StringIO()) as shown:
        job.show()
    return shown.getvalue()


# -- outputs of another shape ------------------------------------------------------


@pytest.mark.spec("4.18")
@pytest.mark.parametrize(
    "output",
    [
        {"media_type": "image", "images": [{"url": "http://media.test/1.png"}]},
        {"media_type": "image", "url": "http://media.test/1.png"},
        ["http://media.test/1.png"],
    ],
    ids=["images", "url", "list"],
)
def test_an_output_of_another_shape_is_fetched_from_where_the_service_says(
    output: object, server: AnsweringServer, c: mk.Client, tmp_path: Path
) -> None:
    answers = Answers(job={"output": output, "billing": SETTLED})
    server.answers = answers
    url = f"{server.base_url}/files/1.png"
    answers.more["/content"] = lambda: Said({"url": url})
    answers.more["/files/1.png"] = lambda: Said(PICTURE)
    job = c.submit("text-to-video", **CLIP).wait()

    assert job.url == url
    assert job.download(tmp_path).read_bytes() == PICTURE
    assert c.history.frame().iloc[0].media_type == "image"


@pytest.mark.spec("4.18")
def test_a_job_without_any_output_is_looked_for_when_it_is_downloaded(
    server: AnsweringServer, c: mk.Client, tmp_path: Path
) -> None:
    answers = Answers(job={"billing": SETTLED})
    server.answers = answers
    job = c.submit("text-to-video", **CLIP).wait()
    answers.more["/content"] = lambda: Said({"message": "not yet"}, status=409)
    with pytest.raises(mk.ConflictError) as error:
        job.download(tmp_path)
    assert "wait()" not in str(error.value)

    url = f"{server.base_url}/files/1.mp4"
    answers.more["/content"] = lambda: Said({"url": url})
    answers.more["/files/1.mp4"] = lambda: Said(b"a clip")
    assert job.download(tmp_path).read_bytes() == b"a clip"


# -- size ----------------------------------------------------------------------------

MIB = 1 << 20
GZIPPED = {"Content-Encoding": "gzip"}


@cache
def packed(size_mib: int) -> bytes:
    return gzip.compress(b" " * size_mib * MIB, 1)


@pytest.mark.parametrize("transport", [None, httpx.AsyncHTTPTransport], ids=repr)
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (lambda: packed(64), GZIPPED),
        (lambda: gzip.compress(packed(64)), {"Content-Encoding": "gzip, gzip"}),
        (lambda: b" " * 17 * MIB, {}),
    ],
    ids=["packed", "packed twice", "plain"],
)
def test_a_response_that_is_too_large_is_not_read_into_memory(
    body: Callable[[], bytes],
    headers: dict[str, str],
    transport: Callable[[], httpx.AsyncBaseTransport] | None,
    tmp_path: Path,
) -> None:
    answers = Answers()
    answers.more["/billing/balance"] = lambda: Said(body(), headers=headers)
    made = None if transport is None else transport()
    with (
        AnsweringServer(answers) as server,
        client_of(server, tmp_path, transport=made) as c,
        pytest.raises(mk.ServiceError, match=r"larger than 16 MiB|not JSON"),
    ):
        c.balance()


@pytest.mark.parametrize("transport", [None, httpx.AsyncHTTPTransport], ids=repr)
def test_a_response_below_the_limit_is_read_compressed_or_not(
    transport: Callable[[], httpx.AsyncBaseTransport] | None, tmp_path: Path
) -> None:
    balance = {"balance_micro_usd": 7, "note": "x" * 15 * MIB}
    made = None if transport is None else transport()
    body = gzip.compress(json.dumps(balance).encode(), 1)
    answers = Answers(balance=balance)
    with (
        AnsweringServer(answers) as server,
        client_of(server, tmp_path, transport=made) as c,
    ):
        assert c.balance().spendable_micro_usd == 7
        answers.more["/billing/balance"] = lambda: Said(body, headers=GZIPPED)
        assert c.balance().spendable_micro_usd == 7


def test_a_message_of_several_megabytes_is_shortened(
    server: AnsweringServer, c: mk.Client
) -> None:
    server.answers = failing("m" * 5 * MIB)
    with pytest.raises(mk.JobFailedError) as error:
        c.run("text-to-video", **CLIP)

    assert len(str(error.value)) < 3_000
    assert "(5,242,880 characters)" in str(error.value)


# -- dates and numbers ---------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"deleted_at": "0001-01-01T00:00:00+14:00"},
        {"deleted_at": "9999-12-31T23:59:59-14:00"},
        {"deleted_at": "0000-00-00"},
        {"runtime_s": 1e308 * 10},
        {"runtime_s": -1},
        {"usage": []},
        {"model_id": 7},
        {"error": ["none"]},
        {"usage": "much", "runtime_s": [], "error": 5},
    ],
    ids=str,
)
def test_a_charged_job_gives_its_result_and_charge_whatever_else_is_unreadable(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    answers = Answers(job={"output": VIDEO, "billing": SETTLED, **fields})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).settle()

        assert job.charge_micro_usd == 340_000
        assert job.url == "http://media.test/kite.mp4"
        record = job.state.record
        assert record.unreadable == fields
        assert {getattr(record, name) for name in fields} == {None}
        assert "completed" in plain_text(job)
    with AnsweringServer(answers) as _, client_of(server, tmp_path) as c:
        assert len(c.history.frame()) == 1


# -- text ------------------------------------------------------------------------------


def test_half_an_emoji_in_any_response_is_replaced(
    server: AnsweringServer, c: mk.Client
) -> None:
    note = {"note\ud83d": "\udc00 and a \U0001fa81"}
    answers = Answers(job={"output": VIDEO, "billing": SETTLED, **note})
    server.answers = answers
    job = c.submit("text-to-video", **CLIP).settle()
    record = job.state.record
    assert record.model_extra == {"note\ufffd": "\ufffd and a \U0001fa81"}

    answers.more["/billing/balance"] = lambda: Said({"message": "\ud83d"}, status=400)
    with pytest.raises(mk.InputError, match="\ufffd"):
        c.balance()


HOSTILE = "a\x1b]52;c;aGk=\x07b\r\n2026-01-01 ERROR forged\x9b31m \u202etxt"


def test_control_characters_of_the_service_reach_no_error(
    server: AnsweringServer, c: mk.Client
) -> None:
    answers = failing(HOSTILE)
    server.answers = answers
    with pytest.raises(mk.JobFailedError) as failed:
        c.run("text-to-video", **CLIP)
    answers.more["/billing/balance"] = lambda: Said({"message": HOSTILE}, status=400)
    with pytest.raises(mk.InputError) as refused:
        c.balance()
    job = c.job(c.history.frame().iloc[0].job_id)

    for text in (str(refused.value), str(failed.value)):
        assert "2026-01-01 ERROR forged" in text
        assert text.isprintable()
    plain = plain_text(job)
    assert not set(plain) & set("\x1b\x07\x9b\u202e")


def test_a_job_id_in_a_line_to_copy_is_a_python_string(
    server: AnsweringServer, c: mk.Client
) -> None:
    hostile = """media_"); import os; ("'"""
    server.answers = Answers(prefix=hostile, job={"billing": {"state": "pending"}})
    job = c.submit("text-to-video", **CLIP).wait()
    with pytest.raises(mk.WaitTimeoutError) as error:
        job.settle(0.05)
    plain = plain_text(job)

    for text in (str(error.value), plain):
        call = text[text.index("client.job(") :].partition("\n")[0]
        call = call.partition(" returns")[0].removesuffix(".")
        parsed = ast.parse(call, mode="eval").body
        assert isinstance(parsed, ast.Call)
        assert ast.literal_eval(parsed.args[0]) == job.id


# -- secrets ---------------------------------------------------------------------------


def test_the_repr_of_a_state_has_no_token_and_no_signature(
    server: AnsweringServer, c: mk.Client
) -> None:
    url = f"https://ann:{A_TOKEN}@media.test/1.mp4?X-Amz-Signature={A_TOKEN}"
    output = {"media_type": "video", "video": {"url": url}}
    server.answers = Answers(job={"output": output, "billing": SETTLED})
    hook = f"https://hooks.test/services/{A_TOKEN}"
    job = c.submit("text-to-video", **CLIP, webhook_url=hook).settle()

    assert job.url == url
    for shown in (job, job.state, job.core.state, job.state.record):
        assert A_TOKEN not in repr(shown)
    assert A_TOKEN not in str(job.state.record)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://ann:s3cret@host/a.mp4",
        "ftp://host/a.mp4?X-Amz-Signature=s3cret",
    ],
)
def test_a_refused_value_is_quoted_without_password_and_signature(
    url: str, c: mk.Client
) -> None:
    with pytest.raises(mk.InputError) as error:
        c.submit("video-upscale", video_url=url)

    assert "//host/a.mp4" in str(error.value)
    assert "s3cret" not in str(error.value)


# -- a redirect, listeners, budgets ----------------------------------------------------


def test_closing_calls_every_listener_and_unsubscribing_twice_is_no_error(
    c: mk.Client,
) -> None:
    called = []

    def broken() -> None:
        raise RuntimeError("of this listener")

    c.on_close(broken)
    c.on_close(lambda: called.append("second"))
    for unsubscribe in (c.on_close(broken), c.on_settled(lambda _: None)):
        unsubscribe()
        unsubscribe()
    c.close()

    assert called == ["second"]


# -- rebuilding ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        {"function": "\ud83d"},
        {"body": {"prompt": "\ud83d"}},
        {"estimate_high_micro_usd": 2**70},
        {"take": 2**70},
        {"submitted_at": "0001-01-01T00:00:00+14:00"},
        {"inputs": [{"url": "u", "sha256": "0" * 64, "size_bytes": 2**70}]},
        {"inputs": "\ud83d"},
    ],
    ids=ascii,
)
def test_one_damaged_sidecar_does_not_stop_the_rebuild(
    damage: dict[str, Any], tmp_path: Path
) -> None:
    with AnsweringServer() as server:
        url = f"{server.base_url}/files/1.mp4"
        output = {"media_type": "video", "video": {"url": url}}
        server.answers.job = {"output": output, "billing": SETTLED}
        server.answers.more["/files/1.mp4"] = lambda: Said(b"a clip")
        folder = tmp_path / "results"
        folder.mkdir()
        with client_of(server, tmp_path / "first") as c:
            for prompt in "ab":
                job = c.submit("text-to-video", prompt=prompt, duration=5)
                job.settle().download(folder)
        sidecar = sorted(folder.glob("*.json"))[0]
        sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | damage))
        with client_of(server, tmp_path / "second") as c:
            frame = c.history.rebuild(folders=folder, deliveries=False)

            assert len(frame) == 2
            assert "added" in list(frame.outcome)
            assert len(c.history.frame()) >= 1


def test_a_client_without_functions_has_no_attribute_of_that_name(
    tmp_path: Path,
) -> None:
    with (
        AnsweringServer() as server,
        client_of(server, tmp_path, catalog=Catalog(())) as c,
    ):
        assert not hasattr(c.functions, "text_to_video")


def test_braces_in_a_redirect_are_only_text(
    server: AnsweringServer, c: mk.Client
) -> None:
    answers = Answers()
    answers.more["/billing/balance"] = lambda: Said(
        b"", status=302, headers={"Location": "http://{a}.test/"}
    )
    server.answers = answers
    with pytest.raises(mk.ServiceError, match=r"redirects to http://\{a\}\.test"):
        c.balance()


def test_a_delivery_without_an_id_is_not_requested(tmp_path: Path) -> None:
    row = {"source_id": "media_000001", "event_type": "media.job.completed"}
    with AnsweringServer() as server:
        with client_of(server, tmp_path / "first") as c:
            c.submit("text-to-video", **CLIP).settle()
        server.answers.more["/webhooks/deliveries"] = lambda: Said({"data": [row]})
        with client_of(server, tmp_path / "second") as c:
            assert list(c.history.rebuild().outcome) == ["added"]

        assert not any("/deliveries/" in each for each in server.seen)
