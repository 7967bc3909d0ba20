"""Money as whole micro-USD: parsing, formatting and the only rounding function."""

import re
from decimal import Decimal, InvalidOperation
from typing import NewType

from mediakit.errors import InputError
from mediakit.plain_numbers import real, whole

MicroUSD = NewType("MicroUSD", int)

MICRO_PER_USD = 1_000_000
LARGEST_MICRO_USD = 2**53
"""Beyond it, JSON numbers are rounded, and a sum may not fit a column."""
MICRO_PER_CENT = 10_000
PER_MILLION = 1_000_000
# "0,500" and "1,50" are decimals in other locales, not thousands: they are refused.
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)


def divide_half_up(numerator: int, denominator: int) -> int:
    """Divide two non-negative integers, rounding half up.

    All money and metered units are rounded here, so that an estimate and a charge from
    the same numbers are equal.
    """
    if numerator < 0 or denominator <= 0:
        raise ValueError(f"cannot round {numerator}/{denominator} half up")
    return (2 * numerator + denominator) // (2 * denominator)


def amount_micro_usd(quantity: int, rate_micro_usd_per_million: int) -> MicroUSD:
    """Price a quantity of units at a rate per million units (spec 8)."""
    return MicroUSD(divide_half_up(quantity * rate_micro_usd_per_million, PER_MILLION))


def format_usd(micro_usd: int | None) -> str:
    """Format an amount exactly, with at least two decimals; None is "unknown".

    Args:
        micro_usd: Micro-USD, possibly negative (a difference).
    """
    if micro_usd is None:
        return "unknown"
    whole, micro = divmod(abs(micro_usd), MICRO_PER_USD)
    decimals = f"{micro:06d}".rstrip("0").ljust(2, "0")
    return f"{'-' if micro_usd < 0 else ''}${whole:,}.{decimals}"


def format_cents(micro_usd: int | None) -> str:
    """Format an amount in cents, or exactly if it is below one cent.

    Args:
        micro_usd: Micro-USD, possibly negative (a difference); None is "unknown".
    """
    if micro_usd is None or abs(micro_usd) < MICRO_PER_CENT:
        return format_usd(micro_usd)
    cents = divide_half_up(abs(micro_usd), MICRO_PER_CENT)
    return format_usd((-cents if micro_usd < 0 else cents) * MICRO_PER_CENT)


def parse_usd(amount: str | int | Decimal) -> MicroUSD:
    """Parse an amount of US dollars such as "$5", "5 USD", "0.068" or 5.

    Floats are rejected because 0.1 + 0.2 is not thirty cents.

    Raises:
        InputError: It is not an amount, is negative, or is finer than a micro-USD.
    """
    accepted = 'US dollars such as "$5", "5 USD" or 5, to the micro-dollar'
    plain = amount if isinstance(amount, str | Decimal) else whole(amount)
    if plain is None:
        if real(amount) is not None:
            accepted += "; floats are not accepted, because they are not exact"
        raise InputError("amount", got=amount, accepted=accepted)
    text = str(plain).strip().removesuffix("USD").strip().removeprefix("$")
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    try:
        micro = Decimal(text) * MICRO_PER_USD
    except InvalidOperation:
        raise InputError("amount", got=amount, accepted=accepted) from None
    if not micro.is_finite() or not 0 <= micro <= LARGEST_MICRO_USD:
        most = f", up to {format_usd(LARGEST_MICRO_USD)}"
        raise InputError("amount", got=amount, accepted=accepted + most)
    if micro != micro.to_integral_value():
        raise InputError("amount", got=amount, accepted=accepted)
    return MicroUSD(int(micro))
