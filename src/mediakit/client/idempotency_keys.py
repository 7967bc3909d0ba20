"""Submissions and their idempotency keys, including those of takes and attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from mediakit.api_models import REJECTIONS, JobStatus
from mediakit.catalog import Function
from mediakit.client.service import Service
from mediakit.estimates import Estimate
from mediakit.history import Entry, Submission, plain_values
from mediakit.history.entry import PAST, REBUILT
from mediakit.schema import canonical_json, text_json

KEY_VERSION = "mediakit-2"
NOTHING_KNOWN = b"{}"


def submission_of(
    service: Service,
    function: Function,
    body: Mapping[str, object],
    estimate: Estimate,
    *,
    names: Mapping[str, str] | None = None,
    webhook_url: str | None = None,
    project: str | None = None,
    budget: str | None = None,
    sweep: str | None = None,
) -> Submission:
    """Return the first attempt at the first take of a request."""
    whole = body if webhook_url is None else {**body, "webhook_url": webhook_url}
    content = canonical_json(whole)
    draw_key = draw_key_of(service.identity, function.path, content)
    asked_key = draw_key
    if names:
        named_content = canonical_json(named(whole, names))
        asked_key = draw_key_of(service.identity, function.path, named_content)
    prompt = body.get("prompt")
    return Submission(
        key=key_of(draw_key, take=1, attempt=1),
        draw_key=draw_key,
        asked_key=asked_key,
        service=service.identity,
        account=service.account,
        function=function.path,
        kind=function.kind,
        body=content,
        prompt=prompt if isinstance(prompt, str) else None,
        webhook_url=webhook_url,
        take=1,
        attempt=1,
        project=project,
        budget=budget,
        sweep=sweep,
        **_price(estimate),
    )


def _price(estimate: Estimate) -> dict[str, Any]:
    """Return the fields of a submission that depend on its estimate.

    The hold is the upper end of the estimate, with the margin of a metered price;
    without an upper end, it is the lower end.
    """
    low, high, hold = estimate.low, estimate.high, estimate.hold_micro_usd
    return {
        "estimate_kind": estimate.kind.value,
        "estimate_low_micro_usd": low,
        "estimate_high_micro_usd": high,
        "reserved_micro_usd": hold if hold is not None else (low or 0),
    }


def priced_at(submission: Submission, estimate: Estimate) -> Submission:
    """Return a submission at another price."""
    return replace(submission, **_price(estimate))


def name_of_job(job_id: str) -> str:
    """Return the name of a job's output, whatever its URL."""
    return f"https://job.invalid/{job_id}"


def name_of_file(sha256_hex: str) -> str:
    """Return the name of a file's content, wherever it was uploaded."""
    return f"https://sha256.invalid/{sha256_hex}"


def named(value: object, names: Mapping[str, str]) -> object:
    """Return a body with the names of jobs and files in place of their URLs."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {key: named(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [named(each, names) for each in value]
    return value


def draw_key_of(service: str, path: str, content: bytes) -> str:
    """Return the key that identifies a request to a service.

    The key does not depend on the API key: an organization may have several API keys
    and rotate them, and the service stores idempotency keys per organization.
    """
    parts = (KEY_VERSION, service, path, content.decode())
    return sha256(f"[{','.join(map(text_json, parts))}]".encode()).hexdigest()


def key_of(draw_key: str, take: int, attempt: int) -> str:
    """Return the idempotency key of one attempt at one take (spec 4.3)."""
    return sha256(f"[{text_json(draw_key)},{take},{attempt}]".encode()).hexdigest()


def draw_of(submission: Submission) -> dict[str, str]:
    """Return the arguments that identify a request in the history's methods."""
    return {"asked_key": submission.asked_key, "draw_key": submission.draw_key}


def next_attempt(submission: Submission, service: Service) -> Submission:
    """Return the same take with a fresh key, after its job failed; see `take_of`."""
    attempt = submission.attempt + 1
    return take_of(submission, service, take=submission.take, attempt=attempt)


def take_of(
    submission: Submission, service: Service, *, take: int, attempt: int = 1
) -> Submission:
    """Return another take of a submission's request, with its own key."""
    draw = draw_of(submission)
    is_made_up = submission.draw_key.startswith((REBUILT, PAST))
    if is_made_up or submission.service != service.identity:
        draw_key = draw_key_of(service.identity, submission.function, submission.body)
        draw = dict.fromkeys(draw, draw_key)
    again = {
        "service": service.identity,
        "account": service.account,
        "take": take,
        "attempt": attempt,
        "key": key_of(draw["draw_key"], take, attempt),
    }
    return Submission(**plain_values(submission) | draw | again)


def is_known(submission: Submission) -> bool:
    """Return whether the sent bytes are known; for a recovered job they may not be."""
    is_rebuilt = submission.draw_key.startswith(REBUILT)
    return not (is_rebuilt and submission.body == NOTHING_KNOWN)


def was_rejected(entry: Entry) -> bool:
    """Return whether the entry's job was rejected on submission and never ran.

    A rejected job has failed when it is first read. An accepted job may fail later with
    the same codes, but it ran. A job that was charged although it should not have been
    is not paid again without asking.
    """
    has_failed = entry.status == JobStatus.FAILED and entry.error_code in REJECTIONS
    is_free = not entry.charge_micro_usd
    return has_failed and is_free and entry.submitted_at == entry.finished_at
