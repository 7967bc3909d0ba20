from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.money import amount_micro_usd, divide_half_up, format_usd, parse_usd

amounts = st.integers(min_value=0, max_value=10**15)


@given(amounts, st.integers(min_value=1, max_value=10**9))
def test_division_rounds_half_up_as_decimal_does(numerator: int, divisor: int) -> None:
    exact = Decimal(numerator) / Decimal(divisor)

    assert divide_half_up(numerator, divisor) == int(
        exact.quantize(Decimal(1), rounding=ROUND_HALF_UP)
    )


@pytest.mark.parametrize(("numerator", "divisor"), [(-1, 2), (1, 0), (1, -2)])
def test_division_rejects_invalid_amounts(numerator: int, divisor: int) -> None:
    with pytest.raises(ValueError, match="half up"):
        divide_half_up(numerator, divisor)


def test_tokens_of_five_seconds_at_720p_cost_what_the_price_list_says() -> None:
    assert amount_micro_usd(108_000, 11_235_000) == 1_213_380


@given(amounts)
def test_a_formatted_amount_parses_to_the_same_amount(micro_usd: int) -> None:
    assert parse_usd(format_usd(micro_usd)) == micro_usd


@pytest.mark.parametrize(
    ("micro_usd", "text"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (340_000, "$0.34"),
        (1_213_380, "$1.21338"),
        (1, "$0.000001"),
        (100_000_000, "$100.00"),
        (1_234_567_890_000, "$1,234,567.89"),
        (-20_000, "-$0.02"),
    ],
)
def test_amounts_are_written_exactly(micro_usd: int | None, text: str) -> None:
    assert format_usd(micro_usd) == text


@pytest.mark.parametrize(
    ("amount", "micro_usd"),
    [
        ("$5", 5_000_000),
        ("5 USD", 5_000_000),
        ("0.068", 68_000),
        (5, 5_000_000),
        (Decimal("0.0021"), 2_100),
        (" $1,000.50 ", 1_000_500_000),
        ("1,234,567", 1_234_567_000_000),
    ],
)
def test_common_notations_of_amounts_are_parsed(
    amount: str | int | Decimal, micro_usd: int
) -> None:
    assert parse_usd(amount) == micro_usd


@pytest.mark.parametrize(
    "amount",
    ["", "five", "-1", "nan", "inf", "0.0000001", 0.1, True, None, "5 EUR"],
)
def test_an_invalid_amount_is_rejected_with_a_readable_message(amount: object) -> None:
    with pytest.raises(InputError, match="US dollars"):
        parse_usd(amount)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "amount", ["1,50", "0,75", "2,5", "1,2,3", "1,0000", ",500", "1.5,000", "0,500"]
)
def test_a_comma_that_may_be_a_decimal_separator_is_rejected(amount: str) -> None:
    with pytest.raises(InputError, match="US dollars"):
        parse_usd(amount)
