"""A plan in the notebook: cells, reasons, price, and the Run button."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import ipywidgets as w
from markupsafe import Markup

from mediakit.client import AsyncJob
from mediakit.client.io_thread import ClosedError, io_thread
from mediakit.clock import SystemClock
from mediakit.errors import InputError
from mediakit.estimates import Estimate
from mediakit.money import format_cents, format_usd, parse_usd
from mediakit.safe_text import NO_HTML, html_text
from mediakit.sweep import AsyncResults, CellState, PlanFacts
from mediakit.sweep.cells import total_of
from mediakit.sweep.plan import MOST_REASONS, AffordablePart
from mediakit.sweep.power import pairs_text
from mediakit.widgets.job.card import QUIET
from mediakit.widgets.toolkit.accessible_names import Namer
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.cell_identity import ShownByCell
from mediakit.widgets.toolkit.cell_outputs import CardHandle, current_cell
from mediakit.widgets.toolkit.styles import (
    IPYWIDGETS,
    error_html,
    sheets,
    style_tag,
)
from mediakit.widgets.toolkit.throttle import Paced
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

if TYPE_CHECKING:
    from mediakit.widgets.gallery import Gallery

AMOUNT = "Enter an amount, such as $5."
PRICE_UNKNOWN = "The price is unknown, so the budget cannot be enforced."
NOTHING_FITS = "No cell fits the budget"
UPDATES_EVERY_S = 2.0
CHANGED = (
    "The button now says “{}” instead of “{}”. Nothing was sent. Press it again to run "
    "the plan as it is now."
)


@dataclass(frozen=True)
class SweepBudget:
    """The budget typed for a plan, and the part that its sweep has used."""

    text: str = ""
    used_micro_usd: int = 0

    @cached_property
    def limit_micro_usd(self) -> int | None:
        """Return the limit; None if there is none, or if the amount is invalid."""
        try:
            return parse_usd(self.text) if self.text else None
        except InputError:
            return None

    @property
    def is_wrong(self) -> bool:
        """Return whether the text is not an amount."""
        return bool(self.text) and self.limit_micro_usd is None

    @property
    def left_micro_usd(self) -> int:
        """Return the rest of the limit, for new cells."""
        return max(0, (self.limit_micro_usd or 0) - self.used_micro_usd)

    def sent(self, plan: PlanFacts) -> AffordablePart:
        """Return the part of the new cells that the rest of the limit pays for."""
        if self.limit_micro_usd is not None:
            return plan._within(self.left_micro_usd)
        price = plan.estimate()
        return AffordablePart(
            plan.counts[CellState.NEW], price, price.high, is_sure=True
        )

    def fits_text(self, plan: PlanFacts) -> str:
        """Return how many of the new cells fit; "" if there is no limit."""
        if self.is_wrong:
            return AMOUNT
        if self.limit_micro_usd is None or not plan.counts[CellState.NEW]:
            return ""
        new, part = plan.counts[CellState.NEW], self.sent(plan)
        amount = format_usd(self.limit_micro_usd)
        if self.used_micro_usd:
            amount = f"the {format_usd(self.left_micro_usd)} left of {amount}"
        if not part.count:
            prices = plan.estimates_by_kind().values()
            is_unknown = all(price.hold_micro_usd is None for price in prices)
            return PRICE_UNKNOWN if is_unknown else f"No new cell fits in {amount}."
        pairs = pairs_text(plan, self.left_micro_usd) if part.count < new else ""
        about = "" if part.is_sure else "About "
        return f"{about}{part.count:,} of {new:,} fit in {amount}{pairs}."

    def allows(self, plan: PlanFacts) -> bool:
        """Return whether a run would send or show anything."""
        is_free = self.limit_micro_usd is None or not plan.counts[CellState.NEW]
        return not self.is_wrong and (is_free or self.sent(plan).count > 0)

    def run_text(self, plan: PlanFacts) -> str:
        """Return the button's label, with the number and highest price of the cells."""
        new = plan.counts[CellState.NEW]
        if not new:
            return f"Show {_cells(len(plan))} · $0.00"
        part = self.sent(plan)
        if not part.count:
            return NOTHING_FITS
        if part.count == new:
            return f"Run {_cells(new)} · {_price_text(part.price)}"
        if part.is_sure:
            return f"Run {part.count:,} of {new:,} · {_price_text(part.price)}"
        most = format_usd(part.most_micro_usd)
        return f"Run about {part.count:,} of {new:,} · up to {most}"


class PlanView:
    """Shows a live plan, and runs it; the wall of the run appears below."""

    def __init__(self, plan: PlanFacts) -> None:
        self._lock = threading.RLock()
        self._gallery: Gallery | None = None
        self._runs = False
        self._tasks = TaskRunner(io_thread(), self._complain)
        self._handle = CardHandle()
        self._factory = WidgetFactory()
        make, guard = self._factory.make, guarded(self._complain, self._lock)
        self._facts = make(w.HTML, "mk-live")
        self._budget = make(
            w.Text,
            description="Budget",
            placeholder="$5, or blank for no limit",
            continuous_update=True,
        )
        self._run = make(w.Button, "mk-go mk-paid")
        self._drafts = make(w.Button, "mk-small", description="Drafts first…")
        self._fits = make(w.HTML)
        self._error = make(w.HTML)
        self._used_micro_usd = 0
        self._budget.observe(guard(lambda _: self._take_budget()), "value")
        self._run.on_click(guard(lambda _: self._start()))
        self._drafts.on_click(guard(lambda _: self._show_drafts()))
        self._row = make(w.HBox, "mk-plan-row")
        self._lines = (self._facts, self._row, self._fits, self._error)
        self._column = make(w.VBox, children=self._lines)
        style = make(w.HTML, value=style_tag(sheets(IPYWIDGETS)))
        namer = make(Namer, "mk-names")
        namer.carry_cards(self._handle)
        children = (style, self._column, namer)
        self.widget = make(w.VBox, "mk-form", children=children)
        self._updates = Paced(
            io_thread(), SystemClock(), UPDATES_EVERY_S, self._refresh, self._complain
        )
        self._ends = [plan.client.on_settled(self._has_settled)]
        self._plan = plan
        self._show()

    def _show(self) -> None:
        with self._lock:
            plan = self._plan
            drafts = (self._drafts,) if plan.can_draft else ()
            self._row.children = (self._budget, self._run, *drafts)
            for control in (self._drafts, self._budget):
                control.disabled = self._runs
            self._show_budget()

    @property
    def _typed(self) -> SweepBudget:
        return SweepBudget(self._budget.value.strip(), self._used_micro_usd)

    def _show_budget(self) -> None:
        with self._lock:
            plan, budget = self._plan, self._typed
            html = plan_html(plan, budget)
            self._facts.value = f"{self._handle.live_style}{html}"
            if self._gallery is None:  # else the saved output has the wall
                self._handle.show(html, repr(plan))
            self._run.description = budget.run_text(plan)
            self._run.disabled = self._runs or not budget.allows(plan)
            self._fits.value = str(html_text(budget.fits_text(plan)))

    def _take_budget(self) -> None:
        self._show_budget()
        self._tasks.run(self._read_use)

    async def _read_use(self) -> None:
        self._used_micro_usd = await self._plan._used_micro_usd()
        self._show_budget()

    def display(self) -> None:
        """Display it in the running cell, or print it outside a notebook."""
        cell = current_cell()
        if cell is None:
            print(repr(self._plan))  # noqa: T201 - there is no cell to show it in
            self.close()
            return
        _shown.add(cell, self)
        self._handle.display_beside(self.widget)

    def keep(self) -> None:
        """Close the view when its cell runs again."""
        cell = current_cell()
        if cell is not None:
            _shown.add(cell, self)

    @property
    def is_closed(self) -> bool:
        return self.widget.comm is None

    def close(self) -> None:
        """Free the widgets; a run continues."""
        for end in self._ends:
            end()
        self._updates.close()
        if self._gallery is not None:
            self._gallery.close()
        self._handle.close()
        self._factory.close()

    # -- running the plan ---------------------------------------------------------

    def _show_drafts(self) -> None:
        plan = self._plan

        async def show() -> None:
            drafts = await plan._drafts()
            if self._plan is plan:
                self._plan = drafts
                self._show()

        self._tasks.run(show)

    def _start(self) -> None:
        if self._runs:
            return  # the second click of a double click
        self._runs = True
        self._error.value = ""
        plan = self._plan
        pressed = self._run.description
        budget = self._budget.value.strip() or None
        self._show()

        async def run() -> None:
            try:
                now = await plan._again()
                self._used_micro_usd = await now._used_micro_usd()
                text = self._typed.run_text(now)
                if text != pressed:
                    self._plan = now
                    self._complain(CHANGED.format(text, pressed))
                    return
                self._plan = now
                results = await now._begin(budget)
                self._show_wall(results)
                await results.wait()
            finally:
                self._runs = False
                await self._refresh()

        self._tasks.run(run)

    def follow(self, results: AsyncResults) -> None:
        self._ends.append(results.subscribe(lambda _: self._updates.ask()))

    def _has_settled(self, job: AsyncJob) -> None:
        if job.state.function == self._plan.function.path:
            self._updates.ask()

    async def _refresh(self) -> None:
        with suppress(ClosedError):  # what was shown last stays
            await self._plan._refresh()
            self._used_micro_usd = await self._plan._used_micro_usd()
            self._show()

    def _show_wall(self, results: AsyncResults) -> None:
        from mediakit.widgets.sweeps.wall import wall_of

        wall = wall_of(results).gallery
        before, self._gallery = self._gallery, wall
        self._column.children = (*self._lines, wall.view)
        self._gallery.follow_with(self._handle)
        if before is not None:
            before.close()

    def _complain(self, text: str) -> None:
        self._error.value = error_html(text)


_shown: ShownByCell[PlanView] = ShownByCell()


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


# -- as HTML ----------------------------------------------------------------------


def plan_html(plan: PlanFacts, budget: SweepBudget | None = None) -> Markup:
    counts = plan.counts
    part = (budget or SweepBudget()).sent(plan)
    figures = [(f"{len(plan):,}", "cells")]
    if counts[CellState.OWNED]:
        figures.append((f"{counts[CellState.OWNED]:,}", _owned_text(plan)))
    new = f"{counts[CellState.NEW]:,} new{_kinds(plan)}"
    if not part.count and counts[CellState.NEW]:
        new = "no new cell fits the budget"
    elif part.count < counts[CellState.NEW]:
        about = "" if part.is_sure else "about "
        new = (
            f"{about}{part.count:,} of {counts[CellState.NEW]:,} will run{_kinds(plan)}"
        )
    most, balance = part.most_micro_usd, plan.spendable_micro_usd
    if part.price.low is None:
        new = f"price of {counts[CellState.NEW]:,} new"
    price = part.price.text if part.is_sure else f"up to {format_usd(most)}"
    figures.append((price, new))
    if balance is not None and most is not None and part.count:
        figures.append((format_cents(balance - most), "balance afterwards"))
    head = html_text(f"Sweep · {plan.title}")
    return Markup(
        '<div><div style="font-weight:600;font-size:15px">{}</div>'
        '<div style="display:flex;flex-wrap:wrap;gap:4px 24px;margin:6px 0">{}</div>'
        "{}{}</div>"
    ).format(
        head,
        NO_HTML.join(_figure(*each) for each in figures),
        _axes_html(plan),
        _reasons_html(plan),
    )


def _owned_text(plan: PlanFacts) -> str:
    """Return the price that the owned cells would have now."""
    cells = zip(plan.cells, plan.states, strict=True)
    price = total_of(cell.estimate for cell, state in cells if state is CellState.OWNED)
    return "already yours · $0" + (f" instead of {price.text}" if price.high else "")


def _kinds(plan: PlanFacts) -> str:
    """Return the kinds of estimate, to follow the number of new cells."""
    kinds = plan.estimates_by_kind()
    if len(kinds) > 1:
        parts = (f"{e.text} {_word(kind)}" for kind, e in kinds.items())
        return f" · {' + '.join(parts)}"
    return "".join(f" · {_word(kind)}" for kind in kinds if kind != "unknown")


def _price_text(price: Estimate) -> str:
    return "price unknown" if price.low is None else price.text


def _word(kind: str) -> str:
    return kind.replace("_", " ").replace("upper bound", "at most")


def _figure(figure: str, name: str) -> Markup:
    return Markup(
        '<div><div style="font-size:18px;font-weight:600">{}</div>'
        '<div style="{}">{}</div></div>'
    ).format(html_text(figure), QUIET, html_text(name))


def _axes_html(plan: PlanFacts) -> Markup:
    parts = [f"{name} ({len(values):,})" for name, values in plan.grid.axes.items()]
    takes = [f"takes ({plan.takes:,})"] if plan.takes > 1 else []
    text = " × ".join([*parts, *takes])  # noqa: RUF001 - the sign of a product
    if not text:
        return NO_HTML
    return Markup('<div style="{}">{}</div>').format(QUIET, html_text(text))


def _reasons_html(plan: PlanFacts) -> Markup:
    counts = plan.counts
    lines: list[str] = []
    if counts[CellState.FAILED]:
        lines.append(
            f"{_cells(counts[CellState.FAILED])} failed before; select Retry in the "
            "results to send them again"
        )
    if counts[CellState.LOST]:
        lines.append(
            f"{_cells(counts[CellState.LOST])} submitted before; the output is no "
            "longer available"
        )
    lines += plan.remarks()
    reasons = plan.reasons()
    lines += [f"{_cells(n)} invalid: {why}" for why, n in reasons[:MOST_REASONS]]
    if len(reasons) > MOST_REASONS:
        lines.append(f"and {len(reasons) - MOST_REASONS:,} more reasons")
    return _list(lines)


def _list(lines: Iterable[str]) -> Markup:
    items = NO_HTML.join(Markup("<li>{}</li>").format(html_text(x)) for x in lines)
    if not items:
        return NO_HTML
    style = "margin:4px 0 6px;padding-left:18px"
    return Markup('<ul style="{}">{}</ul>').format(style, items)
