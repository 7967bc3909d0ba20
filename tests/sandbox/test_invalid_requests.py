"""Nonsensical requests get a 422 that names the field, and change nothing."""

from typing import Any

import pytest

from tests.sandbox.conftest import KITE, Api

DAY_S = 86_400
UPLOAD = {"content_type": "image/png", "size_bytes": 10}
A_DAY = "start_date=2026-01-01&end_date=2026-01-01"
PUBLIC = "https://93.184.216.34/hook"


# A query or a body of each call, and the field that is named.
INVALID: dict[str, list[tuple[Any, str]]] = {
    "GET /billing/spend/daily": [
        ("", "start_date"),
        ("start_date=2026-01-01", "end_date"),
        ("start_date=2026-01-32&end_date=2026-02-01", "start_date"),
        ("start_date=20260101&end_date=2026-02-01", "start_date"),
        ("start_date=202%D9%A6-01-01&end_date=2026-01-01", "start_date"),
        ("start_date=2025-02-29&end_date=2026-01-01", "start_date"),
        ("start_date=&end_date=2026-01-01", "start_date"),
        (f"{A_DAY}&start_date=2026-01-01", "start_date"),
        ("start_date=2026-01-01&end_date=tomorrow", "end_date"),
        ("start_date=2026-01-02&end_date=2026-01-01", "end_date"),
        (f"{A_DAY}&end_date=2026-01-02", "end_date"),
        (f"{A_DAY}&model=", "model"),
        (f"{A_DAY}&model=a&model=a", "model"),
        (f"{A_DAY}&api_key_id=a&api_key_id=", "api_key_id"),
    ],
    **{
        f"GET /billing/monthly/{month}{end}": [("", "month")]
        for month in ("2026", "2026-13", "2026-00", "0000-01", "26-01", "2026-1")
        for end in ("", "/csv")
    },
    "GET /billing/monthly/202\u0666-01": [("", "month")],
    "GET /v1/webhooks/deliveries": [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=1.0", "limit"),
        ("limit=%D9%A1", "limit"),
        ("limit=" + "1" * 5_000, "limit"),
        ("limit=5&limit=6", "limit"),
        ("status=done", "status"),
        ("endpoint_id=a&endpoint_id=b", "endpoint_id"),
        ("source_id=", "source_id"),
        ("cursor=", "cursor"),
        ("cursor=before-0", "cursor"),
        ("cursor=before-" + "9" * 19, "cursor"),
        ("cursor=before-1%0A", "cursor"),
    ],
    "POST /sandbox/endpoints": [
        ({}, "url"),
        ({"url": 5}, "url"),
        ({"url": PUBLIC, "events": []}, "events"),
        ({"url": PUBLIC, "events": ["webhook.test"]}, "events"),
        ({"url": PUBLIC, "events": [["media.job.failed"]]}, "events"),
        ({"url": PUBLIC, "filter": []}, "filter"),
    ],
    "POST /sandbox/faults": [
        ({}, "kind"),
        ({"kind": "flood"}, "kind"),
        ({"kind": "latency"}, "seconds"),
        ({"kind": "latency", "seconds": -1}, "seconds"),
        ({"kind": "latency", "seconds": 1, "status": 500}, "status"),
        ({"kind": "status", "status": 204}, "status"),
        ({"kind": "status", "status": 500, "after": 1}, "after"),
        ({"kind": "truncate", "bytes": -1}, "bytes"),
        ({"kind": "slow", "bytes_per_s": 0}, "bytes_per_s"),
        ({"kind": "status", "status": 500, "retry_after": 1.5}, "retry_after"),
        ({"kind": "outage", "count": 0}, "count"),
        ({"kind": "stuck_queue", "count": 1}, "count"),
        ({"kind": "outage", "where": {"function": "no-such"}}, "where.function"),
        ({"kind": "drop_after", "where": {"path": "("}}, "where.path"),
        ({"kind": "drop_after", "where": {"path": "^/billing"}}, "where.path"),
        ({"kind": "drop_after", "where": {"method": "BREW"}}, "where.method"),
        ({"kind": "fail_render", "code": "no-such"}, "code"),
        ({"kind": "rate_drift", "factor": 101}, "factor"),
    ],
    "PATCH /sandbox/orgs/org_sandbox": [
        ({"cycle_limit_usd": 5}, "cycle_limit_usd"),
        ({"mode": "postpaid"}, "mode"),
        ({"concurrency": None}, "concurrency"),
    ],
    "POST /v1/media/sandbox/text-to-video/text-to-video": [
        (KITE | {"duration": "5"}, "duration"),
        (KITE | {"duration": True}, "duration"),
        (KITE | {"duration": 16}, "duration"),
        (KITE | {"duration": 10**30}, "duration"),
        (KITE | {"prompt": ""}, "prompt"),
        (KITE | {"resolution": "720P"}, "resolution"),
        (KITE | {"duratoin": 5}, "duratoin"),
        (KITE | {"webhook_url": 5}, "webhook_url"),
    ],
    "POST /sandbox/clock/advance": [
        ({}, ""),
        ({"seconds": 1, "to": "2100-01-01T00:00:00Z"}, ""),
        ({"seconds": -1}, ""),
        ({"seconds": True}, ""),
        ({"seconds": 1e12}, ""),
        ({"to": "2020-01-01T00:00:00Z"}, ""),
        ({"to": "2100-01-01T00:00:00"}, ""),
        ({"to": "9999-12-31T23:59:59Z"}, ""),
    ],
    "POST /sandbox/orgs": [
        ({}, "name"),
        ({"name": "a", "mode": "free"}, "mode"),
        ({"name": "a", "balance_usd": 0.0000001}, "balance_usd"),
        ({"name": "a", "balance_usd": 1e15}, "balance_usd"),
        ({"name": "a", "balance_usd": 1, "credit_usd": 2}, "credit_usd"),
        ({"name": "a", "mode": "postpaid"}, "cycle_limit_usd"),
        ({"name": "a", "cycle_limit_usd": 5}, "cycle_limit_usd"),
        ({"name": "a", "concurrency": -1}, "concurrency"),
        ({"name": "a", "per_minute": 10**12}, "per_minute"),
        ({"name": "a", "colour": "red"}, "colour"),
    ],
    "POST /sandbox/orgs/org_sandbox/grants": [
        ({"usd": 1, "kind": "gift"}, "kind"),
        ({"usd": 1_000_000_000, "kind": "fund"}, "usd"),
    ],
    "POST /sandbox/orgs/org_sandbox/members": [
        ({"name": "a", "role": "king"}, "role"),
    ],
    "POST /sandbox/orgs/org_sandbox/keys": [
        ({"member": "member_nobody"}, "member"),
    ],
    "POST /sandbox/seed": [
        ({"days": 0}, ""),
        ({"days": True}, ""),
        ({"jobs": "400"}, ""),
        ({"jobs": 10_001}, ""),
        ({"months": 3}, ""),
    ],
    "POST /sandbox/reset": [
        ({}, ""),
        ({"confirm": False}, ""),
        ({"confirm": 1}, ""),
        ({"x": True}, ""),
    ],
    "POST /v1/media/uploads": [
        (UPLOAD | {"content_type": None}, "content_type"),
        (UPLOAD | {"content_type": "text/html"}, "content_type"),
        (UPLOAD | {"content_type": "image/svg+xml"}, "content_type"),
        (UPLOAD | {"content_type": "image/png\r\nX: y"}, "content_type"),
        (UPLOAD | {"size_bytes": None}, "size_bytes"),
        (UPLOAD | {"size_bytes": True}, "size_bytes"),
        (UPLOAD | {"size_bytes": 1.5}, "size_bytes"),
        (UPLOAD | {"size_bytes": 0}, "size_bytes"),
        (UPLOAD | {"size_bytes": 2 * 1024**3}, "size_bytes"),
        (UPLOAD | {"name": "a.png"}, "name"),
    ],
    "POST /v1/webhooks/secret/rotate": [
        ({"expire_in_seconds": overlap}, "expire_in_seconds")
        for overlap in (-1, DAY_S + 1, 10**18, 1.0, 0.5, "60", True, None, [60])
    ],
}
ROWS = [(call, *row) for call, rows in INVALID.items() for row in rows]


def state_of(api: Api) -> list[Any]:
    paths = ("status", "orgs", "faults", "endpoints")
    found = [api.http.get(f"/sandbox/{path}").json() for path in paths]
    for name in ("now", "ahead_s"):
        del found[0][name]
    return [*found, api.http.get("/v1/webhooks/secret").json()]


@pytest.mark.parametrize(("call", "given", "field"), ROWS, ids=str)
def test_a_nonsensical_request_is_422_names_its_field_and_changes_nothing(
    idle: Api, call: str, given: Any, field: str
) -> None:
    before = state_of(idle)
    method, path = call.split()

    if method == "GET":
        answer = idle.http.get(f"{path}?{given}")
    else:
        answer = idle.http.request(method, path, json=given)

    assert answer.status_code == 422
    assert list(answer.json()) == ["message"]
    assert answer.json()["message"].startswith(f"{field}: " if field else "")
    assert state_of(idle) == before
