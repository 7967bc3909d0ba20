"""Count the reads for five hundred jobs, with polling and with events.

    python benchmarks/listening.py

It runs real jobs on a real sandbox and counts every request to the server, until each
job has ended and its charge is in the history. Most jobs fail on purpose, so that
rendering takes no time.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mediakit import Client, Job
from mediakit.client.events.listener import Listener
from mediakit.client.http.exchange import Answer
from mediakit.errors import JobFailedError
from mediakit.sandbox.server.running import Sandbox, start

JOBS = 500
RENDERED_EVERY = 25
PATIENCE_S = 600.0


def reads_of(client: Client) -> Counter[str]:
    """Count the requests to the service from now on, by method."""
    found: Counter[str] = Counter()
    http = client.core._transport._http
    send = http.send

    async def counted(method: str, url: str, **more: Any) -> Answer:
        found[f"{method} {'jobs' if '/jobs/' in url else 'other'}"] += 1
        return await send(method, url, **more)

    http.send = counted  # type: ignore[method-assign]
    return found


def submitted(client: Client, prompt: str) -> Job:
    """Submit a job; a job that fails before its response arrives counts, too."""
    try:
        return client.submit("text-to-video", prompt=prompt, duration=3)
    except JobFailedError as error:
        return client.job(error.job.id)


def measured(folder: Path, *, listens: bool) -> str:
    """Run the jobs until they are charged; return the line of the table."""
    running = start(
        Sandbox(
            folder / "data",
            allow_loopback_callbacks=True,
            balance_micro_usd=1_000_000_000,
            queue_size=JOBS,
        )
    )
    with Client(running.base_url, running.api_key, home=folder / "home") as client:
        listener: Listener | None = client.listen() if listens else None
        found, began_s = reads_of(client), time.perf_counter()
        jobs = []
        for number in range(JOBS):
            fails = "" if number % RENDERED_EVERY == 0 else "sandbox:fail=timed_out"
            prompt = f"a kite {number} {fails}"
            jobs.append(submitted(client, prompt))
        for job in jobs:
            with suppress(JobFailedError):
                job.wait(PATIENCE_S)
        ended_s, ended_n = time.perf_counter() - began_s, found["GET jobs"]
        for job in jobs:
            job.settle(PATIENCE_S)
        settled_s = time.perf_counter() - began_s
        reads_n = sum(n for kind, n in found.items() if kind.startswith("GET"))
        heard_n = len(listener.events) if listener else 0
    running.stop()
    how = "events" if listens else "polled"
    return (
        f"{how:8} all ended after {ended_s:5.1f} s ({ended_n} job reads until then), "
        f"all settled after {settled_s:5.1f} s; {reads_n} reads in all, "
        f"{heard_n} events"
    )


def main() -> None:
    for listens in (True, False):
        with TemporaryDirectory() as folder:
            print(measured(Path(folder), listens=listens), flush=True)


if __name__ == "__main__":
    main()
