"""In which order the history is looked through, and where its next page begins."""

from typing import Any, Literal, assert_never, get_args

from sqlalchemy import ColumnElement, and_, func, or_

from mediakit.errors import InputError
from mediakit.history.entries.entries import Entry
from mediakit.history.storage.tables import entries

Order = Literal["newest", "oldest", "dearest"]

ORDERS: tuple[Order, ...] = get_args(Order)
NO_CHARGE = -1  # below a charge of 0, which is a real one

_number = entries.c.number
_charge = func.coalesce(entries.c.charge_micro_usd, NO_CHARGE)


def check_order(order: str) -> None:
    """Refuse an order that there is not.

    Raises:
        InputError: There is no such order.
    """
    if order not in ORDERS:
        raise InputError("order", got=order, accepted=", ".join(ORDERS))


def in_order(order: Order) -> tuple[ColumnElement[Any], ...]:
    """Return what entries are ordered by; no two of them are equal."""
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
    """Return what only entries behind this one fulfil.

    Args:
        order: The order.
        last: The last entry of the page before.
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
