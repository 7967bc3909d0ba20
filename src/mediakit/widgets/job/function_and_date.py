"""The function and the date of a history entry, as all views write them; pure."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from mediakit.catalog import Catalog, Function
from mediakit.errors import InputError
from mediakit.history import Entry


def function_of(entry: Entry, catalog: Catalog) -> Function | None:
    """Return the function of a submit; None when the catalogue has none of it."""
    for name in (entry.function, entry.kind):
        try:
            return catalog.function(name)
        except InputError:  # it may be bound elsewhere by now
            continue
    return None


def date_text(instant: datetime, zone: tzinfo = UTC) -> str:
    """Write an instant to the minute, such as "2026-05-01 14:30"."""
    return f"{instant.astimezone(zone):%Y-%m-%d %H:%M}"
