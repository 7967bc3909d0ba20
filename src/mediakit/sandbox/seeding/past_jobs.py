"""A plausible past: jobs that were never made, with prices from the catalogue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from mediakit.catalog import Catalog, Function
from mediakit.rates import MS_PER_S
from mediakit.records import ErrorCode
from mediakit.sandbox.jobs.pricing import charge_of, hold_of, price_of, usage_of
from mediakit.sandbox.scheduling.clock import US_PER_S, to_instant
from mediakit.sandbox.seeding.past_requests import CLIP, PICTURE, request_of
from mediakit.schema import InputFacts

US_PER_DAY = 86_400 * US_PER_S
PROMPT = ["a kite over dunes"]
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
TIMELINE_S = 30
_TIMELINE = [
    {
        "id": "clips",
        "type": "video",
        "keyframes": [{"timestamp": 0, "duration": TIMELINE_S * MS_PER_S, "url": CLIP}],
    }
]


@dataclass(frozen=True)
class Recipe:
    """What people ask of a function.

    Args:
        weight: How often it is used, compared with others.
        fields: Values to choose from, by field.
    """

    weight: int
    fields: Mapping[str, Sequence[object]]


_PLAIN = Recipe(1, {"prompt": PROMPT})
_FRAMES = {"image_urls": [None, [PICTURE], [PICTURE] * 3]}
RECIPES: Mapping[str, Recipe] = {
    "text-to-video": Recipe(
        9,
        {
            "prompt": PROMPT,
            "duration": [3, 5, 5, 8, 10],
            "resolution": ["720p", "720p", "1080p"],
            "audio": ["off", "native"],
        },
    ),
    "r1": Recipe(
        4,
        {
            "prompt": PROMPT,
            "duration": [5, 8, 10],
            "resolution": ["480p", "720p", "1080p"],
            **_FRAMES,
        },
    ),
    "r2": Recipe(
        2,
        {
            "prompt": PROMPT,
            "duration": [5, 10],
            "resolution": ["480p", "720p", "1080p"],
            **_FRAMES,
        },
    ),
    "r3": Recipe(
        2,
        {
            "prompt": PROMPT,
            "duration": [5, 8],
            "resolution": ["720P", "1080P"],
            "reference_image_urls": [[PICTURE]],
        },
    ),
    "r4": Recipe(
        1, {"prompt": PROMPT, "duration": [5, 8, 10], "image_urls": [[PICTURE]]}
    ),
    "r6": Recipe(
        2,
        {
            "prompt": PROMPT,
            "duration": [3, 5, 8],
            "resolution": ["480p", "720p"],
            "reference_image_urls": [[PICTURE], [PICTURE] * 2],
        },
    ),
    "keyframes": Recipe(
        2,
        {
            "images": [[PICTURE] * 2, [PICTURE] * 3],
            "resolution": ["720p", "1080p"],
            "transition_duration_s": [3, 5],
        },
    ),
    "image-upscale": Recipe(6, {"image_url": [PICTURE]}),
    "video-upscale": Recipe(2, {"video_url": [CLIP]}),
    "compose-video": Recipe(2, {"tracks": [_TIMELINE]}),
    "region-replace": Recipe(
        1, {"video": [CLIP], "prompt": PROMPT, "modify_region_roi": ["the sky"]}
    ),
}


@dataclass(frozen=True)
class PastJob:
    """A job that has ended long ago, dated in microseconds since 1970."""

    function: str
    media_type: str
    body: Mapping[str, Any]
    buyer: int
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
    catalog: Catalog, *, days: int, jobs: int, buyers: int, seed: int, now_us: int
) -> list[PastJob]:
    """Make up a past that ends yesterday, oldest first.

    Weekdays see more jobs than weekends, and recent weeks more than early ones.

    Args:
        catalog: The functions, with their prices.
        days: How many whole days in UTC it covers.
        jobs: How many jobs there were.
        buyers: How many keys sent them; the first one sent most.
        seed: The same seed makes the same past.
        now_us: The sandbox's time.
    """
    # What is written in the prompts leaves the prices of a seed as they are.
    random, words = Random(seed), Random(f"words of {seed}")
    today_us = now_us - now_us % US_PER_DAY
    weights = [_bustle(today_us, day, days) for day in range(days, 0, -1)]
    starts = [today_us - day * US_PER_DAY for day in range(days, 0, -1)]
    functions = _priced(catalog)
    chosen = random.choices(starts, weights, k=jobs)
    made = [_past_job(random, words, functions, buyers, day) for day in chosen]
    return sorted(made, key=lambda job: job.created_us)


def _bustle(today_us: int, days_ago: int, days: int) -> float:
    weekend = to_instant(today_us - days_ago * US_PER_DAY).weekday() >= 5
    return (0.3 if weekend else 1.0) * (1.5 - days_ago / days)


def _priced(catalog: Catalog) -> list[tuple[Function, Recipe]]:
    """List the functions whose recipes have a price, with the recipes."""
    all_of_them = [(f, RECIPES.get(f.kind, _PLAIN)) for f in catalog]
    return [(f, r) for f, r in all_of_them if hold_of(f, _first_body(r)) is not None]


def _first_body(recipe: Recipe) -> dict[str, object]:
    return {name: values[0] for name, values in recipe.fields.items()}


def _past_job(
    random: Random,
    words: Random,
    functions: list[tuple[Function, Recipe]],
    buyers: int,
    day_us: int,
) -> PastJob:
    weights = [recipe.weight for _, recipe in functions]
    ((function, recipe),) = random.choices(functions, weights)
    chosen = {name: random.choice(values) for name, values in recipe.fields.items()}
    body = function.canonical_body(chosen)
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
        buyer=min(random.randrange(buyers) for _ in range(2)),
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
    output_ms = None
    if function.media_type != "image":
        output_ms = _output_s(body, clip_s) * MS_PER_S
    usage = usage_of(function, body, output_ms)
    highest = price_of(function, body, InputFacts(seconds=seconds))
    hold = highest if highest is not None else hold_of(function, body) or 0
    charge = charge_of(function, body, usage, seconds=seconds, hold_micro_usd=hold)
    return usage, charge


def _output_s(body: Mapping[str, Any], clip_s: int) -> int:
    """Return how long an output is, as the fields of the recipes tell it."""
    return next(_lengths_s(body, clip_s))


def _lengths_s(body: Mapping[str, Any], clip_s: int) -> Iterator[int]:
    if "tracks" in body:
        yield TIMELINE_S
    if "images" in body:
        yield (len(body["images"]) - 1) * body["transition_duration_s"]
    if "video_url" in body:
        yield clip_s
    for name in ("duration", "duration_s"):
        if isinstance(body.get(name), int):
            yield body[name]
    yield DEFAULT_S
