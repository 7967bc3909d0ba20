"""Pages of the history: which entries, in which order, and where the next begins."""

from typing import Any, Literal, TypedDict, assert_never, get_args

from sqlalchemy import ColumnElement, and_, func, or_

from mediakit.errors import InputError
from mediakit.history.entry import Entry, words_of
from mediakit.history.tables import entries
from mediakit.records import JobStatus

Order = Literal["newest", "oldest", "dearest"]

ORDERS: tuple[Order, ...] = get_args(Order)
LONGEST_SEARCH = 1_000
HIGHEST_LIMIT = 2**31 - 1
NO_CHARGE = -1  # below 0, which is a real charge

_number = entries.c.number
_charge = func.coalesce(entries.c.charge_micro_usd, NO_CHARGE)


class Chosen(TypedDict, total=False):
    """Which entries are chosen; None chooses all.

    Attributes:
        project: Those of this project.
        kind: Those of this function.
        status: Jobs with this last seen status (spec 3.1).
        service: Those of this service.
        account: Those of this account.
    """

    project: str | None
    kind: str | None
    status: str | None
    service: str | None
    account: str | None


def check(limit: object, before: object = None, order: object = "newest") -> None:
    """Refuse a page that cannot be chosen.

    Raises:
        InputError: The limit is below 1, or the order does not exist.
    """
    is_whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not is_whole or limit not in range(1, HIGHEST_LIMIT + 1):
        accepted = f"a whole number from 1 to {HIGHEST_LIMIT:,}"
        raise InputError("limit", got=limit, accepted=accepted)
    if before is not None and not isinstance(before, Entry):
        accepted = "the last entry of the previous page, or None"
        raise InputError("before", got=before, accepted=accepted)
    if order not in ORDERS:
        raise InputError("order", got=order, accepted=", ".join(ORDERS))


def in_order(order: Order) -> tuple[ColumnElement[Any], ...]:
    """Return the sort keys of an order; no two entries are equal."""
    match order:
        case "newest":
            return (_number.desc(),)
        case "oldest":
            return (_number.asc(),)
        case "dearest":
            return (_charge.desc(), _number.desc())
        case _:
            assert_never(order)


def behind(order: Order, last: Entry) -> ColumnElement[bool]:
    """Return the condition for entries after a given one.

    Args:
        order: The order.
        last: The last entry of the previous page.
    """
    match order:
        case "newest":
            return _number < last.number
        case "oldest":
            return _number > last.number
        case "dearest":
            paid = last.charge_micro_usd
            charge = NO_CHARGE if paid is None else paid
            return or_(_charge < charge, and_(_charge == charge, _number < last.number))
        case _:
            assert_never(order)


def where(
    text: str | None = None,
    *,
    project: str | None = None,
    kind: str | None = None,
    status: str | None = None,
    service: str | None = None,
    account: str | None = None,
) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the entries that are chosen; see `Chosen`.

    Raises:
        InputError: The status does not exist, or the text is too long.
    """
    for field, value in (("text", text), ("project", project), ("kind", kind)):
        if value is not None and not isinstance(value, str):
            raise InputError(field, got=value, accepted="text, or None")
    if status is not None and status not in list(JobStatus):
        accepted = ", ".join(JobStatus)
        raise InputError("status", got=status, accepted=accepted, spec="3.1")
    if text is not None and len(text) > LONGEST_SEARCH:
        accepted = f"up to {LONGEST_SEARCH:,} characters"
        raise InputError("text", got=text, accepted=accepted)
    wanted = {
        "project": project,
        "kind": kind,
        "status": status,
        "service": service,
        "account": account,
    }
    equal = (
        entries.c[name] == value for name, value in wanted.items() if value is not None
    )
    words = words_of(text or "")
    return (*equal, *(entries.c.search.contains(w, autoescape=True) for w in words))
