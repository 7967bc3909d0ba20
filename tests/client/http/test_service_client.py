"""What silence means, on real sockets: what was sent, and how often."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from mediakit.client.answers import (
    Answer,
    NoAnswerError,
    error_of,
    refused_input,
)
from mediakit.client.http import ServiceClient
from mediakit.client.loop import io_thread
from mediakit.client.service import Service
from mediakit.clock import SystemClock
from mediakit.errors import RateLimitError
from tests.support.advancing_clock import AdvancingClock
from tests.support.servers.scripted_server import (
    Script,
    ScriptedServer,
    Visit,
    answers,
    answers_always,
    breaks_off,
    hangs_up,
    is_silent,
    json_page,
    page,
)
from tests.support.servers.serving import free_port

KEY = "the-key-nobody-may-see"
SHORT_S = 0.3
PATIENCE_S = 30.0


def asked(
    base_url: str, *methods: str, timeout_s: float = PATIENCE_S
) -> list[Answer | NoAnswerError]:
    """Send one request after another, on connections that are kept."""

    async def send() -> list[Answer | NoAnswerError]:
        transport = ServiceClient(
            Service(base_url, KEY), clock=SystemClock(), timeout_s=timeout_s
        )
        try:
            return [await outcome(transport, method) for method in methods]
        finally:
            await transport.aclose()

    return io_thread().call(send)


async def outcome(transport: ServiceClient, method: str) -> Answer | NoAnswerError:
    content = b'{"prompt":"a kite"}' if method == "POST" else None
    try:
        return await transport.exchange(method, "/v1/media/x", content=content)
    except NoAnswerError as error:
        return error


def silence(base_url: str, *, timeout_s: float = PATIENCE_S) -> NoAnswerError:
    """Return what a POST ends with that gets no answer."""
    (error,) = asked(base_url, "POST", timeout_s=timeout_s)
    assert isinstance(error, NoAnswerError)
    return error


def texts(error: BaseException | None) -> Iterator[str]:
    """Yield all that people or logs may see of an error and what led to it."""
    while error is not None:
        yield f"{error} {error!r} {vars(error)}"
        error = error.__cause__ or error.__context__


# -- nothing was sent -------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "reason"),
    [
        ("http://127.0.0.1:{closed}", "no connection"),
        ("http://127.0.0.1:{full}", "no connection in time"),
        ("https://127.0.0.1:{plain}", "no TLS connection"),
        ("http://nobody.invalid", "no such host"),
        ("ftp://127.0.0.1", "its address is not an http(s) URL"),
        ("http://127.0.0.1:99999", "its address is not an http(s) URL"),
    ],
)
def test_a_service_that_cannot_be_reached_was_sent_nothing(
    base_url: str, reason: str
) -> None:
    with (
        ScriptedServer(lambda visit: visit.say(b"who is there?\r\n")) as plain,
        socket.create_server(("127.0.0.1", 0), backlog=0) as full,
        ExitStack() as waiting,
    ):
        port = full.getsockname()[1]
        # With its queue full, Linux leaves a listening socket's callers waiting.
        for _ in range(4):
            each = waiting.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        url = base_url.format(closed=free_port(), full=port, plain=plain.port)
        error = silence(url, timeout_s=SHORT_S if "{full}" in base_url else PATIENCE_S)

    assert (error.sent, error.reason) == (False, reason)


# -- it may have arrived, and was sent once ----------------------------------------

CUT_OFF = page(b'{"id": "med', says_bytes=500)
CHUNK_CUT_OFF = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (is_silent, "no answer in time"),
        (hangs_up, "it closed the connection"),
        (breaks_off, "the connection broke"),
        (answers(CUT_OFF), "its answer was cut off"),
        (answers(CHUNK_CUT_OFF), "its answer was cut off"),
        (answers(b"HTTP/1.1 200 OK\r\nConte"), "it closed the connection"),
        (answers(b"SSH-2.0-OpenSSH_9.6\r\n"), "its answer is not HTTP"),
    ],
)
def test_a_post_without_a_whole_answer_may_have_arrived_and_was_sent_once(
    script: Script, reason: str
) -> None:
    timeout_s = SHORT_S if script is is_silent else PATIENCE_S
    with ScriptedServer(script) as server:
        error = silence(server.base_url, timeout_s=timeout_s)

    assert (error.sent, error.reason) == (True, reason)
    assert len(server.requests) == 1


@pytest.mark.parametrize("script", [hangs_up, breaks_off])
def test_a_post_on_a_kept_connection_that_dies_is_not_sent_again(
    script: Script,
) -> None:
    def once_then(visit: Visit) -> None:
        visit.request()
        visit.say(page())
        script(visit)

    with ScriptedServer(once_then) as server:
        first, second = asked(server.base_url, "POST", "POST")

    assert isinstance(first, Answer)
    assert isinstance(second, NoAnswerError)
    assert second.sent
    assert (server.visits, len(server.requests)) == (1, 2)


def test_a_get_on_a_kept_connection_that_dies_is_sent_again_once() -> None:
    def once_then_hang_up(visit: Visit) -> None:
        visit.request()
        visit.say(page())
        visit.request()

    with ScriptedServer(once_then_hang_up, hangs_up) as server:
        first, second = asked(server.base_url, "GET", "GET")

    assert isinstance(first, Answer)
    assert isinstance(second, NoAnswerError)
    assert len(server.requests) == 3


def test_a_post_after_the_server_closed_a_kept_connection_goes_by_another() -> None:
    with ScriptedServer(answers(page(b"", "Connection: close"))) as server:
        first, second = asked(server.base_url, "POST", "POST")

    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert (server.visits, len(server.requests)) == (2, 2)


# -- what an answer may not do -----------------------------------------------------


def test_a_redirect_is_an_answer_and_takes_the_key_nowhere() -> None:
    with (
        ScriptedServer(answers(page())) as elsewhere,
        ScriptedServer(
            answers(page(b"", f"Location: {elsewhere.base_url}/", status="307 Go"))
        ) as server,
    ):
        (answer,) = asked(server.base_url, "GET")

    assert isinstance(answer, Answer)
    assert answer.status == 307
    assert elsewhere.visits == 0


# -- retries -----------------------------------------------------------------------


def read(base_url: str, clock: AdvancingClock) -> Answer:
    async def once() -> Answer:
        transport = ServiceClient(Service(base_url, KEY), clock=clock)
        try:
            return await transport.read("/billing")
        finally:
            await transport.aclose()

    return io_thread().call(once)


def busy(after_s: str) -> bytes:
    return page(b"{}", f"Retry-After: {after_s}", status="429 Too Many")


def test_a_read_waits_for_as_long_as_the_service_asks() -> None:
    clock = AdvancingClock()
    with ScriptedServer(answers(busy("2"), busy("100"), json_page({}))) as server:
        answer = read(server.base_url, clock)

    assert answer.status == 200
    assert 2 <= clock.slept_s[0] < 10
    assert clock.slept_s[1] == 100


def test_a_read_that_would_wait_for_more_than_two_minutes_says_until_when() -> None:
    clock = AdvancingClock()
    with ScriptedServer(answers(busy("60"), busy("61"))) as server:
        answer = read(server.base_url, clock)
    error = error_of(answer, "the balance", clock)

    assert clock.slept_s == [60]
    assert isinstance(error, RateLimitError)
    assert error.retry_after_s == 61
    assert error.retry_at is not None
    assert abs(error.retry_at - clock.now() - timedelta(seconds=61)).seconds < 5


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_read_that_is_rejected_for_good_ends_with_that_answer(
    status: int,
) -> None:
    clock = AdvancingClock()
    with ScriptedServer(answers_always(page(status=f"{status} No"))) as server:
        assert read(server.base_url, clock).status == status

    assert 5 <= sum(clock.slept_s) < 20
    assert len(server.requests) == len(clock.slept_s) + 1


def test_a_read_is_repeated_while_no_answer_comes() -> None:
    clock = AdvancingClock()
    with ScriptedServer(
        hangs_up, breaks_off, answers(CUT_OFF), answers(json_page({"a": 1}))
    ) as server:
        assert read(server.base_url, clock).json() == {"a": 1}

    assert len(server.requests) == 4
    assert clock.slept_s


# -- the key -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "script", [is_silent, hangs_up, breaks_off, answers(CUT_OFF), answers(b"SSH\r\n")]
)
def test_the_key_is_in_no_error_and_in_no_log(
    script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def send(base_url: str) -> None:
        loop = asyncio.get_running_loop()
        usual_s, loop.slow_callback_duration = loop.slow_callback_duration, 0.0
        loop.set_debug(True)
        transport = ServiceClient(
            Service(base_url, KEY), clock=SystemClock(), timeout_s=SHORT_S
        )
        try:
            await transport.exchange("POST", "/x", content=b"{}")
        finally:
            await transport.aclose()
            loop.set_debug(False)
            loop.slow_callback_duration = usual_s

    with ScriptedServer(script) as server, pytest.raises(NoAnswerError) as caught:
        io_thread().call(send, server.base_url)

    assert any(KEY.encode() in each for each in server.requests)
    assert KEY not in "".join(texts(caught.value))
    assert "Executing" in caplog.text
    assert KEY not in caplog.text


# -- forks and the end -------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("duration: too long", "duration"),
        ("images[0]: no picture", "images[0]"),
        ("tracks[0].keyframes[1].url: no address", "tracks[0].keyframes[1].url"),
        ("tracks.0.id: too long", "tracks.0.id"),
        ("Not valid: too long", "the request"),
        ("tracks..id: too long", "the request"),
        ("too long", "the request"),
        ("", "the request"),
    ],
)
def test_a_refusal_is_of_the_field_that_its_message_names(
    message: str, field: str
) -> None:
    content = json.dumps({"message": message}).encode()

    assert refused_input(Answer(422, {}, content), "the request").field == field
