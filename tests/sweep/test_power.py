"""The power of a plan before anything is sent, compared with scipy's noncentral t."""

from __future__ import annotations

import math
from typing import Any

import pytest
import scipy

from mediakit import Client
from mediakit.errors import InputError
from mediakit.sweep.student_t import power
from tests.sweep.runs import VIDEO_3_S, run

VERSIONS = {"v1": "a {s} at dawn", "v2": "a {s} at dusk", "v3": "one {s}"}


def plan_of(client: Client, shots: int, versions: int = 2, **more: Any) -> Any:
    names = [*VERSIONS][:versions]
    prompt = {name: VERSIONS[name] for name in names}
    s = [f"thing {n}" for n in range(shots)]
    return client.sweep("text-to-video", prompt=prompt, s=s, duration=3, **more)


def exact_power(size: float, pairs: int, alpha: float) -> float:
    """Return the power of a paired test whose differences have the deviation 1."""
    freedom, shift = pairs - 1, size * math.sqrt(pairs)
    limit = scipy.stats.t.isf(alpha / 2, freedom)
    nct = scipy.stats.nct
    return float(nct.sf(limit, freedom, shift) + nct.cdf(-limit, freedom, shift))


@pytest.mark.parametrize("freedom", [3, 5, 20, 200])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_the_power_of_a_t_test_is_that_of_the_noncentral_t(
    freedom: int, alpha: float
) -> None:
    for size in (0.0, 0.1, 0.4):
        shift = size * math.sqrt(freedom + 1)
        expected = exact_power(size, freedom + 1, alpha)
        assert power(shift, freedom, alpha) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("shots", "versions"), [(12, 2), (8, 3)])
def test_a_plan_says_how_likely_it_finds_a_difference_and_what_enough_costs(
    client: Client, shots: int, versions: int
) -> None:
    plan = plan_of(client, shots, versions)
    found = plan.power(0.8)
    alpha = 0.05 / math.comb(versions, 2)
    # Whole stars: half a star in all is the continuity correction.
    assert found.axis == "prompt"
    assert found.pairs == shots
    assert found.power == pytest.approx(
        exact_power(0.8 - 0.5 / shots, shots, alpha), abs=0.001
    )
    needed = next(
        n for n in range(4, 99) if exact_power(0.8 - 0.5 / n, n, alpha) >= 0.8
    )
    assert abs(found.pairs_needed - needed) <= 1
    assert found.price.high == found.pairs_needed * versions * VIDEO_3_S
    text = " ".join(repr(found).split())
    assert f"Over {shots} values of s, a true difference of 0.8 stars" in text
    assert f"{found.pairs_needed} values of s find it in 80%, for about $" in text

    measured = plan.power(0.8, value="sharpness")
    assert measured.power == pytest.approx(exact_power(0.8, shots, alpha), abs=0.001)


def test_a_budget_counts_the_pairs_that_it_completes(client: Client) -> None:
    plan = plan_of(client, 12)
    # Five clips of the next pairs: one pair more, and a half.
    amount = f"${11 * VIDEO_3_S / 1e6:.3f}"
    some = plan.power(1.0, budget=amount)
    assert some.pairs == 5
    assert some.text.startswith(f"{amount} pays for 5 of 12 pairs. Over 5 values of s")
    few = plan.power(1.0, budget="$1.30")
    assert (few.pairs, few.power) == (3, 0.0)
    assert "3 values of s are too few for a comparison, which needs 4" in few.text
    run(client, plan, budget="$1.30")
    # What is owned already costs nothing more.
    assert plan.refresh().power(1.0, budget="$0.41").pairs == 4


def test_a_plan_says_for_how_much_it_can_be_compared_at_all(client: Client) -> None:
    line = f"A comparison needs at least 4, for up to ${8 * VIDEO_3_S / 1e6:.3f}"
    assert line in repr(plan_of(client, 12))
    few = "3 values of s are too few for a comparison, which needs 4"
    assert few in repr(plan_of(client, 3))
    alone = client.sweep("text-to-video", prompt=["a kite", "a gull"], duration=3)
    assert "comparison" not in repr(alone)


def test_takes_of_one_prompt_are_pairs_too(client: Client) -> None:
    resolution = ["720p", "1080p"]
    plan = client.sweep(
        "text-to-video", prompt="a kite", resolution=resolution, duration=3, takes=6
    )
    found = plan.power(1.0)
    assert (found.axis, found.pairs) == ("resolution", 6)
    assert "Over 6 takes" in found.text


def test_an_unknown_price_is_not_named(client: Client) -> None:
    plan = client.sweep("text-to-image", prompt=["a {s}", "one {s}"], s=[*"abcd"])
    found = plan.power()
    assert found.price is None
    assert "$" not in found.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"difference": 0}, "difference must be a number above 0"),
        ({"difference": "half"}, "difference must be a number above 0"),
        ({"deviation": math.inf}, "deviation must be a number above 0"),
        ({"axis": "colour"}, "axis must be an axis with two values"),
        ({"axis": "duration"}, "axis must be an axis with two values"),
    ],
    ids=str,
)
def test_invalid_arguments_of_a_power_estimate_are_rejected(
    client: Client, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        plan_of(client, 4).power(**arguments)


def test_a_seed_shuffles_the_order_and_keeps_pairs_together(client: Client) -> None:
    def shots(plan: Any) -> list[str]:
        order = [plan.cells[number].axes["s"] for number in plan.sending_order]
        assert order[::2] == order[1::2]
        return order[::2]

    plain, mixed = plan_of(client, 8), plan_of(client, 8, shuffle=7)
    assert shots(plain) == [f"thing {n}" for n in range(8)]
    assert shots(mixed) != shots(plain)
    assert sorted(shots(mixed)) == shots(plain)
    assert shots(plan_of(client, 8, shuffle=8)) != shots(mixed)
    assert mixed.id == plain.id
    assert mixed.frame().equals(plain.frame())
    again: dict[str, Any] = {"client": client}
    exec(mixed.code, again)
    assert shots(again["plan"]) == shots(mixed)
    with pytest.raises(InputError, match="shuffle must be a whole number"):
        plan_of(client, 8, shuffle="yes")
