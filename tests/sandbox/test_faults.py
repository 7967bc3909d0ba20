"""Scripted faults happen as scripted, as often as scripted, and nowhere else."""

import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.api_models import ErrorCode
from mediakit.errors import ServiceError
from mediakit.sandbox.data_dir import DataDir
from mediakit.sandbox.faults import KINDS, read_rule, requested_failure
from mediakit.sandbox.http import RequestError
from tests.sandbox.conftest import KITE, Api, StartSandbox, png
from tests.support.waiting import until

VIDEO, UPSCALE = "text-to-video", "image-upscale"
KITE_MICRO_USD = 204_000
DAY_S = 86_400
REQUIRED: dict[str, dict[str, Any]] = {
    "latency": {"seconds": 0.1},
    "status": {"status": 502},
    "slow": {"bytes_per_s": 100},
    "late_settlement": {"seconds": 10},
    "rate_drift": {"factor": 0.5},
}


@pytest.fixture
def calm(api: Api) -> Iterator[Api]:
    """The shared sandbox, with nothing under way and no fault in force."""
    yield api
    api.running.clear_faults()
    until(lambda: in_flight_n(api) == 0)
    api.running.advance(minutes=1)


def in_flight_n(api: Api) -> int:
    status = api.http.get("/sandbox/status").json()
    n: int = status["running"] + status["queued"]
    return n


def in_force(api: Api) -> list[dict[str, Any]]:
    faults: list[dict[str, Any]] = api.http.get("/sandbox/faults").json()["data"]
    return faults


def jobs_n(api: Api) -> int:
    path = DataDir(api.running.data_dir).database
    with closing(sqlite3.connect(path)) as db:
        n: int = db.execute("SELECT count(*) FROM job").fetchone()[0]
    return n


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault_is_set_listed_and_cleared(calm: Api, kind: str) -> None:
    fault_id = calm.running.fault(
        kind, where={"function": VIDEO}, **REQUIRED.get(kind, {})
    )

    (fault,) = in_force(calm)
    assert fault["id"] == fault_id
    assert fault["kind"] == kind
    assert fault["where"] == {"function": VIDEO}
    assert fault["left"] is None
    removed = calm.http.delete(f"/sandbox/faults/{fault_id}")
    assert removed.json() == {"removed_n": 1}
    assert in_force(calm) == []


@given(
    st.dictionaries(
        st.sampled_from(
            ["kind", "where", "count", "seconds", "status", "code", "bytes"]
        ),
        st.sampled_from([*KINDS, None, 0, 1, 500, 1.5, True, "x", [], {}, {"a": 1}]),
    )
)
def test_any_rule_is_refused_or_can_be_kept_and_read_again(
    rule: dict[str, Any],
) -> None:
    with suppress(RequestError):
        read = read_rule(rule)
        assert read_rule(read.model_dump(mode="json", exclude_unset=True)) == read


def test_a_status_is_answered_before_anything_is_done(calm: Api) -> None:
    calm.running.fault(
        "status", status=429, retry_after=7, count=1, where={"method": "POST"}
    )

    refused = calm.post(VIDEO, KITE, key="status")

    assert refused.status_code == 429
    assert list(refused.json()) == ["message"]
    assert refused.headers["Retry-After"] == "7"
    # The key is bound to nothing, and the next request is handled.
    assert calm.submit(VIDEO, KITE, key="status")["status"] == "queued"


def test_a_status_can_replace_the_response_after_the_request_was_processed(
    calm: Api,
) -> None:
    page = "<h1>504 Gateway Time-out</h1>"
    calm.running.fault("status", status=504, text=page, after=True, count=1)
    before = jobs_n(calm)

    answer = calm.post(VIDEO, KITE, key="gateway")

    assert (answer.status_code, answer.text) == (504, page)
    assert answer.headers["Content-Type"].startswith("text/html")
    assert jobs_n(calm) == before + 1
    calm.submit(VIDEO, KITE, key="gateway")
    assert jobs_n(calm) == before + 1


@pytest.mark.parametrize(
    ("rule", "share"), [({"bytes": 0}, 0), ({"bytes": 7}, 7), ({}, None)]
)
def test_a_truncated_response_is_shorter_than_its_content_length(
    calm: Api, rule: dict[str, Any], share: int | None
) -> None:
    calm.running.fault("truncate", count=1, **rule)
    head, body = raw_answer(calm, "GET /billing/balance")

    promised_n = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
    assert head.startswith(b"HTTP/1.1 200 ")
    assert len(body) == (promised_n // 2 if share is None else share)
    assert promised_n > len(body)
    assert calm.http.get("/billing/balance").content.startswith(body)


def test_a_slow_response_arrives_completely(calm: Api) -> None:
    whole = calm.http.get("/billing/balance")
    calm.running.fault("slow", bytes_per_s=200, count=1)
    started_s = time.monotonic()

    slow = calm.http.get("/billing/balance")

    assert time.monotonic() - started_s >= 0.9 * len(whole.content) / 200
    assert slow.content == whole.content


def raw_answer(api: Api, request: str) -> tuple[bytes, bytes]:
    """Return head and body of an answer, as they come until the connection closes."""
    url = httpx.URL(api.running.base_url)
    lines = [f"{request} HTTP/1.1", f"Host: {url.netloc.decode()}"]
    lines += [f"X-API-Key: {api.running.api_key}", "", ""]
    with socket.create_connection((url.host, url.port or 80)) as client:
        client.sendall("\r\n".join(lines).encode())
        came = b"".join(iter(lambda: client.recv(1_000), b""))
    head, _, body = came.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(
    ("kind", "made_n"), [("drop_before", 0), ("drop_after", 1), ("truncate", 1)]
)
def test_a_connection_breaks_off_before_or_after_the_job_is_made(
    calm: Api, kind: str, made_n: int
) -> None:
    count = 1 if kind == "truncate" else 2
    calm.running.fault(kind, count=count, where={"function": VIDEO})
    before = jobs_n(calm)

    with pytest.raises(httpx.TransportError):
        calm.post(VIDEO, KITE, key=kind)
    if kind != "truncate":
        assert raw_answer(calm, f"POST {calm.path(VIDEO)}") == (b"", b"")

    assert jobs_n(calm) == before + made_n
    # Its key finds the job, if there is one: no second one is made.
    calm.submit(VIDEO, KITE, key=kind)
    assert jobs_n(calm) == before + 1


def test_a_request_that_is_late_is_answered_as_scripted(calm: Api) -> None:
    calm.running.fault("latency", seconds=0.3, count=1)
    calm.running.fault("status", status=503, message="Gone fishing.")
    started_s = time.monotonic()

    answer = calm.http.get("/billing/balance")

    assert (answer.status_code, answer.json()) == (503, {"message": "Gone fishing."})
    assert time.monotonic() - started_s >= 0.3
    assert [fault["kind"] for fault in in_force(calm)] == ["status"]


def test_a_dropped_upload_is_cut_off_before_its_body_is_read(calm: Api) -> None:
    granted = calm.grant("image/png", 3_000_000)
    calm.running.fault("drop_before", count=1, where={"method": "PUT"})

    with pytest.raises(httpx.TransportError):
        calm.http.put(
            granted["upload_url"], content=bytes(3_000_000), headers=granted["headers"]
        )

    assert calm.http.get(granted["url"]).status_code == 404


def test_a_rule_meets_only_the_requests_it_names(calm: Api) -> None:
    calm.running.fault(
        "status", status=500, where={"method": "GET", "path": "/billing/b"}
    )

    assert calm.http.get("/billing/balance").status_code == 500
    assert calm.http.get("/billing/monthly/2026-01").status_code == 200
    assert calm.http.post("/billing/balance").status_code == 405
    calm.submit(VIDEO, KITE)


@pytest.mark.parametrize(
    ("path", "is_covered"),
    [
        ("balance", True),
        ("/billing/balance", True),
        ("/billing/b*e", True),
        ("/balance", False),
        ("b?lance", True),
        ("*a" * 200 + "!", False),
    ],
)
def test_a_path_is_a_beginning_or_a_part_with_wildcards(
    calm: Api, path: str, *, is_covered: bool
) -> None:
    calm.running.fault("status", status=500, where={"path": path})

    status = calm.http.get("/billing/balance").status_code
    # A pattern that backtracks would never end on this path.
    long = calm.http.get(f"/billing/balance/{'a' * 2_000}").status_code

    assert status == (500 if is_covered else 200)
    assert long == (500 if is_covered else 404)


def test_no_fault_affects_the_admin_interface(calm: Api) -> None:
    calm.running.fault("drop_before")
    calm.running.fault("status", status=500)

    assert len(in_force(calm)) == 2
    assert calm.http.get("/sandbox/status").status_code == 200
    assert calm.running.clear_faults() == 2
    assert calm.http.get("/billing/balance").status_code == 200


def test_the_oldest_rule_happens_first_and_then_the_next(calm: Api) -> None:
    for status in (500, 502):
        calm.running.fault("status", status=status, count=1)

    codes = [calm.http.get("/billing/balance").status_code for _ in range(3)]

    assert codes == [500, 502, 200]


def test_a_stuck_queue_keeps_jobs_queued_until_it_is_cleared(calm: Api) -> None:
    calm.running.fault("stuck_queue", where={"function": VIDEO})
    stuck = calm.submit(VIDEO, KITE)
    picture = calm.upload("image/png", png())

    # Others pass it by.
    other = calm.ended(calm.submit(UPSCALE, {"image_url": picture})["id"])

    assert other["status"] == "completed"
    assert calm.job(stuck["id"])["status"] == "queued"
    calm.running.advance(hours=1)
    assert calm.job(stuck["id"])["status"] == "queued"
    calm.running.clear_faults()
    assert calm.ended(stuck["id"])["status"] == "completed"


def test_a_failing_render_fails_a_number_of_jobs_with_its_code(calm: Api) -> None:
    calm.running.fault(
        "fail_render", code="provider_timeout", message="It is tired.", count=2
    )
    before = calm.balance()

    jobs = [calm.submit(VIDEO, KITE) for _ in range(3)]
    ended = [calm.settled(job["id"]) for job in jobs]

    failed = [job for job in ended if job["status"] == "failed"]
    assert len(failed) == 2
    for job in failed:
        assert job["error"] == {"code": "provider_timeout", "message": "It is tired."}
        assert job["billing"]["charge_micro_usd"] == 0
    assert calm.balance() == before - KITE_MICRO_USD


def test_a_late_settlement_is_delayed_by_the_given_time(calm: Api) -> None:
    calm.running.fault("late_settlement", seconds=DAY_S, count=1)
    job = calm.ended(calm.submit(VIDEO, KITE)["id"])

    assert calm.running.advance(hours=23)["settled_n"] == 0
    assert calm.job(job["id"])["billing"] == {"state": "pending"}
    assert calm.running.advance(hours=2)["settled_n"] == 1
    assert calm.job(job["id"])["billing"]["state"] == "settled"


@pytest.mark.parametrize(
    ("factor", "charge"),
    [
        (0, 0),
        (0.1, 20_400),
        (3, KITE_MICRO_USD),
        pytest.param(0.5, 102_000, marks=pytest.mark.soak),
    ],
)
def test_a_drifted_rate_changes_the_charge_up_to_what_was_held(
    calm: Api, factor: float, charge: int
) -> None:
    calm.running.fault("rate_drift", factor=factor, count=1)
    before = calm.balance()

    job = calm.settled(calm.submit(VIDEO, KITE)["id"])

    assert job["billing"]["charge_micro_usd"] == charge
    assert calm.balance() == before - charge


def test_a_sandbox_that_is_started_again_has_no_faults(
    sandboxes: StartSandbox, tmp_path: Path
) -> None:
    api = sandboxes(tmp_path / "data")
    api.running.fault("status", status=500, where={"path": "balance"})
    assert api.http.get("/billing/balance").status_code == 500
    api.running.stop()

    again = sandboxes(tmp_path / "data")

    assert in_force(again) == []
    assert again.http.get("/billing/balance").status_code == 200


def test_an_invalid_fault_raises_a_readable_error_in_python(calm: Api) -> None:
    with pytest.raises(ServiceError, match=r"^kind: got 'flood', accepted: one of "):
        calm.running.fault("flood")


# -- failures that a request asks for --------------------------------------------------


REJECTION_STATUS = {
    "insufficient_balance": 403,
    "cycle_limit_exceeded": 403,
    "admission_suspended": 403,
    "rate_limited": 429,
    "provider_unavailable": 503,
}
CODES = [code.value for code in ErrorCode]


@pytest.mark.spec("7.3")
@pytest.mark.parametrize("code", CODES)
def test_a_job_fails_with_the_code_that_its_prompt_asks_for(
    api: Api, code: str
) -> None:
    before = api.balance()
    answer = api.post("text-to-video", {"prompt": f"a kite sandbox:fail={code}"})
    job = api.settled(answer.json()["id"])

    assert answer.status_code == REJECTION_STATUS.get(code, 200)
    assert ("Retry-After" in answer.headers) == (code == "rate_limited")
    assert (job["status"], job["error"]["code"]) == ("failed", code)
    assert f"sandbox:fail={code}" in job["error"]["message"]
    assert job["billing"] == {"state": "settled", "charge_micro_usd": 0}
    assert "output" not in job
    assert api.balance() == before


@pytest.mark.spec("7.3")
def test_a_function_without_a_prompt_is_asked_in_the_url_of_a_medium(api: Api) -> None:
    url = api.upload("image/png", png()) + "#sandbox:fail=content_moderation"
    job = api.ended(api.submit("image-upscale", {"image_url": url})["id"])

    assert job["error"]["code"] == "content_moderation"


@pytest.mark.parametrize(
    "prompt",
    ["fail", "sandbox:fail=", "sandbox:fail=nonsense", "sandbox fail=internal"],
)
def test_other_texts_ask_for_nothing(prompt: str) -> None:
    assert requested_failure({"prompt": prompt}) is None
