"""The state, price, dates and failure of a job in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from mediakit.api_models import BillingState, ErrorCode, JobStatus
from mediakit.catalog import Catalog, Function
from mediakit.client import JobState
from mediakit.client.job_texts import SETTLING, STATE_WORDS, UNCHARGED
from mediakit.errors import InputError
from mediakit.estimates import NO_UPPER_PRICE, Estimate, EstimateKind
from mediakit.history import Entry
from mediakit.history.titles import NO_NAMES
from mediakit.media import size_text
from mediakit.media_limits import MediaInfo
from mediakit.money import format_usd
from mediakit.safe_text import with_shown_urls

MINUTE_S = 60
HOUR_S = 3_600
DIAGNOSTIC_LENGTH = 600
PROVIDER_FAILED = "The generation failed at the model's provider."

FAILURES: Mapping[ErrorCode, tuple[str, str]] = {
    ErrorCode.INVALID_INPUT: (
        "The service could not process these settings or files.",
        "Change what the message below names, then generate again.",
    ),
    ErrorCode.CONTENT_MODERATION: (
        "The service refused the content of this request.",
        "Change the prompt or the reference media; the same request fails again.",
    ),
    ErrorCode.PROVIDER_ERROR: (
        PROVIDER_FAILED,
        "Generate again: the same request may well succeed.",
    ),
    ErrorCode.PROVIDER_TIMEOUT: (
        "The model did not finish within the service's time limit.",
        "Generate again; if it happens twice, request something shorter or smaller.",
    ),
    ErrorCode.PROVIDER_UNAVAILABLE: (
        "The model is not available at the moment.",
        "Wait a few minutes, then generate again.",
    ),
    ErrorCode.RATE_LIMITED: (
        "Too many requests at once, or the queue is full.",
        "Wait until running jobs have ended, then generate again.",
    ),
    ErrorCode.INSUFFICIENT_BALANCE: (
        "The balance does not cover this request.",
        "Add funds, or request something that costs less.",
    ),
    ErrorCode.MEMBERSHIP_REQUIRED: (
        "This function needs a membership that the organization does not have.",
        "Ask the owner of the organization's account, or use another function.",
    ),
    ErrorCode.CYCLE_LIMIT_EXCEEDED: (
        "The limit of this invoice cycle has been reached.",
        "Wait for the next cycle, or ask an owner of the account to raise the limit.",
    ),
    ErrorCode.ADMISSION_SUSPENDED: (
        "The organization is currently not allowed to start jobs.",
        "Ask the owner of the organization's account why it is suspended.",
    ),
    ErrorCode.TIMED_OUT: (
        "The job did not end within the time that the service allows.",
        "Generate again; if it happens twice, request something shorter or smaller.",
    ),
    ErrorCode.INTERNAL: (
        "Something went wrong inside the service.",
        "Generate again; if it happens twice, report this job's ID to the service.",
    ),
}

KINDS: Mapping[EstimateKind, str] = {
    EstimateKind.EXACT: "exact",
    EstimateKind.NOMINAL: "estimate · billed by tokens used",
    EstimateKind.UPPER_BOUND: "upper bound",
    EstimateKind.UNKNOWN: "you will be charged",
}

# Fields whose value needs no label.
_TELLING = {"aspect_ratio", "model", "ratio", "resolution", "upscale_factor"}
_NOT_SETTINGS = {"prompt", "negative_prompt", "webhook_url"}


@dataclass(frozen=True)
class Failure:
    """Why a job failed, and what to do about it."""

    happened: str
    advice: str
    said: str  # the service's code (spec 7.3) and message; untrusted


def failure_of(state: JobState) -> Failure | None:
    record = state.record
    if record.status is not JobStatus.FAILED:
        return None
    code, message = ErrorCode.PROVIDER_ERROR, ""
    if record.error is not None:
        code, message = record.error.code, record.error.message
    happened, advice = FAILURES[code]
    words = f": {shortened(message, DIAGNOSTIC_LENGTH)}" if message else "."
    return Failure(happened, advice, f"The service says {code.value}{words}")


def shortened(text: str, length: int) -> str:
    """Return the beginning of a text, with "…" if it continues."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def seconds_text(seconds: float) -> str:
    """Format a duration: "4.2 s", "42 s", "1 min 12 s", "2 h 5 min"."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        minutes, rest = divmod(whole, MINUTE_S)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, rest = divmod(whole, HOUR_S)
    minutes = rest // MINUTE_S
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def file_texts(info: MediaInfo | None) -> list[str]:
    """Return the known facts of a file: "1280 x 720", "3.0 s", "1.2 MB"."""
    if info is None:
        return []
    texts = [size_text(info.size_bytes)]
    if info.duration_s:
        texts.insert(0, f"{info.duration_s:.1f} s")
    if info.width and info.height:
        texts.insert(0, f"{info.width} \N{MULTIPLICATION SIGN} {info.height}")
    return texts


def date_text(instant: datetime) -> str:
    """Format an instant to the minute in UTC, such as "2026-05-01 14:30"."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M}"


def as_of_text(as_of: datetime | None) -> str:
    """Return when an unfinished copy was written, and how to update it."""
    if as_of is None:
        return ""
    return f"As of {date_text(as_of)} UTC. Run the cell again to update it."


def function_of(entry: Entry, catalog: Catalog) -> Function | None:
    """Return the function of a submission; None if it is not bound."""
    for name in (entry.function, entry.kind):
        try:
            return catalog.function(name)
        except InputError:  # the function may have another name by now
            continue
    return None


def status_word(state: JobState) -> str:
    return STATE_WORDS["erased" if state.is_erased else state.record.status.value]


@dataclass(frozen=True)
class RunningTime:
    """A sentence with the seconds that a job has waited or run so far."""

    before: str  # up to the seconds
    since: datetime | None  # None counts no seconds
    after: str  # the rest of the sentence


def clock_of(state: JobState) -> RunningTime | None:
    """Return the waiting or running line; None once the job has ended."""
    status, usual_s = state.record.status, state.usual_runtime_s
    if status.terminal:
        return None
    # The usual time covers all lengths and sizes, so a late job may not be slow.
    usual = f"usually about {seconds_text(usual_s)}" if usual_s else ""
    if status is not JobStatus.QUEUED:
        after = f"; {usual}." if usual else "."
        before = "Running for " if state.started_at else "Running"
        return RunningTime(before, state.started_at, after)
    since = state.submitted_at
    starts = f" It starts when a slot is free{f', then {usual}' if usual else ''}."
    if since is None:
        return RunningTime("In the queue.", None, starts)
    at = since.astimezone(UTC)
    return RunningTime(
        "In the queue for ", since, f", since {at:%H:%M:%S} UTC.{starts}"
    )


def elapsed_s(since: datetime, now: datetime) -> float:
    """Return the seconds between two instants; never negative."""
    return max(0.0, (now - since).total_seconds())


def times_text(state: JobState) -> str:
    """Return how long an ended job waited and ran, as far as known."""
    start, begun, end = state.submitted_at, state.started_at, state.finished_at
    if end is None or not state.record.status.terminal:
        return ""
    ran = ran_text(state)
    if start is None:
        return ran
    if begun is not None:
        return f"{seconds_text(elapsed_s(start, begun))} in the queue, {ran}"
    # The start is unknown if the job was not polled while running.
    return f"finished in under {seconds_text(elapsed_s(start, end))}"


def ran_text(state: JobState) -> str:
    """Return how long an ended job ran: "ran 8.4 s"; "" if unknown."""
    if not state.record.status.terminal:
        return ""
    ran_s, begun, end = state.record.runtime_s, state.started_at, state.finished_at
    if ran_s is None and begun is not None and end is not None:
        ran_s = elapsed_s(begun, end)
    return "" if ran_s is None else f"ran {seconds_text(ran_s)}"


def price_text(state: JobState) -> str:
    """Return a job's price for a line of facts: the charge once it has ended."""
    status, estimate = state.record.status, state.estimate
    if status is JobStatus.FAILED and not state.charge_micro_usd:
        return UNCHARGED
    if status.terminal:
        text = charge_text(state)
        return text if text.startswith("$") else f"charge {text}"
    if estimate is None or estimate.low is None:
        return ""
    return f"{estimate.text} estimated"


def estimate_text(estimate: Estimate | None) -> str:
    """Return an estimate with its kind; if None, the job was not estimated here."""
    if estimate is None:
        return "none, because the job was submitted elsewhere"
    return f"{estimate.text} ({kind_text(estimate)})"


def kind_text(estimate: Estimate) -> str:
    """Return how firm an estimate is, or that it has no upper end."""
    return NO_UPPER_PRICE if estimate.has_no_upper_end else KINDS[estimate.kind]


def charge_text(state: JobState) -> str:
    """Return the settled charge, compared with the estimate (spec 2.2)."""
    charge = state.charge_micro_usd
    status = state.record.status
    if charge is None:
        return _unsettled_text(state) if status.terminal else "settled after it ends"
    if charge == 0 and status is JobStatus.FAILED:
        return f"{format_usd(charge)}: nothing was charged"
    compared = _compared(charge, state.estimate)
    return f"{format_usd(charge)} {compared}" if compared else format_usd(charge)


def _unsettled_text(state: JobState) -> str:
    billing = state.record.billing
    if state.record.status is JobStatus.FAILED:
        return f"{UNCHARGED}, because the job failed"
    if billing is not None and billing.is_unreadable:
        return "unknown (the service's answer cannot be read)"
    if billing is not None and billing.state is BillingState.UNAVAILABLE:
        return f"{SETTLING} (the service cannot read it at the moment)"
    return SETTLING


def _compared(charge: int, estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None:
        return ""
    if charge < estimate.low:
        return f"({format_usd(estimate.low - charge)} less than estimated)"
    if estimate.high is not None and charge > estimate.high:
        return f"({format_usd(charge - estimate.high)} more than estimated)"
    return "as estimated" if estimate.low == estimate.high else "within the estimate"


def settings_text(
    body: Mapping[str, object], names: Mapping[str, str] = NO_NAMES
) -> str:
    """Return the settings of a request in one line: "5 s · 720p · 16:9"."""
    return with_shown_urls(" · ".join(_settings(body, names)))


def _settings(body: Mapping[str, object], names: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(body, key=_rank):
        value = body[name]
        if name in _NOT_SETTINGS or value is None or value is False or value == []:
            continue
        if isinstance(value, str) and "://" in value:
            if value in names:
                yield names[value]
            continue
        label = name.removesuffix("_s").replace("_", " ")
        if value is True:
            yield label
        elif isinstance(value, list):
            yield _list_text(name, label, value, names)
        elif name in _TELLING:
            yield str(value)
        elif _is_duration(name):
            yield _duration_text(label, value)
        else:
            yield f"{label} {value}"


def _rank(name: str) -> int:
    """Sort durations first, then sizes, then the rest."""
    if _is_duration(name):
        return 0
    return 1 if name in _TELLING else 2


def _is_duration(name: str) -> bool:
    return name.endswith("_s") or name == "duration"


def _duration_text(label: str, value: object) -> str:
    if not isinstance(value, int | float):
        return f"{label} {value}"
    return f"{value:g} s" if label == "duration" else f"{label} {value:g} s"


def _list_text(
    name: str, label: str, items: list[object], names: Mapping[str, str]
) -> str:
    if name.endswith("_s") and all(isinstance(item, int) for item in items):
        return f"{label} {', '.join(map(str, items))} s"
    titles = [names[item] for item in items if isinstance(item, str) and item in names]
    if titles and len(titles) == len(items):
        return ", ".join(titles)
    what = label.removesuffix(" urls").removesuffix("s")
    return f"{len(items)} {what}{'' if len(items) == 1 else 's'}"
