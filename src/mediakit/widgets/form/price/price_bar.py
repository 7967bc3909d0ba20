"""The bar with the price, the balance and the budget of a form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as w
from markupsafe import Markup

from mediakit.estimates import Estimate, EstimateKind, Line
from mediakit.safe_text import NO_HTML
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.messages import titled
from mediakit.widgets.form.price.funds import Affordability, Funds
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.text import kind_text
from mediakit.widgets.toolkit.styles import Tone, line_html

FEW_LEFT = 5


def tone_of(affordability: Affordability) -> Tone:
    """Tell how near the end of what is left a price is.

    It warns while a few such requests are left, and is red from the last one on.
    """
    if affordability.covered is False:
        return "bad"
    if affordability.count is None or affordability.count > FEW_LEFT:
        return "plain"
    return "warn" if affordability.count > 1 else "bad"


def price_html(state: FormState) -> Markup:
    """Write the price, in cents, with how certain it is."""
    tone = tone_of(state.affordability)
    head = _amount_html(state.estimate, state.estimate_gap)
    return Markup('<div class="mk-price mk-{}">{}</div>').format(tone, head)


def balance_html(state: FormState) -> Markup:
    """Write what the price takes of what is left, and how far that goes."""
    affordability = state.affordability
    return (
        _bar_html(affordability.share, tone_of(affordability))
        + funds_html(state.funds, affordability)
        + _caution_html(state.caution)
    )


def _amount_html(estimate: Estimate | None, gap: str | None) -> Markup:
    if estimate is None:
        return line_html(gap or "")
    unknown = estimate.kind is EstimateKind.UNKNOWN
    # What is called exact is written in full.
    exact = estimate.kind is EstimateKind.EXACT
    text = estimate.text if exact else estimate.short_text
    price = Markup("<b>{}</b>").format(text)
    kind = "" if unknown else kind_text(estimate)
    return (
        price + Markup('<span class="mk-tag">{}</span>').format(kind) if kind else price
    )


def _bar_html(share: float | None, tone: Tone) -> Markup:
    percent = 0.0 if share is None else min(share, 1.0) * 100
    bar = Markup('<div class="mk-bar mk-{}"><i style="width:{:.2f}%"></i></div>')
    return bar.format(tone, percent)


def funds_html(funds: Funds, affordability: Affordability) -> Markup:
    """Write what is left, how far it goes, and what running jobs hold."""
    if funds.left_text is None:
        return NO_HTML
    parts = [f"{titled(funds.left_of)}: {funds.left_amount}"]
    if affordability.count:
        s = "" if affordability.count == 1 else "s"
        parts.append(f"enough for about {affordability.count:,} run{s}")
    if funds.held_text:
        parts.append(funds.held_text)
    if funds.read_at is not None:
        parts.append(f"as of {funds.read_at.astimezone():%H:%M}")
    line = line_html(" · ".join(parts))
    return Markup("<div class=mk-small-print>{}</div>").format(line)


def _caution_html(caution: str | None) -> Markup:
    if not caution:
        return NO_HTML
    return Markup("<div>{}</div>").format(line_html(caution, "warn"))


def lines_html(estimate: Estimate | None) -> Markup:
    """Write what a price is made of: quantity, rate and amount of each line."""
    if estimate is None or not estimate.lines:
        return line_html("There is no price yet." if estimate is None else "No lines.")
    note = Markup("<div>{}</div>").format
    return Markup(
        "<table class=mk-lines><tr><th>What</th><th>Quantity</th><th>Rate</th>"
        "<th class=mk-num>Amount</th></tr>{}<tr><td colspan=3>Total</td>"
        "<td class=mk-num>{}</td></tr></table>{}"
    ).format(
        NO_HTML.join(map(_line_row, estimate.lines)),
        estimate.text,
        NO_HTML.join(note(line_html(each)) for each in estimate.notes),
    )


def _line_row(line: Line) -> Markup:
    return Markup(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=mk-num>{}</td></tr>"
    ).format(line.what, line.quantity_text, line.rate_text, line.amount_text)


class PriceBar:
    """The running price, its breakdown on demand, and the balance.

    Args:
        context: What widgets are made with.
        refresh: Reads the balance again.
        place: Puts the breakdown, which is made when it is wanted, into the form.
    """

    def __init__(
        self,
        context: WidgetContext,
        refresh: Callable[[], object],
        place: Callable[[Any], object],
    ) -> None:
        self._make, self._place = context.factory.make, place
        make = context.factory.make
        self._lines: Any = None
        self._estimate: Estimate | None = None
        # Read aloud when it changes; the balance below it is not.
        self.amount = make(w.HTML, "mk-live mk-amount")
        self.balance = make(w.HTML, "mk-balance")
        self._toggle = make(
            w.ToggleButton,
            "mk-small mk-opens",
            description="Price breakdown",
            tooltip="Show how the price is calculated",
        )
        self._refresh = make(
            w.Button,
            "mk-small mk-quiet-button",
            description="Refresh balance",
            tooltip="Read the balance again",
        )
        self._toggle.observe(context.guard(lambda _: self._show_lines()), "value")
        self._refresh.on_click(context.guard(lambda _: refresh()))

    @property
    def buttons(self) -> tuple[Any, ...]:
        """Return the buttons of the price, to stand below it."""
        return (self._toggle, self._refresh)

    def show(self, state: FormState) -> None:
        """Show the price and the balance of a state."""
        self._estimate = state.estimate
        self.amount.value = price_html(state)
        self.balance.value = balance_html(state)
        self._show_lines()

    def _show_lines(self) -> None:
        if self._lines is None and self._toggle.value:
            self._lines = self._make(w.HTML)
            self._place(self._lines)
        if self._lines is not None:
            html = lines_html(self._estimate) if self._toggle.value else ""
            self._lines.value = html
