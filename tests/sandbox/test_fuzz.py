"""Requests generated from the OpenAPI document get only documented responses.

It sends what the document allows and what it forbids. Every answer must have a status,
a content type, headers and a body that the document declares for the operation; what
is forbidden must be refused, what is allowed must be taken, an unknown method must be
answered 405, and a missing or a wrong key 401.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import CheckFunction
from schemathesis.config import SchemathesisConfig
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    negative_data_rejection,
    positive_data_acceptance,
)

from mediakit.catalog import Catalog
from mediakit.sandbox.api.openapi import describe
from tests.sandbox.conftest import KITE, Api, StartSandbox, png, without_key

pytestmark = pytest.mark.soak

EXAMPLES = 15  # beside those at the bounds of every field, of which each is tried
LONGEST_INTEGER = 2**63 - 1
KEY = "a-key-for-the-fuzzer"
# Nobody listens there, and nobody but this machine is ever called.
CALLBACK_URL = "http://127.0.0.1:9/"
CONFIG = SchemathesisConfig.from_dict(
    {
        "seed": 4,
        "auth": {"openapi": {"ApiKey": {"api_key": KEY}}},
        "generation": {"deterministic": True, "database": "none"},
    }
)
FUNCTIONS = {f"/v1/media/{function.path}": function for function in Catalog.default()}
JOB, CONTENT = "/v1/media/jobs/{request_id}", "/v1/media/jobs/{request_id}/content"
OF_A_JOB = [(JOB, "GET"), (CONTENT, "GET"), (JOB, "DELETE")]

numbers = count()


def narrowed(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with one callback in place of all, and no address."""
    for schema in document["components"]["schemas"].values():
        if "webhook_url" in schema.get("properties", {}):
            schema["properties"]["webhook_url"]["enum"] = [None, CALLBACK_URL]
    return {name: part for name, part in document.items() if name != "servers"}


document = narrowed(json.loads(json.dumps(describe(Catalog.default(), ""))))
fuzzed = schemathesis.openapi.from_dict(document, config=CONFIG)


# The cases are made when the test of a path runs: making them takes seconds, and every
# process of the tests collects all tests. A path has all of its methods, because any
# other must be answered 405.
@pytest.fixture(params=document["paths"])
def of_a_path(request: pytest.FixtureRequest) -> BaseSchema:
    paths = {request.param: document["paths"][request.param]}
    return schemathesis.openapi.from_dict(document | {"paths": paths}, config=CONFIG)


@pytest.fixture(scope="module")
def target(sandboxes: StartSandbox) -> Api:
    """A sandbox where jobs stay queued, and there is room for all of them."""
    return sandboxes(
        api_key=KEY,
        balance_micro_usd=10**15,
        concurrency=0,
        queue_size=1_000_000,
        allow_loopback_callbacks=True,
    )


@pytest.fixture(scope="module")
def ended_jobs(sandboxes: StartSandbox) -> tuple[Api, dict[str, str]]:
    """A sandbox with a job in every state that lasts, by the state."""
    api = sandboxes(api_key=KEY, settle_after_s=0.05)
    picture = {"image_url": api.upload("image/png", png())}
    failing = KITE | {"prompt": "sandbox:fail=content_moderation"}
    ids = {
        "completed": api.submit("image-upscale", picture)["id"],
        "erased": api.submit("image-upscale", picture)["id"],
        "failed": api.submit("text-to-video", failing)["id"],
    }
    for job_id in ids.values():
        api.settled(job_id)
    api.http.delete(f"/v1/media/jobs/{ids['erased']}").raise_for_status()
    return api, ids


@schemathesis.pytest.from_fixture("of_a_path").parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_every_response_is_declared_in_the_document(
    case: Case[Any], target: Api
) -> None:
    use_a_fresh_key(case)
    case.call_and_validate(
        base_url=target.running.base_url, excluded_checks=excused(case)
    )


def test_the_document_that_was_fuzzed_is_the_one_that_is_served(target: Api) -> None:
    url = f"{target.running.base_url}/openapi.json"

    assert narrowed(without_key("GET", url).json()) == document


@pytest.mark.parametrize("state", ["completed", "erased", "failed"])
@pytest.mark.parametrize(("path", "method"), OF_A_JOB)
def test_every_response_about_an_ended_job_is_declared(
    ended_jobs: tuple[Api, dict[str, str]], path: str, method: str, state: str
) -> None:
    api, ids = ended_jobs
    case = fuzzed[path][method].Case(path_parameters={"request_id": ids[state]})

    response = case.call_and_validate(base_url=api.running.base_url)

    assert response.status_code != 404


def use_a_fresh_key(case: Case[Any]) -> None:
    """Keep most of the fuzzer's short keys from meeting another job."""
    key = case.headers.get("Idempotency-Key")
    if isinstance(key, str) and 1 <= len(key) <= 200:
        case.headers["Idempotency-Key"] = f"{key}{next(numbers)}"


def excused(case: Case[Any]) -> list[CheckFunction]:
    """List the checks that do not fit a case: a schema does not say everything."""
    first, last = (case.query.get(name, "") for name in ("start_date", "end_date"))
    backwards = str(first) > str(last)
    strange = any(is_beyond_schemas(value) for value in leaves(case.body))
    if backwards or strange or breaks_a_rule(case):
        return [positive_data_acceptance]
    # Another path of the same receiver is as good as the one that the document names.
    return [negative_data_rejection] if calls_back(case.body) else []


def calls_back(body: object) -> bool:
    url = body.get("webhook_url") if isinstance(body, dict) else None
    return isinstance(url, str) and url.startswith(CALLBACK_URL)


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


def is_beyond_schemas(value: object) -> bool:
    """Tell whether a number suits a schema alone: 5.0 is an integer there."""
    if isinstance(value, float):
        return value.is_integer() or abs(value) > LONGEST_INTEGER
    return isinstance(value, int) and abs(value) > LONGEST_INTEGER


def breaks_a_rule(case: Case[Any]) -> bool:
    """Tell whether a body of the right shape breaks a rule between its fields."""
    function = FUNCTIONS.get(case.operation.path)
    if function is None or case.meta is None or case.meta.generation.mode.is_negative:
        return False
    if not isinstance(case.body, dict):
        return False
    values = function.with_defaults(case.body)
    return any(rule.problems(values) for rule in function.rules)
