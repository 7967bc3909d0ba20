"""Submits a job and reads it, again and again, by one client in one way.

It reads an order as JSON from its input: `client`, `way` ("one, blocking", "one,
async", "50 threads" or "50 tasks"), `base_url`, `pairs` and `home`, an empty folder. It
writes as JSON the seconds, the processor seconds, and how pairs failed.
"""

from __future__ import annotations

import asyncio
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
Order = dict[str, Any]

# Where a client has limits of its own they are raised to what 50 at once need.


def httpx_blocking(order: Order) -> Pair:
    import httpx

    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    http = httpx.Client(
        base_url=order["base_url"], headers={"X-API-Key": KEY}, limits=limits
    )

    def pair(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        job = http.post(OUR_PATH, json=BODY, headers=headers).json()
        http.get(f"{JOBS}/{job['id']}").json()

    return pair


def httpx_async(order: Order) -> AsyncPair:
    import httpx

    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    http = httpx.AsyncClient(
        base_url=order["base_url"], headers={"X-API-Key": KEY}, limits=limits
    )

    async def pair(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        job = (await http.post(OUR_PATH, json=BODY, headers=headers)).json()
        (await http.get(f"{JOBS}/{job['id']}")).json()

    return pair


def httpx_on_aiohttp(order: Order) -> AsyncPair:
    import httpx
    from httpx_aiohttp import AiohttpTransport

    http = httpx.AsyncClient(
        base_url=order["base_url"],
        headers={"X-API-Key": KEY},
        transport=AiohttpTransport(),
    )

    async def pair(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        job = (await http.post(OUR_PATH, json=BODY, headers=headers)).json()
        (await http.get(f"{JOBS}/{job['id']}")).json()

    return pair


def aiohttp_async(order: Order) -> AsyncPair:
    import aiohttp

    http = aiohttp.ClientSession(order["base_url"], headers={"X-API-Key": KEY})

    async def pair(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        async with http.post(OUR_PATH, json=BODY, headers=headers) as response:
            job = await response.json()
        async with http.get(f"{JOBS}/{job['id']}") as response:
            await response.json()

    return pair


def ours_blocking(order: Order) -> Pair:
    import mediakit

    client = mediakit.Client(
        order["base_url"],
        KEY,
        home=order["home"],
        catalog=mediakit.Catalog.default(),
    )

    def pair(number: int) -> None:
        prompt = f"{BODY['prompt']} {number}"
        job = client.submit("text-to-video", prompt=prompt, duration=3).refresh()
        assert job.charge_micro_usd == 204_000

    return pair


def ours_async(order: Order) -> AsyncPair:
    import mediakit

    client = mediakit.AsyncClient(
        order["base_url"],
        KEY,
        home=order["home"],
        catalog=mediakit.Catalog.default(),
    )

    async def pair(number: int) -> None:
        prompt = f"{BODY['prompt']} {number}"
        job = await client.submit("text-to-video", prompt=prompt, duration=3)
        await job.refresh()
        assert job.state.charge_micro_usd == 204_000

    return pair


def fal_blocking(order: Order) -> Pair:
    import fal_client

    fal_client.client.QUEUE_URL_FORMAT = f"{order['base_url']}/fal/"
    client = fal_client.SyncClient(key=KEY)
    return lambda _: client.submit("maker/model", arguments=BODY).status()


def fal_async(order: Order) -> AsyncPair:
    import fal_client

    fal_client.client.QUEUE_URL_FORMAT = f"{order['base_url']}/fal/"
    client = fal_client.AsyncClient(key=KEY)

    async def pair(_: int) -> None:
        await (await client.submit("maker/model", arguments=BODY)).status()

    return pair


def openai_blocking(order: Order) -> Pair:
    import openai

    client = openai.OpenAI(api_key=KEY, base_url=f"{order['base_url']}/openai/v1")
    return lambda _: client.videos.retrieve(
        client.videos.create(prompt=BODY["prompt"]).id
    )


def openai_async(order: Order) -> AsyncPair:
    import openai

    client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{order['base_url']}/openai/v1")

    async def pair(_: int) -> None:
        await client.videos.retrieve(
            (await client.videos.create(prompt=BODY["prompt"])).id
        )

    return pair


def replicate_blocking(order: Order) -> Pair:
    import replicate

    client = replicate.Client(KEY, base_url=f"{order['base_url']}/replicate")
    return lambda _: client.predictions.get(
        client.predictions.create(version="v", input=BODY).id
    )


def replicate_async(order: Order) -> AsyncPair:
    import replicate

    client = replicate.Client(KEY, base_url=f"{order['base_url']}/replicate")

    async def pair(_: int) -> None:
        made = await client.predictions.async_create(version="v", input=BODY)
        await client.predictions.async_get(made.id)

    return pair


def genai_client(order: Order) -> Any:
    from google import genai

    options = genai.types.HttpOptions(base_url=f"{order['base_url']}/genai")
    # The mode that makes videos; it reads an operation by a POST.
    return genai.Client(vertexai=True, api_key=KEY, http_options=options)


def genai_blocking(order: Order) -> Pair:
    client = genai_client(order)
    return lambda _: client.operations.get(
        client.models.generate_videos(model="veo", prompt=BODY["prompt"])
    )


def genai_async(order: Order) -> AsyncPair:
    client = genai_client(order).aio

    async def pair(_: int) -> None:
        begun = await client.models.generate_videos(model="veo", prompt=BODY["prompt"])
        await client.operations.get(begun)

    return pair


BLOCKING: dict[str, Callable[[Order], Pair]] = {
    "httpx": httpx_blocking,
    "mediakit": ours_blocking,
    "fal-client": fal_blocking,
    "openai": openai_blocking,
    "replicate": replicate_blocking,
    "google-genai": genai_blocking,
}
ASYNC: dict[str, Callable[[Order], AsyncPair]] = {
    "httpx": httpx_async,
    "httpx-aiohttp": httpx_on_aiohttp,
    "aiohttp": aiohttp_async,
    "mediakit": ours_async,
    "fal-client": fal_async,
    "openai": openai_async,
    "replicate": replicate_async,
    "google-genai": genai_async,
}


class Watch:
    """Counts pairs and takes the time from the first after the warm-up."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def start(self) -> None:
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


def finish(order: Order, report: dict[str, object]) -> None:
    """Write the report and end; clients that watch, or keep threads, are left."""
    print(json.dumps({**report, "version": version(order["client"])}), flush=True)
    os._exit(0)


def blocking(pair: Pair, order: Order, threads: int) -> None:
    """Run pairs one after another, or on threads that share one client."""
    watch = Watch()

    def careful(number: int) -> None:
        try:
            pair(number)
        except Exception as error:  # noqa: BLE001 - whatever a client may raise
            watch.failed.append(f"{type(error).__name__}: {error}")

    with ThreadPoolExecutor(threads) as pool:
        run: Callable[[Pair, range], Iterator[object]]
        run = map if threads == 1 else pool.map
        first = warm_up(threads)
        list(run(pair, range(first)))
        watch.start()
        list(run(careful, range(first, first + order["pairs"])))
        finish(order, watch.report())


async def in_tasks(
    make: Callable[[Order], AsyncPair], order: Order, tasks: int
) -> None:
    """Run pairs in so many tasks that share one client."""
    pair, watch = make(order), Watch()

    async def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            try:
                await pair(number)
            except Exception as error:  # noqa: BLE001 - whatever a client may raise
                watch.failed.append(f"{type(error).__name__}: {error}")

    async def all_of(numbers: Iterator[int]) -> None:
        await asyncio.gather(*(work(numbers) for _ in range(tasks)))

    first = warm_up(tasks)
    await all_of(iter(range(first)))
    watch.failed.clear()
    watch.start()
    await all_of(iter(range(first, first + order["pairs"])))
    finish(order, watch.report())


def main() -> None:
    """Do what is ordered."""
    warnings.simplefilter("ignore")  # a peer's deprecations are not the question
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    order = json.load(sys.stdin)
    name, way = order["client"], order["way"]
    at_once = AT_ONCE if way.startswith(str(AT_ONCE)) else 1
    if way.endswith(("async", "tasks")):
        asyncio.run(in_tasks(ASYNC[name], order, at_once))  # noqa: TID251
    else:
        blocking(BLOCKING[name](order), order, at_once)


if __name__ == "__main__":
    main()
