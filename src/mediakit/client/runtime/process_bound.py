"""What stays in its process, and what a closed client says."""

from __future__ import annotations

from typing import NoReturn

from mediakit.errors import MediakitError

CLOSED = (
    "This client is closed. Nothing was sent. Make another one, as mediakit.connect() "
    "does; jobs go on at the service, and client.job(id) picks them up there."
)


class ProcessBound:
    """What is of no use in another process: it does not pickle, and says why."""

    _instead = "make one there, as mediakit.connect() does"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} stays in its process, with its API key and its "
            f"connections; {self._instead}"
        )


class ClosedError(MediakitError):
    """The client was closed."""


def closed() -> ClosedError:
    """Return the error of a client that was closed."""
    return ClosedError(CLOSED)
