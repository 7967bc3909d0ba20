"""Limits: by the minute and the day, the queue, usage, suspension (spec 4.3, 8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from mediakit.api_models import ErrorCode
from mediakit.catalog import Catalog
from mediakit.errors import InputError
from mediakit.estimates import Line
from mediakit.sandbox.store import admission, jobs, money, orgs
from mediakit.sandbox.store.admission import KeyGoneError, Refusal
from mediakit.sandbox.store.database import SandboxDatabase, Value
from mediakit.sandbox.store.jobs import JobRow
from mediakit.schema import InputFacts, MediaRequest
from tests.sandbox.conftest import KITE, Api, StartSandbox, png
from tests.sandbox.store.rows import DAY_US, MINUTE_US, NOON, new_job
from tests.support.samples.media_samples import make_mp4
from tests.support.sandbox.admin import AdminClient, midnight_after

VIDEO = "text-to-video"
KITE_USD = 0.204


class Whim(MediaRequest, kind="whim", function="text-to-image", spec="8"):
    """A function of unknown price."""

    prompt: str

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        raise InputError("prompt", got=self.prompt, accepted="a price")


def assert_rejected(answer: httpx.Response, status: int, code: str) -> None:
    job = answer.json()
    assert answer.status_code == status, answer.text
    assert (job["status"], job["error"]["code"]) == ("failed", code)
    assert job["billing"] is None


def retry_after_s(answer: httpx.Response) -> int:
    return int(answer.headers["Retry-After"])


@pytest.mark.spec("4.3")
def test_submits_beyond_the_minute_wait_for_the_next_one(admin: AdminClient) -> None:
    user = admin.user(admin.org(per_minute=2))
    admin.at_noon()
    assert [user.post(VIDEO, KITE).status_code for _ in range(2)] == [200, 200]

    answer = user.post(VIDEO, KITE, "k")

    assert_rejected(answer, 429, "rate_limited")
    assert 1 <= retry_after_s(answer) <= 60
    # The key is bound to the failed job: only a fresh one gets another try.
    again = user.post(VIDEO, KITE, "k")
    assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
    assert "Retry-After" not in again.headers
    admin.skip(seconds=retry_after_s(answer))
    assert user.post(VIDEO, KITE, "k").json()["status"] == "failed"
    assert user.post(VIDEO, KITE, "fresh").json()["status"] == "queued"


@pytest.mark.spec("4.3")
def test_a_day_has_its_own_limit_and_refused_submits_do_not_count(
    admin: AdminClient,
) -> None:
    user = admin.user(admin.org(per_minute=1, per_day=2))
    admin.at_noon()
    assert user.post(VIDEO, KITE).status_code == 200
    for _ in range(5):
        assert retry_after_s(user.post(VIDEO, KITE)) <= 60
    admin.skip(minutes=1)
    assert user.post(VIDEO, KITE).status_code == 200

    answer = user.post(VIDEO, KITE)

    # Over both limits: who waited for the minute only would be refused again.
    assert_rejected(answer, 429, "rate_limited")
    left = midnight_after(admin.now()) - admin.now()
    assert (
        left <= timedelta(seconds=retry_after_s(answer)) <= left + timedelta(minutes=5)
    )
    admin.skip(seconds=retry_after_s(answer))
    assert user.post(VIDEO, KITE).status_code == 200


def test_reading_and_refused_requests_do_not_count(admin: AdminClient) -> None:
    user = admin.user(admin.org(per_minute=1))
    admin.at_noon()

    assert user.post(VIDEO, {}).status_code == 422
    assert user.post(VIDEO, KITE | {"webhook_url": "http://a"}).status_code == 400
    job = user.submit(VIDEO, KITE, "k")
    assert user.post(VIDEO, KITE | {"duration": 4}, "k").status_code == 409
    for _ in range(5):
        assert user.job(job["id"])["status"] == "queued"
        assert user.submit(VIDEO, KITE, "k")["id"] == job["id"]


def test_retry_after_is_in_real_seconds(sandboxes: StartSandbox) -> None:
    with AdminClient(sandboxes(speed=60.0)) as fast:
        user = fast.user(fast.org(per_day=0))
        fast.at_noon()
        seconds = retry_after_s(user.post(VIDEO, KITE))

    assert 11 * 60 < seconds <= 12 * 60


@pytest.mark.spec("3.1")
def test_each_organization_has_its_own_queue(admin: AdminClient) -> None:
    small, other = (admin.user(admin.org(queue_size=n)) for n in (1, 1))
    assert small.post(VIDEO, KITE).status_code == 200

    answer = small.post(VIDEO, KITE)

    assert_rejected(answer, 429, "rate_limited")
    assert retry_after_s(answer) >= 1
    assert other.post(VIDEO, KITE).status_code == 200


def test_raising_the_cap_starts_what_is_queued(admin: AdminClient) -> None:
    org = admin.org(concurrency=0)
    user = admin.user(org)
    job = user.submit(VIDEO, {"prompt": "sandbox:fail=internal"})
    assert user.job(job["id"])["status"] == "queued"

    admin.change(org, concurrency=1)

    assert user.ended(job["id"])["error"]["code"] == "internal"


@pytest.mark.spec("7.2")
def test_a_suspended_organization_reads_and_does_not_submit(admin: AdminClient) -> None:
    org = admin.org()
    user = admin.user(org)
    job = user.submit(VIDEO, KITE)
    admin.change(org, suspended=True)

    answer = user.post(VIDEO, KITE)

    assert_rejected(answer, 403, "admission_suspended")
    assert "Retry-After" not in answer.headers
    assert user.job(job["id"])["status"] == "queued"
    assert user.balance() == 100_000_000
    admin.change(org, suspended=False)
    assert user.post(VIDEO, KITE).status_code == 200


@pytest.mark.spec("4.3")
def test_a_key_has_a_daily_limit_of_its_own(admin: AdminClient) -> None:
    org = admin.org()
    user = admin.user(org, daily_limit_usd=2 * KITE_USD)
    other = admin.user(org)
    admin.at_noon()
    assert [user.post(VIDEO, KITE).status_code for _ in range(2)] == [200, 200]

    answer = user.post(VIDEO, KITE)

    assert_rejected(answer, 403, "rate_limited")
    left = midnight_after(admin.now()) - admin.now()
    assert timedelta(seconds=retry_after_s(answer)) >= left
    assert other.post(VIDEO, KITE).status_code == 200


@pytest.mark.spec("7.2")
def test_an_outage_rejects_submits_that_would_be_admitted(
    admin: AdminClient,
) -> None:
    org = admin.org(queue_size=1)
    user = admin.user(org)
    admin.change(org, suspended=True)
    admin.api.running.fault("outage", count=1)

    # A submit that a limit rejects finds no outage: the one that was asked for
    # is left for the next.
    assert_rejected(user.post(VIDEO, KITE), 403, "admission_suspended")
    admin.change(org, suspended=False)
    assert_rejected(user.post(VIDEO, KITE, "k"), 503, "provider_unavailable")
    assert user.submit(VIDEO, KITE, "k")["status"] == "failed"
    assert user.submit(VIDEO, KITE, "fresh")["status"] == "queued"


@pytest.mark.spec("7.2")
def test_without_a_billing_plan_no_job_is_made_and_no_key_bound(
    admin: AdminClient,
) -> None:
    org = admin.org()
    user = admin.user(org)
    before = user.submit(VIDEO, KITE, "before")
    admin.change(org, billing_plan=False)

    answer = user.post(VIDEO, KITE, "k")

    assert answer.status_code == 500
    assert list(answer.json()) == ["message"]
    assert user.submit(VIDEO, KITE, "before")["id"] == before["id"]
    admin.change(org, billing_plan=True)
    assert user.submit(VIDEO, KITE | {"duration": 4}, "k")["status"] == "queued"


@pytest.mark.spec("4.3")
def test_a_request_without_a_price_becomes_a_failed_job_with_200(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(catalog=Catalog.default().including(Whim), settle_after_s=0.01)

    answer = api.post("whim", {"prompt": "a kite"})

    assert_rejected(answer, 200, "invalid_input")
    settled = api.settled(answer.json()["id"])
    assert settled["billing"] == {"state": "settled", "charge_micro_usd": 0}


PRICE = 600


class Submitter:
    """An organization in a store, and submits to it at an instant."""

    def __init__(
        self,
        db: SandboxDatabase,
        *,
        per_minute: int | None = None,
        per_day: int | None = None,
    ) -> None:
        self.db = db
        self.made = 0
        self.org = orgs.add_org(
            db,
            NOON,
            name="Some",
            balance_micro_usd=10 * PRICE,
            concurrency=1,
            per_minute=per_minute,
            per_day=per_day,
            queue_size=50,
        )
        self.member = orgs.add_member(db, org=self.org, name="Ada", role="member")
        self.key = self.make_key()

    def make_key(self) -> str:
        return orgs.add_key(self.db, NOON, org=self.org, member=self.member)[0]

    def limit(self, what: str, row_id: str, limit: int) -> None:
        table = "api_key" if what == "key" else "member"
        self.db.update(table, {"id": row_id}, daily_limit_micro_usd=limit)

    def submit(
        self,
        now_us: int = NOON,
        *,
        price: int | None = PRICE,
        key: str | None = None,
        is_out: bool = False,
    ) -> tuple[JobRow, Refusal | None]:
        name = f"{self.made}"
        self.made += 1
        new = new_job(name, self.org, key or self.key, price, now_us)
        return admission.submit(self.db, new, None, lambda: is_out)

    def code(self, **how: Any) -> ErrorCode | None:
        refusal = self.submit(**how)[1]
        return None if refusal is None else refusal.code

    def finish(self, job: JobRow, charge: int, now_us: int) -> None:
        running = jobs.claim(self.db, now_us)
        assert running is not None
        assert running.id == job.id
        assert jobs.complete(
            self.db, running, charge, now_us=now_us, settle_due_us=now_us
        )
        assert money.settle_due(self.db, now_us) == 1


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SandboxDatabase]:
    db = SandboxDatabase(tmp_path / "db")
    yield db
    db.close()


# From the first that is found to the last; each is the organization's state without
# what comes before it.
ORDER: list[tuple[ErrorCode | None, dict[str, Value]]] = [
    (ErrorCode.RATE_LIMITED, {"per_minute": 0}),
    (ErrorCode.RATE_LIMITED, {"concurrency": 0, "queue_size": 0}),
    (ErrorCode.ADMISSION_SUSPENDED, {"suspended": 1}),
    (ErrorCode.INSUFFICIENT_BALANCE, {"balance_micro_usd": PRICE - 1}),
]


@pytest.mark.spec("4.3")
@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_first_limit_in_the_interfaces_order_is_the_reason(
    db: SandboxDatabase, first: int
) -> None:
    submitter = Submitter(db)
    submitter.limit("key", submitter.key, PRICE - 1)
    for _, state in ORDER[first:]:
        db.update("org", {"id": submitter.org}, **state)

    assert submitter.code(is_out=True) == ORDER[first][0]


@pytest.mark.spec("4.3")
def test_usage_outage_and_price_are_checked_after_the_organizations_limits(
    db: SandboxDatabase,
) -> None:
    submitter = Submitter(db)
    submitter.limit("key", submitter.key, PRICE - 1)
    _, refusal = submitter.submit(is_out=True)
    assert refusal is not None
    assert refusal.over_usage_limit

    submitter.limit("key", submitter.key, PRICE)
    assert submitter.code(is_out=True) is ErrorCode.PROVIDER_UNAVAILABLE
    assert submitter.code(price=None, is_out=True) is ErrorCode.PROVIDER_UNAVAILABLE
    assert submitter.code(price=None) is ErrorCode.INVALID_INPUT
    assert submitter.code() is None


def test_a_window_ends_on_the_microsecond(db: SandboxDatabase) -> None:
    submitter = Submitter(db, per_minute=1, per_day=2)
    last_us = NOON + MINUTE_US - 1

    assert submitter.code(now_us=NOON) is None
    _, refusal = submitter.submit(last_us)
    assert refusal is not None
    assert refusal.retry_at_us == last_us + 1
    assert submitter.code(now_us=last_us + 1) is None
    _, refusal = submitter.submit(last_us + 1 + MINUTE_US)
    assert refusal is not None
    assert refusal.retry_at_us == NOON + DAY_US // 2
    assert submitter.code(now_us=NOON + DAY_US // 2) is None


@pytest.mark.parametrize("what", ["key", "member"])
def test_a_daily_limit_counts_what_settled_today_and_what_is_held(
    db: SandboxDatabase, what: str
) -> None:
    submitter = Submitter(db)
    submitter.limit(
        what, submitter.key if what == "key" else submitter.member, 2 * PRICE
    )
    job, refusal = submitter.submit()
    assert refusal is None

    submitter.finish(job, PRICE - 1, NOON)  # one micro-dollar less than was held
    assert submitter.code(price=PRICE + 2) is ErrorCode.RATE_LIMITED
    assert (
        submitter.code(price=PRICE + 1) is None
    )  # exactly the limit; held from now on
    assert submitter.code(price=1) is ErrorCode.RATE_LIMITED
    # The next day what has settled is over, and what is held still is.
    tomorrow = NOON + DAY_US // 2
    assert submitter.code(now_us=tomorrow - 1, price=1) is ErrorCode.RATE_LIMITED
    assert submitter.code(now_us=tomorrow, price=PRICE) is ErrorCode.RATE_LIMITED
    assert submitter.code(now_us=tomorrow, price=PRICE - 1) is None


def test_a_members_second_key_has_what_the_first_left(db: SandboxDatabase) -> None:
    submitter = Submitter(db)
    submitter.limit("member", submitter.member, PRICE + 1)
    second = submitter.make_key()

    assert submitter.code() is None
    assert submitter.code(key=second, price=2) is ErrorCode.RATE_LIMITED
    assert submitter.code(key=second, price=1) is None


@pytest.mark.parametrize("state", ["queued", "running", "pending"])
def test_money_is_held_through_every_state_until_it_settles(
    db: SandboxDatabase, state: str
) -> None:
    submitter = Submitter(db)
    submitter.limit("key", submitter.key, PRICE)
    submitter.submit()
    running = None if state == "queued" else jobs.claim(db, NOON)
    assert (running is None) == (state == "queued")
    if running is not None and state == "pending":
        assert jobs.complete(db, running, 0, now_us=NOON, settle_due_us=NOON + 1)

    assert submitter.code(price=1) is ErrorCode.RATE_LIMITED


def test_a_key_of_another_organization_is_no_key(db: SandboxDatabase) -> None:
    submitter, other = Submitter(db), Submitter(db)

    for key in (other.key, "key_none"):
        with pytest.raises(KeyGoneError):
            submitter.submit(key=key)
    assert db.all("SELECT id FROM job") == []


def test_a_hold_that_is_raised_keeps_to_the_daily_limit(db: SandboxDatabase) -> None:
    submitter = Submitter(db)
    submitter.limit("key", submitter.key, 2 * PRICE)
    job, _ = submitter.submit()

    refusal = admission.hold_more(db, job.id, 2 * PRICE + 1, NOON)

    assert refusal is not None
    assert (refusal.code, refusal.over_usage_limit) == (ErrorCode.RATE_LIMITED, True)
    assert admission.hold_more(db, job.id, 2 * PRICE, NOON) is None
    assert money.held_micro_usd(db, job.id) == 2 * PRICE


# -- a price that rests on a clip ------------------------------------------------------


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A clip of 2.5 s."""
    path = tmp_path_factory.mktemp("clips") / "clip.mp4"
    return make_mp4(path, (160, 90), duration_s=2.5).read_bytes()


def upscaled(api: Api, clip: bytes, **more: Any) -> dict[str, Any]:
    body = {"video_url": api.upload("video/mp4", clip), "h264_output": True, **more}
    return api.settled(api.submit("video-upscale", body)["id"])


def test_a_clip_that_costs_more_than_is_left_fails_without_a_charge(
    sandboxes: StartSandbox, clip: bytes
) -> None:
    poor = sandboxes(balance_micro_usd=189_999, settle_after_s=0.05)
    job = upscaled(poor, clip)

    assert job["error"]["code"] == "insufficient_balance"
    assert "190000 micro-USD" in job["error"]["message"]
    assert job["billing"]["charge_micro_usd"] == 0
    # Nothing stays held: the whole balance can be spent.
    picture = poor.upload("image/png", png())
    body = {"prompt": "a", "reference_image_urls": [picture], "duration": 3}
    job = poor.ended(poor.submit("r6", body)["id"])  # 0.1611
    assert job["status"] == "completed"
