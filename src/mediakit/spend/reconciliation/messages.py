"""The sentences of a reconciliation: its notes and its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from mediakit.money import format_usd
from mediakit.spend.dates import month_name
from mediakit.spend.reconciliation.verdicts import Part, Reason, Verdict

REBUILD = "client.history.rebuild(...)"
OWN_KEYS = "own_keys=[...]"
REPORTS = {
    Reason.DAILY.value: "daily report",
    Reason.MONTHLY.value: "monthly report",
    Reason.CSV.value: "month's CSV",
}
_MOST_NAMED = 3


def listed(items: Sequence[str], most: int = _MOST_NAMED) -> str:
    """Join items into a phrase; items beyond `most` are only counted."""
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def days_text(days: Sequence[date]) -> str:
    """Join days into a phrase; days beyond the third are only counted."""
    return listed([day.isoformat() for day in days])


def note(part: Part, month: str) -> str:
    """Explain why a part has its verdict; empty if both sides simply agree.

    Args:
        part: The part.
        month: The month, "YYYY-MM".
    """
    if part.reason is Reason.UNREAD:
        return part.detail
    if part.reason.value in REPORTS:
        return _report_note(part)
    say = _NOTES.get(part.reason)
    return say(part, month_name(month)) if say else ""


def _more(micro_usd: int) -> str:
    word = "more" if micro_usd > 0 else "less"
    return f"{format_usd(abs(micro_usd))} {word}"


def _near(part: Part, _: str) -> str:
    return (
        f"Dated differently here: {listed(part.job_ids)}. The history dates a charge "
        "by when it first read it as settled, which can differ from the service's "
        "settlement day."
    )


def _came_in(part: Part, month: str) -> str:
    return (
        f"Settled on the other side of midnight: the service counts "
        f"{listed(part.job_ids)} in {month}; this history dates it in another month."
    )


def _went_out(part: Part, month: str) -> str:
    return (
        f"Settled on the other side of midnight: this history dates "
        f"{listed(part.job_ids)} in {month}; the service counts it in another month."
    )


def _rate(part: Part, _: str) -> str:
    jobs = _jobs(part.job_ids)
    return (
        f"{jobs} cost {_more(part.difference)} than the exact estimate, first on "
        f"{part.day}: {listed(part.job_ids)}. client.spend.rates() shows whether the "
        "jobs since then differ, too."
    )


def _restated(part: Part, _: str) -> str:
    return (
        f"The service has changed this charge since it was first read: "
        f"{listed(part.job_ids)}; {_more(part.difference)} than expected."
    )


def _pending(part: Part, month: str) -> str:
    what = f"The charge for {listed(part.job_ids)} has not been read yet"
    if part.daily:
        return f"{what}; it may account for {format_usd(part.daily)} of the bill."
    most = "" if part.bound is None else f" (at most {format_usd(part.bound)})"
    return f"{what}{most}, and the service has not counted it in {month}."


def _elsewhere(_: Part, __: str) -> str:
    return "Charged to another API key; this history does not record it."


def _unassigned(part: Part, _: str) -> str:
    where = "The service reports this" if part.daily else "This history has this"
    return (
        f"{where}; which API keys are this history's is not known. Name them with "
        f"{OWN_KEYS}."
    )


def _no_local_job(part: Part, _: str) -> str:
    return (
        f"The service charged this on {days_text(part.days)}, but this history has no "
        f"job for it. {REBUILD} restores jobs by ID, from saved files or from the "
        "delivery log."
    )


def _twice(part: Part, _: str) -> str:
    return (
        f"This history counts {listed(part.job_ids)} more than once; the service "
        "charged it once."
    )


def _not_there(part: Part, _: str) -> str:
    what = listed(part.job_ids) or part.detail
    if what:
        return f"The service does not report the charge for {what}."
    return (
        f"This history has {format_usd(-part.difference)} more on "
        f"{days_text(part.days)} than the service reports; of which jobs is not known."
    )


def _total(part: Part, _: str) -> str:
    name = REPORTS[part.detail]
    return f"The total of the {name} is {_more(part.difference)} than its rows."


def _balance(part: Part, _: str) -> str:
    return f"The balance fell by {_more(part.difference)} than the amount charged."


_NOTES: Mapping[Reason, Callable[[Part, str], str]] = {
    Reason.NEAR: _near,
    Reason.CAME_IN: _came_in,
    Reason.WENT_OUT: _went_out,
    Reason.RATE: _rate,
    Reason.RESTATED: _restated,
    Reason.PENDING: _pending,
    Reason.ELSEWHERE: _elsewhere,
    Reason.UNASSIGNED: _unassigned,
    Reason.NO_LOCAL_JOB: _no_local_job,
    Reason.TWICE: _twice,
    Reason.NOT_THERE: _not_there,
    Reason.TOTAL: _total,
    Reason.BALANCE: _balance,
}


def _report_note(part: Part) -> str:
    name = REPORTS[part.reason.value]
    row = "a row may be duplicated" if part.difference > 0 else "a row may be missing"
    when = f" on {days_text(part.days)}" if part.days else ""
    what = " for this function" if part.path else ""
    return (
        f"The {name} has {_more(part.difference)}{what}{when} than the other reports: "
        f"{row}."
    )


def _jobs(job_ids: Sequence[str]) -> str:
    return "1 job" if len(job_ids) == 1 else f"{len(job_ids)} jobs"


# -- the summary sentence --------------------------------------------------------------


def sentence(
    parts: Iterable[Part],
    *,
    month: str,
    charged_micro_usd: int | None,
    is_so_far: bool,
    kinds: Mapping[str, str],
    inferred_keys: Sequence[str] = (),
) -> str:
    """Summarize in one sentence what was charged and whether it is explained.

    Args:
        parts: The parts of the month.
        month: The month, "YYYY-MM".
        charged_micro_usd: The total charge; None if it could not be read.
        is_so_far: Whether the month is still running.
        kinds: Our names of the functions, by path.
        inferred_keys: The API keys that are taken to be this history's without having
            been named.
    """
    parts = list(parts)
    when = f"{month_name(month)}{' so far' if is_so_far else ''}"
    open_parts = [p for p in parts if p.verdict in MISSING]
    open_parts.sort(key=lambda part: -abs(part.difference))
    unread = list(
        dict.fromkeys(
            part.detail.rstrip(".") for part in parts if part.reason is Reason.UNREAD
        )
    )
    if charged_micro_usd is None:
        return f"{when} cannot be reconciled: {'; '.join(unread)}."
    if not parts and not charged_micro_usd:
        return f"Nothing was charged in {when}, and this history has no charge for it."
    charged = f"{format_usd(charged_micro_usd)} charged in {when}"
    said = []
    if open_parts:
        apart = sum(abs(part.difference) for part in open_parts)
        reasons = listed([_open_text(part, kinds) for part in open_parts])
        said.append(f"{format_usd(apart)} is not explained: {reasons}")
    said += _unassigned_text(parts, inferred_keys)
    others = [part for part in parts if part.reason is Reason.ELSEWHERE and part.daily]
    if others:
        amount = format_usd(sum(part.daily for part in others))
        keys = listed(list(dict.fromkeys(str(part.key) for part in others)))
        rest = "" if said or unread else "; the rest is explained"
        said.append(f"{amount} was charged to other API keys ({keys}){rest}")
    if inferred_keys and any(
        part.reason in (Reason.UNASSIGNED, Reason.ELSEWHERE) for part in parts
    ):
        said.append(
            f"this history's API key is taken to be {listed(inferred_keys)}, which "
            f"fits best ({OWN_KEYS} names it)"
        )
    if unread:
        said.append(f"not everything could be compared: {listed(unread)}")
    return f"{charged}; {'; '.join(said) or 'all of it is explained'}."


def _unassigned_text(parts: Iterable[Part], inferred_keys: Sequence[str]) -> list[str]:
    """Say what may belong to this history's API key or to another."""
    unknown = [part for part in parts if part.reason is Reason.UNASSIGNED]
    here = format_usd(sum(part.history for part in unknown))
    there = format_usd(sum(part.daily for part in unknown))
    keys = listed(list(dict.fromkeys(str(p.key) for p in unknown if p.key)))
    if not unknown:
        return []
    if inferred_keys:
        return [f"{here} in this history is not in the spend of its API key"]
    return [
        f"{there} was charged to {keys or 'no API key'} and {here} is in this history, "
        f"and which API keys are its own is not known: name them with {OWN_KEYS}"
    ]


MISSING = (Verdict.MISSING_HERE, Verdict.MISSING_THERE)


def _open_text(part: Part, kinds: Mapping[str, str]) -> str:
    amount = format_usd(abs(part.difference))
    what = f"{amount} for {kinds.get(part.path, part.path)}" if part.path else amount
    return f"{what} {_open_reason(part)}"


def _open_reason(part: Part) -> str:
    on = f" on {days_text(part.days)}" if part.days else ""
    jobs = listed(part.job_ids) or part.detail
    ids = f" ({jobs})" if jobs else ""
    more = "too much" if part.difference > 0 else "too little"
    name = REPORTS.get(part.detail or part.reason.value)
    texts = {
        Reason.NO_LOCAL_JOB: f"is missing here{on} ({REBUILD} can restore it)",
        Reason.TWICE: f"is counted twice here{ids}",
        Reason.NOT_THERE: f"is missing in the service's reports{ids or on}",
        Reason.BALANCE: f"{more} was taken from the balance (contact the service)",
        Reason.TOTAL: f"{more} is in the total of the {name} (contact the service)",
    }
    in_report = f"{more} is in the {name}{on} (contact the service)"
    return texts.get(part.reason, in_report)
