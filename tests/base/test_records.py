import json
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mediakit.api_models import (
    Balance,
    ErrorCode,
    JobRecord,
    JobStatus,
    UploadGrant,
)

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
    job = JobRecord.model_validate({**JOB, "billing": billing})

    assert job.settled_charge_micro_usd == charge


@pytest.mark.spec("7.3")
@given(st.text())
def test_an_unknown_error_code_is_read_as_provider_error(code: str) -> None:
    error = {"code": code, "message": "m"}
    job = JobRecord.model_validate(
        {"id": "media_1", "status": "failed", "error": error}
    )

    assert job.error is not None
    known = {c.value for c in ErrorCode}
    assert job.error.code == (code if code in known else "provider_error")


@pytest.mark.spec("2.1")
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": "internal", "message": None}, ErrorCode.INTERNAL, ""),
        ({"code": None}, ErrorCode.PROVIDER_ERROR, ""),
        ({}, ErrorCode.PROVIDER_ERROR, ""),
        ({"code": "internal", "message": 7}, ErrorCode.INTERNAL, "7"),
    ],
)
def test_a_failure_of_any_shape_is_parsed(
    error: object, code: ErrorCode, message: str
) -> None:
    job = JobRecord.model_validate(
        {"id": "media_1", "status": "failed", "error": error}
    )

    assert job.error is not None
    assert (job.error.code, job.error.message) == (code, message)


@pytest.mark.spec("2.1")
@pytest.mark.parametrize("medium", ["video", "image", "audio", "model"])
@pytest.mark.parametrize("unsaid", [{}, {"media_type": None}])
def test_an_output_without_a_media_type_has_the_type_of_its_file(
    medium: str, unsaid: dict[str, None]
) -> None:
    file = {"url": "https://media.test/1"}
    job = JobRecord.model_validate({**JOB, "output": {**unsaid, medium: file}})

    assert job.output is not None
    assert job.output.model_dump(exclude_none=True)[medium] == file
    if medium == "model":
        assert (job.output.media_type, job.output.file) == ("unknown", None)
    else:
        assert job.output.media_type == medium
        assert job.output.file is not None


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


@pytest.mark.spec("9")
def test_an_unknown_status_counts_as_running_and_keeps_its_name() -> None:
    job = JobRecord.model_validate({"id": "media_1", "status": "expired"})

    assert job.status is JobStatus.RUNNING
    assert job.unknown_status == "expired"
    assert JobRecord.model_validate(job.model_dump()) == job
    for status in JobStatus:
        known = JobRecord.model_validate({"id": "media_1", "status": status.value})
        assert (known.status, known.unknown_status) == (status, None)


@pytest.mark.parametrize("status", [None, 3, True, ["queued"], ""])
def test_a_status_that_is_not_text_is_rejected(status: object) -> None:
    with pytest.raises(ValidationError):
        JobRecord.model_validate({"id": "media_1", "status": status})


@pytest.mark.spec("2.4")
@pytest.mark.parametrize(
    ("postpaid", "spendable_micro_usd"),
    [
        ({"cycle": {"remaining_micro_usd": 9}}, 9),
        (None, 5),
        ({}, 5),
        ({"cycle": None}, 5),
        ({"cycle": {}}, 5),
        ({"cycle": {"remaining_micro_usd": None}}, 5),
        ({"cycle": {"remaining_micro_usd": 0}}, 5),
    ],
    ids=count(),
)
def test_the_spendable_amount_is_the_rest_of_an_active_cycle_or_else_the_balance(
    postpaid: object, spendable_micro_usd: int
) -> None:
    balance = Balance.model_validate({"balance_micro_usd": 5, "postpaid": postpaid})

    assert balance.spendable_micro_usd == spendable_micro_usd


def test_a_grant_does_not_show_its_signed_url() -> None:
    grant = UploadGrant(
        upload_url="https://store.test/?signature=s3cret",
        headers={"x-signed": "s3cret"},
        url="https://store.test/1",
    )

    assert "s3cret" not in repr(grant)
    assert "s3cret" not in str(grant)


@pytest.mark.spec("2.3")
def test_a_header_of_a_grant_is_text_or_a_whole_number() -> None:
    def grant(length: object) -> UploadGrant:
        headers = {"Content-Type": "image/png", "Content-Length": length}
        said = {"upload_url": "https://s.test/1", "headers": headers, "url": "u"}
        return UploadGrant.model_validate_json(json.dumps(said))

    assert grant(68).headers == {"Content-Type": "image/png", "Content-Length": "68"}
    for value in (None, True, 68.0, [68]):
        with pytest.raises(ValidationError):
            grant(value)


@pytest.mark.spec("2.4")
def test_the_repr_of_a_balance_is_one_short_line_with_the_spendable_amount() -> None:
    prepaid = Balance(balance_micro_usd=97_298_000)
    cycle = {"cycle": {"remaining_micro_usd": 5_000_000}}
    postpaid = Balance.model_validate({"balance_micro_usd": 0, "postpaid": cycle})

    assert (str(prepaid), repr(prepaid)) == ("$97.298", "<balance $97.298>")
    assert repr(postpaid) == "<balance $5.00 left of the invoice cycle>"
    inactive = Balance.model_validate({"balance_micro_usd": 1, "postpaid": {}})
    assert repr(inactive) == "<balance $0.000001>"
