"""The request bodies of organizations, members and keys."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from mediakit.errors import InputError
from mediakit.money import MICRO_PER_USD, parse_usd
from mediakit.sandbox.core.request_body import RequestBody
from mediakit.sandbox.store.organizations.organization_records import MAX_MICRO_USD

MAX_COUNT = 1_000_000


def _micro_usd(amount: object) -> int:
    """Read dollars from JSON: a number, or a text such as "12.50"."""
    accepted = (
        f"US dollars from 0 to {MAX_MICRO_USD // MICRO_PER_USD}, to the micro-dollar"
    )
    if isinstance(amount, float):
        # The shortest text of this number is the one that was written.
        amount = Decimal(repr(amount))
    if isinstance(amount, str | int | Decimal):
        try:
            micro_usd = parse_usd(amount)
        except InputError:
            raise ValueError(accepted) from None
        if micro_usd <= MAX_MICRO_USD:
            return micro_usd
    raise ValueError(accepted)


Usd = Annotated[int, BeforeValidator(_micro_usd)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class OrgAsked(RequestBody):
    """A new organization; the balance includes the credits."""

    name: Name
    mode: Literal["prepaid", "postpaid"] = "prepaid"
    balance_usd: Usd = 0
    credit_usd: Usd = 0
    cycle_limit_usd: Usd | None = None
    concurrency: Count = 2
    queue_size: Count = 50
    per_minute: Count | None = None
    per_day: Count | None = None


class OrgChange(RequestBody):
    """A change of an organization; omitted fields stay."""

    name: Name = ""
    cycle_limit_usd: Usd = 0
    concurrency: Count = 0
    queue_size: Count = 0
    per_minute: Count | None = None
    per_day: Count | None = None
    suspended: bool = False
    billing_plan: bool = True


class GrantAsked(RequestBody):
    """Credits or funds to add to a balance."""

    usd: Usd
    kind: Literal["credit", "fund"]


class MemberAsked(RequestBody):
    """A new member."""

    name: Name
    role: Literal["owner", "admin", "member"] = "member"
    daily_limit_usd: Usd | None = None


class KeyAsked(RequestBody):
    """A new key of a member or of the organization itself."""

    member: str | None = None
    daily_limit_usd: Usd | None = None


class KeyChange(RequestBody):
    """A change of a key; omitted fields stay."""

    state: Literal["active", "inactive"] = "active"
    daily_limit_usd: Usd | None = None
