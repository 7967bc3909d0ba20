"""Everything that the parts of one running sandbox share."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from starlette.requests import Request

from mediakit.catalog import Catalog
from mediakit.sandbox.core.files import Files
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.timekeeper import TimedWork, Timekeeper
from mediakit.sandbox.core.upload_signing import Signer
from mediakit.sandbox.faults.active import Faults
from mediakit.sandbox.scheduling.alarm import Alarm
from mediakit.sandbox.scheduling.clock import SandboxClock
from mediakit.sandbox.scheduling.health import Health
from mediakit.sandbox.settings import Sandbox, is_loopback
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.organizations.keys import Caller, find_caller

Pause = Callable[[], AbstractAsyncContextManager[None]]

UNKNOWN_KEY = "The API key is not known here."


@dataclass(frozen=True)
class Service:
    """One running sandbox.

    Args:
        settings: What was chosen about it.
        base_url: Where it serves, without a slash at the end.
        identity: What it is called for as long as its data directory lives.
        db: What must not be lost.
        files: Outputs and uploads.
        clock: The sandbox's time.
        catalog: The functions that it serves.
        signer: Signs upload URLs.
        starts: Rings when a job may start.
        settlements: Rings when a charge is pending.
        deliveries: Rings when a delivery may be due.
        removals: Rings when old files may have to go.
        faults: What was scripted to go wrong.
        timekeeper: Moves the clock forwards.
        open_accounts: Makes the default organization with its key, where missing.
        health: What fails at the moment.
        pauses: Each holds a kind of work still, and what was under way is cut off.
    """

    settings: Sandbox
    base_url: str
    identity: str
    db: Database
    files: Files
    clock: SandboxClock
    catalog: Catalog
    signer: Signer
    starts: Alarm
    settlements: Alarm
    deliveries: Alarm
    removals: Alarm
    faults: Faults
    timekeeper: Timekeeper
    # It knows the key.
    open_accounts: Callable[[], None] = field(repr=False)
    health: Health = field(default_factory=Health)
    pauses: list[Pause] = field(default_factory=list)

    @property
    def timed(self) -> list[TimedWork]:
        """Return the work that the clock makes due; who does a kind adds it here."""
        return self.timekeeper.works

    def ring_all(self) -> None:
        """Wake every loop that waits for the clock, because it was moved."""
        alarms = (self.starts, self.settlements, self.deliveries, self.removals)
        for alarm in alarms:
            alarm.ring()

    @property
    def port(self) -> int:
        """Return the port on which it listens."""
        return int(self.base_url.rpartition(":")[2])


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    service: Service = request.app.state.service
    return service


def base_url_of(request: Request) -> str:
    """Return where the caller reaches this service, for URLs in answers.

    On loopback that is one fixed address. A service that others reach over a network
    has as many addresses as ways lead to it: the caller's own is then the right one.
    """
    service = service_of(request)
    if is_loopback(service.settings.host):
        return service.base_url
    return str(request.base_url).rstrip("/")


def caller_of(request: Request) -> Caller:
    """Tell who sent a request, by its `X-API-Key` (spec 5).

    Raises:
        RequestError: The key is missing or unknown (401), or inactive (403).
    """
    secret = request.headers.get("x-api-key")
    if not secret:
        raise RequestError(401, "The header X-API-Key is missing.")
    caller = find_caller(service_of(request).db, secret)
    if caller is None:
        raise RequestError(401, UNKNOWN_KEY)
    if not caller.active:
        raise RequestError(403, "The API key is inactive.")
    return caller
