"""Removing old outputs and uploads, so that they do not fill the disk."""

import re

from mediakit.sandbox.core.service import Service
from mediakit.sandbox.scheduling.clock import US_PER_S
from mediakit.sandbox.store import jobs, uploads

BYTES_PER_GB = 10**9
US_PER_DAY = 86_400 * US_PER_S
LOOK_GAP_S = 60.0
_OWN_NAME = re.compile(r"/files/([\w-]+)")


def remove_old(service: Service) -> int:
    """Remove what is kept too long or is too much, oldest first.

    An output that is removed reads as if its job had been erased (spec 4.18). What a
    queued or running job names is left.

    Returns:
        When to look again, by the sandbox's clock.
    """
    db, now_us = service.db, service.clock.now_us()
    stale = _stale(service, now_us)
    # The rows first: killed in between, the next start removes the files.
    with db.transaction():
        for file in stale:
            job = jobs.find_by_file(db, file)
            if job is None:
                uploads.end(db, file)
            else:
                jobs.erase(db, job, now_us)
    for file in stale:
        service.files.remove(file)
    return now_us + round(LOOK_GAP_S * service.settings.speed * US_PER_S)


def _stale(service: Service, now_us: int) -> list[str]:
    settings, db = service.settings, service.db
    since_us = now_us - settings.keep_days * US_PER_DAY
    dated = sorted([*jobs.outputs(db), *uploads.stored_files(db)])
    sizes = {file: service.files.size_bytes(file) for _, file in dated}
    surplus_bytes = sum(sizes.values()) - settings.keep_gb * BYTES_PER_GB
    bodies = jobs.bodies_under_way(db)
    needed = {name for body in bodies for name in _OWN_NAME.findall(body)}
    stale: list[str] = []
    for at_us, file in dated:
        if file not in needed and (at_us < since_us or surplus_bytes > 0):
            surplus_bytes -= sizes[file]
            stale.append(file)
    return stale
