"""What becomes of a delivery: nine attempts, every reason, 410 (spec 6.5)."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import pytest

from mediakit.clock import SystemClock
from mediakit.sandbox.delivery.events import TEST, announce
from mediakit.sandbox.delivery.sender import Sender
from mediakit.sandbox.store.events import deliveries, endpoints, signing_secrets
from mediakit.sandbox.store.events.endpoints import EndpointRow
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG
from mediakit.sandbox.timing.clock import US_PER_S
from tests.support.sandbox.lone_sender import OWN_PORT, LoneSender, lone_sender, run
from tests.support.sandbox.receivers import (
    PATIENCE_S,
    Answer,
    Received,
    Receiver,
    authority,
    in_turn,
    receiving,
    tls_context,
)

# By hand from spec 6.5, in seconds.
GAPS_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 86_400]
REFUSES = Answer(500)
TAKES = Answer(204)


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[LoneSender]:
    with lone_sender(tmp_path) as lone:
        yield lone


def add_endpoint(lone: LoneSender, url: str, name: str = "endpoint_1") -> str:
    endpoint = EndpointRow(name, DEFAULT_ORG, url, None, "enabled", 0)
    assert endpoints.add(lone.db, endpoint)
    return endpoint.id


def state_of(lone: LoneSender, endpoint_id: str) -> str:
    endpoint = endpoints.find(lone.db, endpoint_id)
    assert endpoint is not None
    return endpoint.state


@pytest.mark.spec("6.5")
def test_nine_attempts_are_made_in_about_55_hours_and_then_it_has_failed(
    lone: LoneSender,
) -> None:
    with receiving(lambda received: REFUSES) as receiver:
        delivery_id = lone.add(receiver.url)
        run(lone.to_the_end())
        received = receiver.until(9)

    attempts = lone.attempts(delivery_id)
    assert lone.delivery(delivery_id).status == "failed"
    assert [attempt.n for attempt in attempts] == list(range(1, 10))
    assert {attempt.reason for attempt in attempts} == {"http_5xx: 500"}
    times_us = [attempt.at_us for attempt in attempts]
    gaps_s = [(b - a) / US_PER_S for a, b in pairwise(times_us)]
    for gap_s, nominal_s in zip(gaps_s, GAPS_S, strict=True):
        assert 0.9 * nominal_s <= gap_s <= 1.1 * nominal_s
    assert gaps_s != GAPS_S
    assert 50 <= sum(gaps_s) / 3_600 <= 61
    # One event, sent and signed each time, at a time that receivers believe.
    secret = signing_secrets.current(lone.db, DEFAULT_ORG, 0)
    assert len({one.event_id for one in received}) == 1
    assert len({one.body for one in received}) == 1
    assert [one.verified(secret) for one in received] == [received[0].event] * 9


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_2xx_is_delivered(lone: LoneSender, status: int) -> None:
    with receiving(lambda received: Answer(status)) as receiver:
        delivery_id = lone.add(receiver.url)
        run(lone.to_the_end())

    (attempt,) = lone.attempts(delivery_id)
    assert lone.delivery(delivery_id).status == "delivered"
    assert (attempt.status_code, attempt.reason) == (status, None)


def test_it_is_delivered_when_a_later_attempt_succeeds(lone: LoneSender) -> None:
    with receiving(in_turn(REFUSES, Answer(404), TAKES)) as receiver:
        delivery_id = lone.add(receiver.url)
        run(lone.to_the_end())

    delivery = lone.delivery(delivery_id)
    assert delivery.status == "delivered"
    assert lone.reasons(delivery_id) == ["http_5xx: 500", "http_4xx: 404", None]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (301, "http_3xx: 301"),
        (302, "http_3xx: 302"),
        (307, "http_3xx: 307"),
        (400, "http_4xx: 400"),
        (410, "http_4xx: 410"),
        (429, "http_4xx: 429"),
        (503, "http_5xx: 503"),
    ],
)
def test_any_other_status_is_the_reason_and_no_redirect_is_followed(
    lone: LoneSender, status: int, reason: str
) -> None:
    with receiving() as elsewhere:
        answer = Answer(status, {"Location": elsewhere.url})
        with receiving(lambda received: answer) as receiver:
            delivery_id = lone.add(receiver.url)
            run(once(lone))
        assert elsewhere.received == []

    (attempt,) = lone.attempts(delivery_id)
    assert (attempt.status_code, attempt.reason) == (status, reason)
    assert lone.delivery(delivery_id).status == "pending"


async def once(lone: LoneSender) -> None:
    assert await lone.next() == 1


def test_a_receiver_that_does_not_answer_in_time_is_a_timeout(tmp_path: Path) -> None:
    released = Event()

    def wait(received: Received) -> Answer:
        released.wait(PATIENCE_S)
        return TAKES

    with (
        lone_sender(tmp_path, delivery_timeout_s=1.0) as lone,
        receiving(wait) as receiver,
    ):
        delivery_id = lone.add(receiver.url)
        run(once(lone))
        released.set()

        assert lone.reasons(delivery_id) == ["timeout"]
        assert lone.attempts(delivery_id)[0].duration_ms >= 1_000


@contextmanager
def one_connection(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Take one connection and its request, and go on as a test says."""
    listening = socket.create_server(("127.0.0.1", 0))

    def take() -> None:
        connection, _ = listening.accept()
        with connection, suppress(ConnectionError):
            connection.recv(65_536)
            serve(connection)

    thread = Thread(target=take, daemon=True)
    thread.start()
    with listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        thread.join(PATIENCE_S)


@pytest.mark.parametrize(
    "answer",
    [b"", b"what?\r\n\r\n", b"HTTP/1.1 20", b"HTTP/1.1 abc OK\r\n\r\n"],
    ids=["nothing", "garbage", "half", "no number"],
)
def test_a_connection_that_breaks_before_an_answer_is_connect(
    lone: LoneSender, answer: bytes
) -> None:
    with one_connection(lambda connection: connection.sendall(answer)) as url:
        delivery_id = lone.add(url)
        run(once(lone))

    assert lone.reasons(delivery_id) == ["connect"]


def test_a_port_where_nobody_listens_is_connect(lone: LoneSender) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    delivery_id = lone.add(f"http://127.0.0.1:{port}/")
    run(once(lone))

    assert lone.reasons(delivery_id) == ["connect"]


def test_a_name_that_leads_nowhere_is_connect(
    lone: LoneSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_to(monkeypatch, "gone.example", [])
    delivery_id = lone.add("https://gone.example/")
    run(once(lone))

    assert lone.reasons(delivery_id) == ["connect"]


def resolve_to(
    monkeypatch: pytest.MonkeyPatch, name: str, addresses: list[str]
) -> None:
    """Let the system's resolver answer for one name, with one address at a time."""
    real = socket.getaddrinfo

    def answer(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        if host not in (name, name.encode()):
            return real(host, port, *args, **more)
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        address = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        return real(address, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@pytest.mark.parametrize(
    "url",
    [
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00::1]/",
        "http://93.184.216.34/",
        "https://93.184.216.34:8443/",
        "https://user:pass@93.184.216.34/",
        f"http://127.0.0.1:{OWN_PORT}/v1/media/jobs/media_1",
    ],
)
def test_an_address_that_the_policy_refuses_is_blocked(
    lone: LoneSender, url: str
) -> None:
    delivery_id = lone.add(url)
    run(once(lone))

    assert lone.reasons(delivery_id) == ["blocked"]


def test_loopback_is_blocked_unless_it_is_allowed(tmp_path: Path) -> None:
    with (
        lone_sender(tmp_path, allow_loopback_callbacks=False) as lone,
        receiving() as receiver,
    ):
        delivery_id = lone.add(receiver.url)
        run(once(lone))

        assert lone.reasons(delivery_id) == ["blocked"]
        assert receiver.received == []


def test_a_name_is_checked_at_each_attempt(
    lone: LoneSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(lambda received: REFUSES) as receiver:
        resolve_to(monkeypatch, "moves.example", ["127.0.0.1", "10.0.0.1"])
        delivery_id = lone.add(receiver.url.replace("127.0.0.1", "moves.example"))
        run(once(lone))
        run(once(lone))

        assert lone.reasons(delivery_id) == ["http_5xx: 500", "blocked"]
        assert len(receiver.received) == 1


def test_a_certificate_that_nobody_vouches_for_is_tls(lone: LoneSender) -> None:
    with receiving(tls=True) as receiver:
        delivery_id = lone.add(receiver.url)
        run(once(lone))

    assert lone.reasons(delivery_id) == ["tls"]
    assert receiver.received == []


def test_a_receiver_without_tls_behind_https_is_tls(lone: LoneSender) -> None:
    with receiving() as receiver:
        delivery_id = lone.add(receiver.url.replace("http:", "https:"))
        run(once(lone))

    assert lone.reasons(delivery_id) == ["tls"]


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the system to trust the receivers' authority."""
    path = tmp_path / "authority.pem"
    authority().cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))


@pytest.mark.usefixtures("trusted")
def test_a_certificate_that_the_system_trusts_is_accepted(
    lone: LoneSender,
) -> None:
    with receiving(tls=True) as receiver:
        delivery_id = lone.add(receiver.url)
        run(once(lone))

    assert lone.reasons(delivery_id) == [None]


@pytest.mark.usefixtures("trusted")
def test_tls_that_breaks_after_the_handshake_is_tls(lone: LoneSender) -> None:
    def break_off(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        encrypted = tls_context().wrap_socket(connection, server_side=True)
        encrypted.recv(65_536)
        with socket.socket(fileno=encrypted.detach()) as plain:
            plain.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            # Closed with something unread, the connection would be reset instead.
            with suppress(ConnectionError):
                while plain.recv(65_536):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=break_off, args=[listening], daemon=True)
        thread.start()
        delivery_id = lone.add(f"https://127.0.0.1:{listening.getsockname()[1]}/")
        run(once(lone))
        thread.join(PATIENCE_S)

    assert lone.reasons(delivery_id) == ["tls"]


def test_what_cannot_be_signed_is_not_sent_and_costs_no_attempt(
    lone: LoneSender,
) -> None:
    signing_secrets.current(lone.db, DEFAULT_ORG, 0)
    lone.db.run("UPDATE secret SET secret = 'whsec_broken!'")
    with receiving(lambda received: REFUSES) as receiver:
        delivery_id = lone.add(receiver.url)
        run(repeat(lone, 3))
        assert receiver.received == []
        assert lone.reasons(delivery_id) == ["signing"] * 3
        signing_secrets.rotate(lone.db, DEFAULT_ORG, 0, 0)
        run(lone.to_the_end())

    assert lone.delivery(delivery_id).status == "failed"
    assert lone.reasons(delivery_id) == ["signing"] * 3 + ["http_5xx: 500"] * 9


async def repeat(lone: LoneSender, times: int) -> None:
    for _ in range(times):
        await lone.next()


def test_an_answer_without_end_is_cut_off_and_counts_by_its_status(
    tmp_path: Path,
) -> None:
    stopped = Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx")
        stopped.wait(PATIENCE_S)

    with (
        lone_sender(tmp_path, delivery_timeout_s=2.0) as lone,
        one_connection(drip) as url,
    ):
        delivery_id = lone.add(url)
        run(once(lone))
        stopped.set()

        assert lone.delivery(delivery_id).status == "delivered"


def test_of_a_long_answer_only_the_beginning_is_read(lone: LoneSender) -> None:
    length, chunk = 512 * 1_048_576, b"x" * 1_048_576
    sent_chunks = 0

    def pour(connection: socket.socket) -> None:
        nonlocal sent_chunks
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length)
        for _ in range(length // len(chunk)):
            connection.sendall(chunk)
            sent_chunks += 1

    with one_connection(pour) as url:
        delivery_id = lone.add(url)
        run(once(lone))

    assert lone.delivery(delivery_id).status == "delivered"
    # What the system's own buffers took in is far less than all of it.
    assert sent_chunks < 64


@pytest.mark.parametrize(
    ("header", "at_least_s", "at_most_s"),
    [
        ("120", 120, 120),
        ("7200", 3_600, 3_600),
        ("1", 4.5, 5.5),
        ("soon", 4.5, 5.5),
        ("-1", 4.5, 5.5),
    ],
)
def test_retry_after_delays_the_next_attempt_by_up_to_an_hour(
    lone: LoneSender, header: str, at_least_s: float, at_most_s: float
) -> None:
    with receiving(lambda received: Answer(503, {"Retry-After": header})) as receiver:
        delivery_id = lone.add(receiver.url)
        run(once(lone))

    assert at_least_s <= waits_s(lone, delivery_id) <= at_most_s


def waits_s(lone: LoneSender, delivery_id: str) -> float:
    due_us = lone.delivery(delivery_id).due_us
    assert due_us is not None
    return (due_us - lone.service.clock.now_us()) / US_PER_S


def test_retry_after_may_be_a_date(lone: LoneSender) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(days=2), usegmt=True)
    with receiving(lambda received: Answer(503, {"Retry-After": later})) as receiver:
        delivery_id = lone.add(receiver.url)
        run(once(lone))

    assert waits_s(lone, delivery_id) == 3_600


def test_retry_after_brings_no_attempt_earlier(lone: LoneSender) -> None:
    with receiving(lambda received: Answer(503, {"Retry-After": "60"})) as receiver:
        delivery_id = lone.add(receiver.url)
        run(repeat(lone, 2))

    assert 270 <= waits_s(lone, delivery_id) <= 330


@pytest.mark.spec("3.3")
def test_410_disables_the_endpoint_and_cancels_what_else_was_pending(
    lone: LoneSender,
) -> None:
    with receiving(in_turn(REFUSES, Answer(410))) as receiver:
        endpoint_id = add_endpoint(lone, receiver.url)
        first = lone.add(receiver.url, endpoint_id)
        run(once(lone))
        second = lone.add(receiver.url, endpoint_id)
        other = lone.add(receiver.url)
        run(once_or_more(lone))

    assert state_of(lone, endpoint_id) == "gone"
    ended = {lone.delivery(first).status, lone.delivery(second).status}
    assert ended == {"failed", "canceled"}
    assert lone.delivery(other).status == "pending"


async def once_or_more(lone: LoneSender) -> None:
    assert await lone.next() >= 1


def test_410_of_a_webhook_url_is_an_attempt_like_any_other(lone: LoneSender) -> None:
    with receiving(in_turn(Answer(410), TAKES)) as receiver:
        delivery_id = lone.add(receiver.url)
        run(lone.to_the_end())

    assert lone.reasons(delivery_id) == ["http_4xx: 410", None]


def test_a_test_is_attempted_once_and_never_again(lone: LoneSender) -> None:
    with receiving(lambda received: REFUSES) as receiver:
        endpoint_id = add_endpoint(lone, receiver.url)
        delivery_id = lone.add(receiver.url, endpoint_id, TEST)
        run(lone.to_the_end())

    assert lone.delivery(delivery_id).status == "failed"
    assert lone.reasons(delivery_id) == ["http_5xx: 500"]


def test_an_endpoints_deliveries_are_signed_with_its_own_secret(
    lone: LoneSender,
) -> None:
    with receiving() as receiver:
        endpoint_id = add_endpoint(lone, receiver.url)
        lone.add(receiver.url, endpoint_id)
        run(lone.to_the_end())
        (received,) = receiver.until(1)

    secret = signing_secrets.current(lone.db, endpoint_id, 0)
    assert received.verified(secret) == received.event
    assert secret != signing_secrets.current(lone.db, DEFAULT_ORG, 0)


def test_a_receiver_that_hangs_holds_nobody_up(lone: LoneSender) -> None:
    reached = Event()

    def hang(received: Received) -> Answer:
        assert reached.wait(PATIENCE_S)
        return TAKES

    def reach(received: Received) -> Answer:
        reached.set()
        return TAKES

    with receiving(hang) as slow, receiving(reach) as quick:
        ids = [lone.add(slow.url), lone.add(quick.url)]
        run(lone.to_the_end())

    assert [lone.delivery(one).status for one in ids] == ["delivered", "delivered"]


def test_twenty_are_sent_at_once_and_no_more(lone: LoneSender) -> None:
    released = Event()

    def hold(received: Received) -> Answer:
        assert released.wait(PATIENCE_S)
        return TAKES

    async def count(receiver: Receiver) -> int:
        sending = asyncio.create_task(lone.next())
        await asyncio.to_thread(receiver.until, 20)
        await asyncio.sleep(0.3)  # for a twenty-first one to come, if it did
        most = len(receiver.received)
        released.set()
        assert await sending == 25
        return most

    with receiving(hold) as receiver:
        ids = [lone.add(receiver.url) for _ in range(25)]
        assert asyncio.run(count(receiver)) == 20

    assert {lone.delivery(one).status for one in ids} == {"delivered"}


@pytest.mark.parametrize("answer", [TAKES, REFUSES], ids=["taken", "refused"])
def test_what_is_canceled_while_it_is_sent_stays_canceled(
    lone: LoneSender, answer: Answer
) -> None:
    came, released = Event(), Event()

    def hold(received: Received) -> Answer:
        came.set()
        assert released.wait(PATIENCE_S)
        return answer

    async def remove_meanwhile(endpoint_id: str) -> None:
        sending = asyncio.create_task(lone.next())
        assert await asyncio.to_thread(came.wait, PATIENCE_S)
        endpoints.remove(lone.db, endpoint_id, lone.service.clock.now_us())
        released.set()
        assert await sending == 1

    with receiving(hold) as receiver:
        endpoint_id = add_endpoint(lone, receiver.url)
        delivery_id = lone.add(receiver.url, endpoint_id)
        run(remove_meanwhile(endpoint_id))

    assert lone.delivery(delivery_id).status == "canceled"
    assert len(lone.attempts(delivery_id)) == 1


def test_what_was_forgotten_while_it_was_sent_stays_forgotten(
    lone: LoneSender, caplog: pytest.LogCaptureFixture
) -> None:
    came, released = Event(), Event()

    def hold(received: Received) -> Answer:
        came.set()
        assert released.wait(PATIENCE_S)
        return TAKES

    async def forget_meanwhile() -> None:
        sending = asyncio.create_task(lone.next())
        assert await asyncio.to_thread(came.wait, PATIENCE_S)
        lone.db.run("DELETE FROM delivery")
        released.set()
        assert await sending == 1

    with receiving(hold) as receiver:
        lone.add(receiver.url)
        run(forget_meanwhile())

    assert lone.db.rows("SELECT * FROM attempt") == []
    assert caplog.records == []


def test_what_was_cut_off_is_sent_again_under_the_same_id(
    tmp_path: Path,
) -> None:
    came, released = Event(), Event()

    def hold(received: Received) -> Answer:
        came.set()
        assert released.wait(PATIENCE_S)
        return TAKES

    async def cut_off(lone: LoneSender) -> None:
        running = asyncio.create_task(lone.sender.run())
        assert await asyncio.to_thread(came.wait, PATIENCE_S)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with receiving(hold) as receiver:
        with lone_sender(tmp_path) as lone:
            delivery_id = lone.add(receiver.url)
            run(cut_off(lone))
            assert lone.attempts(delivery_id) == []
        released.set()
        with lone_sender(tmp_path) as lone:
            run(lone.to_the_end())
            assert lone.delivery(delivery_id).status == "delivered"
            assert lone.delivery(delivery_id).attempts_n == 1
        first, second = receiver.until(2)

    assert first.event_id == second.event_id
    assert first.body == second.body


def test_the_ordinary_loop_sends_more_than_fit_at_once(lone: LoneSender) -> None:
    async def serve(receiver: Receiver) -> None:
        running = asyncio.create_task(lone.sender.run())
        await asyncio.to_thread(receiver.until, 25)
        await lone.sender.do_due(lone.service.clock.now_us())
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with receiving() as receiver:
        ids = [lone.add(receiver.url) for _ in range(25)]
        run(serve(receiver))

    assert {lone.delivery(one).status for one in ids} == {"delivered"}
    assert len(receiver.received) == 25


def test_an_event_is_of_an_ended_job_and_has_a_body(lone: LoneSender) -> None:
    with pytest.raises(LookupError):
        announce(lone.service, "media_none")
    with pytest.raises(LookupError):
        deliveries.body_of(lone.db, "msg_none")


def test_while_it_is_paused_it_sends_nothing_and_cuts_off_what_it_sends(
    lone: LoneSender,
) -> None:
    came, released = Event(), Event()

    def hold(received: Received) -> Answer:
        came.set()
        assert released.wait(PATIENCE_S)
        return TAKES

    async def pause() -> None:
        running = asyncio.create_task(lone.sender.run())
        assert await asyncio.to_thread(came.wait, PATIENCE_S)
        async with lone.sender.paused():
            lone.service.deliveries.wake()
            released.set()
            assert await lone.sender.do_due(lone.service.clock.now_us()) == 0
            assert lone.attempts(delivery_id) == []
        assert await lone.sender.do_due(lone.service.clock.now_us()) == 1
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with receiving(hold) as receiver:
        delivery_id = lone.add(receiver.url)
        run(pause())
        first, second = receiver.until(2)

    assert lone.delivery(delivery_id).status == "delivered"
    assert first.event_id == second.event_id


class NoJitterAtFirst(Random):
    """Something in the sender that breaks as nobody foresaw, three times."""

    breaks_n = 0

    def uniform(self, a: float, b: float) -> float:
        self.breaks_n += 1
        if self.breaks_n <= 3:
            raise RuntimeError("no jitter today")
        return super().uniform(a, b)


def test_a_delivery_that_breaks_the_sender_is_retried_and_not_sent_twice(
    lone: LoneSender,
) -> None:
    lone.sender = Sender(lone.service, SystemClock(), NoJitterAtFirst())
    problems: set[str] = set()

    async def serve() -> None:
        running = asyncio.create_task(lone.sender.run())
        async with asyncio.timeout(PATIENCE_S):
            while not lone.attempts(broken):
                problems.update(lone.service.health.problems())
                await asyncio.sleep(0.01)
        assert lone.service.health.problems() == []
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with receiving(lambda received: REFUSES) as refusing, receiving() as taking:
        broken, fine = lone.add(refusing.url), lone.add(taking.url)
        run(serve())

    assert lone.delivery(fine).status == "delivered"
    assert lone.reasons(broken) == ["http_5xx: 500"]
    assert len(refusing.received) == 1
    assert problems == {"delivering an event: RuntimeError"}


def test_a_delivery_that_is_broken_when_the_sandbox_ends_is_sent_at_the_next_start(
    tmp_path: Path,
) -> None:
    with receiving(lambda received: REFUSES) as refusing:
        with lone_sender(tmp_path) as lone:
            lone.sender = Sender(lone.service, SystemClock(), NoJitterAtFirst())
            broken = lone.add(refusing.url)
            run(once(lone))
            assert lone.attempts(broken) == []
            # The clock can go on meanwhile: it does not wait for what is broken.
            assert lone.sender.next_due_us() is None
        with lone_sender(tmp_path) as lone:
            run(once(lone))
            assert lone.reasons(broken) == ["http_5xx: 500"]
