"""A plan in the notebook: cells, reasons and money, and buttons that run it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import ipywidgets as w

from mediakit.client.io_thread import io_thread
from mediakit.markup import html_text
from mediakit.money import format_usd
from mediakit.sweep import AsyncResults, BasePlan, CellState
from mediakit.widgets.card_handle import CardHandle, current_cell, publish
from mediakit.widgets.errands import Errands
from mediakit.widgets.guard import guarded
from mediakit.widgets.theme import CSS

MOST_REASONS = 8
# A colour is given twice: sanitisers keep plain ones and drop the theme's.
_QUIET = "color:#767676;color:var(--jp-ui-font-color2,#767676)"
_BAD = "color:#c62828;color:var(--jp-error-color1,#c62828)"


class PlanView:
    """Shows a plan, and runs it in the same cell.

    Args:
        plan: The plan.
    """

    def __init__(self, plan: BasePlan) -> None:
        self._plan = plan
        self._errands = Errands(io_thread(), self._complain)
        self._handle = CardHandle()
        guard = guarded(self._complain)
        self._facts = w.HTML(plan_html(plan))
        self._budget = w.Text(
            description="Budget",
            placeholder="such as $5; empty for no limit",
            layout=w.Layout(width="340px"),
        )
        self._run = w.Button(description=run_text(plan), button_style="primary")
        self._drafts = w.Button(description="Run drafts first")
        self._error = w.HTML()
        for button in (self._run, self._drafts):
            button.layout.width = "auto"
        self._run.on_click(guard(lambda _: self._start(self._whole)))
        self._drafts.on_click(guard(lambda _: self._start(self._as_drafts)))
        buttons = [self._run, *([self._drafts] if plan.can_draft else [])]
        self._widget = w.VBox(
            [
                w.HTML(f"<style>{CSS}</style>{self._handle.live_style}"),
                self._facts,
                w.HBox([self._budget, *buttons], layout=w.Layout(flex_flow="row wrap")),
                self._error,
            ]
        )

    def display(self) -> None:
        """Show it in the cell that is being executed, or print it elsewhere."""
        if current_cell() is None:
            print(repr(self._plan))  # noqa: T201 - there is no cell to show it in
            return
        self._handle.show(plan_html(self._plan), repr(self._plan))
        self._handle.display()
        publish({**self._widget._repr_mimebundle_(), "text/plain": "", "text/html": ""})

    # -- running it ---------------------------------------------------------------

    def _start(self, plan_to_run: Callable[[], Awaitable[BasePlan]]) -> None:
        self._allow(is_allowed=False)
        budget = self._budget.value.strip() or None
        self._error.value = ""

        async def run() -> None:
            try:
                plan = await plan_to_run()
                results = await plan._begin(budget)
            except BaseException:
                self._allow(is_allowed=True)
                raise
            self._show(results)

        self._errands.run(run)

    async def _whole(self) -> BasePlan:
        return self._plan

    async def _as_drafts(self) -> BasePlan:
        return await self._plan._drafts()

    def _show(self, results: AsyncResults) -> None:
        from mediakit.widgets.sweeps.wall import wall_of

        gallery = wall_of(results, handle=self._handle)
        shown = gallery.widget or w.HTML(gallery.html)
        self._handle.show(gallery.html, repr(gallery))
        head = self._widget.children[0]
        self._widget.children = (head, self._error, shown)

    def _allow(self, *, is_allowed: bool) -> None:
        for control in (self._run, self._drafts, self._budget):
            control.disabled = not is_allowed

    def _complain(self, text: str) -> None:
        self._error.value = f'<div role="alert" style="{_BAD}">{html_text(text)}</div>'


def run_text(plan: BasePlan) -> str:
    """Return what the button says: how many cells, and what they cost at most."""
    new = plan.counts[CellState.NEW]
    if not new:
        return f"Show {_cells(len(plan))} · $0.00"
    return f"Run {_cells(new)} · {plan.estimate().text}"


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


# -- as HTML ----------------------------------------------------------------------


def plan_html(plan: BasePlan) -> str:
    """Return a plan as HTML for the page and for the saved notebook."""
    counts, after = plan.counts, plan.after_micro_usd
    figures = [
        (f"{len(plan):,}", "cells"),
        (f"{counts[CellState.OWNED]:,}", "owned · free"),
        (plan.estimate().text, f"{counts[CellState.NEW]:,} new · {_kinds(plan)}"),
    ]
    if after is not None:
        now = format_usd(plan.spendable_micro_usd or 0)
        figures.append((format_usd(after), f"left of {now}"))
    head = html_text(f"Sweep · {plan.title}")
    return (
        f'<div><div style="font-weight:600;font-size:15px">{head}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:4px 24px;margin:6px 0">'
        f"{''.join(_figure(*each) for each in figures)}</div>"
        f"{_axes_html(plan)}{_reasons_html(plan)}</div>"
    )


def _kinds(plan: BasePlan) -> str:
    kinds = plan.estimates_by_kind()
    if len(kinds) > 1:
        return " + ".join(f"{e.text} {_word(kind)}" for kind, e in kinds.items())
    return _word(next(iter(kinds), "exact"))


def _word(kind: str) -> str:
    return kind.replace("_", " ").replace("upper bound", "at most")


def _figure(figure: str, name: str) -> str:
    return (
        f'<div><div style="font-size:18px;font-weight:600">{html_text(figure)}</div>'
        f'<div style="{_QUIET}">{html_text(name)}</div></div>'
    )


def _axes_html(plan: BasePlan) -> str:
    parts = [
        f"{name} ({len(values):,})"
        for dimension in plan.grid.dimensions
        for name, values in dimension.columns.items()
    ]
    takes = [f"takes ({plan.takes:,})"] if plan.takes > 1 else []
    text = " × ".join([*parts, *takes])  # noqa: RUF001 - the sign of a product
    return f'<div style="{_QUIET}">{html_text(text)}</div>' if text else ""


def _reasons_html(plan: BasePlan) -> str:
    counts = plan.counts
    lines: list[str] = []
    if counts[CellState.FAILED]:
        lines.append(
            f"{_cells(counts[CellState.FAILED])} failed before: Retry asks again"
        )
    if counts[CellState.LOST]:
        lines.append(f"{_cells(counts[CellState.LOST])} were bought and erased since")
    reasons = plan.reasons()
    lines += [f"{_cells(n)} invalid: {why}" for why, n in reasons[:MOST_REASONS]]
    if len(reasons) > MOST_REASONS:
        lines.append(f"and {len(reasons) - MOST_REASONS:,} more reasons")
    return _list(lines)


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{html_text(line)}</li>" for line in lines)
    return (
        f'<ul style="margin:4px 0 6px;padding-left:18px">{items}</ul>' if items else ""
    )
