"""What a rendered job used, and what that costs (spec 2.2, 8)."""

from collections.abc import Mapping
from typing import Any

from mediakit.catalog import Function
from mediakit.rates import MS_PER_S
from mediakit.schema import InputFacts

Body = Mapping[str, Any]


def usage_of(
    function: Function, body: Body, output_ms: int | None
) -> dict[str, Any] | None:
    """Report what a job used; None when it has no units to report (spec 2.1).

    Args:
        function: The function that ran.
        body: The canonical body.
        output_ms: The output's length, milliseconds; None for a picture.
    """
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
    hold_micro_usd: int,
) -> int:
    """Return what a completed job costs, micro-USD.

    It is the estimate of the same body with the facts of the job filled in, and
    never more than what was held: a job cannot cost more than was agreed to.

    Args:
        function: The function that ran.
        body: The canonical body.
        usage: What the job reported.
        hold_micro_usd: What was held for it.
    """
    tokens = None if usage is None else usage.get("video_output_tokens")
    estimate = function.estimate(body, InputFacts(output_tokens=tokens))
    if estimate.high is None:
        raise ValueError(f"a completed {function.kind} has no price")
    return min(estimate.high, hold_micro_usd)
