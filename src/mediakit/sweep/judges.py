"""Judges: scorers that see the prompt, and give 1 to 5 stars with a reason.

`light_and_colour` runs offline and knows a few words. `ModelJudge` asks a multimodal
language model, with your rubric. A judge is a function `fn(path, row)`, so you can
write your own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import partial
from io import BytesIO
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import httpx

from mediakit.api_models import ErrorCode
from mediakit.client.io_thread import io_thread
from mediakit.client.responses import HttpResponse, retry_after_s
from mediakit.client.retries import RejectionBackoff
from mediakit.clock import Clock, SystemClock
from mediakit.errors import InputError, ServiceError
from mediakit.history.scores import REASON
from mediakit.media.samples import WHITE, sampled_colours
from mediakit.media_html import data_url
from mediakit.money import (
    MICRO_PER_USD,
    PER_MILLION,
    divide_half_up,
    parse_usd,
)
from mediakit.plain_numbers import whole
from mediakit.proxies_and_certificates import http_client
from mediakit.rules import ValueDescription
from mediakit.safe_text import quoted, shown_url
from mediakit.sweep.scorer_identity import COST, HASH_DIGITS, TAKEN, hash_of
from mediakit.web_urls import web_url

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Frame = NDArray[np.uint8]

SAMPLED_FRAMES = 3
LONGEST_ANSWER = 200
JPEG_QUALITY = 80
STARS = (1, 2, 3, 4, 5)
MODEL_TIMEOUT_S = 120.0
NO_TIME_NOW = {
    429: ErrorCode.RATE_LIMITED,
    **dict.fromkeys((502, 503, 504), ErrorCode.PROVIDER_UNAVAILABLE),
}
RESPONSE_COST = "x-litellm-response-cost"  # US dollars, from LiteLLM's proxy
TOKENS = ("prompt_tokens", "completion_tokens")
LARGEST_COST_USD = 1_000_000
TASK = (
    "You judge what a media generator made of a prompt. For each point of the rubric, "
    "give 1 (not at all) to 5 (completely). Give the reason in one sentence."
)


# -- by rules -------------------------------------------------------------------------

# For each word of a prompt: a measure, its value for 1 star, and its value for 5 stars.
LIGHTS: Mapping[str, tuple[str, float, float]] = {
    **dict.fromkeys(("night", "midnight", "moonlit", "dark"), ("brightness", 0.6, 0.3)),
    **dict.fromkeys(("noon", "midday", "bright", "snow"), ("brightness", 0.3, 0.6)),
    **dict.fromkeys(("dawn", "dusk", "sunrise", "sunset"), ("warmth", -0.2, 0.1)),
}
HUES_DEG = {
    "red": 0,
    "orange": 30,
    "yellow": 60,
    "green": 120,
    "blue": 220,
    "purple": 280,
    "pink": 330,
}
HUE_WITHIN_DEG = 25
FULL_SHARE = 0.2  # share of the pixels in a picture of that colour
COLOURFUL = 64  # least saturation and brightness of a coloured pixel, of 255


def light_and_colour(path: Path, row: Mapping[str, Any]) -> dict[str, float | str]:
    """Judge whether a picture or clip has the light and colours of its prompt.

    It knows words for light, such as "night" and "noon", and for colours. It does not
    recognise what a picture shows.

    Returns:
        `light` and `colour`, from 1 to 5 stars, NaN if the prompt has no such word, and
        the `reason`.
    """
    words = dict.fromkeys(re.findall(r"[a-z]+", str(row.get("prompt") or "").lower()))
    frames = sampled_colours(path, SAMPLED_FRAMES)
    if not frames:
        raise ValueError("it has no picture")
    reasons: list[str] = []
    lights, colours = [], []
    for word in words:
        if word in LIGHTS:
            measure, worst, best = LIGHTS[word]
            value = _mean(partial(_light, measure=measure), frames)
            lights.append(_stars(value, worst, best))
            reasons.append(f"{word}: {measure} {value:z.2f}")
        elif word in HUES_DEG:
            share = _mean(partial(_share, hue_deg=HUES_DEG[word]), frames)
            colours.append(_stars(share, 0, FULL_SHARE))
            reasons.append(f"{word}: {share:.0%} of the picture")
    return {
        "light": sum(lights) / len(lights) if lights else float("nan"),
        "colour": sum(colours) / len(colours) if colours else float("nan"),
        REASON: "; ".join(reasons) or "The prompt names neither light nor colour.",
    }


def _stars(value: float, worst: float, best: float) -> float:
    return 1 + 4 * min(1.0, max(0.0, (value - worst) / (best - worst)))


def _mean(measure: Callable[[Frame], float], frames: Sequence[Frame]) -> float:
    return sum(map(measure, frames)) / len(frames)


def _light(frame: Frame, measure: str) -> float:
    """Return the brightness, or for warmth, how much more red than blue there is."""
    red, _, blue = frame.mean(axis=(0, 1)) / WHITE
    return float(red - blue) if measure == "warmth" else float(frame.mean()) / WHITE


def _share(frame: Frame, hue_deg: int) -> float:
    """Return the share of pixels of a hue."""
    import numpy as np
    from PIL import Image

    hue, saturation, value = np.moveaxis(
        np.asarray(Image.fromarray(frame).convert("HSV")), -1, 0
    )
    away_deg = np.abs((hue * (360 / 256) - hue_deg + 180) % 360 - 180)
    has_colour = (saturation >= COLOURFUL) & (value >= COLOURFUL)
    return float(((away_deg <= HUE_WITHIN_DEG) & has_colour).mean())


# -- by a language model --------------------------------------------------------------


class JudgeError(ValueError):
    """An unusable response of a judge, and its cost.

    Args:
        problem: The defect of the response, as a sentence.
        cost_micro_usd: The charge of the judge for the response; None if unknown.
    """

    def __init__(self, problem: str, cost_micro_usd: int | None = None) -> None:
        super().__init__(problem, cost_micro_usd)
        self.cost_micro_usd = cost_micro_usd

    def __str__(self) -> str:
        return str(self.args[0])


class ModelJudge:
    """Judges outputs by a rubric, with a language model that sees pictures.

    It uses the chat completions interface, which most servers of language models have.
    The model sees the prompt and the output: a picture, or a few frames of a clip. If
    the server is busy (429, 502 to 504), the request is repeated a few times. To send
    several requests at once, score with a `ThreadPoolExecutor`. An output whose
    judgement fails has a problem; scoring again retries only those.

    The cost of a judgement is recorded if the server reports it (`usage.cost` in US
    dollars, as OpenRouter does, or the header `x-litellm-response-cost`), or if it
    counts tokens and `usd_per_million_tokens` is given; otherwise it is unknown. It
    counts against no budget.

    Args:
        base_url: The server, up to `/chat/completions`, such as
            `http://localhost:11434/v1`.
        model: The name of the model.
        rubric: The criteria, as a sentence by name; each name becomes a column of 1 to
            5.
        api_key: The key of that server, if it needs one; no output contains it.
        frames: The number of frames of a clip that it sees.
        options: Additional fields of the request, such as {"temperature": 0}.
        usd_per_million_tokens: The prices of a million tokens of the question and of
            the answer, such as ("0.15", "0.60").
        timeout_s: How long to wait for an answer.
        transport: An httpx transport, for proxies and tests.
        clock: The clock for pauses between retries, for tests.

    Raises:
        InputError: The rubric is empty, a name in it is taken, a price is not an
            amount, or no request can be made of the URL or the key.
        ServiceError: The environment names a proxy or certificates that are needed and
            cannot be used.
    """

    # Change this only when the question or the parsing of its answer changes: outputs
    # that another revision judged are judged, and paid for, again. The value is the
    # hash of the source in histories of version 11.
    revision = "e7e7f02c179f27c0"

    def __init__(
        self,
        base_url: str,
        model: str,
        rubric: Mapping[str, str],
        *,
        api_key: str | None = None,
        frames: int = SAMPLED_FRAMES,
        options: Mapping[str, Any] | None = None,
        usd_per_million_tokens: tuple[str | int | Decimal, str | int | Decimal]
        | None = None,
        timeout_s: float = MODEL_TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        reserved = {REASON, COST} | TAKEN
        given: object = rubric
        names = {*given} if isinstance(given, Mapping) else set[object]()
        if not names or reserved & names:
            accepted = (
                "a mapping of names to sentences, without the reserved names "
                f"{', '.join(sorted(reserved))}"
            )
            raise InputError("rubric", got=rubric, accepted=accepted)
        self.model = model
        self.rubric = dict(rubric)
        self.frames = frames
        self.options = dict(options or {})
        self._rates = _checked_rates(usd_per_million_tokens)
        self._api_key = api_key
        self._clock = clock or SystemClock()
        self._http = _model_client(
            _checked_base_url(base_url),
            transport,
            headers={"Authorization": f"Bearer {_checked_key(api_key)}"}
            if api_key
            else {},
            timeout=timeout_s,
        )

    def __repr__(self) -> str:
        return f"<ModelJudge {self.model}: {', '.join(self.rubric)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a ModelJudge has a key and open connections and cannot be pickled; "
            "use threads"
        )

    @property
    def version(self) -> str:
        """Return a version that depends on the model, the rubric and the settings."""
        url = shown_url(str(self._http.base_url))
        settings = [url, self.model, self.rubric, self.frames, self.options]
        return hash_of(json.dumps(settings))[:HASH_DIGITS]

    def __call__(
        self, path: Path, row: Mapping[str, Any]
    ) -> dict[str, float | str | None]:
        """Ask the model about one output.

        Raises:
            ServiceError: The server cannot be reached.
            JudgeError: The server rejects the request, or the answer is unusable; the
                error has its cost.
            ValueError: The output has no picture.
        """
        frames = sampled_colours(path, self.frames)
        if not frames:
            raise ValueError("it has no picture")
        try:
            answer = self._answer_to(self._asked(frames, row))
        except httpx.HTTPError as error:
            problem = f"the model cannot be reached ({type(error).__name__})"
            raise ServiceError(problem) from None
        cost_micro_usd = self._cost_micro_usd(answer)
        try:
            return {**self._judged(answer), COST: cost_micro_usd}
        except ValueError as error:
            raise JudgeError(str(error), cost_micro_usd) from None

    def _answer_to(self, question: Mapping[str, Any]) -> httpx.Response:
        """Send the request; repeat it a few times if the server is busy."""
        rejections = RejectionBackoff()
        while True:
            answer = self._http.post("chat/completions", json=question)
            if answer.status_code not in NO_TIME_NOW:
                return answer
            busy = HttpResponse(answer.status_code, answer.headers, answer.content)
            pause_s = rejections.pause_s(
                NO_TIME_NOW[answer.status_code], retry_after_s(busy) or 0.0
            )
            if pause_s is None:
                return answer
            io_thread().call(self._clock.sleep, pause_s)

    def _asked(self, frames: Sequence[Frame], row: Mapping[str, Any]) -> dict[str, Any]:
        points = "\n".join(f"- {name}: {what}" for name, what in self.rubric.items())
        text = f"Prompt: {row.get('prompt') or 'none'}\n\nRubric:\n{points}"
        pictures = [
            {"type": "image_url", "image_url": {"url": _data_url(frame)}}
            for frame in frames
        ]
        stars = {"type": "integer", "enum": list(STARS)}
        schema = {
            "type": "object",
            "properties": {
                **dict.fromkeys(self.rubric, stars),
                REASON: {"type": "string"},
            },
            "required": [*self.rubric, REASON],
            "additionalProperties": False,
        }
        shape = {"name": "judgement", "strict": True, "schema": schema}
        return {
            "model": self.model,
            "messages": [
                {"role": "system", "content": TASK},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": text}, *pictures],
                },
            ],
            "response_format": {"type": "json_schema", "json_schema": shape},
            **self.options,
        }

    def _cost_micro_usd(self, answer: httpx.Response) -> int | None:
        """Return the cost of a response; None if it is unknown."""
        try:
            usage = json.loads(answer.text, parse_float=Decimal)["usage"]
        except (KeyError, IndexError, TypeError, ValueError, RecursionError):
            usage = None
        usage = usage if isinstance(usage, Mapping) else {}
        for dollars in (answer.headers.get(RESPONSE_COST), usage.get("cost")):
            cost_micro_usd = _micro_usd(dollars)
            if cost_micro_usd is not None:
                return cost_micro_usd
        counts = [whole(usage.get(name)) for name in TOKENS]
        tokens = [count for count in counts if count is not None and count >= 0]
        if self._rates is None or len(tokens) < len(TOKENS):
            return None
        return divide_half_up(sum(map(mul, tokens, self._rates)), PER_MILLION)

    def _judged(self, answer: httpx.Response) -> dict[str, float | str]:
        text = answer.text
        if answer.is_error:
            if self._api_key:
                text = text.replace(self._api_key, "…")
            quote = quoted(text[:LONGEST_ANSWER])
            raise ValueError(f"the model's server sent {answer.status_code}: {quote}")
        try:
            content = str(json.loads(text)["choices"][0]["message"]["content"])
            # Some models wrap their JSON, whatever they are asked for.
            given = json.loads(content[content.index("{") : content.rindex("}") + 1])
            ratings = {name: float(given[name]) for name in self.rubric}
            reason = str(given[REASON])
        except (KeyError, IndexError, TypeError, ValueError):
            raise ValueError(
                f"the model did not answer as asked: {quoted(text[:LONGEST_ANSWER])}"
            ) from None
        for name, stars in ratings.items():
            if not STARS[0] <= stars <= STARS[-1]:
                raise ValueError(
                    f"the model gave {stars:g} for {name}; it must be from 1 to 5"
                )
        return {**ratings, REASON: reason}


def _checked_rates(prices: Any) -> tuple[int, int] | None:
    if prices is None:
        return None
    if isinstance(prices, Sequence) and len(prices) == len(TOKENS):
        with suppress(InputError):
            return parse_usd(prices[0]), parse_usd(prices[1])
    accepted = (
        "two amounts in US dollars, for the question and the answer, such as "
        '("0.15", "0.60")'
    )
    raise InputError("usd_per_million_tokens", got=prices, accepted=accepted)


def _micro_usd(value: object) -> int | None:
    """Round an amount of US dollars to a micro-USD; None if it is not an amount."""
    try:
        usd = Decimal(str(value))
    except InvalidOperation:
        return None
    if not usd.is_finite() or not 0 <= usd <= LARGEST_COST_USD:
        return None
    numerator, denominator = round(usd, 12).as_integer_ratio()
    return divide_half_up(numerator * MICRO_PER_USD, denominator)


def _model_client(
    base_url: str, transport: httpx.BaseTransport | None, **settings: Any
) -> httpx.Client:
    if transport is None:
        return http_client(base_url, base_url=base_url, **settings)
    return httpx.Client(
        base_url=base_url,
        transport=transport,
        trust_env=False,
        verify=False,
        **settings,
    )


def _checked_base_url(base_url: str) -> str:
    if web_url(base_url):
        with suppress(httpx.InvalidURL):
            return str(httpx.URL(base_url))
    accepted = "an http(s) URL without spaces or line breaks"
    raise InputError("base_url", got=base_url, accepted=accepted)


def _checked_key(api_key: str) -> str:
    if re.fullmatch(r"[!-~]+", api_key):
        return api_key
    raise InputError(
        "api_key",
        got=ValueDescription(
            "a key with a space, a line break or a non-ASCII character"
        ),
        accepted="the key alone, in printable ASCII",
    )


def _data_url(frame: Frame) -> str:
    from PIL import Image

    out = BytesIO()
    Image.fromarray(frame).save(out, "JPEG", quality=JPEG_QUALITY)
    return data_url(out.getvalue())
