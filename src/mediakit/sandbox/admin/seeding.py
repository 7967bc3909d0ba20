"""Generates a sample history: jobs and charges of earlier months.

The jobs never ran; their prices are those of the catalog.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, assert_never
from uuid import UUID, uuid5

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.api_models import ErrorCode
from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import FILES, SITE, example, variations
from mediakit.clock import MS_PER_S, US_PER_S, to_instant
from mediakit.estimates import PriceUnit
from mediakit.safe_text import shown
from mediakit.sandbox.clock import iso
from mediakit.sandbox.files import new_name
from mediakit.sandbox.http import RequestError, read_body
from mediakit.sandbox.jobs.pricing import charge_of, hold_of, price_of, usage_of
from mediakit.sandbox.service import SandboxService, caller_of, service_of
from mediakit.sandbox.store import orgs
from mediakit.sandbox.store.database import SandboxDatabase, Value
from mediakit.sandbox.store.money import enter
from mediakit.sandbox.wire import RequestBody
from mediakit.schema import InputFacts, Purpose

PICTURE = f"{SITE}/{FILES['image']}"
CLIP = f"{SITE}/{FILES['video']}"
PICTURES = 48
PROMPTS = (
    "a kite over dunes",
    "a paper boat drifts across a mountain lake",
    "espresso pours into a glass cup, close-up, morning light",
    "a cyclist crosses a bridge in the rain, neon reflections",
    "hands knead bread dough on a floured table",
    "an old tram climbs a steep street at dusk",
    "a running shoe lands in a puddle, slow motion",
    "fog lifts from a pine forest, aerial view",
    "a lighthouse at dawn, waves below, wide shot",
    "a red fox walks through fresh snow",
    "a ceramic vase turns on a potter's wheel",
    "market stalls under colored awnings, handheld camera",
    "a hot-air balloon rises above vineyards",
    "rain on a window, city lights out of focus",
    "a wristwatch on dark slate, rotating, studio light",
    "children fly paper planes in a school yard",
    "a sailing boat leans into the wind, drone shot",
    "autumn leaves fall on a wooden bench",
    "a chef plates a dessert with tweezers, macro",
    "northern lights over a quiet fjord, time-lapse",
)
US_PER_DAY = 86_400 * US_PER_S
CONTENT_TYPES = {"video": "video/mp4", "image": "image/png", "audio": "audio/wav"}
SECONDS_OF_CLIPS = (4, 6, 10, 15)
DEFAULT_S = 5
FAILED_SHARE = 0.07
SETTLED_AFTER_US = 1_500_000
FAILURES = {
    ErrorCode.PROVIDER_ERROR: "The generation failed upstream. Nothing was charged.",
    ErrorCode.PROVIDER_TIMEOUT: "The generation took too long. Nothing was charged.",
    ErrorCode.CONTENT_MODERATION: "The request was not accepted. Nothing was charged.",
    ErrorCode.INVALID_INPUT: "An input could not be used. Nothing was charged.",
}


@dataclass(frozen=True)
class SeededJob:
    """A job that ended in the past, with the columns of its row."""

    key_index: int
    columns: Mapping[str, Value]
    settled_us: int
    charge_micro_usd: int


def past_jobs(
    catalog: Catalog, *, days: int, jobs: int, keys_n: int, seed: int, now_us: int
) -> list[SeededJob]:
    """Generate jobs of a period that ends yesterday, oldest first.

    Weekdays have more jobs than weekends, and recent weeks more than early ones.
    """
    # Prompts use a generator of their own, so they do not change a seed's prices.
    random = Random(seed)
    words = Random(f"words of {seed}")
    today_us = now_us - now_us % US_PER_DAY
    weights = [_activity(today_us, day, days) for day in range(days, 0, -1)]
    starts = [today_us - day * US_PER_DAY for day in range(days, 0, -1)]
    functions = _functions(catalog)
    chosen = random.choices(starts, weights, k=jobs)
    past = [_past_job(random, words, functions, keys_n, day) for day in chosen]
    return sorted(past, key=lambda job: int(job.columns["created_us"] or 0))


def _activity(today_us: int, days_ago: int, days: int) -> float:
    weekend = to_instant(today_us - days_ago * US_PER_DAY).weekday() >= 5
    return (0.3 if weekend else 1.0) * (1.5 - days_ago / days)


@dataclass(frozen=True)
class _Used:
    """A function with plausible bodies, and its relative frequency."""

    function: Function
    bodies: Sequence[Mapping[str, Any]]
    weight: float


def _functions(catalog: Catalog) -> list[_Used]:
    """List the functions in form order; the first is used most."""
    order = list(Purpose)
    offered = sorted(catalog, key=lambda f: (order.index(f.purpose), f.kind))
    pairs = ((function, _bodies(function)) for function in offered)
    return [
        _Used(function, bodies, weight=1 / place)
        for place, (function, bodies) in enumerate(pairs, 1)
        if bodies
    ]


def _bodies(function: Function) -> list[dict[str, Any]]:
    """Return bodies that differ in one or two fields that affect the price."""
    first = example(function)
    others = [body for _, body in variations(function, first)]
    further = [body for each in others for _, body in variations(function, each)]
    return [
        function.canonical_body(body)
        for body in (first, *others, *further)
        if not function.check(body) and hold_of(function, body) is not None
    ]


def _past_job(
    random: Random, words: Random, functions: list[_Used], keys_n: int, day_us: int
) -> SeededJob:
    (used,) = random.choices(functions, [each.weight for each in functions])
    function = used.function
    body = random.choice(used.bodies)
    failed = random.random() < FAILED_SHARE
    clip_s = random.choice(SECONDS_OF_CLIPS)
    usage, charge = _bill(function, body, clip_s)
    # Submissions are between seven in the morning and nine at night.
    created_us = day_us + round(random.triangular(7, 21, 14) * 3_600 * US_PER_S)
    started_us = created_us + random.randrange(5 * US_PER_S)
    ended_us = started_us + random.randrange(8 * US_PER_S, 240 * US_PER_S)
    settled_us = ended_us + SETTLED_AFTER_US
    request = _request_of(body, words, clip_s=clip_s)
    key_index = min(random.randrange(keys_n) for _ in range(2))
    end: dict[str, Value]
    if failed:
        code, message = random.choice(list(FAILURES.items()))
        end = {"status": "failed", "error_code": code, "error_message": message}
    else:
        end = {
            "status": "completed",
            "media_type": function.media_type,
            "content_type": CONTENT_TYPES[function.media_type],
            "usage": None if usage is None else json.dumps(usage),
            "runtime_ms": (ended_us - started_us) // 1_000,
        }
    columns: dict[str, Value] = {
        "function": function.path,
        "body": json.dumps(request),
        "run_no": 1,
        "created_us": created_us,
        "started_us": started_us,
        "ended_us": ended_us,
        # Sample jobs have no output, so they appear as erased.
        "deleted_us": settled_us,
        **end,
    }
    return SeededJob(key_index, columns, settled_us, 0 if failed else charge)


def _bill(
    function: Function, body: Mapping[str, Any], clip_s: int
) -> tuple[dict[str, Any] | None, int]:
    seconds = {CLIP: float(clip_s)}
    facts = InputFacts(seconds=seconds)
    usage = usage_of(function, body, _output_ms(function, body, facts))
    highest = price_of(function, body, facts)
    hold = highest if highest is not None else hold_of(function, body) or 0
    charge = charge_of(function, body, usage, seconds=seconds, hold_micro_usd=hold)
    return usage, charge


def _output_ms(
    function: Function, body: Mapping[str, Any], facts: InputFacts
) -> int | None:
    """Return the billed length of an output; None for an image."""
    if function.media_type == "image":
        return None
    for line in function.estimate(body, facts).lines:
        match line.per:
            case PriceUnit.MILLISECOND:
                return line.quantity_low
            case PriceUnit.TOKEN:
                tokens_per_s = function.nominal_tokens(body, MS_PER_S) or 1
                return line.quantity_low * MS_PER_S // tokens_per_s
            case PriceUnit.IMAGE | PriceUnit.REQUEST:
                pass  # says nothing about the length
            case unit:
                assert_never(unit)
    return DEFAULT_S * MS_PER_S


def _request_of(
    body: Mapping[str, Any], random: Random, *, clip_s: int
) -> dict[str, Any]:
    """Return a similar request with its own prompt and media, at the same price."""
    names = {CLIP: f"{SITE}/clip-{clip_s}s.mp4"}
    first = random.randrange(PICTURES)
    prompt = random.choice(PROMPTS)
    named: dict[str, Any] = _named(body, names, first)
    return named | ({"prompt": prompt} if "prompt" in body else {})


def _named(value: Any, names: Mapping[str, str], first: int) -> Any:
    if isinstance(value, Mapping):
        return {name: _named(item, names, first) for name, item in value.items()}
    if isinstance(value, list):
        return [_named(item, names, first + n) for n, item in enumerate(value)]
    if value == PICTURE:
        return f"{SITE}/picture-{first % PICTURES + 1:02}.png"
    return names.get(value, value) if isinstance(value, str) else value


# -- In the store -----------------------------------------------------------------

_PAST = """
SELECT job.*, charge.charge_micro_usd, charge.settled_us,
  lower(hex(substr(api_key.sha256, 1, 8))) AS account
FROM job JOIN charge ON charge.job = job.id JOIN api_key ON api_key.id = job.api_key
WHERE job.id = ?
"""


def add_past(
    db: SandboxDatabase,
    org: str,
    api_keys: Sequence[str],
    past: Sequence[SeededJob],
    job_ids: Sequence[str],
) -> None:
    """Write ended jobs with their charges, in one transaction.

    Their total is granted on the first day, so that the balance ends up unchanged and
    was never below zero.
    """
    with db.transaction():
        postpaid = orgs.find_org(db, org)["mode"] == "postpaid"
        spent = 0 if postpaid else sum(job.charge_micro_usd for job in past)
        if spent:
            first_us = int(past[0].columns["created_us"] or 0)
            orgs.grant(db, org, spent, is_credit=False, now_us=first_us)
        for job, job_id in zip(past, job_ids, strict=True):
            _add_job(db, org, api_keys[job.key_index], job, job_id)
            paid = 0 if postpaid else job.charge_micro_usd
            at_us = job.settled_us
            enter(db, org, "charge", -paid, credit_micro_usd=0, at_us=at_us, job=job_id)
        db.run(
            "UPDATE org SET balance_micro_usd = balance_micro_usd - ? WHERE id = ?",
            spent,
            org,
        )


def _add_job(
    db: SandboxDatabase, org: str, api_key: str, job: SeededJob, job_id: str
) -> None:
    owner: dict[str, Value] = {"org": org, "api_key": api_key}
    charge_micro_usd = job.charge_micro_usd
    db.insert(
        "job",
        id=job_id,
        file=new_name(),
        hold_micro_usd=charge_micro_usd,
        **owner,
        **job.columns,
    )
    db.insert(
        "charge",
        job=job_id,
        function=job.columns["function"],
        completed=job.columns["status"] == "completed",
        charge_micro_usd=charge_micro_usd,
        hold_micro_usd=charge_micro_usd,
        state="settled",
        due_us=job.settled_us,
        settled_us=job.settled_us,
        **owner,
    )


def find_past(db: SandboxDatabase, job_ids: Sequence[str]) -> list[sqlite3.Row]:
    """Read the jobs of a sample history with their charges; none if it was not added.

    A sample history is added in one transaction, so all of it exists, or nothing.
    """
    if db.one(_PAST, job_ids[0]) is None:
        return []
    rows = (db.one(_PAST, job_id) for job_id in job_ids)
    return [row for row in rows if row is not None]


def keys_of(
    db: SandboxDatabase, org: str, names: Iterable[str], now_us: int
) -> list[str]:
    """List the keys of a sample history: the organization's first and the members'.

    Missing members are created, each with a key that is not shown.
    """
    with db.transaction():
        own: str = db.value(
            "SELECT id FROM api_key WHERE org = ? AND member IS NULL ORDER BY rowid",
            org,
        )
        own = own or orgs.add_key(db, now_us, org=org)[0]
        return [own, *(_key_of(db, org, name, now_us) for name in names)]


def _key_of(db: SandboxDatabase, org: str, name: str, now_us: int) -> str:
    key_id: str | None = db.value(
        "SELECT api_key.id FROM member JOIN api_key ON api_key.member = member.id"
        " WHERE member.org = ? AND member.name = ? ORDER BY api_key.rowid",
        org,
        name,
    )
    if key_id is None:
        member = orgs.add_member(db, org=org, name=name, role="member")
        key_id, _ = orgs.add_key(db, now_us, org=org, member=member)
    return key_id


# -- The call ---------------------------------------------------------------------

MEMBERS = ("Studio", "Marketing")
PASTS = UUID("6c1d3f0e-6a3b-4f0c-9a55-0d8c1f2b7e41")


class SeedRequest(RequestBody):
    """The days, number of jobs and seed of a sample history."""

    days: Annotated[int, Field(ge=1, le=3_650)] = 90
    jobs: Annotated[int, Field(ge=1, le=10_000)] = 400
    seed: Annotated[int, Field(ge=0, le=2**32)] = 1
    requests: bool = False


async def seed(request: Request) -> Response:
    """Handle POST /sandbox/seed; respond with the jobs, and how many are new."""
    service = service_of(request)
    body = await read_body(request, SeedRequest)
    org = request.query_params.get("org", caller_of(request).org)
    if service.db.one("SELECT 1 FROM org WHERE id = ?", org) is None:
        raise RequestError(404, f"There is no organization {shown(org)}.")
    api_keys = keys_of(service.db, org, MEMBERS, service.clock.now_us())
    past, added_n = _past(service, org, api_keys, body)
    summary = _summary(past) | {"api_key_ids": api_keys, "added": added_n}
    if body.requests:
        summary["requests"] = [_request(row) for row in past]
    return JSONResponse(summary, status_code=201 if added_n else 200)


def _past(
    service: SandboxService, org: str, api_keys: list[str], body: SeedRequest
) -> tuple[list[sqlite3.Row], int]:
    """Return the jobs of a sample history, and how many were added: all or none."""
    db = service.db
    # Leave out the date, so that tomorrow's call finds the same past.
    past_name = f"{service.identity} {org} {body.days} {body.jobs} {body.seed}"
    job_ids = [f"media_{uuid5(PASTS, f'{past_name} {n}')}" for n in range(body.jobs)]
    rows = find_past(db, job_ids)
    if rows:
        return rows, 0
    past = past_jobs(
        service.catalog,
        days=body.days,
        jobs=body.jobs,
        keys_n=len(api_keys),
        seed=body.seed,
        now_us=service.clock.now_us(),
    )
    add_past(db, org, api_keys, past, job_ids)
    return find_past(db, job_ids), len(past)


def _summary(past: list[sqlite3.Row]) -> dict[str, Any]:
    return {
        "jobs": len(past),
        "completed": sum(row["status"] == "completed" for row in past),
        "failed": sum(row["status"] == "failed" for row in past),
        "spent_micro_usd": sum(row["charge_micro_usd"] for row in past),
        "first": iso(past[0]["created_us"]),
        "last": iso(past[-1]["ended_us"]),
    }


def _request(row: sqlite3.Row) -> dict[str, Any]:
    """Return the request of one job, and its result."""
    code = row["error_code"]
    usage = row["usage"]
    error = {"code": code, "message": row["error_message"]}
    return {
        "job_id": row["id"],
        "function": row["function"],
        "body": json.loads(row["body"]),
        "api_key_id": row["api_key"],
        "account": row["account"],
        "status": row["status"],
        "error": None if code is None else error,
        "usage": None if usage is None else json.loads(usage),
        "media_type": row["media_type"],
        "content_type": row["content_type"],
        "charge_micro_usd": row["charge_micro_usd"],
        "created_at": iso(row["created_us"]),
        "started_at": iso(row["started_us"]),
        "ended_at": iso(row["ended_us"]),
        "settled_at": iso(row["settled_us"]),
        "deleted_at": iso(row["deleted_us"]),
    }
