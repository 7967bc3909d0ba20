"""The open file of a history, and whether its path still leads to it."""

from pathlib import Path

REPLACED = (
    "Its file was deleted or replaced while it was open. Put the original file back, "
    "or restart the kernel to continue with whatever is there now."
)


class OpenFile:
    """The file of a history since it was opened; none without a place.

    Entries written to a deleted file are lost, so budgets would miss their charges.
    """

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._opened = self._found()

    @property
    def is_replaced(self) -> bool:
        """Return whether the path now leads to another file, or to none."""
        return self._opened is not None and self._found() != self._opened

    def _found(self) -> tuple[int, int] | None:
        try:
            stat = self._place.stat() if self._place else None
        except OSError:
            return None
        return (stat.st_dev, stat.st_ino) if stat else None
