"""Submits jobs and reads them, with one client in one way.

It reads its settings as JSON from standard input: `client`, `way` ("one, blocking",
"one, async", "50 threads" or "50 tasks"), `base_url`, `pairs` and `home`, an empty
folder. It writes as JSON how many seconds and processor seconds the pairs took, and
which of them failed.
"""

# mypy: disable-error-code="import-not-found"
# The SDKs are installed in their own environment.

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

AT_ONCE = 50
WARM_UP_PAIRS = 20
KEY = "a-key-for-the-benchmark"
BODY = {"prompt": "a kite over dunes", "duration": 3}
OUR_PATH = "/v1/media/sandbox/text-to-video/text-to-video"
JOBS = "/v1/media/jobs"

Pair = Callable[[int], object]
AsyncPair = Callable[[int], Awaitable[object]]
Settings = dict[str, Any]

# What is not installed under the name that it is imported by.
DISTRIBUTIONS = {"mediakit": "jupyter-mediakit"}

# The raw httpx clients keep enough connections for 50 concurrent requests. The SDKs and
# mediakit run with their defaults.


def httpx_blocking(settings: Settings) -> Pair:
    import httpx

    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    http = httpx.Client(
        base_url=settings["base_url"], headers={"X-API-Key": KEY}, limits=limits
    )

    def pair(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        job = http.post(OUR_PATH, json=BODY, headers=headers).json()
        http.get(f"{JOBS}/{job['id']}").json()

    return pair


def httpx_async(settings: Settings) -> AsyncPair:
    import httpx

    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    http = httpx.AsyncClient(
        base_url=settings["base_url"], headers={"X-API-Key": KEY}, limits=limits
    )

    async def pair(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        job = (await http.post(OUR_PATH, json=BODY, headers=headers)).json()
        (await http.get(f"{JOBS}/{job['id']}")).json()

    return pair


def aiohttp_async(settings: Settings) -> AsyncPair:
    import aiohttp

    http = aiohttp.ClientSession(settings["base_url"], headers={"X-API-Key": KEY})

    async def pair(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        async with http.post(OUR_PATH, json=BODY, headers=headers) as response:
            job = await response.json()
        async with http.get(f"{JOBS}/{job['id']}") as response:
            await response.json()

    return pair


def ours_blocking(settings: Settings) -> Pair:
    import mediakit

    client = mediakit.Client(
        settings["base_url"],
        KEY,
        home=settings["home"],
        catalog=mediakit.Catalog.default(),
    )

    def pair(number: int) -> None:
        prompt = f"{BODY['prompt']} {number}"
        job = client.submit("text-to-video", prompt=prompt, duration=3).refresh()
        assert job.charge_micro_usd == 204_000

    return pair


def ours_async(settings: Settings) -> AsyncPair:
    import mediakit

    client = mediakit.AsyncClient(
        settings["base_url"],
        KEY,
        home=settings["home"],
        catalog=mediakit.Catalog.default(),
    )

    async def pair(number: int) -> None:
        prompt = f"{BODY['prompt']} {number}"
        job = await client.submit("text-to-video", prompt=prompt, duration=3)
        await job.refresh()
        assert job.state.charge_micro_usd == 204_000

    return pair


def fal_blocking(settings: Settings) -> Pair:
    import fal_client

    fal_client.client.QUEUE_URL_FORMAT = f"{settings['base_url']}/fal/"
    client = fal_client.SyncClient(key=KEY)
    return lambda _: client.submit("maker/model", arguments=BODY).status()


def fal_async(settings: Settings) -> AsyncPair:
    import fal_client

    fal_client.client.QUEUE_URL_FORMAT = f"{settings['base_url']}/fal/"
    client = fal_client.AsyncClient(key=KEY)

    async def pair(_: int) -> None:
        await (await client.submit("maker/model", arguments=BODY)).status()

    return pair


def openai_blocking(settings: Settings) -> Pair:
    import openai

    client = openai.OpenAI(api_key=KEY, base_url=f"{settings['base_url']}/openai/v1")
    return lambda _: client.videos.retrieve(
        client.videos.create(prompt=BODY["prompt"]).id
    )


def openai_async(settings: Settings) -> AsyncPair:
    import openai

    base_url = f"{settings['base_url']}/openai/v1"
    client = openai.AsyncOpenAI(api_key=KEY, base_url=base_url)

    async def pair(_: int) -> None:
        await client.videos.retrieve(
            (await client.videos.create(prompt=BODY["prompt"])).id
        )

    return pair


def replicate_blocking(settings: Settings) -> Pair:
    import replicate

    client = replicate.Client(KEY, base_url=f"{settings['base_url']}/replicate")
    return lambda _: client.predictions.get(
        client.predictions.create(version="v", input=BODY).id
    )


def replicate_async(settings: Settings) -> AsyncPair:
    import replicate

    client = replicate.Client(KEY, base_url=f"{settings['base_url']}/replicate")

    async def pair(_: int) -> None:
        made = await client.predictions.async_create(version="v", input=BODY)
        await client.predictions.async_get(made.id)

    return pair


def genai_client(settings: Settings) -> Any:
    from google import genai

    options = genai.types.HttpOptions(base_url=f"{settings['base_url']}/genai")
    # Videos are generated in this mode. It reads an operation with a POST.
    return genai.Client(vertexai=True, api_key=KEY, http_options=options)


def genai_blocking(settings: Settings) -> Pair:
    client = genai_client(settings)
    return lambda _: client.operations.get(
        client.models.generate_videos(model="veo", prompt=BODY["prompt"])
    )


def genai_async(settings: Settings) -> AsyncPair:
    client = genai_client(settings).aio

    async def pair(_: int) -> None:
        begun = await client.models.generate_videos(model="veo", prompt=BODY["prompt"])
        await client.operations.get(begun)

    return pair


BLOCKING: dict[str, Callable[[Settings], Pair]] = {
    "httpx": httpx_blocking,
    "mediakit": ours_blocking,
    "fal-client": fal_blocking,
    "openai": openai_blocking,
    "replicate": replicate_blocking,
    "google-genai": genai_blocking,
}
ASYNC: dict[str, Callable[[Settings], AsyncPair]] = {
    "httpx": httpx_async,
    "aiohttp": aiohttp_async,
    "mediakit": ours_async,
    "fal-client": fal_async,
    "openai": openai_async,
    "replicate": replicate_async,
    "google-genai": genai_async,
}


class Stopwatch:
    """Measures the time after the warm-up, and collects failures."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def start(self) -> None:
        self.failed.clear()
        # Otherwise one collection of all that was imported, 60 ms for ours, falls among
        # a few hundred pairs.
        gc.collect()
        self._began_s, self._cpu_s = time.perf_counter(), time.process_time()

    def report(self) -> dict[str, object]:
        return {
            "seconds": time.perf_counter() - self._began_s,
            "cpu_seconds": time.process_time() - self._cpu_s,
            "failed": self.failed,
        }


def warm_up(at_once: int) -> int:
    """Return how many pairs open all connections and fill all caches."""
    return max(WARM_UP_PAIRS, 2 * at_once)


def finish(settings: Settings, report: dict[str, object]) -> None:
    """Write the report and exit at once, without closing the client."""
    distribution = DISTRIBUTIONS.get(settings["client"], settings["client"])
    print(json.dumps({**report, "version": version(distribution)}), flush=True)
    os._exit(0)


def blocking(pair: Pair, settings: Settings, threads: int) -> None:
    """Run pairs one after another, or on threads that share one client."""
    stopwatch = Stopwatch()

    def attempt(number: int) -> None:
        try:
            pair(number)
        except Exception as error:  # noqa: BLE001 - each client has its own errors
            stopwatch.failed.append(f"{type(error).__name__}: {error}")

    with ThreadPoolExecutor(threads) as pool:
        run: Callable[[Pair, range], Iterator[object]]
        run = map if threads == 1 else pool.map
        first = warm_up(threads)
        list(run(attempt, range(first)))
        stopwatch.start()
        list(run(attempt, range(first, first + settings["pairs"])))
        finish(settings, stopwatch.report())


async def in_tasks(
    make: Callable[[Settings], AsyncPair], settings: Settings, tasks: int
) -> None:
    """Run pairs in this many tasks that share one client."""
    pair, stopwatch = make(settings), Stopwatch()

    async def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            try:
                await pair(number)
            except Exception as error:  # noqa: BLE001 - each client has its own errors
                stopwatch.failed.append(f"{type(error).__name__}: {error}")

    async def run_all(numbers: Iterator[int]) -> None:
        await asyncio.gather(*(work(numbers) for _ in range(tasks)))

    first = warm_up(tasks)
    await run_all(iter(range(first)))
    stopwatch.start()
    await run_all(iter(range(first, first + settings["pairs"])))
    finish(settings, stopwatch.report())


def main() -> None:
    """Measure one client in one way."""
    warnings.simplefilter("ignore")  # the SDKs' deprecations do not matter here
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    settings = json.load(sys.stdin)
    name, way = settings["client"], settings["way"]
    at_once = AT_ONCE if way.startswith(str(AT_ONCE)) else 1
    if way.endswith(("async", "tasks")):
        asyncio.run(in_tasks(ASYNC[name], settings, at_once))  # noqa: TID251
    else:
        blocking(BLOCKING[name](settings), settings, at_once)


if __name__ == "__main__":
    main()
