"""A service with existing jobs and scripted responses about them."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.support.servers.loopback import Asked, LoopbackServer, Said

SETTLED = {"state": "settled", "charge_micro_usd": 340_000}
JOBS = "/v1/media/jobs"
NOT_HERE = Said({"message": "not found"}, status=404)


def completed(job_id: str) -> Said:
    """Return the response about a completed and settled job."""
    file = {"url": "http://media.test/kite.mp4", "content_type": "video/mp4"}
    output = {"media_type": "video", "video": file}
    record = {"id": job_id, "status": "completed", "output": output}
    return Said({**record, "billing": SETTLED})


def running(job_id: str) -> Said:
    """Return the response about a running job."""
    return Said({"id": job_id, "status": "running"})


class JobServer(LoopbackServer):
    """Serves reads of jobs while the block lasts.

    Args:
        say: Its response about a job, by id and number of earlier reads.
    """

    def __init__(self, say: Callable[[str, int], Said]) -> None:
        super().__init__()
        self._say = say
        self._reads: list[tuple[float, str]] = []

    def answer(self, asked: Asked) -> Said:
        folder, _, job_id = asked.path.rpartition("/")
        if folder != JOBS:
            return NOT_HERE
        with self.lock:
            before = sum(name == job_id for _, name in self._reads)
            self._reads.append((time.monotonic(), job_id))
        return self._say(job_id, before)

    @property
    def reads(self) -> list[tuple[float, str]]:
        """Return when each job was read, in monotonic seconds."""
        with self.lock:
            return list(self._reads)
