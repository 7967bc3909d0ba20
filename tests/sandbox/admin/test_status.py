"""The pages of the sandbox's own."""

import httpx
import pytest

from mediakit.sandbox.admin.status_data import Overview, Trouble
from mediakit.sandbox.admin.status_page import page
from mediakit.sandbox.scheduling.clock import to_us
from mediakit.sandbox.store.events.deliveries import DeliveryRow
from tests.sandbox.conftest import KITE, Api, StartSandbox
from tests.sandbox.scheduling.test_clock import START

ADMIN_HEADERS = {"X-Sandbox": "1"}
# Port 1 of this machine: nobody listens there.
RECEIVER = "http://127.0.0.1:1/a-token?secret=yes"
EMPTY = Overview("http://127.0.0.1:1", START, 0.0, 1.0, [], [], {}, [], [])


@pytest.fixture(scope="module")
def busy(sandboxes: StartSandbox) -> Api:
    """A sandbox with something of everything, and a name made to break the page."""
    api = sandboxes(concurrency=1, allow_loopback_callbacks=True, settle_after_s=0)
    api.running.fault("fail_render", count=1, message="<i>")
    failed = api.submit("text-to-video", {**KITE, "webhook_url": RECEIVER})
    api.settled(failed["id"])
    api.running.fault("stuck_queue")
    api.running.fault("status", status=502, count=3, where={"path": "<b>&"})
    named = api.http.post(
        "/sandbox/orgs",
        json={"name": "<script>x</script>", "mode": "postpaid", "cycle_limit_usd": "7"},
        headers=ADMIN_HEADERS,
    )
    assert named.is_success, named.text
    api.submit("text-to-video", KITE)
    return api


def read(api: Api) -> str:
    answer = httpx.get(f"{api.running.base_url}/", trust_env=False)
    assert answer.headers["content-type"].startswith("text/html")
    return answer.text


def test_the_page_shows_balance_and_jobs_but_no_prompt_and_no_key(idle: Api) -> None:
    job = idle.submit("text-to-video", KITE)

    text = read(idle)

    assert "$100.00" in text
    assert "0 running, 1 queued" in text
    assert job["id"] in text
    assert KITE["prompt"] not in text
    assert idle.running.api_key not in text


def test_the_page_shows_what_has_not_arrived(busy: Api) -> None:
    busy.running.advance(hours=80)
    text = read(busy)

    assert "1 failed." in text
    assert "media.job.failed" in text
    assert "failed: connect" in text
    assert "127.0.0.1:1<" in text


def test_the_page_shows_the_faults_in_force(busy: Api) -> None:
    text = read(busy)

    assert "Faults in force" in text
    assert "stuck_queue" in text
    assert "until cleared" in text
    assert "status: 502" in text
    assert "fail_render" not in text  # it is over


def test_the_page_shows_every_organization(busy: Api) -> None:
    assert "$7.00 of $7.00 left in this cycle" in read(busy)


def test_nothing_on_the_page_is_markup_or_a_secret(busy: Api) -> None:
    text = read(busy)

    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "&lt;b&gt;&amp;" in text
    assert "<script" not in text
    for secret in ("a-token", "secret=", busy.running.api_key, KITE["prompt"]):
        assert secret not in text


def test_the_page_runs_no_script(busy: Api) -> None:
    policy = busy.http.get("/").headers["content-security-policy"]

    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("ahead_s", "speed", "words"),
    [
        (0.2, 1.0, None),
        (90_061.0, 1.0, "1 day, 1:01:01 ahead of this machine"),
        (-60.0, 1.0, "0:01:00 behind this machine"),
        (0.0, 20.0, "runs 20 times as fast"),
    ],
)
def test_the_page_tells_a_time_that_is_not_the_real_one(
    ahead_s: float, speed: float, words: str | None
) -> None:
    text = page(Overview(EMPTY.base_url, START, ahead_s, speed, [], [], {}, [], []))

    if words is None:
        assert "Its time" not in text
    else:
        assert "Its time is 2026-03-01 12:00:00 UTC" in text
        assert words in text


def test_an_empty_sandbox_has_a_page() -> None:
    text = page(EMPTY)

    assert "None yet." in text
    assert "Deliveries" not in text
    assert "Faults" not in text


def test_a_delivery_that_was_not_tried_yet_shows_when_it_is_due() -> None:
    delivery = DeliveryRow(
        seq=1,
        id="delivery_1",
        org="o",
        event="msg_1",
        event_type="media.job.completed",
        job="media_1",
        endpoint=None,
        url="https://example.com/hook",
        status="pending",
        attempts_n=0,
        round_n=0,
        due_us=to_us(START),
        created_us=0,
        ended_us=None,
    )
    trouble = Trouble(delivery, "Sandbox", "example.com", "")
    text = page(
        Overview(EMPTY.base_url, START, 0, 1, [], [], {"pending": 1}, [trouble], [])
    )

    assert '<td class="pending">pending</td>' in text
    assert "2026-03-01 12:00:00" in text


def test_the_status_names_the_sandbox_without_secrets(idle: Api) -> None:
    answer = httpx.get(f"{idle.running.base_url}/sandbox/status", trust_env=False)

    status = answer.json()
    assert status["identity"] == idle.running.identity
    assert status["functions"] == idle.running.functions
    assert idle.running.api_key not in answer.text


def test_a_page_of_another_host_name_cannot_read_them(idle: Api) -> None:
    for path in ("/", "/sandbox/status"):
        answer = idle.http.get(path, headers={"Host": "rebound.example"})
        assert answer.status_code == 403
        assert list(answer.json()) == ["message"]
