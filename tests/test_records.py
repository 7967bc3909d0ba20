import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mediakit.records import Balance, ErrorCode, Job, JobStatus, UploadGrant

JOB = {"id": "media_1", "status": "completed"}


@pytest.mark.spec("2.2")
@pytest.mark.parametrize(
    ("billing", "charge"),
    [
        (None, None),
        ({"state": "pending"}, None),
        ({"state": "unavailable"}, None),
        ({"state": "pending", "charge_micro_usd": 5}, None),
        ({"state": "settled", "charge_micro_usd": 0}, 0),
        ({"state": "settled", "charge_micro_usd": 340_000}, 340_000),
    ],
)
def test_only_a_settled_billing_is_a_charge(
    billing: object, charge: int | None
) -> None:
    job = Job.model_validate({**JOB, "billing": billing})

    assert job.settled_charge_micro_usd == charge


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("charge", ["5", 5.0, True, None])
def test_a_settled_charge_must_be_an_integer(charge: object) -> None:
    billing = {"state": "settled", "charge_micro_usd": charge}
    with pytest.raises(ValidationError):
        Job.model_validate({**JOB, "billing": billing})


@pytest.mark.spec("7.3")
@given(st.text())
def test_an_error_code_that_is_not_in_the_table_is_provider_error(code: str) -> None:
    error = {"code": code, "message": "m"}
    job = Job.model_validate({"id": "media_1", "status": "failed", "error": error})

    assert job.error is not None
    known = {c.value for c in ErrorCode}
    assert job.error.code == (code if code in known else "provider_error")


@pytest.mark.spec("7.3")
def test_the_error_codes_are_the_twelve_of_the_interface() -> None:
    assert [code.value for code in ErrorCode] == [
        "invalid_input",
        "content_moderation",
        "provider_error",
        "provider_timeout",
        "provider_unavailable",
        "rate_limited",
        "insufficient_balance",
        "membership_required",
        "cycle_limit_exceeded",
        "admission_suspended",
        "timed_out",
        "internal",
    ]


@pytest.mark.spec("3.1")
def test_completed_and_failed_are_terminal_and_nothing_else_is() -> None:
    terminal = {status for status in JobStatus if status.terminal}

    assert terminal == {JobStatus.COMPLETED, JobStatus.FAILED}


def test_an_unknown_status_is_refused_rather_than_waited_for() -> None:
    with pytest.raises(ValidationError):
        Job.model_validate({"id": "media_1", "status": "expired"})


def test_unknown_keys_are_kept() -> None:
    job = Job.model_validate({**JOB, "region": "eu", "usage": {"gpu_seconds": 3}})

    assert job.model_dump()["region"] == "eu"
    assert job.usage == {"gpu_seconds": 3}


@pytest.mark.spec("2.4")
def test_the_spendable_amount_of_a_postpaid_organization_is_that_of_its_cycle() -> None:
    prepaid = Balance.model_validate({"balance_micro_usd": 5})
    postpaid = Balance.model_validate(
        {"balance_micro_usd": 5, "postpaid": {"cycle": {"remaining_micro_usd": 9}}}
    )

    assert prepaid.spendable_micro_usd == 5
    assert postpaid.spendable_micro_usd == 9


def test_a_grant_does_not_show_its_signed_url() -> None:
    grant = UploadGrant(
        upload_url="https://store.test/?signature=s3cret",
        headers={"x-signed": "s3cret"},
        url="https://store.test/1",
    )

    assert "s3cret" not in repr(grant)
    assert "s3cret" not in str(grant)
