"""The attempts of a delivery: at most nine, every failure reason, 410 (spec 6.5)."""

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from sqlite3 import Row
from threading import Event, Thread
from typing import Any

import pytest

from mediakit.clock import US_PER_S, SystemClock, to_us
from mediakit.sandbox.clock import SandboxClock
from mediakit.sandbox.data_dir import DataDir
from mediakit.sandbox.events import COMPLETED, TEST
from mediakit.sandbox.server.host import open_service
from mediakit.sandbox.settings import Sandbox
from mediakit.sandbox.store import deliveries, endpoints
from mediakit.sandbox.store.deliveries import DeliveryRow
from mediakit.sandbox.store.endpoints import EndpointRow
from mediakit.sandbox.store.orgs import DEFAULT_ORG
from mediakit.sandbox.webhook_sender import WebhookSender
from mediakit.sandbox.work_loop import Work, WorkLoop
from tests.support.sandbox.receivers import (
    Answer,
    Received,
    Receiver,
    authority,
    receiving,
)
from tests.support.virtual_clock import VirtualClock

OWN_PORT = 9
# By hand from spec 6.5, in seconds.
GAPS_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 86_400]
REFUSES = Answer(500)
TAKES = Answer(204)


class LoneSender:
    """A sender on its own store, with real sockets and a clock that stands still."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        chosen = {"allow_loopback_callbacks": True, "delivery_timeout_s": 20.0}
        data_dir = DataDir(folder)
        opened = open_service(
            Sandbox(folder, **chosen | settings),
            data_dir,
            data_dir.open_account(None),
            f"http://127.0.0.1:{OWN_PORT}",
        )
        self.time = VirtualClock()
        clock = SandboxClock(self.time, epoch_us=to_us(self.time.now()))
        work = WorkLoop(opened.db, clock)
        self.service = replace(opened, clock=clock, work=work)
        self.db = self.service.db
        self.sender = WebhookSender(self.service, SystemClock(), Random(7))

    def add(self, url: str, endpoint: str | None = None, kind: str = COMPLETED) -> str:
        """Note an event of no job, due now; return the id of its delivery."""
        now_us = self.service.clock.now_us()
        (delivery_id,) = deliveries.add_event(
            self.db,
            [(endpoint, url)],
            now_us,
            id=f"msg_{uuid.uuid4()}",
            org=DEFAULT_ORG,
            type=kind,
            body=b'{"data":{"id":"media_none"}}',
            at_us=now_us,
        )
        return delivery_id

    async def next(self) -> int:
        """Skip to what is due next and do it; return how many attempts it was."""
        due_us = self.sender.next_due_us()
        assert due_us is not None
        now_us = max(due_us, self.service.clock.now_us())
        await self.time.advance((now_us - self.service.clock.now_us()) / US_PER_S)
        return await self.do(now_us)

    async def do(self, now_us: int) -> int:
        """Attempt what is due at an instant; return how many attempts it was."""
        n = self.sender.start_due(now_us)
        while tasks := self.sender.tasks():
            await asyncio.wait(tasks)
            n += self.sender.start_due(now_us)
        return n

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Send what is due, as the sandbox's loop does, until it is cut off."""
        sender, work = self.sender, self.service.work
        work.works.append(
            Work(sender.start_due, sender.next_due_us, tasks=sender.tasks)
        )
        running = asyncio.create_task(work.run())
        yield
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await work.cancel()

    async def to_the_end(self) -> None:
        """Skip from one due time to the next until nothing is due any more."""
        while self.sender.next_due_us() is not None:
            await self.next()

    def delivery(self, delivery_id: str) -> DeliveryRow:
        found = deliveries.find(self.db, delivery_id)
        assert found is not None
        return found

    def attempts(self, delivery_id: str) -> list[Row]:
        return deliveries.attempts_of(self.db, delivery_id)

    def reasons(self, delivery_id: str) -> list[str | None]:
        return [attempt["reason"] for attempt in self.attempts(delivery_id)]


@contextmanager
def lone_sender(folder: Path, **settings: Any) -> Iterator[LoneSender]:
    lone = LoneSender(folder, **settings)
    try:
        yield lone
    finally:
        lone.db.close()


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[LoneSender]:
    with lone_sender(tmp_path) as lone:
        yield lone


def run(work: Any) -> None:
    asyncio.run(work)


async def once(lone: LoneSender) -> None:
    assert await lone.next() == 1


class Gate:
    """Holds what a receiver answers back until a test lets go."""

    def __init__(self, answer: Answer = TAKES) -> None:
        self.answer = answer
        self.came, self.released = Event(), Event()

    def __call__(self, received: Received) -> Answer:
        self.came.set()
        assert self.released.wait()
        return self.answer

    async def is_reached(self) -> None:
        assert await asyncio.to_thread(self.came.wait)


def add_endpoint(lone: LoneSender, url: str) -> str:
    endpoint = EndpointRow("endpoint_1", DEFAULT_ORG, url, None, "enabled", 0)
    assert endpoints.add(lone.db, endpoint)
    return endpoint.id


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
    assert [attempt["n"] for attempt in attempts] == list(range(1, 10))
    assert {attempt["reason"] for attempt in attempts} == {"http_5xx: 500"}
    times_us = [attempt["at_us"] for attempt in attempts]
    gaps_s = [(b - a) / US_PER_S for a, b in pairwise(times_us)]
    for gap_s, nominal_s in zip(gaps_s, GAPS_S, strict=True):
        assert 0.9 * nominal_s <= gap_s <= 1.1 * nominal_s
    assert gaps_s != GAPS_S
    assert 50 <= sum(gaps_s) / 3_600 <= 61
    # One event, sent and signed each time, at a time that receivers believe.
    secret = endpoints.current_secret(lone.db, DEFAULT_ORG, 0)
    assert len({one.event_id for one in received}) == 1
    assert len({one.body for one in received}) == 1
    assert [one.verified(secret) for one in received] == [received[0].event] * 9


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
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [b"", b"what?\r\n\r\n", b"HTTP/1.1 20", b"HTTP/1.1 abc OK\r\n\r\n"],
    ids=["nothing", "garbage", "half", "no number"],
)
def test_a_connection_that_breaks_before_a_response_is_a_connect_error(
    lone: LoneSender, answer: bytes
) -> None:
    with one_connection(lambda connection: connection.sendall(answer)) as url:
        delivery_id = lone.add(url)
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
        "https://169.254.169.254/latest/meta-data",
        "http://93.184.216.34/",
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


def test_an_untrusted_certificate_is_a_tls_error(lone: LoneSender) -> None:
    with receiving(tls=True) as receiver:
        delivery_id = lone.add(receiver.url)
        run(once(lone))

    assert lone.reasons(delivery_id) == ["tls"]
    assert receiver.received == []


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


def test_only_the_beginning_of_a_long_response_is_read(lone: LoneSender) -> None:
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


def test_a_test_is_attempted_once_and_never_again(lone: LoneSender) -> None:
    with receiving(lambda received: REFUSES) as receiver:
        endpoint_id = add_endpoint(lone, receiver.url)
        delivery_id = lone.add(receiver.url, endpoint_id, TEST)
        run(lone.to_the_end())

    assert lone.delivery(delivery_id).status == "failed"
    assert lone.reasons(delivery_id) == ["http_5xx: 500"]


class NoJitterAtFirst(Random):
    """Something in the sender that breaks as nobody foresaw, once."""

    breaks_n = 0

    def uniform(self, a: float, b: float) -> float:
        self.breaks_n += 1
        if self.breaks_n <= 1:
            raise RuntimeError("no jitter today")
        return super().uniform(a, b)


def test_a_delivery_that_breaks_the_sender_is_retried_and_not_sent_twice(
    lone: LoneSender,
) -> None:
    lone.sender = WebhookSender(lone.service, SystemClock(), NoJitterAtFirst())

    async def serve() -> None:
        async with lone.serving():
            while not lone.attempts(broken):  # noqa: ASYNC110 - a row of the store
                await asyncio.sleep(0.01)

    with receiving(lambda received: REFUSES) as refusing, receiving() as taking:
        broken, fine = lone.add(refusing.url), lone.add(taking.url)
        run(serve())

    assert lone.delivery(fine).status == "delivered"
    assert lone.reasons(broken) == ["http_5xx: 500"]
    assert len(refusing.received) == 1


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (200, None),
        (299, None),
        (302, "http_3xx: 302"),
        (404, "http_4xx: 404"),
        (410, "http_4xx: 410"),
        (503, "http_5xx: 503"),
    ],
)
def test_any_2xx_is_delivered_and_any_other_status_is_the_reason(
    lone: LoneSender, status: int, reason: str | None
) -> None:
    with receiving() as elsewhere:
        answer = Answer(status, {"Location": elsewhere.url})
        with receiving(lambda received: answer) as receiver:
            delivery_id = lone.add(receiver.url)
            run(once(lone))
        assert elsewhere.received == []  # no redirect is followed

    (attempt,) = lone.attempts(delivery_id)
    assert (attempt["status_code"], attempt["reason"]) == (status, reason)
    wanted = "pending" if reason else "delivered"
    assert lone.delivery(delivery_id).status == wanted


def test_a_receiver_that_does_not_answer_in_time_is_a_timeout(tmp_path: Path) -> None:
    gate = Gate()
    with (
        lone_sender(tmp_path, delivery_timeout_s=0.5) as lone,
        receiving(gate) as receiver,
    ):
        delivery_id = lone.add(receiver.url)
        run(once(lone))
        gate.released.set()

        assert lone.reasons(delivery_id) == ["timeout"]
        assert lone.attempts(delivery_id)[0]["duration_ms"] >= 500


def test_a_closed_port_is_a_connect_error_and_https_without_tls_a_tls_error(
    lone: LoneSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_to(monkeypatch, "gone.example", [])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with receiving() as plain:
        urls = [f"http://127.0.0.1:{port}/", "https://gone.example/"]
        urls.append(plain.url.replace("http:", "https:"))
        ids = [lone.add(url) for url in urls]
        run(lone.next())

    reasons = [lone.reasons(delivery_id) for delivery_id in ids]
    assert reasons == [["connect"], ["connect"], ["tls"]]


def test_twenty_deliveries_run_at_once_and_a_hanging_receiver_delays_no_other(
    lone: LoneSender,
) -> None:
    gate = Gate()

    async def count(receiver: Receiver) -> int:
        sending = asyncio.create_task(lone.next())
        await asyncio.to_thread(receiver.until, 20)
        await asyncio.sleep(0.3)  # for a twenty-first one to come, if it did
        most = len(receiver.received)
        gate.released.set()
        assert await sending == 25
        return most

    with receiving(gate) as receiver:
        ids = [lone.add(receiver.url) for _ in range(25)]
        assert asyncio.run(count(receiver)) == 20

    assert {lone.delivery(one).status for one in ids} == {"delivered"}


@pytest.mark.parametrize("answer", [TAKES, REFUSES], ids=["taken", "refused"])
def test_what_is_canceled_while_it_is_sent_stays_canceled(
    lone: LoneSender, answer: Answer
) -> None:
    gate = Gate(answer)

    async def remove_meanwhile(endpoint_id: str) -> None:
        sending = asyncio.create_task(lone.next())
        await gate.is_reached()
        endpoints.remove(lone.db, endpoint_id, lone.service.clock.now_us())
        gate.released.set()
        assert await sending == 1

    with receiving(gate) as receiver:
        endpoint_id = add_endpoint(lone, receiver.url)
        delivery_id = lone.add(receiver.url, endpoint_id)
        run(remove_meanwhile(endpoint_id))

    assert lone.delivery(delivery_id).status == "canceled"
    assert len(lone.attempts(delivery_id)) == 1
