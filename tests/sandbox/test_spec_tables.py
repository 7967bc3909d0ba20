"""The sandbox over HTTP against the tables that were copied by hand."""

from __future__ import annotations

import json

import pytest

from tests.sandbox.conftest import Api, StartSandbox
from tests.spec import Case, accepted, refused, tables
from tests.support.rows import assert_each

KINDS = [table["kind"] for table in tables()]


@pytest.fixture(scope="module")
def idle(sandboxes: StartSandbox) -> Api:
    """A sandbox with room and money for every row, where nothing is rendered."""
    balance_micro_usd = 10_000_000_000
    return sandboxes(
        concurrency=0, queue_size=1_000, balance_micro_usd=balance_micro_usd
    )


@pytest.mark.spec("4.3")
@pytest.mark.parametrize("kind", KINDS)
def test_an_accepted_body_is_queued(idle: Api, kind: str) -> None:
    def check(case: Case) -> None:
        answer = idle.post(kind, case.body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["status"] == "queued"
        assert answer.json()["billing"] is None

    assert_each(accepted(kind), check)


@pytest.mark.spec("7.2")
@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_body_is_422_and_names_the_field(idle: Api, kind: str) -> None:
    def check(case: Case) -> None:
        answer = idle.post(kind, case.body)
        assert answer.status_code == 422
        assert list(answer.json()) == ["message"]
        assert answer.json()["message"].startswith(f"{case.field}: ")

    assert_each(refused(kind), check)


@pytest.mark.spec("4.4")
def test_a_body_that_only_the_client_rejects_is_queued(idle: Api) -> None:
    rows = [
        (t["kind"], text) for t in tables() for text in t.get("passes_the_service", [])
    ]

    assert rows
    for kind, text in rows:
        assert idle.post(kind, json.loads(text)).status_code == 200
