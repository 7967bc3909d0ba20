"""The sort order of entries, and where the next page begins."""

from typing import Any, Literal, assert_never, get_args

from sqlalchemy import ColumnElement, and_, func, or_

from mediakit.errors import InputError
from mediakit.history.entries.entry import Entry
from mediakit.history.storage.tables import entries

Order = Literal["newest", "oldest", "dearest"]

ORDERS: tuple[Order, ...] = get_args(Order)
NO_CHARGE = -1  # below 0, which is a real charge

_number = entries.c.number
_charge = func.coalesce(entries.c.charge_micro_usd, NO_CHARGE)


def check_order(order: str) -> None:
    """Refuse an unknown order.

    Raises:
        InputError: The order is unknown.
    """
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
