"""Submits jobs: validation, idempotency, admission (spec 4.3)."""

import hashlib
import uuid
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mediakit.catalog import Function
from mediakit.clock import US_PER_S
from mediakit.sandbox.api.jobs import job_response
from mediakit.sandbox.api.webhooks import check_callback
from mediakit.sandbox.events import announce
from mediakit.sandbox.faults import Outage, requested_failure
from mediakit.sandbox.files import new_name
from mediakit.sandbox.http import RequestError, invalid_field_error, read_object
from mediakit.sandbox.jobs.pricing import hold_of
from mediakit.sandbox.service import (
    UNKNOWN_KEY,
    SandboxService,
    base_url_of,
    caller_of,
    service_of,
)
from mediakit.sandbox.store import admission
from mediakit.sandbox.store.admission import (
    IdempotencyRecord,
    KeyGoneError,
    KeyReusedError,
    NewJob,
    NoBillingPlanError,
    Refusal,
)
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.store.orgs import ApiCaller
from mediakit.sandbox.wire import ENVELOPE_STATUS, rejection_response
from mediakit.schema import canonical_json

MAX_KEY_LENGTH = 255
WEBHOOK_FIELD = "webhook_url"


async def submit(request: Request) -> Response:
    """Handle POST /v1/media/{vendor}/{model}/{function}."""
    service, caller = service_of(request), caller_of(request)
    function = _function(service, request)
    body = await read_object(request)
    webhook_url = body.pop(WEBHOOK_FIELD, None)
    if not isinstance(webhook_url, str | None):
        raise invalid_field_error(WEBHOOK_FIELD, webhook_url, "a URL")
    if problems := function.check(body, strict_names=False):
        words = " ".join(f"{p.field}: {p.detail}." for p in problems[:10])
        raise RequestError(422, words)
    canonical = function.canonical_body(body)
    repeat = _idempotency_record(request, function, canonical, webhook_url)
    # A repeated submission returns its job before the callback is checked: the host
    # may have vanished since, and the job exists anyway.
    try:
        if repeat and (job := admission.find_repeated(service.db, caller.org, repeat)):
            return job_response(request, job)
        if webhook_url is not None:
            outcome = "No job was created."
            await check_callback(service, WEBHOOK_FIELD, webhook_url, outcome)
        base_url = base_url_of(request)
        new = _new_job(service, caller, function, canonical, webhook_url, base_url)
        job, refusal = _admit(service, new, repeat)
    except KeyReusedError:
        raise RequestError(
            409,
            "This Idempotency-Key was used with another body, path or webhook_url. "
            "No job was created; send this request with a new key.",
        ) from None
    if refusal is not None:
        return rejection_response(job, refusal, base_url, service.clock)
    return job_response(request, job)


def _function(service: SandboxService, request: Request) -> Function:
    names = ("vendor", "model", "function")
    path = "/".join(request.path_params[name] for name in names)
    for function in service.catalog:
        if function.path == path:
            return function
    raise RequestError(404, f"There is no model function at /v1/media/{path[:200]}.")


def _idempotency_record(
    request: Request, function: Function, body: dict[str, Any], webhook_url: str | None
) -> IdempotencyRecord | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise RequestError(
            422,
            f"Idempotency-Key: got {len(key)} characters, accepted: 1 to "
            f"{MAX_KEY_LENGTH}.",
        )
    request_json = canonical_json([function.path, body, webhook_url])
    return IdempotencyRecord(key, hashlib.sha256(request_json).digest())


def _new_job(
    service: SandboxService,
    caller: ApiCaller,
    function: Function,
    body: dict[str, Any],
    webhook_url: str | None,
    base_url: str,
) -> NewJob:
    now_us = service.clock.now_us()
    settings = service.settings
    # A requested failure whose code rejects the submission (spec 4.3).
    failure = requested_failure(body)
    return NewJob(
        id=f"media_{uuid.uuid4()}",
        org=caller.org,
        api_key=caller.api_key,
        function=function.path,
        body=canonical_json(body).decode(),
        webhook_url=webhook_url,
        # Do not store the service's own URL, which may have changed when the job ends.
        base_url=None if base_url == service.base_url else base_url,
        file=new_name(),
        price_micro_usd=hold_of(function, body),
        created_us=now_us,
        settle_due_us=now_us + round(settings.settle_after_s * US_PER_S),
        refusal=Refusal(*failure)
        if failure and failure[0] in ENVELOPE_STATUS
        else None,
    )


def _admit(
    service: SandboxService, new: NewJob, repeat: IdempotencyRecord | None
) -> tuple[JobRow, Refusal | None]:
    def is_out() -> bool:
        return service.faults.take_for_function(Outage, new.function) is not None

    try:
        with service.db.transaction():
            job, refusal = admission.submit(service.db, new, repeat, is_out)
            if refusal is not None:
                announce(service, job.id)
    except KeyGoneError:  # the sandbox was reset while the request was read
        raise RequestError(401, UNKNOWN_KEY) from None
    except NoBillingPlanError:
        raise RequestError(
            500, "The organization has no billing plan. No job was created."
        ) from None
    service.work.wake()
    return job, refusal
