"""Properties of the form of every function, for any input."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Function, SchemaDeclaration
from mediakit.rules import Problem, Rule
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.controls.messages import rule_text
from mediakit.widgets.form.fields_payload import fields_of
from mediakit.widgets.form.form_values import assigned, started
from mediakit.widgets.form.payload import state_payload
from mediakit.widgets.form.state import FormState
from tests.support.samples.field_values import JSON, TEXTS, values_of
from tests.support.samples.sample_requests import MADE_UP
from tests.support.soak import trials
from tests.widgets.form.shapes import by_shape

FUNCTIONS = (*Catalog.default(), MADE_UP)
every_shape = pytest.mark.parametrize(
    "function", by_shape(FUNCTIONS), ids=lambda f: f.kind
)
with_rules = pytest.mark.parametrize(
    "function", [f for f in FUNCTIONS if f.rules], ids=lambda f: f.kind
)
few = settings(
    max_examples=trials(4, 25),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
many = settings(few, max_examples=trials(15, 50))
Values = dict[str, object]


def filled(state: FormState) -> FormState:
    """Return the values of a form after filling its controls from a state."""
    form = started(FormState.start(state.function))
    for name, value in state.values.items():
        form, problem = assigned(form, name, value)
        assert problem is None
    return form


def values_for(function: Function) -> st.SearchStrategy[Values]:
    """Return input of users: each field is valid by itself."""
    drawn = {name: values_of(spec) for name, spec in function.fields.items()}
    if function.is_open:
        names = TEXTS.filter(lambda name: name not in (*drawn, FURTHER.name))
        drawn[FURTHER.name] = st.none() | st.dictionaries(names, JSON, min_size=1)
    return st.fixed_dictionaries(drawn)


def missing(function: Function) -> st.SearchStrategy[set[str]]:
    """Return fields that begin empty, which people may not have filled in yet."""
    empty = [name for name, spec in function.fields.items() if spec.default is None]
    return st.sets(st.sampled_from(empty), max_size=2)


def exactly(values: Mapping[str, object]) -> str:
    """Write values so that 1 is not true, nor 1.0, as JSON tells them apart."""
    return json.dumps(values, sort_keys=True)


@every_shape
def test_values_that_become_a_request_become_the_same_values_again(
    function: Function,
) -> None:
    @few
    @given(values_for(function))
    def check(values: Values) -> None:
        state = filled(FormState(function, values))
        assert exactly(state.values) == exactly(values)
        sent = json.loads(json.dumps(state.body()))
        again = filled(FormState.start(function, sent))
        for name in {*values} - {*state.disabled}:
            assert again.values[name] == values[name], name
        assert exactly(again.body()) == exactly(state.body())
        assert again.disabled == state.disabled

    check()


def bare(function: Function) -> Function:
    """Return the function without the rules between its fields."""
    return replace(
        function, declaration=SchemaDeclaration(function.declared, function.body)
    )


def bites(rules: tuple[Rule, ...], values: Values) -> Iterator[Problem]:
    for rule in rules:
        yield from rule.problems(values)


@with_rules
def test_a_rule_is_shown_when_it_applies_to_the_request_and_only_then(
    function: Function,
) -> None:
    alone = bare(function)
    rules = function.rules

    @many
    @given(values_for(function), st.data())
    def check(values: Values, data: st.DataObject) -> None:
        gone = data.draw(missing(function))
        state = FormState(function, values | dict.fromkeys(gone), frozenset(values))
        request = state.body()
        seen = function.canonical_body(request)
        for name, spec in function.fields.items():
            reasons = [why for rule in rules if (why := rule.disables(name, seen))]
            assert (name in state.disabled) is bool(reasons)
            assert not reasons or state.disabled[name] in reasons
            needed = any(rule.requires(name, seen) for rule in rules)
            assert (name in state.required) is (spec.required or needed)
        own = {problem.field: problem for problem in alone.check(request)}
        wrong = {problem.root for problem in own.values()}
        found = list(bites(rules, seen))
        assert all(p in found for p in state.problems if p.field not in own)
        places = {problem.field for problem in state.problems}
        for rule in rules:
            if wrong.isdisjoint(rule.reads):
                assert {p.field for p in rule.problems(seen)} <= places
            hints = [hint for hint in rule.warnings(seen) if hint.field not in places]
            assert all(hint in state.warnings for hint in hints)

    check()


@pytest.mark.parametrize(
    "function", by_shape(f for f in FUNCTIONS if f.rules), ids=lambda f: f.kind
)
def test_problems_stand_beside_their_field_once_it_was_touched_and_never_before(
    function: Function,
) -> None:
    fields = fields_of(function, {})

    @few
    @given(values_for(function), st.data())
    def check(values: Values, data: st.DataObject) -> None:
        touched = frozenset(data.draw(st.sets(st.sampled_from(list(fields)))))
        gone = data.draw(missing(function))
        state = replace(
            filled(FormState(function, values | dict.fromkeys(gone))), touched=touched
        )
        payload = state_payload(state, fields)
        wrong = {problem.root for problem in state.problems}
        said = [each for each in payload["problems"] if each["tone"] == "bad"]
        # The page shows each problem at the innermost visible place, or at the field.
        assert {each["at"][-1][0] for each in said} == wrong & touched - {
            *state.disabled
        }
        for name, reason in state.disabled.items():
            assert payload["off"][name].casefold() == rule_text(reason).casefold()

    check()
