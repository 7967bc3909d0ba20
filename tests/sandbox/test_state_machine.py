"""Money and events add up after any actions on a sandbox, in any order.

The state machine submits, repeats, erases, skips time, injects faults and restarts,
over HTTP. After each step the balance is what it was at the start, and was given since,
less what has settled; and no job that has ended ever changes. In the end every job has
ended, and every end was announced under one `webhook-id`.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mediakit.sandbox.server.running import Sandbox, start
from tests.sandbox.conftest import Api, png
from tests.support.samples.media_samples import make_mp4
from tests.support.sandbox.receivers import (
    Answer,
    Received,
    admin_call,
    receiving,
    register,
)
from tests.support.soak import trials

EXAMPLES, STEPS = trials(8, soak=15), 40
OPENING_MICRO_USD = 756_000
GRANT_MICRO_USD = 378_000
MOST_JOBS = 20
MOST_FAILURES = 8  # of the nine attempts that each event has
SETTLE_AFTER_S = 600.0
ALL_ATTEMPTS_S = 60 * 3600
SCRIPTED_STATUS = 500
FAILING = "#sandbox:fail=provider_error"
SUBMITS = {"method": "POST", "path": "/v1/media/sandbox/"}
FAULTS: dict[str, dict[str, Any]] = {
    "drop_before": {"where": SUBMITS, "count": 1},
    "drop_after": {"where": SUBMITS, "count": 1},
    "status": {"where": SUBMITS, "count": 1, "status": SCRIPTED_STATUS},
    "outage": {"count": 1},
    "fail_render": {"count": 1, "code": "provider_timeout"},
    "late_settlement": {"count": 2, "seconds": 3600},
    "stuck_queue": {},
}
happened: Counter[str] = Counter()


@dataclass(frozen=True)
class Offer:
    """Something to submit.

    Args:
        words: What it holds, of the opening balance.
        kind: The function.
        charge_micro_usd: What it costs once completed.
        more: Its body, without its medium.
        medium: The field of its medium.
    """

    words: str
    kind: str
    charge_micro_usd: int
    more: dict[str, Any]
    medium: str = "image_url"


OFFERS = (
    # Its hold is 0 until its clip is read.
    Offer("nothing", "video-upscale", 76_000, {"h264_output": True}, "video_url"),
    Offer("a sixth", "image-upscale", 126_000, {}),
    Offer("half", "image-upscale", 378_000, {"model": "wonder-3"}),
    Offer(
        "more than two thirds",
        "r6",
        532_100,
        {"prompt": "a kite", "duration": 10},
        "reference_image_urls",
    ),
    Offer("all", "image-upscale", 756_000, {"model": "wonder"}),
)


# What, whether it is to fail, and whether it is to call back.
WANTED = st.tuples(st.sampled_from(OFFERS), st.booleans(), st.booleans())


@dataclass(frozen=True)
class Submission:
    """An offer that is submitted under a key."""

    key: str
    offer: Offer
    body: dict[str, Any]


@cache
def clip() -> bytes:
    """A clip of one second."""
    with TemporaryDirectory() as folder:
        path = make_mp4(Path(folder) / "clip.mp4", (64, 48), duration_s=1)
        return path.read_bytes()


class Submissions(RuleBasedStateMachine):
    """Acts on one sandbox, and checks its invariants."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = self.stack.enter_context(TemporaryDirectory())
        self.receiver = self.stack.enter_context(receiving(self.answer))
        self.api = self.served()
        self.media = {
            "image_url": self.api.upload("image/png", png()),
            "video_url": self.api.upload("video/mp4", clip()),
        }
        self.given_micro_usd = OPENING_MICRO_USD
        self.submissions: dict[str, Submission] = {}  # by job id
        self.ended: dict[str, dict[str, Any]] = {}
        self.erased: set[str] = set()
        self.heard: set[str] = set()  # jobs whose end somebody must hear of
        self.endpoints = 0
        self.failures_left, self.failures_ordered = 0, 0
        self.is_stuck = False

    def served(self) -> Api:
        running = start(
            Sandbox(
                Path(self.folder),
                balance_micro_usd=OPENING_MICRO_USD,
                queue_size=6,
                settle_after_s=SETTLE_AFTER_S,
                allow_loopback_callbacks=True,
                sketch=True,
            )
        )
        return Api(running)

    def stop(self) -> None:
        self.api.http.close()
        self.api.running.stop()

    def answer(self, received: Received) -> Answer:
        if self.failures_left:
            self.failures_left -= 1
            happened["attempts refused"] += 1
            return Answer(500)
        return Answer()

    # What is done.

    @precondition(lambda self: len(self.submissions) < MOST_JOBS)
    @rule(wanted=st.lists(WANTED, min_size=1, max_size=4))
    def submit(self, wanted: list[tuple[Offer, bool, bool]]) -> None:
        for offer, fails, called_back in wanted:
            self.submit_one(offer, fails=fails, called_back=called_back)

    def submit_one(self, offer: Offer, *, fails: bool, called_back: bool) -> None:
        kind = "video_url" if offer.medium == "video_url" else "image_url"
        url = self.media[kind] + (FAILING if fails else "")
        medium = [url] if offer.medium.endswith("urls") else url
        callback = {"webhook_url": self.receiver.url} if called_back else {}
        body = {**offer.more, offer.medium: medium, **callback}
        submitted = Submission(f"key-{len(self.submissions)}", offer, body)
        answer = self.answer_to(submitted)
        job = answer.json()
        assert answer.status_code == 200 or job["status"] == "failed"
        assert job["id"] not in self.submissions
        self.submissions[job["id"]] = submitted
        if called_back or self.endpoints:
            self.heard.add(job["id"])
        happened[f"holds of {offer.words}"] += 1

    def answer_to(self, submitted: Submission) -> httpx.Response:
        """Submit until there is an answer that nobody scripted, under one key."""
        for _ in range(STEPS):
            try:
                answer = self.api.post(
                    submitted.offer.kind, submitted.body, submitted.key
                )
            except httpx.TransportError:
                happened["dropped connections"] += 1
                continue
            happened[f"answers {answer.status_code}"] += 1
            if answer.status_code != SCRIPTED_STATUS:
                return answer
        raise AssertionError("more faults than there were steps")

    @precondition(lambda self: self.submissions)
    @rule(which=st.integers(0, MOST_JOBS))
    def repeat(self, which: int) -> None:
        job_id = self.chosen(which)
        again = self.answer_to(self.submissions[job_id])
        assert (again.status_code, again.json()["id"]) == (200, job_id)

    @precondition(lambda self: self.submissions)
    @rule(which=st.integers(0, MOST_JOBS))
    def reuse_the_key(self, which: int) -> None:
        submitted = self.submissions[self.chosen(which)]
        callback = {"webhook_url": f"{self.receiver.url}/elsewhere"}
        other = Submission(submitted.key, submitted.offer, submitted.body | callback)
        assert self.answer_to(other).status_code == 409

    @precondition(lambda self: self.submissions)
    @rule(which=st.integers(0, MOST_JOBS))
    def erase(self, which: int) -> None:
        job_id = self.chosen(which)
        answer = self.api.http.delete(f"/v1/media/jobs/{job_id}")
        assert answer.status_code in (200, 409)
        if answer.status_code == 200:
            self.erased.add(job_id)
            happened["erased jobs"] += 1

    @rule(seconds=st.sampled_from([1, SETTLE_AFTER_S / 2, SETTLE_AFTER_S, 55 * 3600]))
    def skip(self, seconds: float) -> None:
        answer = admin_call(self.api, "POST", "clock/advance", {"seconds": seconds})
        assert answer.status_code == 200, answer.text

    @rule(kind=st.sampled_from(sorted(FAULTS)))
    def inject_fault(self, kind: str) -> None:
        answer = admin_call(self.api, "POST", "faults", {"kind": kind, **FAULTS[kind]})
        assert answer.status_code == 201, answer.text
        self.is_stuck |= kind == "stuck_queue"

    @rule()
    def put_right(self) -> None:
        assert admin_call(self.api, "DELETE", "faults").status_code == 200
        self.is_stuck = False

    @precondition(lambda self: self.failures_ordered < MOST_FAILURES)
    @rule(n=st.integers(1, 4))
    def refuse_events(self, n: int) -> None:
        n = min(n, MOST_FAILURES - self.failures_ordered)
        self.failures_ordered += n
        self.failures_left += n

    @precondition(lambda self: self.endpoints < 2)
    @rule()
    def listen_to_all(self) -> None:
        register(self.api, self.receiver.url)
        self.endpoints += 1

    @rule()
    def give_money(self) -> None:
        asked = {"usd": GRANT_MICRO_USD / 1_000_000, "kind": "fund"}
        answer = admin_call(self.api, "POST", "orgs/org_sandbox/grants", asked)
        assert answer.status_code in (200, 201), answer.text
        self.given_micro_usd += GRANT_MICRO_USD

    @rule()
    def restart(self) -> None:
        self.stop()
        self.api = self.served()
        happened["restarts"] += 1

    @precondition(lambda self: not self.is_stuck)
    @rule()
    def wait(self) -> None:
        for job_id in self.submissions:
            self.api.ended(job_id)

    def chosen(self, which: int) -> str:
        return sorted(self.submissions)[which % len(self.submissions)]

    # What must be true.

    @invariant()
    def money_adds_up_and_the_past_stays(self) -> None:
        settled_micro_usd = 0
        for job_id, submitted in self.submissions.items():
            job = self.api.job(job_id)
            assert ("deleted_at" in job) == (job_id in self.erased)
            if job["status"] in ("completed", "failed"):
                lasting = {"status": job["status"], "error": job.get("error")}
                assert self.ended.setdefault(job_id, lasting) == lasting
            assert job_id not in self.ended or job["billing"] is not None
            settled_micro_usd += settled(job, submitted)
        balance = self.api.balance()
        assert balance == self.given_micro_usd - settled_micro_usd
        assert balance >= 0

    def teardown(self) -> None:
        try:
            self.failures_left = 0
            self.put_right()
            self.wait()
            self.skip(ALL_ATTEMPTS_S)
            self.money_adds_up_and_the_past_stays()
            self.assert_all_ended_and_was_heard()
        finally:
            self.stop()
            self.stack.close()

    def assert_all_ended_and_was_heard(self) -> None:
        assert set(self.ended) == set(self.submissions)
        ids: dict[str, set[str]] = {}
        for received in self.receiver.received:
            ids.setdefault(received.event["data"]["id"], set()).add(received.event_id)
        assert set(ids) >= self.heard
        assert all(len(of_job) == 1 for of_job in ids.values())
        happened["jobs"] += len(self.submissions)
        happened["attempts"] += len(self.receiver.received)
        for job in self.ended.values():
            happened[f"jobs {job['status']}"] += 1


def settled(job: dict[str, Any], submitted: Submission) -> int:
    """Check a job's charge and return it; 0 while it has not settled."""
    if (job["billing"] or {}).get("state") != "settled":
        return 0
    charge: int = job["billing"]["charge_micro_usd"]
    completed = job["status"] == "completed"
    assert charge == (submitted.offer.charge_micro_usd if completed else 0)
    return charge


def test_money_and_events_add_up_after_any_actions(tell: Callable[[str], None]) -> None:
    run_state_machine_as_test(
        Submissions,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            suppress_health_check=list(HealthCheck),
            # A failing run is told as it was: to make it shorter would take minutes.
            phases=[Phase.reuse, Phase.generate],
        ),
    )
    counts = ", ".join(f"{n} {what}" for what, n in sorted(happened.items()))
    tell(f"{EXAMPLES} sandboxes; {counts}.")
