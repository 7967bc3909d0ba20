"""The receiver behind a real server: its responses and its calls of handlers."""

from __future__ import annotations

import asyncio
import logging
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Condition
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route

import mediakit as mk
from mediakit.clock import SystemClock
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.webhooks import Event, Receiver, receiver, receiving
from tests.sandbox.conftest import Api
from tests.support.servers.asgi_server import serve
from tests.webhooks.messages import (
    OTHER_SECRET,
    SECRET,
    Message,
    body_of,
    job_record,
    message,
    post,
)

UNSIGNED = {"content-type": "application/json"}


class Desk:
    """Takes events, and tells a test once they are there."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._came = Condition()

    def __call__(self, event: Event) -> None:
        with self._came:
            self.events.append(event)
            self._came.notify_all()

    def until(self, n: int) -> list[Event]:
        with self._came:
            self._came.wait_for(lambda: len(self.events) >= n)
            return list(self.events)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def hook(desk: Desk, tmp_path: Path) -> Iterator[Receiver]:
    hook = receiver(SECRET, desk, inbox=tmp_path / "inbox.db")
    yield hook
    hook.inbox.close()


@pytest.fixture
def url(hook: Receiver) -> Iterator[str]:
    with serve(hook) as url:
        yield url


def raw(url: str, content: bytes) -> bytes:
    """Send bytes only; return everything received until the connection closes."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0)) as line:
        line.sendall(content)
        answer = b""
        while more := line.recv(65_536):
            answer += more
    return answer


def head(headers: dict[str, str], *more: str) -> bytes:
    lines = [f"{name}: {value}" for name, value in headers.items()]
    start = ["POST /hook HTTP/1.1", "host: hook.test", *lines, *more]
    return "\r\n".join([*start, "", ""]).encode("latin-1")


# -- What is taken --------------------------------------------------------------


def test_an_event_is_answered_204_and_handed_over(url: str, desk: Desk) -> None:
    sent = message()
    answer = post(url, sent)
    (event,) = desk.until(1)

    assert (answer.status_code, answer.content) == (204, b"")
    assert event.id == sent.id
    assert event.job is not None
    assert event.job.id == job_record()["id"]


def test_an_event_that_comes_again_is_answered_204_and_handed_over_once(
    url: str, desk: Desk
) -> None:
    # Signed anew at each attempt, in any order: only the id is the same.
    first, second = message(), message()
    again = message(event_id=first.id, secrets=[OTHER_SECRET, SECRET])
    answers = [post(url, one) for one in (first, again, second, first)]
    events = desk.until(2)
    post(url, last := message())

    assert [answer.status_code for answer in answers] == [204] * 4
    assert {event.id for event in events} == {first.id, second.id}
    assert [event.id for event in desk.until(3)[2:]] == [last.id]


def test_an_event_is_answered_before_its_handler_runs_and_slow_ones_delay_no_other(
    tmp_path: Path,
) -> None:
    begun, desk, let_go = Desk(), Desk(), asyncio.Event()
    loops = []

    async def slow(event: Event) -> None:
        loops.append(asyncio.get_running_loop())
        begun(event)
        await let_go.wait()
        desk(event)

    hook = receiver([SECRET], slow, inbox=tmp_path / "inbox.db")
    with serve(hook) as url:
        answers = [post(url, message()) for _ in range(9)]
        assert desk.events == []
        begun.until(4)
        loops[0].call_soon_threadsafe(let_go.set)
        desk.until(9)
    hook.inbox.close()

    assert {answer.status_code for answer in answers} == {204}


@pytest.mark.parametrize("kind", ["route", "mount"])
def test_it_is_a_route_of_any_application_which_need_not_start_it(
    hook: Receiver, desk: Desk, kind: str
) -> None:
    route = Route("/hook", hook) if kind == "route" else Mount("/hook", hook)
    with serve(Starlette(routes=[route])) as url:
        path = "/hook" if kind == "route" else "/hook/any/where"
        assert post(url + path, sent := message()).status_code == 204
        assert desk.until(1)[0].id == sent.id


class OtherDesk(Desk):
    """Another handler."""


@pytest.mark.parametrize(
    ("secret", "desk"), [(OTHER_SECRET, Desk), (SECRET, OtherDesk)]
)
def test_two_programs_with_the_defaults_take_no_events_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str, desk: type[Desk]
) -> None:
    monkeypatch.setenv("MEDIAKIT_HOME", str(tmp_path))
    first, second = receiver(SECRET, Desk()), receiver(secret, desk())
    sent = message()
    first.inbox.add(sent.id, sent.body, SystemClock().now())

    assert first.inbox.place == second.inbox.place == str(tmp_path / "webhooks.db")
    assert first.inbox.count("waiting") == 1
    assert second.inbox.count("waiting") == 0
    first.inbox.close()
    second.inbox.close()


def test_a_restart_finds_its_events_through_a_rotation_of_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDIAKIT_HOME", str(tmp_path))
    sent = message()
    lives = [SECRET, SECRET, [OTHER_SECRET, SECRET], OTHER_SECRET]
    for secret in lives[:-1]:
        hook = receiver(secret, Desk())
        hook.inbox.add(sent.id, sent.body, SystemClock().now())
        assert hook.inbox.count("waiting") == 1
        hook.inbox.close()

    desk = Desk()
    hook = receiver(lives[-1], desk)
    with serve(hook):
        (event,) = desk.until(1)
    hook.inbox.close()

    assert event.id == sent.id


# -- What is refused ------------------------------------------------------------


def altered(name: str, value: str) -> Message:
    sent = message()
    return Message(sent.headers | {name: value}, sent.body)


@pytest.mark.spec("6.4")
@pytest.mark.parametrize(
    ("make", "status"),
    [
        (lambda: Message({}, b"{}"), 400),
        (lambda: altered("webhook-signature", "v1,"), 401),
        (lambda: Message(message().headers, b"{}"), 401),
        (lambda: message(secrets=[OTHER_SECRET]), 401),
        (lambda: altered("webhook-timestamp", "1614265330"), 401),
        (lambda: altered("webhook-timestamp", "soon"), 401),
        (lambda: message(b"[]"), 400),
        (lambda: message(body_of(data=job_record(status=5))), 400),
    ],
)
def test_an_invalid_delivery_is_rejected_and_reaches_no_handler(
    url: str,
    desk: Desk,
    hook: Receiver,
    caplog: pytest.LogCaptureFixture,
    make: Callable[[], Message],
    status: int,
) -> None:
    sent = make()  # now: a signature is good for some minutes
    with caplog.at_level(logging.WARNING):
        answer = post(url, sent)

    assert answer.status_code == status
    assert answer.json()["message"].endswith(".")
    assert answer.json()["message"] in caplog.text
    assert SECRET[6:30] not in caplog.text + answer.text
    assert hook.inbox.count("waiting") == hook.inbox.count("handled") == 0
    assert desk.events == []


def test_without_its_headers_a_body_is_not_read(url: str) -> None:
    # None of it is ever sent, and the receiver answers all the same.
    long = head(UNSIGNED, "content-length: 1000000")
    repeated = head(message().headers, "webhook-id: msg_2", "content-length: 9")
    beyond = head({**message().headers, "webhook-id": "é"}, "content-length: 9")
    waiting = head(UNSIGNED, "expect: 100-continue", "content-length: 9")

    for start in (long, repeated, beyond, waiting):
        answer = raw(url, start)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in answer


def test_a_body_that_is_too_large_is_refused_early(url: str, desk: Desk) -> None:
    headers = message().headers
    said = [head(headers, f"content-length: {n}") for n in (2**20 + 1, 10**17)]
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    unsaid = head(headers, "transfer-encoding: chunked") + chunk * 17

    for content in (*said, unsaid):
        assert raw(url, content).startswith(b"HTTP/1.1 413 ")
    assert post(url, message()).status_code == 204
    desk.until(1)


def test_a_body_that_does_not_come_is_not_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "BODY_TIMEOUT_S", 0.3)
    start = head(message().headers, "content-length: 100")

    with serve(receiver(SECRET, desk, inbox=":memory:")) as url:
        assert raw(url, start + b"{").startswith(b"HTTP/1.1 408 ")


def test_another_method_is_refused(url: str) -> None:
    answer = httpx.get(url, trust_env=False, verify=False, timeout=120)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_secret_that_cannot_be_read_stops_it_before_it_serves(tmp_path: Path) -> None:
    secrets: list[Any] = ["", "whsec_", SECRET.encode(), [], None, lambda: "whsec_"]
    for secret in secrets:
        with pytest.raises(mk.SignatureError) as caught:
            receiver(secret, print, inbox=tmp_path / "inbox.db")
        assert caught.value.reason == "secret"


def test_a_secret_that_becomes_unreadable_later_is_a_separate_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secrets = [SECRET]
    with serve(receiver(lambda: secrets, print, inbox=":memory:")) as url:
        secrets[:] = ["whsec_oops"]
        answer = post(url, message())

    assert answer.status_code == 500
    assert "its own secret" in answer.text
    assert "oops" not in answer.text + caplog.text


def test_an_event_that_cannot_be_recorded_is_rejected_and_may_be_resent(
    url: str, hook: Receiver, desk: Desk
) -> None:
    with closing(sqlite3.connect(hook.inbox.place)) as file:
        file.execute(
            "CREATE TRIGGER full BEFORE INSERT ON mediakit_inbox"
            " BEGIN SELECT RAISE (ABORT, 'the disk is full'); END"
        )
        refused = post(url, sent := message())
        file.execute("DROP TRIGGER full")
    taken = post(url, sent)

    assert (refused.status_code, taken.status_code) == (500, 204)
    assert [event.id for event in desk.until(1)] == [sent.id]


# -- The real sender ------------------------------------------------------------


@pytest.fixture
def api(sandbox: RunningSandbox) -> Iterator[Api]:
    api = Api(sandbox)
    yield api
    api.http.close()


@pytest.mark.spec("6.2")
def test_an_event_before_the_response_to_the_submit_belongs_to_the_same_job(
    api: Api, desk: Desk, tmp_path: Path
) -> None:
    secret = api.http.get("/v1/webhooks/secret").json()["secret"]
    body = {"prompt": "an early kite", "duration": 3}
    key = {"Idempotency-Key": "early-kite"}
    with serve(receiver(secret, desk, inbox=tmp_path / "inbox.db")) as url:
        body["webhook_url"] = url
        api.running.fault("slow", bytes_per_s=0.01, count=1, where={"method": "POST"})
        path = api.path("text-to-video")
        with api.http.stream("POST", path, json=body, headers=key):
            (event,) = desk.until(1)  # the answer has hardly begun
        late = api.post("text-to-video", body, "early-kite").json()

    assert event.job is not None
    assert event.job.id == late["id"]
    assert event.job.model_extra == {}
    assert event.job.status == "completed"


@pytest.mark.spec("6.6")
def test_the_sandboxs_deliveries_are_taken_through_a_rotation_and_a_replay(
    api: Api, desk: Desk, tmp_path: Path
) -> None:
    secret = api.http.get("/v1/webhooks/secret").json()["secret"]
    failing = {"prompt": "sandbox:fail=rate_limited"}
    with serve(receiver(secret, desk, inbox=tmp_path / "inbox.db")) as url:
        api.post("text-to-video", failing | {"webhook_url": url})
        (first,) = desk.until(1)
        api.http.post("/v1/webhooks/secret/rotate", json={})
        api.post("text-to-video", failing | {"webhook_url": url})
        second = desk.until(2)[1]
        listed = api.http.get("/v1/webhooks/deliveries", params={"limit": 2}).json()
        for delivery in listed["data"]:
            done = api.http.post(f"/v1/webhooks/deliveries/{delivery['id']}/replay")
            assert done.is_success, done.text
        api.post("text-to-video", failing | {"webhook_url": url})
        third = desk.until(3)[2]

    assert len({first.id, second.id, third.id}) == 3
    for event in (first, second, third):
        assert event.type == "media.job.failed"
        assert event.job is not None
        assert event.job.error is not None
        assert event.job.error.code == "rate_limited"
