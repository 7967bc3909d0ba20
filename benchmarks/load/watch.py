"""Submits many jobs and watches them until they end, in its own process.

It reads its settings as JSON from standard input (`who`, `base_url`, `jobs`, `home`)
and writes the measurements as JSON: seconds, processor seconds, and how many threads
and processes it started.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

KEY = "a-key-for-the-benchmark"
KIND = "text-to-video"
POLL_S = 0.5  # the fixed pause of two SDKs of other services
AT_ONCE = 50


class Meter:
    """Measures the resources used between the two calls."""

    def start(self) -> None:
        self._threads = threading.active_count()
        self._wall_s, self._cpu_s = time.monotonic(), time.process_time()

    def found(self) -> dict[str, Any]:
        return {
            "seconds": time.monotonic() - self._wall_s,
            "cpu_seconds": time.process_time() - self._cpu_s,
            "threads": threading.active_count() - self._threads,
            "children": len(multiprocessing.active_children()),
        }


def ours(order: dict[str, Any], meter: Meter) -> dict[str, Any]:
    import mediakit

    async def submit_all(client: mediakit.AsyncClient) -> list[Any]:
        room = asyncio.Semaphore(AT_ONCE)

        async def submit(number: int) -> Any:
            async with room:
                return await client.submit(KIND, prompt=f"kite {number}", duration=3)

        return await asyncio.gather(*(submit(n) for n in range(order["jobs"])))

    async def watch() -> dict[str, Any]:
        home, catalog = order["home"], mediakit.Catalog.default()
        async with mediakit.AsyncClient(
            order["base_url"], KEY, home=home, catalog=catalog
        ) as client:
            jobs = await submit_all(client)
            meter.start()
            await asyncio.gather(*(job.settle() for job in jobs))
            return meter.found()

    with asyncio.Runner() as runner:
        return runner.run(watch())


def a_loop_each(order: dict[str, Any], meter: Meter) -> dict[str, Any]:
    import httpx

    headers = {"X-API-Key": KEY}

    async def poll(http: httpx.AsyncClient, job_id: str) -> None:
        while True:
            answer = await http.get(f"/v1/media/jobs/{job_id}")
            if answer.json()["status"] == "completed":
                return
            await asyncio.sleep(POLL_S)

    async def watch() -> dict[str, Any]:
        async with httpx.AsyncClient(
            base_url=order["base_url"], headers=headers, timeout=None
        ) as http:
            jobs = [
                (await http.post(f"/v1/media/{KIND}", json={"prompt": str(n)})).json()
                for n in range(order["jobs"])
            ]
            meter.start()
            await asyncio.gather(*(poll(http, job["id"]) for job in jobs))
            return meter.found()

    with asyncio.Runner() as runner:
        return runner.run(watch())


WHO: dict[str, Callable[[dict[str, Any], Meter], dict[str, Any]]] = {
    "mediakit": ours,
    "a loop each": a_loop_each,
}


def main() -> None:
    """Run with the settings from standard input."""
    order = json.load(sys.stdin)
    print(json.dumps(WHO[order["who"]](order, Meter())))


if __name__ == "__main__":
    main()
