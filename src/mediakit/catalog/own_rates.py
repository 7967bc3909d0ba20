"""The user's own rates, for functions or prices that the price list lacks (spec 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from mediakit.clock import MS_PER_S
from mediakit.errors import InputError
from mediakit.estimates import (
    Estimate,
    EstimateKind,
    Line,
    PriceUnit,
    per_piece,
    per_second,
)
from mediakit.money import MicroUSD, format_usd, parse_usd

# At this rate, a day costs an amount that the history can still store.
HIGHEST_RATE_MICRO_USD = 10**12
RATE_KEYS = BY_REQUEST, BY_SECOND = "usd_per_request", "usd_per_second"
USE = "To hold your own rate instead, use connect(own_rates=True)."
ACCEPTED = f'{BY_REQUEST} = "0.04" or {BY_SECOND} = "0.05", or both'


@dataclass(frozen=True)
class OwnRate:
    """A user's rate for a function; seconds are those of the body's `duration`."""

    request_micro_usd: MicroUSD | None = None
    second_micro_usd: MicroUSD | None = None
    source: Path | None = None  # None for a rate given in code
    sets_holds: bool = True  # else budgets hold the higher listed rate

    @classmethod
    def from_table(
        cls,
        name: str,
        table: Mapping[str, object],
        *,
        source: Path | None = None,
        sets_holds: bool = True,
    ) -> OwnRate:
        """Read a rate from `mediakit.toml`."""
        field = f"rates.{name}"
        if not table:
            raise InputError(field, got=table, accepted=ACCEPTED)
        return cls(
            _micro_usd(f"{field}.{BY_REQUEST}", table.get(BY_REQUEST)),
            _micro_usd(f"{field}.{BY_SECOND}", table.get(BY_SECOND)),
            source,
            sets_holds,
        )

    def estimate(self, body: Mapping[str, object], listed: Estimate) -> Estimate:
        """Price a body; a note names the file of the rate."""
        own = Estimate.of(self.lines(body))
        if self.source is None:
            return own
        if listed.kind is EstimateKind.UNKNOWN:
            return replace(own, notes=(f"The rate is from {self.source.name}.",))
        note = (
            f"The rate is from {self.source.name}. According to the price list, the "
            f"price is {listed.text}."
        )
        if self.sets_holds:
            return replace(own, notes=(note,))
        known_micro_usd, hold_micro_usd = listed.hold_micro_usd, own.hold_micro_usd
        if known_micro_usd is None:
            note += (
                " The price list has no maximum price for it, so it cannot run under a "
                f"budget. {USE}"
            )
            kind = EstimateKind.UPPER_BOUND
            return replace(own, high=None, kind=kind, notes=(note,))
        if hold_micro_usd is None or known_micro_usd <= hold_micro_usd:
            return replace(own, notes=(note,))
        note += f" Budgets hold {format_usd(known_micro_usd)}. {USE}"
        return replace(own, notes=(note,), known_micro_usd=known_micro_usd)

    def lines(self, body: Mapping[str, object]) -> Iterator[Line]:
        """Return the price lines; without a duration, they have no upper bound."""
        if self.request_micro_usd is not None:
            yield per_piece("request", 1, self.request_micro_usd, PriceUnit.REQUEST)
        if self.second_micro_usd is not None:
            ms = _duration_ms(body)
            kind = EstimateKind.UPPER_BOUND if ms is None else EstimateKind.EXACT
            yield per_second("output", ms or 0, ms, self.second_micro_usd, kind)


def _micro_usd(field: str, amount: object) -> MicroUSD | None:
    if amount is None:
        return None
    try:
        # The float 0.04 in TOML means four cents, not the nearest binary fraction.
        text = str(amount) if isinstance(amount, float) else amount
        if not isinstance(text, str | int | Decimal) or isinstance(text, bool):
            raise TypeError
        rate_micro_usd = parse_usd(text)
        if rate_micro_usd > HIGHEST_RATE_MICRO_USD:
            raise ValueError
        return rate_micro_usd
    except (InputError, ValueError, TypeError):
        most = format_usd(HIGHEST_RATE_MICRO_USD)
        accepted = f'US dollars such as "0.04", up to {most}'
        raise InputError(field, got=amount, accepted=accepted) from None


def _duration_ms(body: Mapping[str, object]) -> int | None:
    seconds = body.get("duration", body.get("duration_s"))
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return round(seconds * MS_PER_S)
