"""The state shared by the parts of one running sandbox."""

from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request

from mediakit.catalog import Catalog
from mediakit.sandbox.clock import SandboxClock
from mediakit.sandbox.faults import Faults
from mediakit.sandbox.files import Files
from mediakit.sandbox.http import RequestError
from mediakit.sandbox.settings import Sandbox, is_loopback
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.store.orgs import ApiCaller, find_caller
from mediakit.sandbox.work_loop import WorkLoop

UNKNOWN_KEY = "The API key is not known here."


@dataclass(frozen=True)
class SandboxService:
    """One running sandbox: the state that its parts share."""

    settings: Sandbox
    base_url: str
    identity: str
    db: SandboxDatabase
    files: Files
    clock: SandboxClock
    catalog: Catalog
    faults: Faults
    work: WorkLoop
    # Not in the repr, because the function holds the API key.
    open_accounts: Callable[[], None] = field(repr=False)

    @property
    def port(self) -> int:
        """Return the port on which the sandbox listens."""
        return int(self.base_url.rpartition(":")[2])


def service_of(request: Request) -> SandboxService:
    """Return the service that handles a request."""
    service: SandboxService = request.app.state.service
    return service


def base_url_of(request: Request) -> str:
    """Return the caller's base URL of this service, for URLs in responses.

    On loopback, the base URL is fixed. A service on a network can have several, so the
    base URL of the request is used.
    """
    service = service_of(request)
    if is_loopback(service.settings.host):
        return service.base_url
    return str(request.base_url).rstrip("/")


def caller_of(request: Request) -> ApiCaller:
    """Return the caller that a request's key identifies; 401 or 403 without one."""
    secret = request.headers.get("x-api-key")
    if not secret:
        raise RequestError(401, "The header X-API-Key is missing.")
    caller = find_caller(service_of(request).db, secret)
    if caller is None:
        raise RequestError(401, UNKNOWN_KEY)
    if not caller.active:
        raise RequestError(403, "The API key is inactive.")
    return caller
