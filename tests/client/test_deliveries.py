"""The delivery log, its replays, and the signing secret."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Client
from mediakit.api_models import Attempt
from mediakit.client.deliveries import Deliveries
from mediakit.errors import (
    ConflictError,
    IncompleteDataWarning,
    InputError,
    NotFoundError,
    ServiceError,
)
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.frames import types
from tests.support.sandbox.receivers import Answer, receiving
from tests.support.servers.lossy_proxy import LossyProxy

FAILS = "a kite sandbox:fail=timed_out"
TYPES = {
    "id": "str",
    "status": "str",
    "event_type": "str",
    "source_id": "str",
    "attempts": "Int64",
    "created_at": "datetime64[us, UTC]",
    "next_attempt_at": "datetime64[us, UTC]",
    "ended_at": "datetime64[us, UTC]",
    "endpoint_id": "str",
    "url": "str",
    "event_id": "str",
}
Answering = Callable[[httpx.Request], httpx.Response]


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
    """Run a number of jobs with a webhook URL to their end; return their ids."""
    fields: dict[str, Any] = {"duration": 3, "webhook_url": url}
    prompts = [f"{FAILS} {number}" for number in range(many)]
    return [client.submit("text-to-video", prompt=p, **fields).id for p in prompts]


def given_up(client: Client, running: RunningSandbox, url: str, many: int) -> list[str]:
    """Let deliveries fail until no attempt is left; return their ids, newest first."""
    end_jobs(client, url, many)
    while len(client.deliveries.list()) < many:
        running.advance(seconds=1)
    running.advance(hours=80)
    found = list(client.deliveries.list(status="failed")["id"])
    assert len(found) == many
    return found


@contextmanager
def log_of(answer: Answering, home: Path) -> Iterator[Deliveries]:
    """Yield the log of a service that a test writes."""
    transport = httpx.MockTransport(answer)
    with Client(
        "https://service.invalid", "key-01234567", home=home, transport=transport
    ) as client:
        yield client.deliveries


# -- on a real sandbox ------------------------------------------------------------


@pytest.mark.spec("4.20")
def test_the_log_is_a_frame_of_the_matching_deliveries(
    own: Client, running: RunningSandbox
) -> None:
    with receiving() as receiver:
        ids = end_jobs(own, f"{receiver.url}?token=hidden", 3)
        receiver.until(3)
        while len(own.deliveries.list(status="pending")):
            time.sleep(0.05)  # the receiver's responses may not have arrived yet
    every = own.deliveries.list()

    assert types(every) == TYPES
    assert set(every["source_id"]) == set(ids)
    assert every["created_at"].is_monotonic_decreasing
    assert "hidden" not in every.to_string()
    assert own.deliveries.list(limit=2).equals(every[:2])
    assert list(own.deliveries.list(source_id=ids[0])["source_id"]) == ids[:1]
    pending = own.deliveries.list(status="pending")
    assert (len(pending), types(pending)) == (0, TYPES)


@pytest.mark.spec("6.5")
def test_a_failed_delivery_is_explained_and_resent(
    own: Client, running: RunningSandbox
) -> None:
    broken = [True]
    with receiving(lambda _: Answer(503 if broken[0] else 204)) as receiver:
        ids = given_up(own, running, f"{receiver.url}?token=hidden", 2)
        attempts = own.deliveries.attempts(ids[0])
        assert [one.number for one in attempts] == list(range(1, 10))
        assert attempts[0].words == "the receiver failed with 503"
        assert "hidden" not in repr(own.deliveries.get(ids[0]))
        broken[0] = False
        assert [own.deliveries.replay(one).status for one in ids] == ["pending"] * 2
        running.advance(seconds=1)
        assert list(own.deliveries.list()["status"]) == ["delivered"] * 2
        assert len({one.event_id for one in receiver.received}) == 2


def test_a_replay_of_a_pending_delivery_is_rejected_and_one_without_a_response_is_found(
    own: Client, running: RunningSandbox, tmp_path: Path
) -> None:
    with receiving(lambda _: Answer(500)) as receiver:
        (failed,) = given_up(own, running, receiver.url, 1)
        with (
            LossyProxy(running.base_url, "POST", losses=1) as proxy,
            Client(proxy.base_url, running.api_key, home=tmp_path / "p") as client,
        ):
            assert client.deliveries.replay(failed).status == "pending"
        with pytest.raises(ConflictError, match="not sent again"):
            own.deliveries.replay(failed)
        with pytest.raises(NotFoundError, match="delivery_none"):
            own.deliveries.attempts("delivery_none")


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda log: log.list(status="FAILED"), "status"),
        (lambda log: log.list(limit=0), "limit"),
        (lambda log: log.get("../secret"), "delivery_id"),
        (lambda log: log.replay(None), "delivery_id"),
        (lambda log: log.rotate_secret(overlap_s=86_401), "overlap_s"),
    ],
)
def test_an_invalid_argument_is_named_and_nothing_is_sent(
    tmp_path: Path, ask: Any, field: str
) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=[])

    with (
        log_of(answer, tmp_path) as log,
        pytest.raises(InputError, match="Nothing was sent") as caught,
    ):
        ask(log)

    assert caught.value.field == field
    assert asked == []


# -- the secret -------------------------------------------------------------------


@pytest.mark.spec("6.6")
def test_the_secret_is_shown_only_on_request(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = client.deliveries.secret()
    text = secret.reveal()
    assert text.startswith("whsec_")
    assert secret == client.deliveries.secret()
    shown = f"{secret} {secret!r} {[secret]} {client.deliveries!r} {caplog.text}"
    assert text.removeprefix("whsec_") not in shown
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(secret)


def test_a_rotation_without_a_response_is_not_repeated(
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


# -- logs of another shape --------------------------------------------------------


@pytest.mark.spec("4.20")
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6), st.sampled_from([None, "0"])
)
def test_every_page_is_read_once_and_a_loop_of_pages_ends(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], last: str | None
) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["limit"])
        page = int(request.url.params.get("cursor", "0"))
        cursor = str(page + 1) if page + 1 < len(sizes) else last
        rows = [{"id": f"{page}-{number}"} for number in range(sizes[page])]
        return httpx.Response(200, json={"data": rows, "next_cursor": cursor})

    with log_of(answer, tmp_path_factory.mktemp("home")) as log:
        found = list(log.list()["id"])

    assert found == [f"{p}-{n}" for p, size in enumerate(sizes) for n in range(size)]
    assert len(asked) <= len(sizes) + 1
    assert set(asked) == {"100"}


def log_page(start: int, size: int, *, limit: int = 100) -> list[dict[str, Any]]:
    """Return a page of a log of 150 deliveries."""
    end = min(start + limit, size)
    return [{"id": f"whd_{number}", "status": "failed"} for number in range(start, end)]


CURSORS: dict[str, Callable[[str | None], dict[str, Any]]] = {
    "next_cursor": lambda cursor: {"next_cursor": cursor},
    "pagination": lambda cursor: {"pagination": {"next_cursor": cursor}},
    "flag": lambda cursor: {"has_more": cursor is not None, "cursor": cursor},
    "meta": lambda cursor: {"meta": {"cursor": cursor}},
    "camel": lambda cursor: {"nextCursor": cursor, "prevCursor": "p"},
    "next": lambda cursor: {"next": cursor},
    "url": lambda cursor: {"links": {"next": cursor and f"/log?cursor={cursor}&a=1"}},
    "token": lambda cursor: {"next_page_token": cursor or ""},
    "iterator": lambda cursor: {"iterator": cursor or "x", "done": cursor is None},
    "pages": lambda cursor: {
        "pageInfo": {
            "startCursor": "a",
            "endCursor": cursor or "z",
            "hasNextPage": cursor is not None,
        }
    },
    "continued": lambda cursor: {"continuationToken": cursor},
}


@pytest.mark.spec("4.20")
@pytest.mark.parametrize("around", CURSORS.values(), ids=CURSORS)
@pytest.mark.parametrize("holder", ["data", "deliveries", "items", "results"])
def test_a_cursor_is_read_under_any_name(
    around: Callable[[str | None], dict[str, Any]], holder: str, tmp_path: Path
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        start = int(request.url.params.get("cursor", "0"))
        following = str(start + 100) if start + 100 < 150 else None
        body = {holder: log_page(start, 150), **around(following)}
        return httpx.Response(200, json=body)

    with log_of(answer, tmp_path) as log:
        assert list(log.list()["id"]) == [f"whd_{number}" for number in range(150)]


@pytest.mark.spec("4.20")
@pytest.mark.parametrize(
    "around",
    [
        {},
        {"has_more": True},
        {"total": 150},
        {"pagination": {"total_count": 150}},
        {"page": 1, "total_pages": 2},
        {"next_page": 2},
        {"next": "https://service.invalid/log?page=2"},
    ],
)
def test_further_pages_without_a_cursor_cause_a_warning(
    around: dict[str, Any], tmp_path: Path
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": log_page(0, 150), **around})

    with log_of(answer, tmp_path) as log:
        with pytest.warns(IncompleteDataWarning, match="Only 100 deliveries"):
            assert len(log.list()) == 100
        assert len(log.list(limit=20)) == 20


@pytest.mark.spec("4.20")
def test_a_repeated_page_is_not_counted_twice_and_causes_a_warning(
    tmp_path: Path,
) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        body = {"data": log_page(0, 150), "next_cursor": "100"}
        return httpx.Response(200, json=body)

    with (
        log_of(answer, tmp_path) as log,
        pytest.warns(IncompleteDataWarning, match="Only 100 deliveries"),
    ):
        assert len(log.list()) == 100


@pytest.mark.parametrize(
    "around",
    [{"next_cursor": None}, {"has_more": False}, {"page": 1, "total_pages": 1}],
)
def test_a_full_last_page_causes_no_warning(
    around: dict[str, Any], tmp_path: Path
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": log_page(0, 100), **around})

    with log_of(answer, tmp_path) as log:
        assert len(log.list()) == 100


NEW_SECRET, OLD_SECRET = "whsec_bmV3IHNlY3JldA==", "whsec_b2xkIHNlY3JldA=="


@pytest.mark.spec("4.20")
@pytest.mark.parametrize(
    "body",
    [
        {"secret": NEW_SECRET},
        {"signing_secret": NEW_SECRET},
        {"data": {"secret": NEW_SECRET, "previous_secret": OLD_SECRET}},
        NEW_SECRET,
    ],
)
def test_a_secret_is_read_by_its_prefix_wherever_it_is(
    body: Any, tmp_path: Path
) -> None:
    with log_of(lambda _: httpx.Response(200, json=body), tmp_path) as log:
        assert log.secret().reveal() == NEW_SECRET
        assert log.rotate_secret().reveal() == NEW_SECRET


def test_a_bare_string_is_a_secret_and_a_rotation_without_one_is_reported_as_done(
    tmp_path: Path,
) -> None:
    with log_of(lambda _: httpx.Response(200, text=f"{NEW_SECRET}\n"), tmp_path) as log:
        assert log.secret().reveal() == NEW_SECRET
    body = {"secrets": [NEW_SECRET, OLD_SECRET], "value": "hidden"}
    with log_of(lambda _: httpx.Response(200, json=body), tmp_path / "b") as log:
        with pytest.raises(ServiceError) as unread:
            log.rotate_secret()
        assert "The secret was rotated anyway" in str(unread.value)
        assert "whsec_" not in str(unread.value)
        with pytest.raises(ServiceError) as unread:
            log.secret()
        assert "rotated" not in str(unread.value)


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
def test_every_reason_of_a_failed_attempt_has_a_description(
    reason: str | None, code: int | None, words: str
) -> None:
    assert Attempt(reason=reason, status_code=code).words == words


@pytest.mark.spec("6.6")
def test_a_rotation_returns_until_when_both_secrets_sign(own: Client) -> None:
    before = own.deliveries.secret()
    after = own.deliveries.rotate_secret(overlap_s=3_600)

    assert after != before
    assert after == own.deliveries.secret()
    assert after.previous_expires_at is not None
    assert after.previous_expires_at.tzinfo is not None
    assert own.deliveries.rotate_secret(overlap_s=0).previous_expires_at is None
