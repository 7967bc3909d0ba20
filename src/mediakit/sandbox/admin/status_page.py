"""The status page as HTML: no script, nothing unescaped, light and dark."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from html import escape

from mediakit.money import format_usd
from mediakit.sandbox.admin.status_data import Overview, Trouble, utc
from mediakit.sandbox.faults.active_faults import Fault
from mediakit.sandbox.store.jobs import JobRow

# Reading two clocks takes time, so a clock that was not moved still differs a little.
NOTEWORTHY_S = 1.0
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>mediakit sandbox</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{
  color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif;
  --ink: #1d1f24; --soft: #5c626e; --line: #dcdfe5; --card: #f5f6f8; --paper: #fff;
  --good: #1a7f37; --bad: #b3261e; --busy: #0a58ca; --odd: #8a5a00;
}}
@media (prefers-color-scheme: dark) {{
  :root {{
    --ink: #e7e9ee; --soft: #a2a9b6; --line: #343941; --card: #20242b;
    --paper: #16181d; --good: #5bd07c; --bad: #ff8a80; --busy: #8ab8ff; --odd: #f0bd5c;
  }}
}}
body {{ max-width: 74rem; margin: 2rem auto 4rem; padding: 0 1rem; color: var(--ink);
  background: var(--paper); }}
h1 {{ margin: 0; font-size: 1.6rem; }}
h2 {{ margin: 2rem 0 .4rem; font-size: 1.1rem; }}
p {{ margin: .3rem 0; }}
a {{ color: var(--busy); }}
.soft {{ color: var(--soft); }}
.note {{ border-left: 3px solid var(--odd); padding: .2rem .8rem; margin: 1rem 0; }}
.cards {{ display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0; }}
.card {{ flex: 1 1 14rem; background: var(--card); border-radius: .5rem;
  padding: .7rem 1rem; }}
.card strong {{ display: block; font-size: 1.25rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; white-space: nowrap; }}
th, td {{ text-align: left; padding: .3rem 1rem .3rem 0;
  border-bottom: 1px solid var(--line); }}
th {{ font-weight: 600; color: var(--soft); }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
th:last-child, td:last-child {{ padding-right: 0; }}
code {{ font-size: .88em; }}
.completed, .delivered {{ color: var(--good); }}
.failed {{ color: var(--bad); }}
.running, .queued, .pending {{ color: var(--busy); }}
.erased, .canceled {{ color: var(--soft); }}
</style></head><body>
<h1>mediakit sandbox</h1>
<p class="soft">A media service on this machine; what it charges is not real money.
It serves <a href="/openapi.json">this interface</a> at <code>{base_url}</code>.</p>
{time}{cards}{faults}{deliveries}{jobs}
</body></html>
"""

Cell = tuple[str, str]
"""The text of a cell, and its CSS class."""


def page(seen: Overview) -> str:
    """Write the page."""
    return PAGE.format(
        base_url=escape(seen.base_url),
        time=_time(seen),
        cards=_cards(seen),
        faults=_faults(seen.faults),
        deliveries=_deliveries(seen),
        jobs=_jobs(seen),
    )


def _time(seen: Overview) -> str:
    if abs(seen.ahead_s) < NOTEWORTHY_S and seen.speed == 1:
        return ""
    direction = "ahead of" if seen.ahead_s >= 0 else "behind"
    apart = str(timedelta(seconds=round(abs(seen.ahead_s))))
    words = f"Its time is {seen.now:%Y-%m-%d %H:%M:%S} UTC, {apart} {direction} "
    words += "this machine's"
    if seen.speed != 1:
        words += f", and runs {seen.speed:g} times as fast"
    return f'<p class="note">{escape(words)}.</p>'


def _cards(seen: Overview) -> str:
    cards = []
    for org in seen.organizations:
        state = f"{org.running_n} running, {org.queued_n} queued"
        if org.suspended:
            state += ", suspended"
        cards.append(
            f'<div class="card">{escape(org.name)}<strong>{escape(org.money)}</strong>'
            f'<span class="soft">{state}</span></div>'
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _faults(faults: list[Fault]) -> str:
    if not faults:
        return ""
    rows = [_fault(fault) for fault in faults]
    return _section("Faults in force", ("Kind", "Where", "What", "Left", "Fault"), rows)


def _fault(fault: Fault) -> Sequence[Cell]:
    what = fault.rule.as_json()
    where = what["where"]
    for name in ("kind", "where", "count"):
        del what[name]
    left = "until cleared" if fault.left_n is None else str(fault.left_n)
    return (
        (fault.rule.kind, ""),
        (_pairs(where) or "everywhere", ""),
        (_pairs(what), ""),
        (left, ""),
        _code(fault.id),
    )


def _pairs(fields: dict[str, object]) -> str:
    return ", ".join(f"{n}: {v}" for n, v in fields.items() if v is not None)


def _deliveries(seen: Overview) -> str:
    counts = seen.deliveries
    if not counts:
        return ""
    words = ", ".join(f"{counts[name]:,} {name}" for name in sorted(counts))
    head = ("Status", "Attempts", "Next (UTC)", "Event", "Receiver", "Delivery")
    rows = [_delivery(trouble) for trouble in seen.troubles]
    return _section("Deliveries", head, rows, note=f"{words}.")


def _delivery(trouble: Trouble) -> Sequence[Cell]:
    delivery = trouble.delivery
    state = delivery.status
    if trouble.reason:
        state = f"{state}: {trouble.reason}"
    return (
        (state, delivery.status),
        (str(delivery.attempts_n), "number"),
        ("" if delivery.due_us is None else utc(delivery.due_us), ""),
        (delivery.event_type, ""),
        (trouble.receiver, ""),
        _code(delivery.id),
    )


def _jobs(seen: Overview) -> str:
    head = ("Sent (UTC)", "Status", "Charge", "Function", "Organization", "Job")
    rows = [_job(seen.name_of(job.org), job) for job in seen.jobs]
    return _section("Jobs", head, rows, note="" if rows else "None yet.")


def _job(organization: str, job: JobRow) -> Sequence[Cell]:
    erased = job.deleted_us is not None
    state = f"{job.status}, erased" if erased else job.status
    if job.error_code:
        state = f"{state}: {job.error_code}"
    settled = job.charge_micro_usd if job.billing_state == "settled" else None
    return (
        (utc(job.created_us), ""),
        (state, job.status),
        ("" if settled is None else format_usd(settled), "number"),
        (job.function, ""),
        (organization, ""),
        _code(job.id),
    )


def _section(
    title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]], note: str = ""
) -> str:
    words = f'<p class="soft">{escape(note)}</p>' if note else ""
    if not rows:
        return f"<h2>{title}</h2>{words}"
    styles = [style for _, style in rows[0]]
    titles = "".join(
        f'<th class="{"number" if style == "number" else ""}">{name}</th>'
        for name, style in zip(head, styles, strict=True)
    )
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return (
        f'<h2>{title}</h2>{words}<div class="wide"><table><thead><tr>{titles}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _cells(row: Iterable[Cell]) -> str:
    return "".join(_cell(text, style) for text, style in row)


def _cell(text: str, style: str) -> str:
    shown = escape(text)
    if style == "code":
        return f"<td><code>{shown}</code></td>"
    return f'<td class="{style}">{shown}</td>'


def _code(text: str) -> Cell:
    return text, "code"
