"""Evicts the oldest files when a sandbox exceeds its disk limit (spec 4.18)."""

import re

from mediakit.sandbox.service import SandboxService
from mediakit.sandbox.store import jobs

BYTES_PER_GB = 10**9
CHECK_INTERVAL_S = 60.0
_OWN_NAME = re.compile(r"/files/([\w-]+)")


def evict_oldest_files(service: SandboxService) -> None:
    """Remove the oldest files until the size limit is met.

    The job of a removed output reads as erased (spec 4.18). Files of queued and running
    jobs are kept.
    """
    db = service.db
    now_us = service.clock.now_us()
    stale = _stale(service)
    # Update the rows first: after a kill in between, the next start removes the files.
    with db.transaction():
        for file in stale:
            job = jobs.find_by_file(db, file)
            if job is None:
                db.update("upload", {"file": file}, stored_us=None, expires_us=0)
            else:
                jobs.erase(db, job, now_us)
    for file in stale:
        service.files.remove(file)


def _stale(service: SandboxService) -> list[str]:
    db = service.db
    stored = jobs.stored_files(db)
    sizes = {row["file"]: service.files.size_bytes(row["file"]) for row in stored}
    surplus_bytes = sum(sizes.values()) - service.settings.keep_gb * BYTES_PER_GB
    bodies = jobs.unfinished_bodies(db)
    needed = {name for body in bodies for name in _OWN_NAME.findall(body)}
    stale: list[str] = []
    for row in stored:
        file = row["file"]
        if file not in needed and surplus_bytes > 0:
            surplus_bytes -= sizes[file]
            stale.append(file)
    return stale
