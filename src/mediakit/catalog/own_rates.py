"""The user's own rates, which are not in the price list (spec 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from mediakit.errors import InputError
from mediakit.money import MicroUSD, parse_usd
from mediakit.rates import MS_PER_S, EstimateKind, Line, Per, per_piece, per_second

BY_REQUEST, BY_SECOND = "usd_per_request", "usd_per_second"
ACCEPTED = f'{BY_REQUEST} = "0.04" or {BY_SECOND} = "0.05", or both'


@dataclass(frozen=True)
class OwnRate:
    """The user's own rate of a function.

    Args:
        request_micro_usd: Micro-USD per request; None if it is not charged by the
            request.
        second_micro_usd: Micro-USD per second of the body's `duration`; None if it is
            not charged by the second.
    """

    request_micro_usd: MicroUSD | None = None
    second_micro_usd: MicroUSD | None = None

    @classmethod
    def read(cls, name: str, table: object) -> OwnRate:
        """Read a rate from `mediakit.toml`.

        Args:
            name: Its kind or path, for errors.
            table: US dollars, as text or numbers, under `usd_per_request` and
                `usd_per_second`.

        Raises:
            InputError: The table has other contents.
        """
        field = f'rates."{name}"'
        if not isinstance(table, dict) or not table:
            raise InputError(field, got=table, accepted=ACCEPTED)
        for key in table:
            if key not in (BY_REQUEST, BY_SECOND):
                raise InputError(field, got=key, accepted=ACCEPTED)
        return cls(
            _micro_usd(f"{field}.{BY_REQUEST}", table.get(BY_REQUEST)),
            _micro_usd(f"{field}.{BY_SECOND}", table.get(BY_SECOND)),
        )

    def lines(self, body: Mapping[str, object]) -> Iterator[Line]:
        """Price a body; without a duration, seconds have no upper bound."""
        if self.request_micro_usd is not None:
            yield per_piece("request", 1, self.request_micro_usd, Per.REQUEST)
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
        return parse_usd(text)
    except (InputError, ValueError, TypeError):
        accepted = 'US dollars such as "0.04"'
        raise InputError(field, got=amount, accepted=accepted) from None


def _duration_ms(body: Mapping[str, object]) -> int | None:
    seconds = body.get("duration", body.get("duration_s"))
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return round(seconds * MS_PER_S)
