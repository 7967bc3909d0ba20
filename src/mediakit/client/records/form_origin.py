"""The form that the current task submits for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ORIGIN: ContextVar[str | None] = ContextVar("mediakit_origin", default=None)


@contextmanager
def asking_from(origin: str | None) -> Iterator[None]:
    """Attribute the requests that are submitted within the block to a form.

    A context variable holds it, because `submit`, `retry` and `next_take` are public
    and a user's own calls have no form.

    Args:
        origin: The form, as the history names it; None for none.
    """
    token = _ORIGIN.set(origin)
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def current_origin() -> str | None:
    """Return the form that submits; None for none."""
    return _ORIGIN.get()
