"""Generates past jobs that never ran, with prices from the catalog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import FILES, SITE, example, variations
from mediakit.estimates import MS_PER_S, Per
from mediakit.records import ErrorCode
from mediakit.sandbox.clock import US_PER_S, to_instant
from mediakit.sandbox.jobs.pricing import charge_of, hold_of, price_of, usage_of
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
class PastJob:
    """A job that ended in the past, dated in microseconds since 1970."""

    function: str
    media_type: str
    body: Mapping[str, Any]
    key_index: int
    created_us: int
    started_us: int
    ended_us: int
    settled_us: int
    usage: Mapping[str, Any] | None
    charge_micro_usd: int
    failure: tuple[ErrorCode, str] | None

    @property
    def content_type(self) -> str:
        """Return the type of the output that it would have had."""
        return CONTENT_TYPES[self.media_type]


def past_jobs(
    catalog: Catalog, *, days: int, jobs: int, keys_n: int, seed: int, now_us: int
) -> list[PastJob]:
    """Generate a past that ends yesterday, oldest first.

    Weekdays have more jobs than weekends, and recent weeks more than early ones.
    """
    # Prompts use a generator of their own, so they do not change a seed's prices.
    random, words = Random(seed), Random(f"words of {seed}")
    today_us = now_us - now_us % US_PER_DAY
    weights = [_activity(today_us, day, days) for day in range(days, 0, -1)]
    starts = [today_us - day * US_PER_DAY for day in range(days, 0, -1)]
    functions = _functions(catalog)
    chosen = random.choices(starts, weights, k=jobs)
    made = [_past_job(random, words, functions, keys_n, day) for day in chosen]
    return sorted(made, key=lambda job: job.created_us)


def _activity(today_us: int, days_ago: int, days: int) -> float:
    weekend = to_instant(today_us - days_ago * US_PER_DAY).weekday() >= 5
    return (0.3 if weekend else 1.0) * (1.5 - days_ago / days)


@dataclass(frozen=True)
class _Used:
    """A function with plausible bodies, and how often it is used."""

    function: Function
    bodies: Sequence[Mapping[str, Any]]
    weight: float


def _functions(catalog: Catalog) -> list[_Used]:
    """List the functions in the order of the forms; the first is used most."""
    order = list(Purpose)
    offered = sorted(catalog, key=lambda f: (order.index(f.purpose), f.kind))
    found = ((function, _bodies(function)) for function in offered)
    return [
        _Used(function, bodies, weight=1 / place)
        for place, (function, bodies) in enumerate(found, 1)
        if bodies
    ]


def _bodies(function: Function) -> list[dict[str, Any]]:
    """Return bodies that differ in one or two of the fields that affect the price."""
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
) -> PastJob:
    (used,) = random.choices(functions, [each.weight for each in functions])
    function, body = used.function, random.choice(used.bodies)
    failed = random.random() < FAILED_SHARE
    clip_s = random.choice(SECONDS_OF_CLIPS)
    usage, charge = _bill(function, body, clip_s)
    # Between seven in the morning and nine at night.
    created_us = day_us + round(random.triangular(7, 21, 14) * 3_600 * US_PER_S)
    started_us = created_us + random.randrange(5 * US_PER_S)
    ended_us = started_us + random.randrange(8 * US_PER_S, 240 * US_PER_S)
    return PastJob(
        function=function.path,
        media_type=function.media_type,
        body=request_of(body, words, clip_s=clip_s),
        key_index=min(random.randrange(keys_n) for _ in range(2)),
        created_us=created_us,
        started_us=started_us,
        ended_us=ended_us,
        settled_us=ended_us + SETTLED_AFTER_US,
        usage=None if failed else usage,
        charge_micro_usd=0 if failed else charge,
        failure=random.choice(list(FAILURES.items())) if failed else None,
    )


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
    """Return the length of an output, as its price counts it; None for an image."""
    if function.media_type == "image":
        return None
    for line in function.estimate(body, facts).lines:
        if line.per is Per.MILLISECOND:
            return line.quantity_low
        if line.per is Per.TOKEN:
            tokens_per_s = function.nominal_tokens(body, MS_PER_S) or 1
            return line.quantity_low * MS_PER_S // tokens_per_s
    return DEFAULT_S * MS_PER_S


def request_of(
    body: Mapping[str, Any], random: Random, *, clip_s: int
) -> dict[str, Any]:
    """Return the same request with its own prompt and media.

    Neither affects the price: a clip is named by its length.
    """
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
