"""The figures of the studio's head, and its copy in a saved notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from mediakit.money import format_cents, format_usd
from mediakit.safe_text import NO_HTML, html_text
from mediakit.widgets.dashboard.figures import UNKNOWN
from mediakit.widgets.form.funds import Funds
from mediakit.widgets.job.card import QUIET

Fact = dict[str, str]


def facts_of(funds: Funds, budget: Any, today_micro_usd: int | None) -> list[Fact]:
    """Return the figures of the head; unread ones are unknown, never 0."""
    facts = [_money("balance", funds.balance_left_micro_usd, "Balance: {}")]
    if budget is not None:
        exact = f"Budget: {{}} left of {format_usd(budget.limit_micro_usd)}"
        facts.append(_money("left of budget", budget.left_micro_usd, exact))
    facts.append(_running(funds))
    facts.append(_money("today", today_micro_usd, "Charged today (UTC): {}"))
    return facts


def _money(label: str, micro_usd: int | None, exact: str) -> Fact:
    amount = UNKNOWN if micro_usd is None else format_cents(micro_usd)
    return {
        "amount": amount,
        "label": label,
        "exact": exact.format(format_usd(micro_usd)),
    }


def _running(funds: Funds) -> Fact:
    held, jobs = funds.held_micro_usd, funds.held_jobs
    if funds == Funds() or (jobs is None and held):  # nothing was read yet
        return {"amount": UNKNOWN, "label": "running", "exact": "Running jobs: unknown"}
    # Jobs without a known price hold nothing, but are not free.
    holds = f", {format_usd(held)} held" if held else ", price unknown"
    exact = f"Running jobs: {jobs or 0:,}{holds if jobs else ''}"
    return {"amount": f"{jobs or 0:,}", "label": "running", "exact": exact}


_COLUMNS = {
    "title": "Prompt",
    "function": "Function",
    "state": "State",
    "charge": "Charge",
    "date": "Date (UTC)",
    "job": "Job",
}


def saved_html(state: Mapping[str, Any]) -> Markup:
    facts = " · ".join(fact["exact"] for fact in state["facts"])
    table = NO_HTML
    if state["rows"]:
        th, td = (
            Markup('<{0} style="text-align:left">{{}}</{0}>').format(tag).format
            for tag in ("th", "td")
        )
        row = Markup("<tr>{}</tr>").format
        lines = [row(NO_HTML.join(th(name) for name in _COLUMNS.values()))]
        for each in state["rows"]:
            cells = (td(html_text(each[name])) for name in _COLUMNS)
            lines.append(row(NO_HTML.join(cells)))
        table = Markup("<table>{}</table>").format(NO_HTML.join(lines))
    return Markup(
        '<div style="margin:4px 0 8px"><div><b>Studio</b> of {}. '
        'Run the cell to use it.</div><div style="{}">{}</div>{}</div>'
    ).format(html_text(state["service"]), QUIET, html_text(facts), table)


def saved_text(state: Mapping[str, Any]) -> str:
    lines = [f"Studio of {state['service']}"]
    lines.append(" · ".join(fact["exact"] for fact in state["facts"]))
    for row in state["rows"]:
        lines.append(" · ".join(row[name] for name in _COLUMNS if row[name]))
    return "\n".join(lines)
