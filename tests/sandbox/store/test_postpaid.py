"""Organizations that pay by invoice: the cycle and what is left of it (spec 2.4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mediakit.api_models import Balance
from tests.sandbox.conftest import KITE, Api
from tests.support.sandbox.admin import AdminClient

VIDEO = "text-to-video"
KITE_MICRO_USD = 204_000
LIMIT_USD = "0.50"
LIMIT_MICRO_USD = 500_000


def postpaid(admin: AdminClient, **fields: object) -> str:
    given = {"mode": "postpaid", "cycle_limit_usd": LIMIT_USD, "balance_usd": 0}
    return admin.org(**given | fields)


def cycle(user: Api) -> dict[str, object]:
    answer = user.http.get("/billing/balance")
    found: dict[str, object] = answer.json()["postpaid"]["cycle"]
    return found


def remaining(user: Api) -> int:
    answer = user.http.get("/billing/balance")
    balance = Balance.model_validate(answer.json())
    assert balance.postpaid is not None
    return balance.spendable_micro_usd


def month_start(instant: datetime, months: int = 0) -> datetime:
    years, month = divmod(instant.month - 1 + months, 12)
    return datetime(instant.year + years, month + 1, 1, tzinfo=UTC)


@pytest.mark.spec("2.4")
def test_the_balance_reports_the_rest_of_the_calendar_month(
    admin: AdminClient,
) -> None:
    user = admin.user(postpaid(admin))
    now = admin.now()

    answer = user.http.get("/billing/balance").json()

    assert answer == {
        "balance_micro_usd": 0,
        "postpaid": {
            "cycle": {
                "remaining_micro_usd": LIMIT_MICRO_USD,
                "limit_micro_usd": LIMIT_MICRO_USD,
                "start": f"{month_start(now):%Y-%m-%dT%H:%M:%S.%fZ}",
                "end": f"{month_start(now, 1):%Y-%m-%dT%H:%M:%S.%fZ}",
            }
        },
    }


@pytest.mark.spec("4.3")
def test_the_cycles_limit_is_not_passed_with_what_is_held(
    admin: AdminClient,
) -> None:
    user = admin.user(postpaid(admin))
    for _ in range(2):
        assert user.submit(VIDEO, KITE)["status"] == "queued"
        # Shown before holds, as a balance is.
        assert remaining(user) == LIMIT_MICRO_USD

    answer = user.post(VIDEO, KITE, "k")

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "cycle_limit_exceeded"
    assert "Retry-After" not in answer.headers
    assert user.submit(VIDEO, KITE, "k")["status"] == "failed"


@pytest.mark.spec("4.19")
def test_charges_count_to_the_cycle_they_settle_in_and_leave_the_balance(
    admin: AdminClient,
) -> None:
    org = postpaid(admin, concurrency=1, balance_usd=7, credit_usd=2)
    user = admin.user(org)
    for _ in range(2):
        user.settled(user.submit(VIDEO, KITE)["id"])
    now = admin.now()

    assert user.balance() == 7_000_000
    assert remaining(user) == LIMIT_MICRO_USD - 2 * KITE_MICRO_USD
    assert user.post(VIDEO, KITE).json()["error"]["code"] == "cycle_limit_exceeded"
    report = user.http.get(f"/billing/monthly/{now:%Y-%m}").json()
    assert report["total_micro_usd"] == 2 * KITE_MICRO_USD
    assert report["credits_applied_micro_usd"] == 0
    assert report["closing_balance_micro_usd"] == 7_000_000
    invoice = report["invoices"][0]
    assert invoice["amount_micro_usd"] == 2 * KITE_MICRO_USD
    assert invoice["status"] == "open"

    admin.skip_to(month_start(now, 1) - timedelta(minutes=10))
    assert remaining(user) == LIMIT_MICRO_USD - 2 * KITE_MICRO_USD
    admin.skip_to(month_start(now, 1))

    assert remaining(user) == LIMIT_MICRO_USD
    assert user.submit(VIDEO, KITE)["status"] == "queued"
    report = user.http.get(f"/billing/monthly/{now:%Y-%m}").json()
    assert report["invoices"] == [invoice | {"status": "issued"}]


def test_a_lowered_limit_makes_no_debt(admin: AdminClient) -> None:
    org = postpaid(admin, concurrency=1)
    user = admin.user(org)
    user.settled(user.submit(VIDEO, KITE)["id"])

    admin.change(org, cycle_limit_usd=0.1)

    assert cycle(user)["remaining_micro_usd"] == 0
    assert cycle(user)["limit_micro_usd"] == 100_000
    admin.change(org, cycle_limit_usd=0.408)
    assert user.submit(VIDEO, KITE)["status"] == "queued"
