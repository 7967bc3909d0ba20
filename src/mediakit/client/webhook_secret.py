"""The secret that signs webhooks, which is never shown (spec 6.6)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from mediakit.api_models import Record
from mediakit.client.answers import HttpResponse
from mediakit.errors import ServiceError

SECRET_PREFIX = "whsec_"
_OLDER = re.compile(r"prev|old", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Secret:
    """A webhook signing secret; only `reveal()` shows it.

    The previous secret also signs until `previous_expires_at`, which is None if there
    is no previous secret or its expiry is unknown.
    """

    # Not pydantic's `SecretStr`, which pickles its value.

    _text: str
    previous_expires_at: datetime | None = field(default=None, compare=False)

    def reveal(self) -> str:
        """Return the secret, such as for the environment of a receiver."""
        return self._text

    def __repr__(self) -> str:
        return "<webhook secret, hidden; .reveal() shows it>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a webhook secret cannot be pickled; .reveal() shows it")


class _PreviousSecret(Record):
    previous_expires_at: datetime | None = None


def secret_in(answer: HttpResponse, then: str = "") -> Secret:
    """Find the one secret in a response, by the prefix that secrets have."""
    facts = [*_facts_in(_json_or_text(answer))]
    secrets = {
        value
        for name, value in facts
        if isinstance(value, str)
        and value.startswith(SECRET_PREFIX)
        and not _OLDER.search(name)
    }
    if len(secrets) != 1:
        # Not shown: the response may hold the secret in another form.
        text = f"The service answered {answer.status} without a secret that can be read"
        raise ServiceError(f"{text}. {then}".strip(), status=answer.status)
    until = [value for name, value in facts if name == "previous_expires_at"]
    expiry = _PreviousSecret.model_validate({"previous_expires_at": [*until, None][0]})
    return Secret(secrets.pop(), expiry.previous_expires_at)


def _json_or_text(answer: HttpResponse) -> Any:
    text = answer.content.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def _facts_in(body: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in a response, at any depth, with its name."""
    if isinstance(body, dict):
        for inner, value in body.items():
            yield from _facts_in(value, str(inner))
    else:
        yield name, body
