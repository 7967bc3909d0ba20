"""Prices of families that are charged by reported tokens (spec 8)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mediakit.rates import METERED_HOLD_TEXT, EstimateKind, Line, Per, tokens_for
from mediakit.schema import InputFacts

CHARGED_ON_TOKENS = (
    "Charged by the tokens that the model reports. Until the charge is known, budgets "
    f"hold {METERED_HOLD_TEXT}."
)


@dataclass(frozen=True)
class Metered:
    """A rate for tokens of video output.

    Args:
        micro_usd_per_million: Micro-USD per 1M tokens.
        tokens_per_s: Nominal tokens per second.
    """

    micro_usd_per_million: int
    tokens_per_s: int

    def tokens(self, output_ms: int) -> int:
        """Count the nominal tokens of an output, by its milliseconds."""
        return tokens_for(output_ms, self.tokens_per_s)

    def lines(
        self, what: str, low_ms: int, high_ms: int, facts: InputFacts
    ) -> Iterator[Line]:
        """Price video output: nominal, as a range, or by the reported tokens.

        Args:
            what: The name of the price line.
            low_ms: The shortest output, milliseconds.
            high_ms: The longest output, milliseconds.
            facts: Includes the tokens of a finished job.
        """
        rate, tokens = self.micro_usd_per_million, facts.output_tokens
        if tokens is not None:
            yield Line(what, Per.TOKEN, rate, tokens, tokens)
            return
        kind = EstimateKind.NOMINAL if low_ms == high_ms else EstimateKind.UPPER_BOUND
        low, high = self.tokens(low_ms), self.tokens(high_ms)
        yield Line(what, Per.TOKEN, rate, low, high, kind)


def metered(rates: Mapping[str, tuple[int, int]]) -> Mapping[str, Metered]:
    """Return the rates by resolution, from micro-USD per 1M and tokens per second."""
    return {resolution: Metered(*pair) for resolution, pair in rates.items()}
