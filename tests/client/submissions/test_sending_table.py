"""One submission makes one job and one charge, whatever happens to its response.

Jobs and charges are read from the service's store, never from our history. The
table is printed at the end of the run; "jobs later" says how many jobs the same call
made when it was called again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mediakit.catalog import Catalog
from mediakit.client import AsyncJob, Service
from mediakit.client.idempotency_keys import submission_of
from mediakit.client.retries import MAX_RETRY_AFTER_TOTAL_S, SUBMIT_RETRY_FOR_S
from mediakit.client.submit_responses import may_resend_unasked
from mediakit.errors import (
    BalanceError,
    ConflictError,
    MediakitError,
    RateLimitError,
    ServiceError,
)
from mediakit.history import History, Submission
from mediakit.sandbox.server.running import Sandbox, start
from tests.client.submissions.sending_rows import (
    ROWS,
    WELL,
    Fault,
    Row,
)
from tests.sandbox.conftest import Api
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.new_history import with_history
from tests.support.sandbox.admin import AdminClient, midnight_after
from tests.support.servers.lossy_proxy import LossyProxy
from tests.support.servers.serving import free_port
from tests.support.virtual_clock import VirtualClock
from tests.support.waiting import until

KIND = "text-to-image"
CHARGE_MICRO_USD = 50_000
TITLES = ("jobs", "charged", "POSTs", "keys", "seconds", "jobs later")


@dataclass
class Stage:
    """One sandbox for all rows, and the table of their outcomes."""

    api: Api
    admin: AdminClient

    def script(self, faults: Sequence[Fault]) -> None:
        path = self.api.running.functions[KIND]
        for fault in faults:
            self.api.running.fault(where={"function": path}, **fault)

    def organization(
        self, limits: Mapping[str, Any] | None = None, *, balance_usd: float = 1
    ) -> tuple[str, Api]:
        """Create an organization, and a user with a key for it."""
        org = self.admin.org(balance_usd=balance_usd, concurrency=2)
        self.admin.change(org, **(limits or WELL))
        return org, self.admin.user(org)

    def proxy(self, port: int = 0) -> LossyProxy:
        """Return a function that notes each request in transit."""
        return LossyProxy(self.api.running.base_url, "POST", 0, port=port)

    def books(self, org: str, user: Api) -> tuple[int, int]:
        """Return the jobs and the charges of an organization, once all has settled."""
        until(lambda: not self.admin.show(org)["held_micro_usd"])
        today = self.admin.now().date().isoformat()
        asked = {"start_date": "2020-01-01", "end_date": today}
        rows = user.http.get("/billing/spend/daily", params=asked).json()["rows"]
        return sum(r["jobs"] for r in rows), sum(r["charge_micro_usd"] for r in rows)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    running = start(Sandbox(tmp_path_factory.mktemp("sandbox"), settle_after_s=0.05))
    api = Api(running)
    with AdminClient(api) as admin, api.http:
        # An hour before midnight, so that a limit of the day says 3,600 s.
        midnight = midnight_after(admin.now())
        admin.skip_to(midnight)
        admin.skip(hours=23)
        stage = Stage(api, admin)
        yield stage
    running.stop()


def as_line(line: Sequence[object]) -> str:
    """Write a row of the table; rows may be printed in any order, by any worker."""
    name, *numbers, outcome = line
    named = zip(TITLES, numbers, strict=True)
    fields = "  ".join(f"{title} {number!s:<7}" for title, number in named)
    return f"{name!s:<44}{fields}{outcome}"


class Submissions:
    """A user who submits, each time with a new client on the same history."""

    def __init__(
        self, base_url: str, user: Api, home: Path, clock: AdvancingClock | None = None
    ) -> None:
        self.clock = clock or AdvancingClock()
        self._service = Service(
            base_url, user.http.headers["X-API-Key"], identity="the-service"
        )
        self._history = with_history(home) / "history.sqlite3"

    def history(self) -> History:
        return History(self._history)

    async def submit(self, prompt: str, **how: Any) -> AsyncJob:
        """Submit once, as a new process would."""
        return (await self.submit_all([prompt], **how))[0]

    async def submit_all(self, prompts: Sequence[str], **how: Any) -> list[AsyncJob]:
        """Submit all at once with one client, as a new process would."""
        with self.history() as history:
            client = async_client(
                self._service, history=history, clock=self.clock, **how
            )
            async with client:
                calls = (client.submit(KIND, prompt=prompt) for prompt in prompts)
                return await asyncio.gather(*calls)

    def submission(self, prompt: str) -> Submission:
        """Return the submission that the same call records first."""
        function = Catalog.default().function(KIND)
        body = function.canonical_body({"prompt": prompt})
        return submission_of(self._service, function, body, function.estimate(body))


def posts(proxy: LossyProxy) -> list[bytes]:
    return [r for r in proxy.requests if r.startswith(b"POST /v1/media/sandbox/")]


def keys(proxy: LossyProxy) -> set[bytes]:
    lines = {line.lower() for post in posts(proxy) for line in post.splitlines()}
    return {line for line in lines if line.startswith(b"idempotency-key:")}


def at_nth(nth: int, do: Callable[[], object]) -> Callable[[], None]:
    """Return a function that acts on its nth call."""
    left = [nth]

    def called() -> None:
        left[0] -= 1
        if left[0] == 0:
            do()

    return called


def assert_says_when_to_come_again(error: MediakitError, clock: AdvancingClock) -> None:
    assert clock.slept_s == []
    if isinstance(error, RateLimitError):
        assert error.retry_after_s is not None
        assert 3_000 < error.retry_after_s <= 3_600  # the sandbox runs for a while
        assert f"{error.retry_at:%Y-%m-%d %H:%M:%S} UTC" in str(error)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_submit_makes_and_pays_one_job_whatever_happens_to_its_response(
    row: Row, stage: Stage, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    org, user = stage.organization(row.org)
    stage.script(row.faults)

    def meanwhile() -> None:
        stage.script(row.later)
        if row.later_org:
            stage.admin.change(org, **row.later_org)

    with stage.proxy() as proxy, asyncio.Runner() as runner:
        caller = Submissions(proxy.base_url, user, tmp_path)
        caller.clock.at_sleep = at_nth(1, meanwhile)
        job_id, outcome = None, "the job"
        started_s = caller.clock.monotonic_s()
        if row.error is None:
            job_id = runner.run(caller.submit(row.name, timeout_s=row.timeout_s)).id
        else:
            with pytest.raises(row.error, match=row.words) as caught:
                runner.run(caller.submit(row.name, timeout_s=row.timeout_s))
            outcome = f"{type(caught.value).__name__}, sent: {caught.value.sent}"
            assert caught.value.sent is row.sent
            if row.asked_s > MAX_RETRY_AFTER_TOTAL_S:
                assert_says_when_to_come_again(caught.value, caller.clock)
            assert user.http.headers["X-API-Key"] not in str(caught.value)
        took_s = caller.clock.monotonic_s() - started_s
        assert row.asked_s > MAX_RETRY_AFTER_TOTAL_S or took_s >= row.asked_s

        stage.api.running.clear_faults()
        jobs, charged = stage.books(org, user)
        posts_n, keys_n = len(posts(proxy)), len(keys(proxy))
        line = (row.name, jobs, charged, posts_n, keys_n, f"{took_s:.1f}", outcome)
        assert (jobs, charged) == (row.jobs, row.jobs * CHARGE_MICRO_USD), line
        assert row.posts in (None, posts_n), line
        assert row.keys in (None, keys_n), line

        # The same call finds that job, or makes the one that was not made.
        stage.admin.change(org, **WELL)
        again = runner.run(caller.submit(row.name))
        assert job_id in (None, again.id)
        assert stage.books(org, user) == (1, CHARGE_MICRO_USD)
        assert job_id is None or len(posts(proxy)) == posts_n
        tell(as_line((*line[:-1], 1 - jobs, outcome)))


def test_a_service_that_starts_during_the_retries_makes_one_job(
    stage: Stage, tmp_path: Path
) -> None:
    org, user = stage.organization()
    port = free_port()
    caller = Submissions(f"http://127.0.0.1:{port}", user, tmp_path)
    proxies: list[LossyProxy] = []
    with ExitStack() as stack, asyncio.Runner() as runner:

        def appear() -> None:
            proxies.append(stack.enter_context(stage.proxy(port)))

        caller.clock.at_sleep = at_nth(3, appear)
        job = runner.run(caller.submit("late"))

        assert len(posts(proxies[0])) == 1
        assert stage.books(org, user) == (1, CHARGE_MICRO_USD)
        assert runner.run(caller.submit("late")).id == job.id


def test_an_unreachable_service_gets_no_request_and_is_retried_for_a_minute(
    stage: Stage, tmp_path: Path
) -> None:
    org, user = stage.organization()
    port = free_port()
    caller = Submissions(f"http://127.0.0.1:{port}", user, tmp_path)
    with asyncio.Runner() as runner:
        with pytest.raises(ServiceError, match="Nothing was sent and") as caught:
            runner.run(caller.submit("nobody"))
        assert caught.value.sent is False
        assert caller.clock.monotonic_s() >= SUBMIT_RETRY_FOR_S
        with stage.proxy(port) as proxy:
            runner.run(caller.submit("nobody"))

            assert len(posts(proxy)) == 1
            assert stage.books(org, user) == (1, CHARGE_MICRO_USD)


def test_a_key_that_is_bound_to_another_body_is_never_sent_again(
    stage: Stage, tmp_path: Path
) -> None:
    org, user = stage.organization()
    with stage.proxy() as proxy, asyncio.Runner() as runner:
        caller = Submissions(proxy.base_url, user, tmp_path)
        submission = caller.submission("mine")
        user.submit(KIND, {"prompt": "another's"}, key=submission.key)

        for _ in range(2):
            with pytest.raises(ConflictError) as caught:
                runner.run(caller.submit("mine"))
        said = str(caught.value)

        assert len(posts(proxy)) == 2  # one each time that it was asked for
        assert stage.books(org, user) == (1, CHARGE_MICRO_USD)  # the other one
        assert submission.key[:12] in said
        assert sha256(submission.body).hexdigest()[:12] in said
        assert "'mine'" in said
        assert 'take="next"' in said


def test_a_balance_that_is_too_low_on_submission_raises_one_typed_error(
    stage: Stage, tmp_path: Path
) -> None:
    org, user = stage.organization(balance_usd=0.01)
    with stage.proxy() as proxy, asyncio.Runner() as runner:
        caller = Submissions(proxy.base_url, user, tmp_path)
        with pytest.raises(
            BalanceError, match=r"Nothing was charged\. Top up"
        ) as caught:
            runner.run(caller.submit("dear"))
        assert caught.value.status == 403
        assert caught.value.job_id is not None
        assert len(posts(proxy)) == 1
        assert stage.books(org, user) == (0, 0)

        stage.admin.grant(org, 1, "fund")
        runner.run(caller.submit("dear"))
        assert len(keys(proxy)) == 2
        assert stage.books(org, user) == (1, CHARGE_MICRO_USD)


def test_more_submits_than_the_queue_holds_all_run_once(
    stage: Stage, tmp_path: Path
) -> None:
    org, user = stage.organization({"concurrency": 1, "queue_size": 2})
    clock = AdvancingClock(pause_s=0.1)  # the jobs before take real time
    caller = Submissions(stage.api.running.base_url, user, tmp_path, clock)
    prompts = [f"at once {n}" for n in range(8)]
    with asyncio.Runner() as runner:
        jobs = runner.run(caller.submit_all(prompts))

    assert len({job.id for job in jobs}) == 8
    assert stage.books(org, user) == (8, 8 * CHARGE_MICRO_USD)


def test_an_unanswered_submit_is_resent_automatically_for_a_day(tmp_path: Path) -> None:
    clock = VirtualClock()
    with History(tmp_path / "history.sqlite3", clock=clock) as history:
        service = Service("http://127.0.0.1:9", "a-key-0123")
        function = Catalog.default().function(KIND)
        estimate = function.estimate({})
        kite = submission_of(service, function, {"prompt": "a"}, estimate)
        entry, _ = history.claim(kite)

    assert may_resend_unasked(entry, clock.now() + timedelta(hours=24))
    assert not may_resend_unasked(entry, clock.now() + timedelta(hours=24, seconds=1))
