"""Which form asks for the requests that are made meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ORIGIN: ContextVar[str | None] = ContextVar("mediakit_origin", default=None)


@contextmanager
def asking_from(origin: str | None) -> Iterator[None]:
    """Let requests that are made within the block belong to a form.

    A context variable carries it, because `submit`, `retry` and `next_take` are public
    and people's own calls have no form.

    Args:
        origin: The form, as the history names it; None for none.
    """
    token = _ORIGIN.set(origin)
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def current_origin() -> str | None:
    """Return the form that asks; None for none."""
    return _ORIGIN.get()
