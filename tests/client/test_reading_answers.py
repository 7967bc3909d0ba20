"""How the client reads answers: large, damaged, hostile or of another shape."""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime
from functools import cache
from inspect import signature
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from mediakit.catalog import Catalog, Function
from tests.client.test_reading_money import CLIP, PATIENCE_S, client_of
from tests.support.servers.answering_server import VIDEO, AnsweringServer, Answers
from tests.support.servers.job_server import SETTLED, Said

PICTURE = b"\x89PNG\r\n\x1a\n a picture"
A_TOKEN = "t0ken-of-the-receiver"


def failing(message: str) -> Answers:
    """Return the answers of a service whose jobs fail with a message."""
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
    output: object, tmp_path: Path
) -> None:
    answers = Answers(job={"output": output, "billing": SETTLED})
    with AnsweringServer(answers) as server, client_of(server, tmp_path / "h") as c:
        url = f"{server.base_url}/files/1.png"
        answers.more["/content"] = lambda: Said({"url": url})
        answers.more["/files/1.png"] = lambda: Said(PICTURE)
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)

        assert job.url == url
        assert job.download(tmp_path).read_bytes() == PICTURE
        assert c.history.frame().iloc[0].media_type == "image"


@pytest.mark.spec("4.18")
def test_a_job_without_any_output_is_looked_for_when_it_is_downloaded(
    tmp_path: Path,
) -> None:
    answers = Answers(job={"billing": SETTLED})
    with AnsweringServer(answers) as server, client_of(server, tmp_path / "h") as c:
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)
        answers.more["/content"] = lambda: Said({"message": "not yet"}, status=409)
        with pytest.raises(mk.ConflictError) as error:
            job.download(tmp_path)
        assert "wait()" not in str(error.value)

        url = f"{server.base_url}/files/1.mp4"
        answers.more["/content"] = lambda: Said({"url": url})
        answers.more["/files/1.mp4"] = lambda: Said(b"a clip")
        assert job.download(tmp_path).read_bytes() == b"a clip"


@pytest.mark.spec("4.18")
def test_an_output_that_was_erased_meanwhile_is_gone(tmp_path: Path) -> None:
    answers = Answers(job={"billing": SETTLED})
    answers.more["/content"] = lambda: Said({"message": "erased"}, status=410)
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)
        with pytest.raises(mk.GoneError):
            job.download(tmp_path)


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
def test_an_answer_that_is_too_large_is_not_taken_in(
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
        pytest.raises(mk.ServiceError, match=r"larger than 16 MiB|cannot be unpacked"),
    ):
        c.balance()


@pytest.mark.parametrize("transport", [None, httpx.AsyncHTTPTransport], ids=repr)
def test_an_answer_below_the_limit_is_read_packed_or_not(
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


def test_a_result_may_be_larger_than_an_answer(tmp_path: Path) -> None:
    with AnsweringServer() as server, client_of(server, tmp_path / "h") as c:
        url = f"{server.base_url}/files/1.mp4"
        output = {"media_type": "video", "video": {"url": url}}
        server.answers.job = {"output": output, "billing": SETTLED}
        server.answers.more["/files/1.mp4"] = lambda: Said(b"x" * 17 * MIB)
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)

        assert job.download(tmp_path).stat().st_size == 17 * MIB


def test_a_message_of_megabytes_is_shortened(tmp_path: Path) -> None:
    with (
        AnsweringServer(failing("m" * 5 * MIB)) as server,
        client_of(server, tmp_path) as c,
        pytest.raises(mk.JobFailedError) as error,
    ):
        c.run("text-to-video", **CLIP)

    assert len(str(error.value)) < 3_000
    assert "(5,242,880 characters)" in str(error.value)


def test_an_output_url_of_megabytes_is_not_one(tmp_path: Path) -> None:
    output = {"media_type": "video", "video": {"url": "http://m.test/" + "u" * MIB}}
    answers = Answers(job={"output": output, "billing": SETTLED})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)

        assert job.url is None


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
        {"error": "none"},
        {"usage": "much", "runtime_s": [], "error": 5},
    ],
    ids=str,
)
def test_a_charged_job_gives_its_result_and_charge_whatever_else_is_unreadable(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    answers = Answers(job={"output": VIDEO, "billing": SETTLED, **fields})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).settle(PATIENCE_S)

        assert job.charge_micro_usd == 340_000
        assert job.url == "http://media.test/kite.mp4"
        record = job.state.record
        assert record.unreadable == fields
        assert {getattr(record, name) for name in fields} == {None}
        assert "completed" in plain_text(job)
    with AnsweringServer(answers) as _, client_of(server, tmp_path) as c:
        assert len(c.history.frame()) == 1


def test_a_date_with_an_offset_is_read_in_utc(tmp_path: Path) -> None:
    fields = {"deleted_at": "2026-05-01T01:00:00+02:00"}
    answers = Answers(job={"billing": SETTLED, **fields})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).settle(PATIENCE_S)

        expected = datetime(2026, 4, 30, 23, tzinfo=UTC)
        assert job.state.record.deleted_at == expected


# -- text ------------------------------------------------------------------------------


def test_half_an_emoji_in_a_message_does_not_keep_the_error_from_being_shown(
    tmp_path: Path,
) -> None:
    with (
        AnsweringServer(failing("a party \ud83d")) as server,
        client_of(server, tmp_path) as c,
        pytest.raises(mk.JobFailedError) as error,
    ):
        c.run("text-to-video", **CLIP)

    assert "a party \ufffd" in str(error.value)
    str(error.value).encode()


def test_half_an_emoji_in_any_answer_is_replaced(tmp_path: Path) -> None:
    note = {"note\ud83d": "\udc00 and a \U0001fa81"}
    answers = Answers(job={"output": VIDEO, "billing": SETTLED, **note})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).settle(PATIENCE_S)
        record = job.state.record
        assert record.model_extra == {"note\ufffd": "\ufffd and a \U0001fa81"}

        answers.more["/billing/balance"] = lambda: Said(
            {"message": "\ud83d"}, status=400
        )
        with pytest.raises(mk.InputError, match="\ufffd"):
            c.balance()


HOSTILE = "a\x1b]52;c;aGk=\x07b\r\n2026-01-01 ERROR forged\x9b31m \u202etxt"


def test_control_characters_of_the_service_reach_no_error(tmp_path: Path) -> None:
    answers = failing(HOSTILE)
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        with pytest.raises(mk.JobFailedError) as failed:
            c.run("text-to-video", **CLIP)
        answers.more["/billing/balance"] = lambda: Said(
            {"message": HOSTILE}, status=400
        )
        with pytest.raises(mk.InputError) as refused:
            c.balance()
        job = c.job(c.history.frame().iloc[0].job_id)

        for text in (str(refused.value), str(failed.value)):
            assert "2026-01-01 ERROR forged" in text
            assert text.isprintable()
        plain = plain_text(job)
        assert not set(plain) & set("\x1b\x07\x9b\u202e")


def test_a_job_id_in_a_line_to_copy_is_a_text_of_python(tmp_path: Path) -> None:
    hostile = """media_"); import os; ("'"""
    answers = Answers(prefix=hostile, job={"billing": {"state": "pending"}})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)
        with pytest.raises(mk.WaitTimeoutError) as error:
            job.settle(0.05)
        plain = plain_text(job)

        for text in (str(error.value), plain):
            call = text[text.index("client.job(") :].partition("\n")[0]
            call = call.partition(" returns")[0]
            parsed = ast.parse(call, mode="eval").body
            assert isinstance(parsed, ast.Call)
            assert ast.literal_eval(parsed.args[0]) == job.id


# -- secrets ---------------------------------------------------------------------------


def test_the_repr_of_a_state_has_no_token_and_no_signature(tmp_path: Path) -> None:
    url = f"https://ann:{A_TOKEN}@media.test/1.mp4?X-Amz-Signature={A_TOKEN}"
    output = {"media_type": "video", "video": {"url": url}}
    answers = Answers(job={"output": output, "billing": SETTLED})
    hook = f"https://hooks.test/services/{A_TOKEN}"
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP, webhook_url=hook).settle(PATIENCE_S)

        assert job.url == url
        for shown in (job, job.state, job.core.state, job.state.record):
            assert A_TOKEN not in repr(shown)
        assert A_TOKEN not in str(job.state.record)


def test_a_key_in_the_place_of_the_url_is_not_shown() -> None:
    with pytest.raises(mk.InputError, match="base_url must be an http") as error:
        mk.Client("sk-s3cret", "https://api.example.com")

    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://ann:s3cret@host/a.mp4",
        "ftp://host/a.mp4?X-Amz-Signature=s3cret",
    ],
)
def test_a_refused_value_is_quoted_without_password_and_signature(
    url: str, tmp_path: Path
) -> None:
    with (
        AnsweringServer() as server,
        client_of(server, tmp_path) as c,
        pytest.raises(mk.InputError) as error,
    ):
        c.submit("video-upscale", video_url=url)

    assert "//host/a.mp4" in str(error.value)
    assert "s3cret" not in str(error.value)


# -- functions as attributes -----------------------------------------------------------


def test_a_function_whose_fields_are_no_names_of_python_is_an_attribute(
    tmp_path: Path,
) -> None:
    schema = {
        "type": "object",
        "required": ["prompt"],
        "properties": {
            "prompt": {"type": "string"},
            "guidance-scale": {"type": "integer", "maximum": 10},
            "class": {"type": "string"},
        },
    }
    catalog = Catalog((Function.from_schema("a/b/paint-it", schema),))
    with (
        AnsweringServer() as server,
        client_of(server, tmp_path, catalog=catalog) as c,
    ):
        paint = c.functions.paint_it
        job = paint.submit(prompt="a", **{"guidance-scale": 7, "class": "b"})

        assert job.state.body == {"prompt": "a", "guidance-scale": 7, "class": "b"}
        assert next(iter(signature(paint.submit).parameters)) == "prompt"


@pytest.mark.parametrize("name", ["function", "self"])
def test_any_field_name_is_a_problem_of_the_field_and_not_of_python(
    name: str, tmp_path: Path
) -> None:
    with AnsweringServer() as server, client_of(server, tmp_path) as c:
        fields: dict[str, Any] = {name: "x"}
        price = c.estimate("text-to-video", prompt="a", duration=5, **fields)
        assert price.high == 340_000
        with pytest.raises(mk.InputError, match=f"{name} is not a known field"):
            c.submit("text-to-video", prompt="a", **fields)


def test_a_client_without_functions_has_no_attribute_of_that_name(
    tmp_path: Path,
) -> None:
    with (
        AnsweringServer() as server,
        client_of(server, tmp_path, catalog=Catalog(())) as c,
    ):
        assert not hasattr(c.functions, "text_to_video")


# -- a redirect and a budget ----------------------------------------------------------


def test_braces_in_a_redirect_are_only_text(tmp_path: Path) -> None:
    answers = Answers()
    answers.more["/billing/balance"] = lambda: Said(
        b"", status=302, headers={"Location": "http://{a}.test/"}
    )
    with (
        AnsweringServer(answers) as server,
        client_of(server, tmp_path) as c,
        pytest.raises(mk.ServiceError, match=r"leads to http://\{a\}\.test"),
    ):
        c.balance()


def test_closing_calls_every_listener_and_unsubscribing_twice_is_no_error(
    tmp_path: Path,
) -> None:
    called = []

    def broken() -> None:
        raise RuntimeError("of this listener")

    with AnsweringServer() as server, client_of(server, tmp_path) as c:
        c.on_close(broken)
        c.on_close(lambda: called.append("second"))
        third = c.on_close(lambda: called.append("third"))
        for unsubscribe in (third, c.on_settled(lambda _: None)):
            unsubscribe()
            unsubscribe()

    assert called == ["second"]


def test_the_own_budget_of_a_client_is_called_that(tmp_path: Path) -> None:
    with (
        AnsweringServer() as server,
        client_of(server, tmp_path, budget="$0.10") as c,
        pytest.raises(mk.BudgetError, match="this client's budget of"),
    ):
        c.submit("text-to-video", **CLIP)


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
def test_one_damaged_sidecar_does_not_end_the_rebuilding_of_the_others(
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
                job.settle(PATIENCE_S).download(folder)
        sidecar = sorted(folder.glob("*.json"))[0]
        sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | damage))
        with client_of(server, tmp_path / "second") as c:
            frame = c.history.rebuild(folders=folder, deliveries=False)

            assert len(frame) == 2
            assert "added" in list(frame.outcome)
            assert len(c.history.frame()) >= 1


def test_a_delivery_without_an_id_is_not_asked_for(tmp_path: Path) -> None:
    row = {"source_id": "media_000001", "event_type": "media.job.completed"}
    with AnsweringServer() as server:
        with client_of(server, tmp_path / "first") as c:
            c.submit("text-to-video", **CLIP).settle(PATIENCE_S)
        server.answers.more["/webhooks/deliveries"] = lambda: Said({"data": [row]})
        with client_of(server, tmp_path / "second") as c:
            assert list(c.history.rebuild().outcome) == ["added"]

        assert not any("/deliveries/" in each for each in server.seen)
