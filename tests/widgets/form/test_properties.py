"""What must hold of the form of every function, whatever people put into it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Described, Function
from mediakit.rules import Problem, Rule
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.view import FormView
from tests.support.samples.field_values import JSON, TEXTS, values_of
from tests.support.samples.sample_requests import MADE_UP
from tests.support.samples.shapes import by_shape
from tests.support.soak import trials
from tests.support.widgets import make_context, shown

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


def make_view(function: Function) -> FormView:
    return FormView(
        function,
        make_context(),
        meta=(),
        generate=list,
        show_owned=list,
        refresh=list,
        code=str,
        sweep=id,
    )


def filled(view: FormView, state: FormState) -> FormState:
    """Show a state's values in the controls, and return what these hold then."""
    for name, control in view.controls.items():
        control.value = state.values.get(name)
    return replace(state, values=view.values)


def values_for(function: Function) -> st.SearchStrategy[Values]:
    """Return what people may put into a form: each field by itself is acceptable."""
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
    view, other = make_view(function), make_view(function)

    @few
    @given(values_for(function))
    def check(values: Values) -> None:
        state = filled(view, FormState(function, values))
        assert exactly(state.values) == exactly(values)
        sent = json.loads(json.dumps(state.body()))
        again = filled(other, FormState.start(function, sent))
        for name in {*values} - {*state.disabled}:
            assert again.values[name] == values[name], name
        assert exactly(again.body()) == exactly(state.body())
        assert again.disabled == state.disabled

    check()


def bare(function: Function) -> Function:
    """Return the function without the rules between its fields."""
    return replace(function, declaration=Described(function.declared, function.body))


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


def notes(view: FormView, name: str) -> list[str]:
    """Return the line below a control, and what stands inside it."""
    below = [s._notes[name].value for s in view._sections if name in s._notes]
    return [*below, shown(view.controls[name])]


def is_red(view: FormView, name: str) -> bool:
    return any('class="mk-bad"' in html for html in notes(view, name))


def is_inner_gap(problem: Problem) -> bool:
    return problem.is_missing and problem.field != problem.root


@pytest.mark.parametrize(
    "function", by_shape(f for f in FUNCTIONS if f.rules), ids=lambda f: f.kind
)
def test_problems_stand_beside_their_field_once_it_was_touched_and_never_before(
    function: Function,
) -> None:
    view = make_view(function)
    for section in view._sections:
        section.unfold()

    @few
    @given(values_for(function), st.data())
    def check(values: Values, data: st.DataObject) -> None:
        names = st.sampled_from(list(view.controls))
        touched = frozenset(data.draw(st.sets(names)))
        gone = data.draw(missing(function))
        state = filled(view, FormState(function, values | dict.fromkeys(gone)))
        view.show(replace(state, touched=touched))
        wrong = {problem.root for problem in state.problems}
        # What is missing inside a list is marked there, and red in words when folded.
        plain = {p.root for p in state.problems if not is_inner_gap(p)}
        for name in view.controls:
            assert is_red(view, name) >= (name in plain & touched), name
            assert is_red(view, name) <= (name in wrong & touched), name
            reason = state.disabled.get(name, "")
            said = "".join(notes(view, name))
            assert escape(reason, quote=True).casefold() in said.casefold()

    check()
