"""Price lines and estimates, in whole micro-USD."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from mediakit.clock import MS_PER_S
from mediakit.errors import NOTHING_SENT, InputError, PriceError
from mediakit.money import (
    PER_MILLION,
    MicroUSD,
    amount_micro_usd,
    divide_half_up,
    format_cents,
    format_usd,
    parse_usd,
)
from mediakit.safe_text import html_text

NOT_KNOWN_YET = "price not known yet"
NO_UPPER_PRICE = "no upper price known"
METERED_HOLD_PERCENT = 150
"""How much of a nominal price is held until the reported tokens are charged."""
METERED_HOLD_TEXT = f"{METERED_HOLD_PERCENT / 100:g} times the estimate"
CHARGED_ON_TOKENS = (
    "Charged by the tokens that the model reports. Until it is billed, "
    f"{METERED_HOLD_TEXT} is held against your budgets."
)


class PriceUnit(StrEnum):
    """The units of prices (spec 8)."""

    TOKEN = "token"
    MILLISECOND = "ms"
    IMAGE = "image"
    REQUEST = "request"


class EstimateKind(StrEnum):
    """How firm an estimate is."""

    EXACT = "exact"
    """The charge of a completed job equals the estimate."""
    NOMINAL = "nominal"
    """The charge depends on the tokens that the model reports; these are nominal."""
    UPPER_BOUND = "upper_bound"
    """The service decides something; `high` is the highest price, if there is one."""
    UNKNOWN = "unknown"
    """No rate is known; this does not mean free."""


_FIRMNESS = list(EstimateKind)


@dataclass(frozen=True)
class Line:
    """One line of a price: a quantity of units at a rate."""

    what: str
    per: PriceUnit
    rate_micro_usd_per_million: int
    quantity_low: int
    quantity_high: int | None
    kind: EstimateKind = EstimateKind.EXACT

    @property
    def low_micro_usd(self) -> MicroUSD:
        """Return the amount for the smallest quantity."""
        return amount_micro_usd(self.quantity_low, self.rate_micro_usd_per_million)

    @property
    def high_micro_usd(self) -> MicroUSD | None:
        """Return the amount for the largest quantity; None if there is no bound."""
        if self.quantity_high is None:
            return None
        return amount_micro_usd(self.quantity_high, self.rate_micro_usd_per_million)

    @property
    def hold_micro_usd(self) -> MicroUSD | None:
        """Return the amount to hold for the largest quantity; None if unbounded.

        The tokens that a model will report are unknown, so more than the nominal number
        is held.
        """
        high_micro_usd = self.high_micro_usd
        is_metered = self.per is PriceUnit.TOKEN and self.kind is not EstimateKind.EXACT
        if high_micro_usd is None or not is_metered:
            return high_micro_usd
        return metered_hold(high_micro_usd)

    @property
    def amount_text(self) -> str:
        """Format the amount, or the range, for display."""
        return _amount_text(self.low_micro_usd, self.high_micro_usd)

    @property
    def rate_text(self) -> str:
        """Format the rate as in the price list, such as "$0.068 per s"."""
        match self.per:
            case PriceUnit.TOKEN:
                return f"{format_usd(self.rate_micro_usd_per_million)} per 1M tokens"
            case PriceUnit.MILLISECOND:
                return f"{_usd_per(self.rate_micro_usd_per_million, MS_PER_S)} per s"
            case _:
                return f"{_usd_per(self.rate_micro_usd_per_million, 1)} per {self.per}"

    @property
    def quantity_text(self) -> str:
        """Format the quantity with its unit, such as "5 s" or "108,000 tokens"."""
        low = _count_text(self.quantity_low, self.per)
        if self.quantity_high == self.quantity_low:
            return _with_unit(low, self.per, plural=self.quantity_low != 1)
        if self.quantity_high is None:
            return f"at least {_with_unit(low, self.per, plural=True)}"
        high = _count_text(self.quantity_high, self.per)
        return f"{low} to {_with_unit(high, self.per, plural=True)}"


def _amount_text(low_micro_usd: int, high_micro_usd: int | None) -> str:
    low = format_usd(low_micro_usd)
    if high_micro_usd is None:
        return f"at least {low}" if low_micro_usd else NOT_KNOWN_YET
    if low_micro_usd == high_micro_usd:
        return low
    return f"{low} to {format_usd(high_micro_usd)}"


def _usd_per(rate_micro_usd_per_million: int, units: int) -> str:
    micro, rest = divmod(rate_micro_usd_per_million * units, PER_MILLION)
    if rest:
        raise ValueError("a rate of the price list is whole micro-USD")
    return format_usd(micro)


def _count_text(quantity: int, per: PriceUnit) -> str:
    if per is not PriceUnit.MILLISECOND:
        return f"{quantity:,}"
    seconds, ms = divmod(quantity, MS_PER_S)
    return f"{seconds:,}" + (f".{ms:03d}".rstrip("0") if ms else "")


def _with_unit(count: str, per: PriceUnit, *, plural: bool) -> str:
    if per is PriceUnit.MILLISECOND:
        return f"{count} s"
    return f"{count} {per}{'s' if plural else ''}"


def per_second(
    what: str,
    ms_low: int,
    ms_high: int | None,
    micro_usd_per_s: int,
    kind: EstimateKind = EstimateKind.EXACT,
) -> Line:
    """Price a duration, exactly to the millisecond (spec 8)."""
    rate = micro_usd_per_s * (PER_MILLION // MS_PER_S)
    return Line(what, PriceUnit.MILLISECOND, rate, ms_low, ms_high, kind)


def per_piece(what: str, pieces: int, micro_usd_each: int, per: PriceUnit) -> Line:
    """Price a number of pieces, such as images or requests (spec 8)."""
    return Line(what, per, micro_usd_each * PER_MILLION, pieces, pieces)


def metered_hold(nominal_micro_usd: int) -> MicroUSD:
    """Return the amount to hold for a nominal price, rounded up to a micro-USD."""
    return MicroUSD(-(-nominal_micro_usd * METERED_HOLD_PERCENT // 100))


@dataclass(frozen=True)
class InputFacts:
    """Facts that affect the price and are not in the body."""

    seconds: Mapping[str, float | Decimal] = field(default_factory=dict)
    output_tokens: int | None = None

    def ms(self, url: str) -> int | None:
        """Return the duration of a medium in whole milliseconds; None if unknown."""
        seconds = self.seconds.get(url)
        if seconds is None:
            return None
        numerator, denominator = Decimal(str(seconds)).as_integer_ratio()
        return divide_half_up(numerator * MS_PER_S, denominator)

    def total_ms(self, urls: list[str] | None) -> tuple[int, bool]:
        """Sum the durations of media.

        Returns:
            The milliseconds of all known durations, and whether all are known.
        """
        each_ms = [self.ms(url) for url in urls or []]
        return sum(ms for ms in each_ms if ms is not None), None not in each_ms


@dataclass(frozen=True)
class Metered:
    """A rate for the tokens of video output."""

    micro_usd_per_million: int
    tokens_per_s: int

    def tokens(self, output_ms: int) -> int:
        """Return the nominal tokens of an output from its milliseconds."""
        return divide_half_up(output_ms * self.tokens_per_s, MS_PER_S)

    def lines(
        self, what: str, low_ms: int, high_ms: int, facts: InputFacts
    ) -> Iterator[Line]:
        """Price video output: nominally, as a range, or from the reported tokens."""
        rate, tokens = self.micro_usd_per_million, facts.output_tokens
        if tokens is not None:
            yield Line(what, PriceUnit.TOKEN, rate, tokens, tokens)
            return
        kind = EstimateKind.NOMINAL if low_ms == high_ms else EstimateKind.UPPER_BOUND
        low, high = self.tokens(low_ms), self.tokens(high_ms)
        yield Line(what, PriceUnit.TOKEN, rate, low, high, kind)


def metered(rates: Mapping[str, tuple[int, int]]) -> Mapping[str, Metered]:
    """Return rates by resolution from micro-USD per 1M tokens and tokens per s."""
    return {resolution: Metered(*pair) for resolution, pair in rates.items()}


@dataclass(frozen=True)
class Estimate:
    """The price of a request before it is sent.

    Args:
        low: The lowest price in micro-USD; None if no rate is known.
        high: The highest price in micro-USD; None if there is no bound or no rate.
        kind: How firm the estimate is.
        lines: The price lines.
        notes: Sentences about the assumptions of the estimate.
        known_micro_usd: A higher price in micro-USD that is held instead, where own
            rates are below those of the price list; 0 for none.
    """

    low: MicroUSD | None
    high: MicroUSD | None
    kind: EstimateKind
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    known_micro_usd: int = 0

    @classmethod
    def of(cls, lines: Iterable[Line], notes: Iterable[str] = ()) -> "Estimate":
        """Sum price lines; the least firm line determines the kind.

        Without lines the estimate is unknown, not free.
        """
        lines = tuple(lines)
        if not lines:
            return cls(None, None, EstimateKind.UNKNOWN, (), tuple(notes))
        highs = [line.high_micro_usd for line in lines]
        bounded = [high for high in highs if high is not None]
        return cls(
            low=MicroUSD(sum(line.low_micro_usd for line in lines)),
            high=MicroUSD(sum(bounded)) if len(bounded) == len(highs) else None,
            kind=max((line.kind for line in lines), key=_FIRMNESS.index),
            lines=lines,
            notes=tuple(notes),
        )

    @property
    def hold_micro_usd(self) -> MicroUSD | None:
        """Return the amount to hold until the charge; None if it has no upper end."""
        if self.high is None:
            return None
        hold = sum(line.hold_micro_usd or 0 for line in self.lines)
        if not self.lines:
            is_nominal = self.kind is EstimateKind.NOMINAL
            hold = metered_hold(self.high) if is_nominal else self.high
        return MicroUSD(max(hold, self.known_micro_usd))

    @property
    def text(self) -> str:
        """Format the amount, or the range, for display."""
        if self.low is None:
            return "unknown"
        if self.has_no_upper_end and not self.low:
            return self._rate_text
        return _amount_text(self.low, self.high)

    @property
    def short_text(self) -> str:
        """Format the amount, or the range, in cents; an exact amount in full."""
        if self.kind is EstimateKind.EXACT:
            return self.text
        if self.low is None:
            return "Price unknown"
        if self.high is None:
            return f"At least {format_cents(self.low)}" if self.low else self.text
        low, high = format_cents(self.low), format_cents(self.high)
        return low if low == high else f"{low}\u2013{high}"

    @property
    def _rate_text(self) -> str:
        """Format the only rate, because "at least $0.00" would look free."""
        rates = {line.rate_text for line in self.lines if line.quantity_high is None}
        return rates.pop() if len(rates) == 1 else NOT_KNOWN_YET

    @property
    def has_no_upper_end(self) -> bool:
        """Return whether a lowest price is known but no highest."""
        return self.low is not None and self.high is None

    def __str__(self) -> str:
        return f"{self.text} ({_kind_text(self)})"

    def __repr__(self) -> str:
        return f"<estimate {_summary(self)}>"

    def _repr_html_(self) -> str:
        """Return the price lines as a table, for a notebook."""
        price = (
            _lines_html(self) if self.lines else html_text(f"Price: {_summary(self)}")
        )
        notes = "".join(
            f'<div style="{_QUIET}">{html_text(note)}</div>' for note in self.notes
        )
        return f"<div>{price}{notes}</div>"


Price = str | int | Decimal | Estimate
"""A price that was shown: an amount of US dollars, or the estimate itself."""


def price_limit(max_price: Price | None) -> Estimate | None:
    """Return the highest price that a request may have; None for no limit."""
    if max_price is None or isinstance(max_price, Estimate):
        return max_price
    try:
        most = parse_usd(max_price)
    except InputError as error:
        accepted = f"an estimate, or {error.accepted}"
        raise InputError("max_price", got=max_price, accepted=accepted) from None
    return Estimate(most, most, EstimateKind.EXACT)


def check_price_limit(price: Estimate, limit: Estimate | None) -> None:
    """Raise a PriceError if a price may exceed the shown one; None for no limit."""
    if limit is None or _dearness(price) <= _dearness(limit):
        return
    raise PriceError(
        f"The price is now {price.text} instead of {limit.text}. {NOTHING_SENT}",
        price_micro_usd=price.high,
        expected_micro_usd=limit.high,
    )


def _dearness(price: Estimate) -> tuple[bool, int, bool, int]:
    # Compare upper ends first; a price without an upper end counts as highest.
    low, high = price.low, price.high
    return (high is None, high or 0, low is None, low or 0)


def _kind_text(estimate: Estimate) -> str:
    if estimate.has_no_upper_end:
        return NO_UPPER_PRICE
    return estimate.kind.value.replace("_", " ")


def _summary(estimate: Estimate) -> str:
    if estimate.kind is EstimateKind.UNKNOWN:
        return estimate.text
    return f"{estimate.text}, {_kind_text(estimate)}"


# -- as HTML ----------------------------------------------------------------------

# The saved notebook keeps this HTML: no element depends on a style sheet, and each
# colour is given twice because sanitisers keep plain colours and drop theme variables.
_QUIET = "color:#767676;color:var(--jp-ui-font-color2,#767676)"
_CELL = "text-align:left;padding:2px 14px 2px 0"


def _lines_html(estimate: Estimate) -> str:
    lines = [
        (line.what, line.quantity_text, line.rate_text, line.amount_text)
        for line in estimate.lines
    ]
    total = (f"Total, {_kind_text(estimate)}", "", "", estimate.text)
    head = _row_html("th", ("What", "Quantity", "Rate", "Amount"))
    rows = "".join(_row_html("td", cells) for cells in [*lines, total])
    return f'<table style="border-collapse:collapse">{head}{rows}</table>'


def _row_html(tag: str, cells: Iterable[str]) -> str:
    cells_html = (f'<{tag} style="{_CELL}">{html_text(cell)}</{tag}>' for cell in cells)
    return f"<tr>{''.join(cells_html)}</tr>"
