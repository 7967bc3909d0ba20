"""The declarations against the tables that were copied by hand."""

import json
from typing import Any

import jsonschema
import pytest

from mediakit.catalog import Catalog
from mediakit.media_limits import MediaLimits
from mediakit.schema import InputFacts
from tests.spec import Case, accepted, prices, refused, tables
from tests.support.rows import assert_each

Validator = jsonschema.Draft202012Validator
CATALOG = Catalog.default()
KINDS = [table["kind"] for table in tables()]
PRICED = [table["kind"] for table in tables() if table["price"]]
LIMITED = [table["kind"] for table in tables() if "limits" in table]


@pytest.mark.parametrize("kind", KINDS)
def test_an_accepted_body_has_no_problem(kind: str) -> None:
    function = CATALOG.function(kind)

    def check(case: Case) -> None:
        assert function.check(case.body) == []

    assert_each(accepted(kind), check)


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_body_has_one_problem_and_it_names_the_field(kind: str) -> None:
    function = CATALOG.function(kind)

    def check(case: Case) -> None:
        problems = function.check(case.body)
        assert [problem.field for problem in problems] == [case.field]
        assert str(case.field) in problems[0].sentence
        assert problems[0].accepted

    assert_each(refused(kind), check)


@pytest.mark.parametrize("kind", KINDS)
def test_an_accepted_body_satisfies_the_json_schema(kind: str) -> None:
    schema = CATALOG.function(kind).json_schema()
    # Once: `jsonschema.validate` checks the schema itself for each body.
    Validator.check_schema(schema)
    validator = Validator(schema)

    def check(case: Case) -> None:
        validator.validate(case.body)

    assert_each(accepted(kind), check)


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_body_breaks_the_json_schema_or_a_rule_between_fields(
    kind: str,
) -> None:
    function = CATALOG.function(kind)
    validator = Validator(function.json_schema())

    def check(case: Case) -> None:
        values = function.canonical_body(case.body)
        if validator.is_valid(case.body):
            broken = [p for rule in function.rules for p in rule.problems(values)]
            assert case.field in [problem.field for problem in broken]

    assert_each(refused(kind), check)


@pytest.mark.parametrize("table", tables(), ids=lambda t: t["kind"])
def test_required_fields_defaults_and_names_are_those_of_the_table(
    table: dict[str, Any],
) -> None:
    function = CATALOG.function(table["kind"])
    fields = function.fields

    assert function.declared.function == table["function"]
    assert function.media_type == table["media_type"]
    assert [n for n, spec in fields.items() if spec.required] == table["required"]
    defaults = {n: s.default for n, s in fields.items() if s.default is not None}
    assert defaults == json.loads(table["defaults"])


@pytest.mark.parametrize("table", tables(), ids=lambda t: t["kind"])
def test_unknown_names_are_rejected_only_by_the_client(
    table: dict[str, Any],
) -> None:
    function = CATALOG.function(table["kind"])
    for text in table.get("passes_the_service", []):
        body = json.loads(text)

        assert function.check(body, strict_names=False) == []
        assert len(function.check(body)) == 1


@pytest.mark.parametrize("kind", PRICED)
def test_a_price_equals_that_of_the_price_list(kind: str) -> None:
    function = CATALOG.function(kind)

    def check(row: dict[str, Any]) -> None:
        estimate = function.estimate(row["body"], InputFacts(seconds=row["seconds"]))
        assert estimate.kind.value == row["kind"]
        assert (estimate.low, estimate.high) == (row["low"], row["high"])
        assert {type(estimate.low), type(estimate.high)} <= {int, type(None)}

    assert_each(prices(kind), check)


@pytest.mark.parametrize("kind", LIMITED)
def test_the_limits_of_media_are_those_of_the_table(kind: str) -> None:
    [table] = [table for table in tables() if table["kind"] == kind]
    body = json.loads(table["accepted"][0])

    assert dict(CATALOG.function(kind).media_limits(body)) == {
        field: MediaLimits(**{**limits, "formats": tuple(limits.get("formats", ()))})
        for field, limits in table["limits"].items()
    }


def test_every_function_has_a_table() -> None:
    assert {f.kind for f in CATALOG} == {table["kind"] for table in tables()}
