"""A kernel killed between Generate and the result loses no job and repeats none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support import zygote
from tests.support.sketches import SKETCH

SUBMIT = """
import json, sys
import mediakit as mk
client = mk.connect()
job = client.submit("text-to-video", prompt="killed", duration=3)
print(json.dumps({"id": job.id, "status": job.status}), flush=True)
sys.stdin.read()
"""

RESUME = """
import json, sys
import mediakit as mk
client = mk.connect()
frame = client.history.frame()
job = client.job(frame.loc[0, "job_id"]).wait().settle()
again = client.submit("text-to-video", prompt="killed", duration=3)
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


def last_line(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return answer


def test_a_killed_kernel_loses_no_job_and_makes_none_twice(tmp_path: Path) -> None:
    home = {"MEDIAKIT_HOME": str(tmp_path)}
    kernel = zygote.start(SKETCH + SUBMIT, environment=home)
    kernel.stdout.readline()
    submitted = last_line(kernel.stdout.readline())
    kernel.kill()
    kernel.finish()
    assert submitted["status"] in ("queued", "running")

    resuming = zygote.start(SKETCH + RESUME, environment=home)
    said, errors = resuming.finish()

    assert resuming.returncode == 0, errors
    after = last_line(said)
    assert after["rows"] == 1
    assert after["id"] == after["again"] == submitted["id"]
    assert after["status"] == "completed"
    assert after["charge"] == after["spent"] == 204_000
    assert after["jobs"] == 1
    assert after["size"] > 1_000
