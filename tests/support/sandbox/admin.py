"""The admin interface, as these tests use it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from tests.support.clients import http_client

if TYPE_CHECKING:
    from tests.sandbox.conftest import Api


class AdminClient:
    """Makes organizations, members and keys of one running sandbox."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._users: list[Api] = []
        running = api.running
        self.http = http_client(f"{running.base_url}/sandbox", running.api_key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.http.close()
        for user in self._users:
            user.http.close()

    def call(self, method: str, path: str, **fields: Any) -> dict[str, Any]:
        answer = self.http.request(method, path, json=fields)
        assert answer.is_success, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def org(self, **fields: Any) -> str:
        """Create an organization with a high balance; return its id."""
        wanted = {"name": "Some", "balance_usd": 100, "concurrency": 0} | fields
        org_id: str = self.call("POST", "/orgs", **wanted)["id"]
        return org_id

    def show(self, org: str) -> dict[str, Any]:
        found = [one for one in self.orgs() if one["id"] == org]
        assert len(found) == 1
        return found[0]

    def orgs(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.http.get("/orgs").json()["data"]
        return listed

    def change(self, org: str, **fields: Any) -> dict[str, Any]:
        return self.call("PATCH", f"/orgs/{org}", **fields)

    def grant(self, org: str, usd: object, kind: str) -> dict[str, Any]:
        return self.call("POST", f"/orgs/{org}/grants", usd=usd, kind=kind)

    def member(self, org: str, **fields: Any) -> str:
        wanted = {"name": "Ada", **fields}
        member_id: str = self.call("POST", f"/orgs/{org}/members", **wanted)["id"]
        return member_id

    def key(self, org: str, **fields: Any) -> dict[str, Any]:
        return self.call("POST", f"/orgs/{org}/keys", **fields)

    def user(self, org: str, **fields: Any) -> Api:
        """Create a key of an organization, and return a client that uses it."""
        return self.as_key(self.key(org, **fields)["key"])

    def as_key(self, key: str) -> Api:
        """Speak with a key."""
        api = type(self.api)(self.api.running)
        api.http.headers["X-API-Key"] = key
        self._users.append(api)
        return api

    def now(self) -> datetime:
        return datetime.fromisoformat(self.http.get("/clock").json()["now"])

    def skip(self, **some: float) -> None:
        self.skip_to(self.now() + timedelta(**some))

    def skip_to(self, instant: datetime) -> None:
        self.call("POST", "/clock/advance", to=instant.isoformat())

    def at_noon(self) -> None:
        """Skip to the next noon in UTC, far from the end of any rate limit window."""
        noon = self.now().replace(hour=12, minute=0, second=0, microsecond=0)
        self.skip_to(noon if noon > self.now() else noon + timedelta(days=1))


def midnight_after(instant: datetime) -> datetime:
    """Return when the day of an instant ends."""
    day = instant.astimezone(UTC).date() + timedelta(days=1)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
