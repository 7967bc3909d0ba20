"""Prices of all bodies that a function accepts (spec 8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Function
from mediakit.estimates import Estimate, EstimateKind
from mediakit.sandbox.jobs.pricing import charge_of, hold_of, usage_of
from mediakit.schema import InputFacts
from tests.support.samples.bodies import accepted_bodies
from tests.support.soak import trials

FUNCTIONS = list(Catalog.default())
CLIP_SECONDS = st.decimals(2, 5, places=3)
PLENTY_MICRO_USD = 10**9

each_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.kind)
drawn = settings(
    max_examples=trials(5, soak=100), suppress_health_check=list(HealthCheck)
)


def ends(estimate: Estimate) -> tuple[int, int | None]:
    assert isinstance(estimate.low, int)
    assert estimate.high is None or type(estimate.high) is int
    return estimate.low, estimate.high


@each_function
@drawn
@given(data=st.data())
def test_lengths_narrow_a_price_and_the_sandbox_charges_the_exact_one(
    function: Function, data: st.DataObject
) -> None:
    body = data.draw(accepted_bodies(function))
    clips = {m.value for m in function.media(body) if m.kind != "image"}
    seconds = {url: data.draw(CLIP_SECONDS) for url in clips}
    asked, known = function.estimate(body), function.estimate(body, InputFacts(seconds))
    charge = charged(function, body, {url: float(s) for url, s in seconds.items()})

    assert hold_of(function, function.canonical_body(body)) is not None
    if asked.kind is EstimateKind.UNKNOWN:
        assert known.kind is EstimateKind.UNKNOWN
        assert (asked.low, asked.high) == (None, None)
        return
    low, high = ends(asked)
    assert 0 <= low == sum(line.low_micro_usd for line in asked.lines)
    assert high is None or low <= high
    if asked.kind in (EstimateKind.EXACT, EstimateKind.NOMINAL):
        assert low == high
    now_low, now_high = ends(known)
    assert low <= now_low
    assert high is None or (now_high is not None and now_high <= high)
    if known.kind is EstimateKind.EXACT:
        assert charge == now_low == now_high
    if known.kind is EstimateKind.UPPER_BOUND and now_high is not None:
        assert charge <= now_high


@each_function
@drawn
@given(data=st.data())
def test_a_price_depends_on_no_field_that_is_not_declared_as_pricing(
    function: Function, data: st.DataObject
) -> None:
    priced_by = function.declared.priced_by
    if priced_by is None:
        return
    one, other = (data.draw(accepted_bodies(function)) for _ in range(2))
    priced = {name: value for name, value in one.items() if name in priced_by}
    free = {name: value for name, value in other.items() if name not in priced_by}
    if not function.check({**free, **priced}):
        assert function.estimate({**free, **priced}) == function.estimate(one)


ONE, TWO = "https://a.test/1.mp4", "https://a.test/2.mp4"
EDIT = {"duration": "auto", "omni_reference_task_type": "edit", "video_urls": [ONE]}


@pytest.mark.parametrize(
    ("kind", "fields", "seconds"),
    [
        ("r5", {"video_urls": [ONE, TWO]}, {ONE: 7.55, TWO: 7.54}),
        ("r5", {"video_urls": [ONE, TWO]}, {ONE: 15.08}),
        ("r1", EDIT, {ONE: 30.09}),
        ("r1", EDIT, {ONE: 1.91}),
    ],
    ids=["r5, both known", "r5, one known", "r1, long", "r1, short"],
)
def test_a_length_over_a_limit_by_rounding_costs_as_much_as_the_limit(
    kind: str, fields: dict[str, Any], seconds: dict[str, float]
) -> None:
    function = Catalog.default().function(kind)
    body = {"prompt": "a", **fields}
    low, high = ends(function.estimate(body))
    known_low, known_high = ends(function.estimate(body, InputFacts(seconds)))
    assert high is not None
    assert known_high is not None
    assert low <= known_low <= known_high <= high


def charged(function: Function, body: dict[str, Any], seconds: dict[str, float]) -> int:
    """Charge a body as the sandbox does after its job was created, 3 s long."""
    canonical = function.canonical_body(body)
    output_ms = None if function.media_type == "image" else 3_000
    usage = usage_of(function, canonical, output_ms)
    return charge_of(
        function, canonical, usage, seconds=seconds, hold_micro_usd=PLENTY_MICRO_USD
    )


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.kind)
def test_values_unknown_before_rendering_are_declared_for_every_function(
    function: Function,
) -> None:
    unpriced = {"r1-finalize", "r3b", "r5b", "text-to-image", "image-to-image"}
    notes = function.estimate({}).notes if function.kind in unpriced else ()

    assert (function.kind in unpriced) == any("No rate is known" in n for n in notes)
