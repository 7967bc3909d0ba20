"""A webhook signing secret that is hidden in output."""

from __future__ import annotations

from datetime import datetime
from hmac import compare_digest
from typing import NoReturn


class Secret:
    """A webhook signing secret; only `reveal()` shows it.

    Args:
        text: The secret.
        previous_expires_at: Until when the previous secret signs too; None if there is
            none, or if it is not known.
    """

    __slots__ = ("_text", "previous_expires_at")

    def __init__(
        self, text: str, *, previous_expires_at: datetime | None = None
    ) -> None:
        self._text = text
        self.previous_expires_at = previous_expires_at

    def reveal(self) -> str:
        """Return the secret itself, such as for the environment of a receiver."""
        return self._text

    def __repr__(self) -> str:
        return "<webhook secret, hidden; .reveal() shows it>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash((type(self), self._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a webhook secret is not written to files; .reveal() shows it")
