"""Balance, daily spend, monthly report and CSV over HTTP (spec 4.19)."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest

from tests.sandbox.conftest import KITE, Api, StartSandbox, png
from tests.support.sandbox.admin import AdminClient

OPENING_MICRO_USD = 100_000_000


@pytest.fixture(scope="module")
def spent(sandboxes: StartSandbox) -> Api:
    """A sandbox where four jobs were charged and one failed."""
    api = sandboxes(settle_after_s=0.01, balance_micro_usd=OPENING_MICRO_USD)
    picture = api.upload("image/png", png())
    r1 = {"prompt": "a", "duration": 4, "draft": True, "generate_audio": False}
    jobs = [
        api.submit("image-upscale", {"image_url": picture}),
        api.submit("image-upscale", {"image_url": picture, "model": "wonder-3"}),
        api.submit("text-to-video", KITE),
        api.submit("r1", r1),
        api.submit("image-upscale", {"image_url": "https://10.0.0.1/x.png"}),
    ]
    for job in jobs:
        api.settled(job["id"])
    return api


CHARGED = {
    "sandbox/image-upscale/image-upscale": (2, 126_000 + 378_000),
    "sandbox/r1/reference-to-video": (1, 449_400),
    "sandbox/text-to-video/text-to-video": (1, 204_000),
}
TOTAL_MICRO_USD = sum(charge for _, charge in CHARGED.values())


def days() -> dict[str, str]:
    """Give days around now, wide enough for a test that runs at midnight."""
    today = datetime.now(UTC).date()
    around = (today - timedelta(days=1), today + timedelta(days=1))
    return dict(zip(("start_date", "end_date"), map(str, around), strict=True))


def daily(api: Api, **query: str) -> dict[str, Any]:
    answer = api.http.get("/billing/spend/daily", params=days() | query)
    assert answer.status_code == 200, answer.text
    report: dict[str, Any] = answer.json()
    return report


def month() -> str:
    return f"{datetime.now(UTC):%Y-%m}"


def test_charges_balance_daily_monthly_and_csv_agree_to_the_micro_dollar(
    spent: Api,
) -> None:
    monthly = spent.http.get(f"/billing/monthly/{month()}").json()
    text = spent.http.get(f"/billing/monthly/{month()}/csv").text
    totals = list(csv.DictReader(StringIO(text)))[-1]

    assert OPENING_MICRO_USD - spent.balance() == TOTAL_MICRO_USD
    assert daily(spent)["total_micro_usd"] == TOTAL_MICRO_USD
    assert monthly["total_micro_usd"] == TOTAL_MICRO_USD
    assert totals["model_id"] == "total"
    assert int(totals["charge_micro_usd"]) == TOTAL_MICRO_USD


def test_daily_rows_are_by_day_key_and_function(spent: Api) -> None:
    rows = daily(spent)["rows"]

    assert {r["model_id"]: (r["jobs"], r["charge_micro_usd"]) for r in rows} == CHARGED
    upscale = rows[0]
    assert upscale == {
        "date": upscale["date"],
        "api_key_id": upscale["api_key_id"],
        "model": "sandbox/image-upscale",
        "function": "image-upscale",
        "model_id": "sandbox/image-upscale/image-upscale",
        "jobs": 2,
        "charge_micro_usd": 504_000,
    }
    assert days()["start_date"] <= upscale["date"] <= days()["end_date"]
    assert spent.running.api_key not in str(rows)


@pytest.mark.parametrize(
    "model", ["sandbox/text-to-video", "sandbox/text-to-video/text-to-video"]
)
def test_daily_rows_can_be_of_one_model(spent: Api, model: str) -> None:
    assert daily(spent, model=model)["total_micro_usd"] == 204_000
    assert daily(spent, model="sandbox")["rows"] == []


def test_daily_rows_can_be_of_one_key(spent: Api) -> None:
    key = daily(spent)["rows"][0]["api_key_id"]

    assert daily(spent, api_key_id=key)["total_micro_usd"] == TOTAL_MICRO_USD
    both = daily(spent, api_key_id=key, model="sandbox/r1")
    assert both["total_micro_usd"] == 449_400
    assert daily(spent, api_key_id="key_other")["rows"] == []


def test_the_monthly_report_sums_jobs_and_usage_by_model(spent: Api) -> None:
    report = spent.http.get(f"/billing/monthly/{month()}").json()

    assert report["month"] == month()
    assert report["invoices"] == []
    usage = {row["model_id"]: row["usage"] for row in report["rows"]}
    assert usage == {
        "sandbox/image-upscale/image-upscale": None,
        "sandbox/r1/reference-to-video": {
            "video_output_tokens": 40_000,
            "output_seconds": 4,
        },
        "sandbox/text-to-video/text-to-video": {"output_seconds": 3},
    }
    charged = {
        r["model_id"]: (r["jobs"], r["charge_micro_usd"]) for r in report["rows"]
    }
    assert charged == CHARGED


def test_the_csv_has_a_row_for_each_model_and_a_totals_row(spent: Api) -> None:
    answer = spent.http.get(f"/billing/monthly/{month()}/csv")
    rows = [
        ",".join([model_id, *model_id.rsplit("/", 1), str(jobs), str(charge), "0"])
        for model_id, (jobs, charge) in CHARGED.items()
    ]

    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text.splitlines() == [
        "model_id,model,function,jobs,charge_micro_usd,credits_applied_micro_usd",
        *rows,
        f"total,,,4,{TOTAL_MICRO_USD},0",
    ]


def test_a_month_without_charges_has_a_totals_row_of_zero(idle: Api) -> None:
    text = idle.http.get("/billing/monthly/2020-02/csv").text

    assert text.splitlines()[1:] == ["total,,,0,0,0"]


@pytest.mark.parametrize("month", ["0001-01", "2024-02", "9999-12"])
def test_a_month_at_the_ends_of_the_calendar_is_one(idle: Api, month: str) -> None:
    report = idle.http.get(f"/billing/monthly/{month}").json()

    assert (report["month"], report["rows"]) == (month, [])


@pytest.fixture(scope="module")
def granted(sandboxes: StartSandbox) -> Iterator[Api]:
    """A key of an organization whose credits ended within its second job."""
    with AdminClient(sandboxes(settle_after_s=0.01)) as admin:
        org = admin.org(concurrency=1, balance_usd=1, credit_usd="0.1")
        admin.grant(org, "0.2", "credit")
        admin.grant(org, 3, "fund")
        user = admin.user(org)
        for body in (KITE, KITE | {"duration": 4}):
            user.settled(user.submit("text-to-video", body)["id"])
        yield user


@pytest.mark.spec("4.19")
def test_credits_are_spent_first_and_listed_separately(granted: Api) -> None:
    report = granted.http.get(f"/billing/monthly/{month()}").json()

    (row,) = report["rows"]
    assert (row["jobs"], row["charge_micro_usd"]) == (2, 204_000 + 272_000)
    assert row["credits_applied_micro_usd"] == 300_000
    assert report["credits_applied_micro_usd"] == 300_000
    assert report["total_micro_usd"] == 476_000
    assert report["invoices"] == []
    text = granted.http.get(f"/billing/monthly/{month()}/csv").text
    assert text.splitlines()[-1] == "total,,,2,476000,300000"


def test_a_months_balances_grants_and_charges_add_up(granted: Api) -> None:
    report = granted.http.get(f"/billing/monthly/{month()}").json()

    assert report["opening_balance_micro_usd"] == 0
    assert report["credits_granted_micro_usd"] == 300_000
    assert report["top_ups_micro_usd"] == 3_900_000
    assert report["closing_balance_micro_usd"] == 4_200_000 - 476_000
    assert report["closing_balance_micro_usd"] == granted.balance()
    later = granted.http.get("/billing/monthly/9999-12").json()
    assert later["opening_balance_micro_usd"] == granted.balance()
    assert later["top_ups_micro_usd"] == later["credits_granted_micro_usd"] == 0


@pytest.mark.spec("2.2")
def test_a_charge_that_cannot_be_read_is_unavailable_until_it_can(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(settle_after_s=0.01)
    key = "k"
    body = {"prompt": "sandbox:fail=provider_error"}
    job = api.settled(api.submit("text-to-video", body, key)["id"])
    api.running.fault("billing_unavailable", count=3)

    seen = [
        api.job(job["id"]),
        api.submit("text-to-video", body, key),
        api.http.delete(f"/v1/media/jobs/{job['id']}").json(),
    ]

    assert [one["billing"] for one in seen] == [{"state": "unavailable"}] * 3
    assert api.job(job["id"])["billing"] == job["billing"]
    assert job["billing"] == {"state": "settled", "charge_micro_usd": 0}


def test_billing_is_null_and_not_unavailable_before_a_job_has_ended(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0)
    api.running.fault("billing_unavailable", count=1)
    job = api.submit("text-to-video", KITE)

    assert job["billing"] is None
    assert api.job(job["id"])["billing"] is None
    (fault,) = api.http.get("/sandbox/faults").json()["data"]
    assert fault["left"] == 1  # nothing was asked of it yet
