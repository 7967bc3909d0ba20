"""The data of the status page: the sandbox at one moment, without secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Row
from urllib.parse import urlsplit

from mediakit.money import format_usd
from mediakit.sandbox.core.service import Service
from mediakit.sandbox.faults.active_faults import Fault
from mediakit.sandbox.scheduling.clock import to_instant
from mediakit.sandbox.store import jobs
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.events import deliveries as webhooks
from mediakit.sandbox.store.events.deliveries import DeliveryRow, Page
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.store.limits import left_micro_usd

SHOWN_JOBS = 20
SHOWN_DELIVERIES = 10


@dataclass(frozen=True)
class Organization:
    """An organization: what it can spend, and its running and queued jobs."""

    id: str
    name: str
    money: str
    running_n: int
    queued_n: int
    suspended: bool


@dataclass(frozen=True)
class Trouble:
    """A pending or failed delivery."""

    delivery: DeliveryRow
    organization: str
    receiver: str
    reason: str


@dataclass(frozen=True)
class Overview:
    """Everything that the status page shows.

    Args:
        base_url: The sandbox's URL.
        now: Its time.
        ahead_s: How far its time is ahead of this machine's, seconds.
        speed: The speed of its clock.
        organizations: All organizations, the default one first.
        jobs: The latest jobs, newest first.
        deliveries: The number of deliveries by status.
        troubles: The pending and failed deliveries, newest first.
        faults: The faults in force.
    """

    base_url: str
    now: datetime
    ahead_s: float
    speed: float
    organizations: list[Organization]
    jobs: list[JobRow]
    deliveries: Mapping[str, int]
    troubles: list[Trouble]
    faults: list[Fault]

    def name_of(self, org_id: str) -> str:
        """Return the name of an organization; its id when there is none."""
        return next((o.name for o in self.organizations if o.id == org_id), org_id)


def overview(service: Service) -> Overview:
    """Read everything that the status page shows."""
    db = service.db
    orgs = db.rows("SELECT * FROM org ORDER BY rowid")
    latest = [job for o in orgs for job in jobs.latest(db, o["id"], SHOWN_JOBS)]
    latest.sort(key=lambda job: job.created_us, reverse=True)
    counts = db.rows("SELECT status, count(*) AS n FROM delivery GROUP BY status")
    return Overview(
        base_url=service.base_url,
        now=service.clock.now(),
        ahead_s=service.clock.ahead_s(),
        speed=service.settings.speed,
        organizations=[_organization(service, org) for org in orgs],
        jobs=latest[:SHOWN_JOBS],
        deliveries={row["status"]: row["n"] for row in counts},
        troubles=_troubles(db, orgs),
        faults=service.faults.in_force(),
    )


def _organization(service: Service, org: Row) -> Organization:
    money = format_usd(org["balance_micro_usd"])
    if org["mode"] == "postpaid":
        left = left_micro_usd(service.db, org, service.clock.now_us())
        limit = format_usd(org["cycle_limit_micro_usd"])
        money = f"{format_usd(max(0, left))} of {limit} left in this cycle"
    return Organization(
        id=org["id"],
        name=org["name"],
        money=money,
        running_n=org["running_n"],
        queued_n=org["queued_n"],
        suspended=bool(org["suspended"]),
    )


def _troubles(db: Database, orgs: list[Row]) -> list[Trouble]:
    pages = [Page(status=s, limit=SHOWN_DELIVERIES) for s in ("pending", "failed")]
    found = [
        _trouble(db, org["name"], delivery)
        for org in orgs
        for page in pages
        for delivery in webhooks.listed(db, org["id"], page)
    ]
    found.sort(key=lambda trouble: trouble.delivery.seq, reverse=True)
    return found[:SHOWN_DELIVERIES]


def _trouble(db: Database, organization: str, delivery: DeliveryRow) -> Trouble:
    attempts = webhooks.attempts_of(db, delivery.id)
    reason = (attempts[-1].reason or "") if attempts else ""
    # The path and the query of a receiver's URL often are a secret.
    host = urlsplit(delivery.url).netloc.rpartition("@")[2]
    return Trouble(delivery, organization, host, reason)


def utc(us: int) -> str:
    """Format an instant for people, in UTC."""
    return to_instant(us).strftime("%Y-%m-%d %H:%M:%S")
