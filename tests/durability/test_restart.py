"""A kernel is killed between Generate and the result; nothing is lost or made twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

SUBMIT = """
import json, sys
import mediakit as mk
client = mk.connect()
job = client.submit("text-to-video", prompt="killed", duration=15, resolution="1080p")
print(json.dumps({"id": job.id, "status": job.status}), flush=True)
sys.stdin.read()
"""

RESUME = """
import json, sys
import mediakit as mk
client = mk.connect()
frame = client.history.frame()
job = client.job(frame.loc[0, "job_id"]).wait(120).settle(60)
again = client.submit(
    "text-to-video", prompt="killed", duration=15, resolution="1080p"
)
print(json.dumps({
    "rows": len(client.history.frame()),
    "id": job.id,
    "again": again.id,
    "status": job.status,
    "charge": job.charge_micro_usd,
    "spent": 100_000_000 - client.balance().balance_micro_usd,
    "jobs": int(client.spend.daily()["jobs"].sum()),
    "size": len(job.fetch_output(100_000_000)),
}), flush=True)
"""


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "MEDIAKIT_HOME": str(home)}


def last_line(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return answer


def test_a_killed_kernel_loses_no_job_and_makes_none_twice(tmp_path: Path) -> None:
    kernel = subprocess.Popen(
        [sys.executable, "-c", SUBMIT],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert kernel.stdout is not None
    kernel.stdout.readline()
    submitted = last_line(kernel.stdout.readline())
    kernel.send_signal(signal.SIGKILL)
    kernel.communicate(timeout=30)
    assert submitted["status"] in ("queued", "running")

    done = subprocess.run(
        [sys.executable, "-c", RESUME],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    after = last_line(done.stdout)
    assert after["rows"] == 1
    assert after["id"] == after["again"] == submitted["id"]
    assert after["status"] == "completed"
    assert after["charge"] == after["spent"] == 15 * 90_000
    assert after["jobs"] == 1
    assert after["size"] > 10_000
