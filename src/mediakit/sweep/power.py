"""How likely a plan is to show a difference, and how many pairs that takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

from mediakit.client.budgets import budget_of
from mediakit.errors import InputError
from mediakit.estimates import Estimate
from mediakit.money import MicroUSD, format_usd
from mediakit.plain_numbers import real
from mediakit.sweep.cells import CellState, total_of
from mediakit.sweep.comparison import amount_text, units_text
from mediakit.sweep.frame_columns import LINE_WIDTH
from mediakit.sweep.paired_tests import ALPHA, FEWEST_PAIRS, POWER, pairs_needed
from mediakit.sweep.sending_order import key_of
from mediakit.sweep.student_t import power as power_of_t

if TYPE_CHECKING:
    from collections.abc import Collection

    from mediakit.client import AnyBudget
    from mediakit.sweep.plan import PlanFacts

RATING = "rating"
MOST_STATED = 0.99


@dataclass(frozen=True, repr=False)
class Power:
    """How likely a comparison of a plan's results is to show a true difference.

    Args:
        axis: The axis whose values are compared.
        pairs: How many pairs there are for each two values, within the budget if there
            is one.
        power: How likely a comparison is to find the difference, from 0 to 1.
        pairs_needed: How many pairs find it in 80% of cases.
        price: Their price, at the mean price of this plan's pairs; None means unknown.
        text: The same in sentences, as plain text.
    """

    axis: str
    pairs: int
    power: float
    pairs_needed: int
    price: Estimate | None
    text: str

    def __repr__(self) -> str:
        return fill(self.text, LINE_WIDTH)


@dataclass(frozen=True)
class Pairing:
    """The cells of a plan that are compared in pairs along an axis.

    Args:
        axis: The axis whose values are compared.
        values: How many values it has.
        units: The axes that both cells of a pair share, or the take.
        pairs: For each pair, in sending order, the takes of each value by number.
    """

    axis: str
    values: int
    units: list[str]
    pairs: list[list[list[int]]]

    def complete(self, cells: Collection[int]) -> int:
        """Return the number of pairs with a take of each value among some cells."""
        return sum(
            all(any(number in cells for number in takes) for takes in pair)
            for pair in self.pairs
        )


def pairing_of(plan: PlanFacts, axis: str | None = None) -> Pairing | None:
    """Return the pairs of a plan along an axis; None if there are none.

    By default, this is the first axis that is not sent one value after the other.
    """
    names = [name for name in plan.axes if name != plan.unit]
    if axis is None and names:
        axis = names[0]
    if axis not in plan.axes:
        return None
    units = [name for name in plan.axes if name != axis] or ["take"]
    sent = (CellState.NEW, CellState.OWNED)
    states = plan.states
    groups: dict[tuple[str, ...], dict[str, list[int]]] = {}
    values: set[str] = set()
    for number in plan.sending_order:
        cell = plan.cells[number]
        if states[number] in sent:
            row = {**cell.axes, "take": cell.take}
            unit = tuple(key_of(row[name]) for name in units)
            value = key_of(cell.axes[axis])
            groups.setdefault(unit, {}).setdefault(value, []).append(number)
            values.add(value)
    if len(values) < 2:
        return None
    pairs = [
        [*group.values()] for group in groups.values() if len(group) == len(values)
    ]
    return Pairing(axis, len(values), units, pairs)


def cells_within(plan: PlanFacts, limit_micro_usd: int) -> set[int]:
    """Return the cells that a budget pays for, in sending order."""
    cells, states = set(), plan.states
    for number in plan.sending_order:
        if states[number] is CellState.OWNED:
            cells.add(number)
        elif states[number] is CellState.NEW:
            limit_micro_usd -= plan.cells[number].estimate.hold_micro_usd or 0
            if limit_micro_usd >= 0:
                cells.add(number)
    return cells


def pairs_text(plan: PlanFacts, limit_micro_usd: int) -> str:
    """Return how many pairs a budget completes, as the end of a sentence, if any."""
    pairing = None if plan.unit is None else pairing_of(plan)
    if pairing is None or not pairing.pairs:
        return ""
    complete = pairing.complete(cells_within(plan, limit_micro_usd))
    planned, what = len(pairing.pairs), units_text(pairing.units)
    return f", which completes {complete:,} of {planned:,} {what}"


def fewest_text(plan: PlanFacts) -> str:
    """Return the lowest price of a comparison, as a sentence, or ""."""
    pairing = None if plan.unit is None else pairing_of(plan)
    if pairing is None or not pairing.pairs:
        return ""
    states = plan.states
    if len(pairing.pairs) < FEWEST_PAIRS:
        few, what = len(pairing.pairs), units_text(pairing.units)
        return f"{few} {what} are too few for a comparison, which needs {FEWEST_PAIRS}"
    fewest = [takes[0] for pair in pairing.pairs[:FEWEST_PAIRS] for takes in pair]
    new = [plan.cells[n].estimate for n in fewest if states[n] is CellState.NEW]
    high_micro_usd = total_of(new).high
    if not high_micro_usd:
        return ""
    return (
        f"A comparison needs at least {FEWEST_PAIRS}, for up to "
        f"{format_usd(high_micro_usd)}"
    )


def power_of(
    plan: PlanFacts,
    difference: float,
    *,
    axis: str | None,
    value: str,
    deviation: float,
    budget: AnyBudget | None,
) -> Power:
    """Compute how likely a comparison of a plan is to show a difference."""
    difference = _positive("difference", difference)
    deviation = _positive("deviation", deviation)
    pairing = pairing_of(plan, axis)
    if pairing is None:
        names = ", ".join(plan.axes)
        accepted = f"an axis with two values or more that can be sent ({names})"
        raise InputError("axis", got=axis, accepted=accepted, then="")
    limit = budget_of("sweep", budget)
    planned = pairs = len(pairing.pairs)
    if limit is not None:
        pairs = pairing.complete(cells_within(plan, limit.limit_micro_usd))
    takes = 1 if pairing.units == ["take"] else plan.takes
    correction = 0.5 / takes if value == RATING else 0.0
    # Use Holm's first step; later steps are easier.
    alpha = ALPHA / math.comb(pairing.values, 2)
    power = 0.0
    if pairs >= FEWEST_PAIRS:
        size = max(0.0, difference - correction / pairs)
        power = power_of_t(size / deviation * math.sqrt(pairs), pairs - 1, alpha)
    needed = pairs_needed(difference, deviation, correction, alpha)
    price = _price_of(plan, pairing, needed)
    text = _text(pairing, difference, deviation, value, pairs, power, needed, price)
    if limit is not None:
        amount = format_usd(limit.limit_micro_usd)
        text = f"{amount} pays for {pairs:,} of {planned:,} pairs. {text}"
    return Power(pairing.axis, pairs, power, needed, price, text)


def _positive(field: str, number: object) -> float:
    value = real(number)
    if value is None or not 0 < value < math.inf:
        raise InputError(
            field, got=number, accepted="a number above 0, such as 0.5", then=""
        )
    return value


def _price_of(plan: PlanFacts, pairing: Pairing, needed: int) -> Estimate | None:
    """Return the price of a number of pairs, at the mean price in the plan."""
    cells = [number for pair in pairing.pairs for takes in pair for number in takes]
    estimates = [plan.cells[number].estimate for number in cells]
    total, pairs = total_of(estimates), len(pairing.pairs)
    if not pairs or total.low is None or total.high is None:
        return None
    low, high = (-(-end * needed // pairs) for end in (total.low, total.high))
    return Estimate(MicroUSD(low), MicroUSD(high), total.kind)


def _text(
    pairing: Pairing,
    difference: float,
    deviation: float,
    value: str,
    pairs: int,
    power: float,
    needed: int,
    price: Estimate | None,
) -> str:
    what = units_text(pairing.units)
    size, spread = amount_text(difference, value), amount_text(deviation, value)
    sentences = [f"{pairs:,} {what} are too few for a comparison, which needs 4."]
    if pairs >= FEWEST_PAIRS:
        often = "over 99%" if power > MOST_STATED else f"{power:.0%}"
        sentences = [
            f"Over {pairs:,} {what}, a true difference of {size} between two values "
            f"of {pairing.axis} is found in {often} of cases."
        ]
    cost = "" if price is None else f", for about {price.text}"
    sentences += [
        f"{needed:,} {what} find {'it' if pairs >= FEWEST_PAIRS else size} in "
        f"{POWER:.0%}{cost}.",
        f"This assumes that the difference varies by {spread} from one pair to "
        "another (standard deviation).",
    ]
    return " ".join(sentences)
