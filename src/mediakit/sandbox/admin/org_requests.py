"""What may be posted about organizations, members and keys."""

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.requests import Request

from mediakit.errors import InputError, shown
from mediakit.money import MICRO_PER_USD, parse_usd
from mediakit.sandbox.core.request_body import read_object
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.store.organizations.organizations import MAX_MICRO_USD

MAX_COUNT = 1_000_000


def _micro_usd(amount: object) -> int:
    """Read dollars as JSON has them: a number, or a text such as "12.50"."""
    accepted = (
        f"US dollars from 0 to {MAX_MICRO_USD // MICRO_PER_USD}, to the micro-dollar"
    )
    if isinstance(amount, float):
        # The shortest text that means this number is what was written.
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


class _Asked(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def given(self) -> dict[str, Any]:
        """Return the fields that the request names, null ones included."""
        return self.model_dump(exclude_unset=True)


class OrgAsked(_Asked):
    """A new organization; the balance is what it has in all, credits included."""

    name: Name
    mode: Literal["prepaid", "postpaid"] = "prepaid"
    balance_usd: Usd = 0
    credit_usd: Usd = 0
    cycle_limit_usd: Usd | None = None
    concurrency: Count = 2
    queue_size: Count = 50
    per_minute: Count | None = None
    per_day: Count | None = None


class OrgChange(_Asked):
    """What can change about an organization; what is left out stays."""

    name: Name = ""
    cycle_limit_usd: Usd = 0
    concurrency: Count = 0
    queue_size: Count = 0
    per_minute: Count | None = None
    per_day: Count | None = None
    suspended: bool = False
    billing_plan: bool = True


class GrantAsked(_Asked):
    """Money that comes in."""

    usd: Usd
    kind: Literal["credit", "fund"]


class MemberAsked(_Asked):
    """A new member."""

    name: Name
    role: Literal["owner", "admin", "member"] = "member"
    daily_limit_usd: Usd | None = None


class KeyAsked(_Asked):
    """A new key, of a member or of the organization itself."""

    member: str | None = None
    daily_limit_usd: Usd | None = None


class KeyChange(_Asked):
    """What can change about a key; what is left out stays."""

    state: Literal["active", "inactive"] = "active"
    daily_limit_usd: Usd | None = None


Asked = TypeVar("Asked", bound=_Asked)


async def read_asked(request: Request, kind: type[Asked]) -> Asked:
    """Read a request's body as one of these.

    Raises:
        RequestError: 422, naming the first field that is wrong.
    """
    body = await read_object(request)
    try:
        return kind.model_validate(body)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False)[0]
        field = str(first["loc"][0])
        if first["type"] == "missing":
            raise RequestError(422, f"{field}: missing; it is required.") from None
        raise refused(field, first["input"], _words(first["msg"])) from None


def refused(field: str, got: object, accepted: str) -> RequestError:
    """Return the refusal of a field."""
    return RequestError(422, f"{field}: got {shown(got)}, accepted: {accepted}.")


def _words(message: str) -> str:
    for start in ("Value error, ", "Input should be "):
        message = message.removeprefix(start)
    return message
