"""What silence means, on real sockets: what was sent, and how often."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from mediakit.client.answers import (
    Answer,
    NoAnswerError,
    error_of,
    refused_input,
)
from mediakit.client.http import MAX_CONNECTIONS, HttpClient, ServiceClient
from mediakit.client.loop import io_thread
from mediakit.client.service import Service
from mediakit.clock import SystemClock
from mediakit.errors import RateLimitError, ServiceError
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

KEY = "the-key-nobody-may-see"
SHORT_S = 0.3
PATIENCE_S = 30.0


class PatientClock:
    """A clock whose sleeps take no time; it tells how long they were."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.monotonic_s())

    def monotonic_s(self) -> float:
        return sum(self.slept_s)

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)


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


def trickle(visit: Visit, every_s: float = SHORT_S / 5) -> None:
    """Answer a byte at a time, until the other end has enough."""
    visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        visit.say(b" ")
        threading.Event().wait(every_s)


# -- nothing was sent -------------------------------------------------------------


def test_a_refused_connection_sent_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = silence(f"http://127.0.0.1:{port}")

    assert (error.sent, error.reason) == (False, "no connection")


def test_a_host_that_does_not_exist_was_sent_nothing() -> None:
    error = silence("http://nobody.invalid")

    assert (error.sent, error.reason) == (False, "no such host")


def test_a_connection_that_is_not_taken_in_time_sent_nothing() -> None:
    # With its queue full, Linux leaves a listening socket's callers waiting.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        error = silence(f"http://127.0.0.1:{address[1]}", timeout_s=SHORT_S)
        for each in waiting:
            each.close()

    assert (error.sent, error.reason) == (False, "no connection in time")


@contextmanager
def https_of_nobody() -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with ScriptedServer(hangs_up, tls=context) as server:
        yield server


def test_a_certificate_that_is_not_trusted_was_sent_nothing() -> None:
    with https_of_nobody() as server:
        error = silence(server.base_url)

    assert (error.sent, error.reason) == (False, "its certificate is not trusted")
    assert server.requests == []


def test_a_server_without_tls_was_sent_nothing_by_https() -> None:
    with ScriptedServer(lambda visit: visit.say(b"who is there?\r\n")) as server:
        error = silence(server.base_url.replace("http:", "https:"))

    assert (error.sent, error.reason) == (False, "no TLS connection")


@pytest.mark.parametrize(
    "base_url", ["ftp://127.0.0.1", "http://127.0.0.1:99999", "http://"]
)
def test_what_is_no_address_was_sent_nothing(base_url: str) -> None:
    error = silence(base_url)

    assert (error.sent, error.reason) == (False, "its address is not an http(s) URL")
    assert error.is_final


def test_a_request_that_waits_too_long_for_a_connection_was_not_sent() -> None:
    arrived = threading.Semaphore(0)

    def trickles(visit: Visit) -> None:
        visit.request()
        arrived.release()
        trickle(visit, every_s=SHORT_S)

    def await_all() -> None:
        for _ in range(MAX_CONNECTIONS):
            assert arrived.acquire(timeout=PATIENCE_S)

    async def crowd(base_url: str) -> NoAnswerError:
        transport = ServiceClient(
            Service(base_url, KEY), clock=SystemClock(), timeout_s=10 * SHORT_S
        )
        before = [
            asyncio.create_task(outcome(transport, "POST"))
            for _ in range(MAX_CONNECTIONS)
        ]
        await asyncio.to_thread(await_all)
        found = await outcome(transport, "POST")
        assert not any(task.done() for task in before)
        for task in before:
            task.cancel()
        await asyncio.gather(*before, return_exceptions=True)
        await transport.aclose()
        assert isinstance(found, NoAnswerError)
        return found

    with ScriptedServer(trickles) as server:
        error = io_thread().call(crowd, server.base_url)

    assert (error.sent, error.reason) == (False, "no connection in time")
    assert len(server.requests) == MAX_CONNECTIONS


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


def test_an_answer_that_trickles_for_ever_is_none() -> None:
    def trickles(visit: Visit) -> None:
        visit.request()
        trickle(visit)

    async def send(base_url: str) -> None:
        http = HttpClient(timeout_s=SHORT_S, total_timeout_s=2 * SHORT_S)
        try:
            await http.send("POST", base_url, headers={}, content=b"{}")
        finally:
            await http.aclose()

    with (
        ScriptedServer(trickles) as server,
        pytest.raises(NoAnswerError, match="no answer in time") as caught,
    ):
        io_thread().call(send, server.base_url)

    assert caught.value.sent
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


def test_no_cookie_is_sent_back() -> None:
    with ScriptedServer(
        answers_always(page(b"{}", "Set-Cookie: a=b; Path=/"))
    ) as server:
        asked(server.base_url, "GET", "POST")

    assert len(server.requests) == 2
    assert not any(b"cookie" in each.lower() for each in server.requests)


# -- proxies -----------------------------------------------------------------------


@pytest.fixture
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)


@pytest.mark.usefixtures("_no_proxies")
def test_a_proxy_of_the_environment_is_asked_with_its_own_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer(answers(page())) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://ann:pw@127.0.0.1:{proxy.port}")
        (answer,) = asked("http://service.invalid", "POST")

    assert isinstance(answer, Answer)
    (request,) = proxy.requests
    assert request.startswith(b"POST http://service.invalid/v1/media/x HTTP/1.1\r\n")
    assert b"proxy-authorization: basic yw5uonb3\r\n" in request.lower()


@pytest.mark.usefixtures("_no_proxies")
def test_a_proxy_that_opens_no_tunnel_sent_nothing_and_saw_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer(answers(page(b"", status="407 Who are you"))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:pw@127.0.0.1:{proxy.port}")
        error = silence("https://service.invalid")

    assert (error.sent, error.reason) == (False, "the proxy refused")
    (request,) = proxy.requests
    assert request.startswith(b"CONNECT service.invalid:443 HTTP/1.1\r\n")
    assert b"proxy-authorization: basic yw5uonb3\r\n" in request.lower()
    assert KEY.encode() not in request


# -- retries -----------------------------------------------------------------------


def read(base_url: str, clock: PatientClock) -> Answer:
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
    clock = PatientClock()
    with ScriptedServer(answers(busy("2"), busy("100"), json_page({}))) as server:
        answer = read(server.base_url, clock)

    assert answer.status == 200
    assert 2 <= clock.slept_s[0] < 10
    assert clock.slept_s[1] == 100


def test_a_read_that_would_wait_for_more_than_two_minutes_says_until_when() -> None:
    clock = PatientClock()
    with ScriptedServer(answers(busy("60"), busy("61"))) as server:
        answer = read(server.base_url, clock)
    error = error_of(answer, "the balance", clock)

    assert clock.slept_s == [60]
    assert isinstance(error, RateLimitError)
    assert error.retry_after_s == 61
    assert error.retry_at == clock.now() + timedelta(seconds=61)


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_a_read_that_is_rejected_for_good_ends_with_that_answer(
    status: int,
) -> None:
    clock = PatientClock()
    with ScriptedServer(answers_always(page(status=f"{status} No"))) as server:
        assert read(server.base_url, clock).status == status

    assert 10 <= clock.monotonic_s() < 20
    assert len(server.requests) == len(clock.slept_s) + 1


def test_a_read_that_is_answered_is_not_repeated() -> None:
    for status in (400, 401, 403, 404, 409, 410, 422, 500):
        with ScriptedServer(answers_always(page(status=f"{status} No"))) as server:
            assert read(server.base_url, PatientClock()).status == status
        assert len(server.requests) == 1


def test_a_read_is_repeated_while_no_answer_comes() -> None:
    clock = PatientClock()
    with ScriptedServer(
        hangs_up, breaks_off, answers(CUT_OFF), answers(json_page({"a": 1}))
    ) as server:
        assert read(server.base_url, clock).json() == {"a": 1}

    assert len(server.requests) == 4
    assert clock.slept_s


def test_a_service_that_never_answers_a_read_is_one_sentence() -> None:
    with (
        ScriptedServer(hangs_up) as server,
        pytest.raises(ServiceError, match="does not answer") as caught,
    ):
        read(server.base_url, PatientClock())

    assert server.base_url in str(caught.value)


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


def test_an_exchange_is_one_line_in_the_log_and_nobody_elses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(answers(page())) as server:
        asked(server.base_url, "POST")
    lines = [each.getMessage() for each in caplog.records if each.name != "asyncio"]

    assert lines == ["POST /v1/media/x -> 200"]


# -- forks and the end -------------------------------------------------------------


LIFE = """
import gc, os, sys, time
from mediakit.client.loop import ClosedError, io_thread
from mediakit.client.service import Service
from mediakit.client.http import ServiceClient
from mediakit.clock import SystemClock

transport = ServiceClient(Service(sys.argv[1], "k"), clock=SystemClock())

async def exchange():
    return (await transport.exchange("GET", "/")).status

def ask():
    return io_thread().call(exchange)

def lose():
    global transport
    transport = None
    gc.collect()
    time.sleep(0.2)
"""

USUAL_ENDINGS = ("left open",)
ENDINGS = {
    "closed": "assert ask() == 200; io_thread().call(transport.aclose)",
    "left open": "assert ask() == 200",
    "released": "assert ask() == 200; lose()",
    "released in a circle": "assert ask() == 200; transport.own = transport; lose()",
    "forked while it was open": """
assert ask() == 200
child = os.fork()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert ask() == 200
""",
    "forked, and refused in the child": """
assert ask() == 200
child = os.fork()
if child == 0:
    try:
        ask()
    except ClosedError as error:
        os._exit("before the process forked" not in str(error))
    os._exit(3)
assert os.waitpid(child, 0)[1] == 0
assert ask() == 200
""",
    "forked, and the child ends as programs do": """
assert ask() == 200
child = os.fork()
if child:
    assert ask() == 200
    assert os.waitpid(child, 0)[1] == 0
""",
}


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(each, marks=[] if each in USUAL_ENDINGS else [pytest.mark.soak])
        for each in ENDINGS
    ],
)
def test_whichever_way_it_ends_nobody_complains(ending: str) -> None:
    command = [sys.executable, "-W", "default::ResourceWarning:aiohttp", "-c"]
    with ScriptedServer(answers_always(page())) as server:
        done = subprocess.run(
            [*command, LIFE + ENDINGS[ending], server.base_url],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
        )

    assert (done.returncode, done.stderr) == (0, "")


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
