"""Objects that cannot be used in another process, and the error of a closed client."""

from __future__ import annotations

from typing import NoReturn

from mediakit.errors import MediakitError

CLOSED = (
    "This client is closed. Nothing was sent. Create another one, such as with "
    "mediakit.connect(); jobs continue at the service, and client.job(id) returns them."
)


class ProcessBound:
    """An object that cannot be used in another process, and so cannot be pickled."""

    _instead = "create one there, such as with mediakit.connect()"

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
