"""The hold, usage and charge of a job (spec 2.2, 8)."""

from collections.abc import Mapping
from typing import Any

from mediakit.catalog import Function
from mediakit.clock import MS_PER_S
from mediakit.errors import InputError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.schema import InputFacts

Body = Mapping[str, Any]

# The price list has no rate for some functions. They are not free, so the sandbox
# charges a price of its own for a request.
UNLISTED_MICRO_USD = 50_000


def hold_of(function: Function, body: Body) -> int | None:
    """Return the hold of a submitted job in micro-USD; None if there is no price.

    The hold is the upper end of the price. If that depends on the length of an
    unmeasured clip, the hold is the lower end, and the rest is held when the job
    starts.
    """
    try:
        estimate = function.estimate(body)
    except InputError:
        return None
    highest = _highest(estimate)
    return estimate.low if highest is None else highest


def price_of(function: Function, body: Body, facts: InputFacts) -> int | None:
    """Return the highest price of a job with measured clips; None means no limit."""
    return _highest(function.estimate(body, facts))


def is_open_ended(function: Function, body: Body) -> bool:
    """Return whether the price depends on something outside the body."""
    return function.estimate(body).kind is EstimateKind.UPPER_BOUND


def _highest(estimate: Estimate) -> int | None:
    if estimate.kind is EstimateKind.UNKNOWN:
        return UNLISTED_MICRO_USD
    return estimate.high


def usage_of(
    function: Function, body: Body, output_ms: int | None
) -> dict[str, Any] | None:
    """Return the usage of a job; None if it has no units to report (spec 2.1)."""
    if output_ms is None:
        return None
    whole_s, rest_ms = divmod(output_ms, MS_PER_S)
    seconds = output_ms / MS_PER_S if rest_ms else whole_s
    tokens = function.nominal_tokens(body, output_ms)
    if tokens is None:
        return {"output_seconds": seconds}
    return {"video_output_tokens": tokens, "output_seconds": seconds}


def charge_of(
    function: Function,
    body: Body,
    usage: Mapping[str, Any] | None,
    *,
    seconds: Mapping[str, float],
    hold_micro_usd: int,
) -> int:
    """Return the charge of a completed job in micro-USD.

    The charge is the estimate of the body with the facts of the job, but at most the
    hold.
    """
    tokens = None if usage is None else usage.get("video_output_tokens")
    facts = InputFacts(seconds=seconds, output_tokens=tokens)
    price = price_of(function, body, facts)
    return hold_micro_usd if price is None else min(price, hold_micro_usd)
