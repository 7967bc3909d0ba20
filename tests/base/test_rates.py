import re

from mediakit.estimates import (
    Estimate,
    EstimateKind,
    Line,
    Metered,
    PriceUnit,
    per_piece,
    per_second,
)
from mediakit.money import MicroUSD

TOKENS = Line("video output", PriceUnit.TOKEN, 11_235_000, 108_000, 108_000)


def test_rates_are_formatted_as_in_the_price_list() -> None:
    assert per_second("s", 1_000, 1_000, 68_000).rate_text == "$0.068 per s"
    assert TOKENS.rate_text == "$11.235 per 1M tokens"
    assert per_piece("i", 1, 126_000, PriceUnit.IMAGE).rate_text == "$0.126 per image"


def test_quantities_are_formatted_with_their_unit() -> None:
    assert TOKENS.quantity_text == "108,000 tokens"
    assert per_second("s", 5_000, 5_000, 1).quantity_text == "5 s"
    assert per_second("s", 2_500, 2_500, 1).quantity_text == "2.5 s"
    assert per_second("s", 4_000, 30_000, 1).quantity_text == "4 to 30 s"
    assert per_second("s", 4_000, None, 1).quantity_text == "at least 4 s"
    assert per_piece("i", 1, 1, PriceUnit.IMAGE).quantity_text == "1 image"
    assert per_piece("i", 2, 1, PriceUnit.IMAGE).quantity_text == "2 images"


def test_an_estimate_without_lines_is_unknown_and_not_free() -> None:
    estimate = Estimate.of([])

    assert (estimate.low, estimate.high) == (None, None)
    assert estimate.kind is EstimateKind.UNKNOWN
    assert str(estimate) == "unknown (unknown)"


def test_an_estimate_is_as_firm_as_its_least_firm_line() -> None:
    bound = per_second("s", 1_000, 2_000, 40_000, EstimateKind.UPPER_BOUND)
    estimate = Estimate.of([TOKENS, bound])

    assert estimate.kind is EstimateKind.UPPER_BOUND
    assert (estimate.low, estimate.high) == (1_253_380, 1_293_380)
    assert estimate.text == "$1.25338 to $1.29338"


def test_an_estimate_with_an_unbounded_line_has_no_upper_end() -> None:
    estimate = Estimate.of([per_second("s", 4_000, None, 200)])

    assert (estimate.low, estimate.high) == (800, None)
    assert estimate.text == "at least $0.0008"
    assert str(estimate) == "at least $0.0008 (no upper price known)"


def test_a_price_with_only_a_known_rate_does_not_look_free() -> None:
    by_length = per_second("s", 0, None, 40_000, EstimateKind.UPPER_BOUND)
    by_other_length = per_second("s", 0, None, 50_000, EstimateKind.UPPER_BOUND)
    estimate = Estimate.of([by_length])
    kept = Estimate(MicroUSD(0), None, EstimateKind.UPPER_BOUND)

    assert str(estimate) == "$0.04 per s (no upper price known)"
    not_known = "price not known yet (no upper price known)"
    assert str(Estimate.of([by_length, by_other_length])) == not_known
    assert str(kept) == not_known


def test_what_is_free_costs_nothing() -> None:
    free = Estimate.of([per_second("s", 5_000, 5_000, 0)])

    assert str(free) == "$0.00 (exact)"


def test_a_notebook_shows_an_estimate_as_a_table_of_its_lines() -> None:
    length = per_second("length", 4_000, None, 200, EstimateKind.UPPER_BOUND)
    html = Estimate.of([TOKENS, length], ["It rests on <b>the file</b>."])._repr_html_()

    assert re.sub("<[^>]+>", "|", html.replace("<span>$</span>", "$")) == (
        "||||What||Quantity||Rate||Amount|"
        "|||video output||108,000 tokens||$11.235 per 1M tokens||$1.21338|"
        "|||length||at least 4 s||$0.0002 per s||at least $0.0008|"
        "|||Total, no upper price known||||||at least $1.21418||||"
        "It rests on &lt;b&gt;the file&lt;/b&gt;.||"
    )


def test_tokens_for_a_fraction_of_a_second_are_rounded_half_up() -> None:
    rounded = [(21_600, 5_000, 108_000), (21_600, 1, 22), (21_500, 1, 22)]
    for tokens_per_s, ms, tokens in [*rounded, (21_499, 1, 21)]:
        assert Metered(1, tokens_per_s).tokens(ms) == tokens
