"""A thousand jobs watched at once by one process, over real HTTP.

The jobs end at random times, and a service in its own process records each read. For
comparison, the way of such services' SDKs: a loop for each job with a fixed pause of
half a second.

An interval is the time between two reads of a job. It should be at most five seconds,
or the time that all watched jobs need at the steady rate: the share is the delay of a
job's end as a multiple of that.

Limits: never more reads in any second than the budget; every end seen within twice the
interval; less than a quarter of a core; no additional thread or process.
"""

from __future__ import annotations

import bisect
import json
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from mediakit.client.polling import JITTER, MAX_INTERVAL_S, READS_PER_S, ReadLimiter

JOBS = 1_000
RUNS_S = (10.0, 60.0)
LIMIT_OF_GAP = 2.0
LIMIT_OF_CORE = 0.25
LOAD = Path(__file__).parent / "load"


@contextmanager
def service() -> Iterator[str]:
    command = [sys.executable, str(LOAD / "ending_jobs.py"), *map(str, RUNS_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.terminate()


def watched(who: str, base_url: str) -> dict[str, Any]:
    """Watch the jobs; return the measurements and what the service recorded."""
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
        order = {"who": who, "base_url": base_url, "jobs": JOBS, "home": home}
        done = subprocess.run(
            [sys.executable, str(LOAD / "watch.py")],
            input=json.dumps(order),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    with urllib.request.urlopen(f"{base_url}/report") as report:
        found.update(json.load(report))
    return found


def most_in_a_second(reads: list[tuple[float, str]]) -> int:
    times_s = [at_s for at_s, _ in reads]
    return max(
        bisect.bisect_left(times_s, at_s + 1.0) - number
        for number, at_s in enumerate(times_s)
    )


def ends_seen(found: dict[str, Any]) -> list[tuple[float, float]]:
    """Return for each job how late its end was seen, and its share of the interval."""
    times_s = {job_id: [at_s] for job_id, at_s in found["begins"].items()}
    for at_s, job_id in found["reads"]:
        times_s[job_id].append(at_s)
    last_s = sorted(times[-1] for times in times_s.values())
    seen = []
    for job_id, times in times_s.items():
        end_s = found["ends"][job_id]
        before_s, after_s = next((a, b) for a, b in pairwise(times) if b >= end_s)
        others = JOBS - bisect.bisect_left(last_s, before_s)
        round_s = others * ReadLimiter().interval_s
        gap_s = max(MAX_INTERVAL_S * (1 + JITTER), round_s)
        seen.append((after_s - end_s, (after_s - before_s) / gap_s))
    return seen


def report(who: str, found: dict[str, Any]) -> tuple[int, float, float]:
    """Print the results; return reads per second, share of interval, share of core."""
    seen = ends_seen(found)
    late_s = sorted(late for late, _ in seen)
    reads, cpu_s = len(found["reads"]), found["cpu_seconds"]
    most, share = most_in_a_second(found["reads"]), max(share for _, share in seen)
    core = cpu_s / found["seconds"]
    print(
        f"  {who:12} {reads:7,} reads, at most {most} in a second; ends seen after "
        f"{statistics.median(late_s):.1f} s (90 %: {late_s[len(late_s) * 9 // 10]:.1f} "
        f"s, all: {late_s[-1]:.1f} s)\n{'':15}{core:.0%} of a core for "
        f"{found['seconds']:.0f} s, {1_000 * cpu_s / reads:.1f} ms a read; "
        f"{found['threads']} threads and {found['children']} processes more than before"
    )
    return most, share, core


def main() -> int:
    """Watch in turn, print the table, and return the exit status."""
    low_s, high_s = RUNS_S
    print(f"{JOBS:,} jobs that end after {low_s:g} to {high_s:g} s")
    with service() as base_url:
        ours = watched("mediakit", base_url)
        most, share, core = report("mediakit", ours)
        report("a loop each", watched("a loop each", base_url))
    limits = [
        most <= READS_PER_S,
        share <= LIMIT_OF_GAP,
        core < LIMIT_OF_CORE,
        ours["threads"] == ours["children"] == 0,
    ]
    print(
        f"  mediakit: {most} reads in a second (at most {READS_PER_S:g}), an end after "
        f"{share:.2f} intervals (at most {LIMIT_OF_GAP:g}), {core:.0%} of a core (less "
        f"than {LIMIT_OF_CORE:.0%}), no additional thread or process"
    )
    return 0 if all(limits) else 1


if __name__ == "__main__":
    raise SystemExit(main())
