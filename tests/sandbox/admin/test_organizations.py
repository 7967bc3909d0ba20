"""Organizations, members and keys: each sees its own, and only its own (spec 5)."""

from __future__ import annotations

import httpx
import pytest

from tests.sandbox.conftest import KITE, Api
from tests.support.sandbox.admin import AdminClient

VIDEO = "text-to-video"
KITE_MICRO_USD = 204_000
ALICE, BOB = "alice", "bob"


@pytest.fixture(scope="module")
def users(admin: AdminClient) -> dict[str, Api]:
    """Users of two organizations that have each had a job."""
    orgs = {name: admin.org(name=name, concurrency=1) for name in (ALICE, BOB)}
    users = {name: admin.user(org) for name, org in orgs.items()}
    for user in users.values():
        user.settled(user.submit(VIDEO, KITE, "same-key")["id"])
    return users


def days(admin: AdminClient) -> dict[str, str]:
    today = str(admin.now().date())
    return {"start_date": "2020-01-01", "end_date": today}


def message(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["message"]
    text: str = answer.json()["message"]
    return text


def test_one_idempotency_key_makes_a_job_for_each_organization(
    users: dict[str, Api],
) -> None:
    jobs = [user.submit(VIDEO, KITE, "same-key") for user in users.values()]

    assert jobs[0]["id"] != jobs[1]["id"]
    assert [job["status"] for job in jobs] == ["completed", "completed"]


@pytest.mark.spec("4.18")
def test_another_organizations_job_is_not_there(users: dict[str, Api]) -> None:
    job_id = users[ALICE].submit(VIDEO, KITE, "same-key")["id"]
    bob = users[BOB].http

    for answer in (
        bob.get(f"/v1/media/jobs/{job_id}"),
        bob.get(f"/v1/media/jobs/{job_id}/content"),
        bob.delete(f"/v1/media/jobs/{job_id}"),
    ):
        assert message(answer, 404)
    assert "deleted_at" not in users[ALICE].job(job_id)


@pytest.mark.spec("4.19")
def test_each_sees_its_own_balance_and_spend(
    admin: AdminClient, users: dict[str, Api]
) -> None:
    month = f"{admin.now():%Y-%m}"
    for user in users.values():
        assert user.balance() == 100_000_000 - KITE_MICRO_USD
        daily = user.http.get("/billing/spend/daily", params=days(admin)).json()
        assert [row["jobs"] for row in daily["rows"]] == [1]
        monthly = user.http.get(f"/billing/monthly/{month}").json()
        assert monthly["total_micro_usd"] == KITE_MICRO_USD
    assert admin.api.balance() == 100_000_000  # the default one submitted nothing


def test_spend_is_listed_by_key(admin: AdminClient) -> None:
    org = admin.org(concurrency=1)
    keys = [admin.key(org) for _ in range(2)]
    for key in keys:
        user = admin.as_key(key["key"])
        user.settled(user.submit(VIDEO, KITE)["id"])

    rows = user.http.get("/billing/spend/daily", params=days(admin)).json()["rows"]

    assert {row["api_key_id"] for row in rows} == {key["id"] for key in keys}
    assert [row["charge_micro_usd"] for row in rows] == [KITE_MICRO_USD] * 2


@pytest.mark.spec("5")
def test_a_key_can_be_switched_off_and_on(admin: AdminClient) -> None:
    made = admin.key(admin.org())
    user = admin.as_key(made["key"])
    assert user.balance() == 100_000_000

    admin.call("PATCH", f"/keys/{made['id']}", state="inactive")
    for answer in (user.http.get("/billing/balance"), user.post(VIDEO, KITE)):
        assert message(answer, 403)

    admin.call("PATCH", f"/keys/{made['id']}", state="active")
    assert user.balance() == 100_000_000


def test_a_key_is_shown_once_and_kept_nowhere(admin: AdminClient) -> None:
    org = admin.org()
    made = admin.key(org)

    changed = admin.call("PATCH", f"/keys/{made['id']}", daily_limit_usd=5)

    assert changed == {
        "id": made["id"],
        "org": org,
        "member": None,
        "state": "active",
        "daily_limit_micro_usd": 5_000_000,
    }
    assert made["key"] not in str(admin.orgs())
    for file in admin.api.running.data_dir.rglob("sandbox.sqlite3*"):
        assert made["key"].encode() not in file.read_bytes()


PUBLIC = {
    "month",
    "rows",
    "total_micro_usd",
    "credits_applied_micro_usd",
    "invoices",
}
MOVED = {
    "opening_balance_micro_usd": 0,
    "credits_granted_micro_usd": 7_000_000,
    "top_ups_micro_usd": 8_500_000,
    "closing_balance_micro_usd": 15_500_000,
}


@pytest.mark.spec("4.19")
@pytest.mark.parametrize(
    ("role", "shown"), [("owner", MOVED), ("admin", MOVED), ("member", {})]
)
def test_only_owners_and_admins_see_grants_and_balances_of_a_month(
    admin: AdminClient, role: str, shown: dict[str, int]
) -> None:
    org = admin.org(balance_usd=10, credit_usd=4)
    admin.grant(org, 3, "credit")
    admin.grant(org, "2.50", "fund")
    member = admin.member(org, role=role)
    user = admin.user(org, member=member)

    report = user.http.get(f"/billing/monthly/{admin.now():%Y-%m}").json()

    assert {name: report[name] for name in report if name not in PUBLIC} == shown
    assert user.balance() == 15_500_000


def test_organizations_are_listed_with_members_and_keys(admin: AdminClient) -> None:
    org = admin.org(name="Ünï", per_minute=7, balance_usd=2, credit_usd=0.5)
    member = admin.member(org, name="Bo", role="admin", daily_limit_usd=1)
    key = admin.key(org, member=member)

    assert admin.orgs()[0]["id"] == "org_sandbox"
    shown = admin.show(org)
    assert (shown["name"], shown["mode"], shown["per_minute"]) == ("Ünï", "prepaid", 7)
    money = {name: shown[name] for name in shown if name.endswith("_micro_usd")}
    assert money == {
        "balance_micro_usd": 2_000_000,
        "credit_micro_usd": 500_000,
        "held_micro_usd": 0,
        "cycle_limit_micro_usd": None,
    }
    assert (shown["suspended"], shown["billing_plan"]) == (False, True)
    limit = {"daily_limit_micro_usd": 1_000_000}
    assert shown["members"] == [{"id": member, "name": "Bo", "role": "admin", **limit}]
    (listed,) = shown["keys"]
    assert (listed["id"], listed["member"], listed["state"]) == (
        *(key["id"], member),
        "active",
    )


def test_what_a_change_leaves_out_stays(admin: AdminClient) -> None:
    org = admin.org(per_minute=7, per_day=9)

    changed = admin.change(org, per_minute=None, queue_size=3)

    before = admin.show(org)
    assert changed == before
    assert (changed["per_minute"], changed["per_day"]) == (None, 9)
    assert (changed["concurrency"], changed["queue_size"]) == (0, 3)
    assert admin.change(org) == before
