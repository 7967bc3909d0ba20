"""The delivery log, its replays and the secret, on a real sandbox."""

from __future__ import annotations

import asyncio
import inspect
import logging
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Client
from mediakit.client.account.blocking_deliveries import Deliveries
from mediakit.client.account.deliveries import AsyncDeliveries, Replays
from mediakit.client.account.delivery_frame import deliveries_frame
from mediakit.client.account.delivery_log import DELIVERIES_PATH, LogReading, Row
from mediakit.client.account.delivery_range import in_range, instant_of
from mediakit.errors import ConflictError, InputError, NotFoundError, ServiceError
from mediakit.records import Attempt, Delivery
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.frames import types
from tests.support.sandbox.receivers import Answer, receiving
from tests.support.servers.lossy_proxy import LossyProxy

FAILS = "a kite sandbox:fail=timed_out"
TYPES = {
    "id": "str",
    "status": "category",
    "event_type": "category",
    "source_id": "str",
    "attempts": "Int64",
    "created_at": "datetime64[us, UTC]",
    "next_attempt_at": "datetime64[us, UTC]",
    "ended_at": "datetime64[us, UTC]",
    "endpoint_id": "category",
    "url": "str",
    "event_id": "str",
}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningSandbox]:
    settings = Sandbox(
        tmp_path / "data", speed=20, sketch=True, allow_loopback_callbacks=True
    )
    running = start(settings)
    yield running
    running.stop()


@pytest.fixture
def own(running: RunningSandbox, tmp_path: Path) -> Iterator[Client]:
    with Client(running.base_url, running.api_key, home=tmp_path / "home") as client:
        yield client


def end_jobs(client: Client, url: str, many: int) -> list[str]:
    """Let a number of jobs end whose ends are posted to a URL; return their ids."""
    fields: dict[str, Any] = {"duration": 3, "webhook_url": url}
    prompts = [f"{FAILS} {number}" for number in range(many)]
    return [client.submit("text-to-video", prompt=p, **fields).id for p in prompts]


def given_up(client: Client, running: RunningSandbox, url: str, many: int) -> list[str]:
    """Let deliveries fail until they are given up; return their ids, newest first."""
    end_jobs(client, url, many)
    while len(list(client.deliveries.list())) < many:
        running.advance(seconds=1)
    running.advance(hours=80)
    found = [str(one.id) for one in client.deliveries.list(status="failed")]
    assert len(found) == many
    return found


def gets(client: Client) -> list[str]:
    """Return a list that the paths of all later reads of the log are added to."""
    found: list[str] = []
    transport: Any = client.core.deliveries._transport
    exchange = transport.exchange

    async def counted(method: str, path: str, **more: Any) -> Any:
        if method == "GET" and path.startswith(DELIVERIES_PATH):
            found.append(path)
        return await exchange(method, path, **more)

    transport.exchange = counted
    return found


@pytest.mark.spec("4.20")
def test_the_log_is_read_a_page_at_a_time_and_only_as_far_as_it_is_gone_through(
    own: Client, running: RunningSandbox
) -> None:
    with receiving() as receiver:
        ids = set(end_jobs(own, receiver.url, 5))
        receiver.until(5)
    reads = gets(own)
    found = own.deliveries.list(page_size=2)
    assert reads == []

    assert next(iter(found)).source_id in ids
    assert len(reads) == 1
    assert {one.source_id for one in found} == ids
    assert len(reads) == 1 + 3
    assert list(own.deliveries.list(status="pending")) == []
    some = min(ids)
    assert [one.source_id for one in own.deliveries.list(source_id=some)] == [some]


def test_the_awaited_log_is_the_same_log(own: Client, running: RunningSandbox) -> None:
    with receiving() as receiver:
        end_jobs(own, receiver.url, 3)
        receiver.until(3)

    async def ids() -> list[str | None]:
        return [one.id async for one in own.core.deliveries.list(page_size=1)]

    assert own.io.call(ids) == [one.id for one in own.deliveries.list()]


@pytest.mark.spec("6.5")
def test_what_failed_is_reported_and_sent_again_one_by_one_or_all(
    own: Client, running: RunningSandbox
) -> None:
    broken = [True]
    with receiving(lambda _: Answer(503 if broken[0] else 204)) as receiver:
        ids = given_up(own, running, f"{receiver.url}?token=hidden", 3)
        attempts = own.deliveries.attempts(ids[0])
        assert [one.number for one in attempts] == list(range(1, 10))
        assert attempts[0].words == "the receiver failed with 503"
        frame = own.deliveries.frame(status="failed")
        assert "hidden" not in f"{own.deliveries.get(ids[0])!r} {frame.to_string()}"
        with pytest.raises(ConflictError):
            own.deliveries.replay(own.deliveries.replay(ids[0]).id or "")

        broken[0] = False
        running.advance(hours=80)
        sent = own.deliveries.replay(status="failed", since="2020-01-01")
        assert sorted(str(one.id) for one in sent.sent) == sorted(ids[1:])
        assert sent.refused == ()
        running.advance(seconds=1)
        ended = {one.id: one.status for one in own.deliveries.list()}
        assert ended == dict.fromkeys(ids, "delivered")
        assert len({one.event_id for one in receiver.received}) == 3


def test_a_range_bounds_what_is_sent_again(
    own: Client, running: RunningSandbox
) -> None:
    with receiving(lambda _: Answer(500)) as receiver:
        (first,) = given_up(own, running, receiver.url, 1)
        made_at = own.deliveries.get(first).created_at
        assert made_at is not None

        later = made_at + timedelta(seconds=1)
        assert own.deliveries.replay(status="failed", since=later).sent == ()
        assert own.deliveries.replay(status="failed", until=made_at).sent == ()
        sent = own.deliveries.replay(status="failed", since=made_at, until=later)
        assert [one.id for one in sent.sent] == [first]
        assert repr(sent) == "<1 delivery sent again>"


def test_what_cannot_be_sent_again_is_named_and_the_others_are_sent(
    own: Client, running: RunningSandbox
) -> None:
    with receiving(lambda _: Answer(500)) as receiver:
        ids = given_up(own, running, receiver.url, 2)
        core: Any = own.core.deliveries
        row = own.io.call(core.list(status="failed").rows)
        gone = [*row, {"id": "delivery_gone", "status": "failed"}, {"status": "failed"}]

        async def replayed() -> Replays:
            found = [Delivery.model_validate(one) for one in gone]
            said: Replays = await core._replay_all(found)
            return said

        said = own.io.call(replayed)
    assert [one.id for one in said.sent] == ids
    assert [one.id for one in said.refused] == ["delivery_gone", ""]
    assert repr(said) == "<2 deliveries sent again, 2 refused>"


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda log: log.list(status="lost"), "status"),
        (lambda log: log.list(page_size=0), "page_size"),
        (lambda log: log.list(page_size=True), "page_size"),
        (lambda log: log.frame(status="FAILED"), "status"),
        (lambda log: log.get("../secret"), "delivery_id"),
        (lambda log: log.get(""), "delivery_id"),
        (lambda log: log.replay(), "delivery_id"),
        (lambda log: log.replay("delivery_1", status="failed"), "delivery_id"),
        (lambda log: log.replay("delivery_1", since="2026-01-01"), "since"),
        (lambda log: log.replay(status="failed", since="yesterday"), "since"),
        (lambda log: log.replay(status="failed", until=datetime(2026, 1, 1)), "until"),  # noqa: DTZ001
        (lambda log: log.rotate_secret(overlap_s=86_401), "overlap_s"),
        (lambda log: log.rotate_secret(overlap_s=1.5), "overlap_s"),
    ],
)
def test_what_is_not_acceptable_is_named_and_nothing_is_sent(
    client: Client, ask: Any, field: str
) -> None:
    reads = gets(client)
    with pytest.raises(InputError, match="Nothing was sent") as caught:
        ask(client.deliveries)

    assert caught.value.field == field
    assert reads == []


def test_an_unknown_delivery_is_one_sentence(client: Client) -> None:
    with pytest.raises(NotFoundError, match="delivery_none"):
        client.deliveries.attempts("delivery_none")


# -- the secret -------------------------------------------------------------------


@pytest.mark.spec("6.6")
def test_the_secret_shows_itself_to_nobody_who_does_not_ask(
    own: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = own.deliveries.secret()
    text = secret.reveal()
    assert text.startswith("whsec_")
    assert secret == own.deliveries.secret()
    assert secret != text

    shown = f"{secret} {secret!r} {[secret]} {own.deliveries!r} {caplog.text}"
    assert text.removeprefix("whsec_") not in shown
    with pytest.raises(TypeError, match="not written to files"):
        pickle.dumps(secret)


@pytest.mark.spec("6.6")
def test_a_rotation_tells_until_when_both_secrets_sign(own: Client) -> None:
    before = own.deliveries.secret()
    after = own.deliveries.rotate_secret(overlap_s=3_600)

    assert after != before
    assert after == own.deliveries.secret()
    assert after.previous_expires_at is not None
    assert after.previous_expires_at.tzinfo is not None
    assert own.deliveries.rotate_secret(overlap_s=0).previous_expires_at is None


def test_a_rotation_whose_answer_is_lost_is_not_asked_for_again(
    running: RunningSandbox, tmp_path: Path
) -> None:
    with (
        LossyProxy(running.base_url, "POST", losses=1) as proxy,
        Client(proxy.base_url, running.api_key, home=tmp_path) as client,
    ):
        before = client.deliveries.secret()
        with pytest.raises(ServiceError, match="not known whether"):
            client.deliveries.rotate_secret()
        assert len([r for r in proxy.requests if r.startswith(b"POST")]) == 1
        assert client.deliveries.secret() != before


def test_a_replay_whose_answer_is_lost_is_found_pending(
    own: Client, running: RunningSandbox, tmp_path: Path
) -> None:
    with receiving(lambda _: Answer(500)) as receiver:
        (failed,) = given_up(own, running, receiver.url, 1)
        with (
            LossyProxy(running.base_url, "POST", losses=1) as proxy,
            Client(proxy.base_url, running.api_key, home=tmp_path / "p") as client,
        ):
            assert client.deliveries.replay(failed).status == "pending"


# -- without a service ------------------------------------------------------------


def test_a_log_without_deliveries_has_no_rows_and_the_same_types() -> None:
    empty = deliveries_frame([])
    assert types(empty) == TYPES
    row = {"id": "delivery_1", "created_at": "2026-01-02T03:04:05+02:00"}
    one = deliveries_frame([row])
    assert types(one) == TYPES
    assert one["created_at"][0].isoformat() == "2026-01-02T01:04:05+00:00"


def test_no_record_is_dropped_and_no_column_that_is_new_to_us() -> None:
    rows = [
        {"id": 7, "status": "asleep", "attempts": [{"number": 1}], "region": "north"},
        {"id": "delivery_1", "attempts": 2, "created_at": "soon", "tries_left": 3},
        {},
    ]
    frame = deliveries_frame(rows)

    assert len(frame) == 3
    assert frame["status"].tolist()[0] == "asleep"
    assert frame["attempts"].isna().tolist() == [True, False, True]
    assert frame["region"].tolist()[0] == "north"
    assert frame["tries_left"].tolist()[1] == 3


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6), st.sampled_from([None, "0"])
)
def test_a_reading_ends_with_the_last_page_and_never_goes_in_circles(
    sizes: list[int], last: str | None
) -> None:
    asked: list[dict[str, str]] = []

    async def ask(params: Any) -> dict[str, Any]:
        asked.append(dict(params))
        page = int(params.get("cursor", "0"))
        more = page + 1 < len(sizes)
        cursor = str(page + 1) if more else last
        rows = [{"id": f"{page}-{number}"} for number in range(sizes[page])]
        return {"data": rows, "next_cursor": cursor}

    async def read() -> list[str]:
        reading, found = LogReading(ask, {"limit": "1"}), []
        while (page := await reading.next_page()) is not None:
            found += [str(row["id"]) for row in page]
        return found

    with asyncio.Runner() as runner:
        found = runner.run(read())
    assert set(found) == {
        f"{p}-{n}" for p, size in enumerate(sizes) for n in range(size)
    }
    assert len(asked) <= len(sizes) + 1
    assert all(params["limit"] == "1" for params in asked)


def read_whole(shape: Callable[[list[Row], str | None], object]) -> list[str]:
    """Read a log of two pages, as a service would shape them; return the ids."""

    async def ask(params: Any) -> object:
        page = "2" if params.get("cursor") == "two" else "1"
        assert params.get("cursor") in (None, "two")
        return shape([{"id": f"d{page}"}], "two" if page == "1" else None)

    async def read() -> list[str]:
        reading, found = LogReading(ask, {}), []
        while (page := await reading.next_page()) is not None:
            found += [str(row["id"]) for row in page]
        return found

    with asyncio.Runner() as runner:
        return runner.run(read())


@pytest.mark.spec("4.20")
def test_every_page_is_read_to_the_one_without_a_cursor() -> None:
    pages = read_whole(lambda rows, after: {"data": rows, "next_cursor": after})
    assert pages == ["d1", "d2"]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"data": []},
        {"data": [], "meta": {"links": [{"rel": "self"}]}},
        {"data": [], "cursor": "two", "next_cursor": None},
    ],
    ids=count(),
)
def test_a_page_without_records_is_empty(body: object) -> None:
    assert read_whole(lambda rows, after: body) == []


@pytest.mark.parametrize(
    "body",
    [{}, {"data": None}, {"data": {"items": []}}, {"items": []}, "none", None, 3],
    ids=count(),
)
def test_an_answer_that_lists_nothing_is_not_taken_for_an_empty_log(
    body: object,
) -> None:
    with pytest.raises(ServiceError, match="no readable list of records"):
        read_whole(lambda rows, after: body)


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        (None, 204, "delivered: the receiver responded with 204"),
        ("http_4xx: 410", 410, "the receiver rejected it with 410"),
        ("http_5xx: 503", 503, "the receiver failed with 503"),
        ("timeout", None, "no response within 20 s"),
        ("connect", None, "the connection could not be opened"),
        (
            "blocked",
            None,
            "the address is private or not allowed, so no connection was made",
        ),
        ("tls", None, "the TLS handshake or the certificate check failed"),
        (
            "signing",
            None,
            "the service could not sign it; this does not count as an attempt",
        ),
        ("weather", None, "weather"),
    ],
)
@pytest.mark.spec("6.5")
def test_every_reason_of_a_failed_attempt_has_words(
    reason: str | None, code: int | None, words: str
) -> None:
    assert Attempt(reason=reason, status_code=code).words == words


def test_a_range_takes_days_and_instants_and_holds_its_beginning() -> None:
    noon = datetime(2026, 10, 1, 12, tzinfo=UTC)
    assert instant_of("since", "2026-10-01") == noon - timedelta(hours=12)
    assert instant_of("since", date(2026, 10, 1)) == noon - timedelta(hours=12)
    assert instant_of("since", "2026-10-01T14:00:00+02:00") == noon

    delivery = Delivery(created_at=noon)
    assert in_range(delivery, noon, None)
    assert not in_range(delivery, None, noon)
    assert in_range(Delivery(), None, None)
    assert not in_range(Delivery(), noon, None)


def test_both_logs_have_the_same_methods_with_the_same_arguments() -> None:
    def signatures(kind: type) -> dict[str, str]:
        return {
            name: str(inspect.signature(value).replace(return_annotation=""))
            for name, value in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }

    awaited = signatures(AsyncDeliveries)
    del awaited["reading"]
    blocking = signatures(Deliveries)
    blocking.pop("show", None)
    assert blocking == awaited
