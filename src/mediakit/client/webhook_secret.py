"""The secret that signs webhooks: reading and rotating it (spec 6.6)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from mediakit.api_models import Record
from mediakit.client.account_reader import AccountReader
from mediakit.client.io_thread import networked
from mediakit.client.responses import HttpResponse, NoAnswerError
from mediakit.errors import InputError, ServiceError

SECRET_PATH = "/v1/webhooks/secret"
ROTATED = (
    "The secret was rotated anyway: read the new one with client.deliveries.secret(), "
    "or in the portal, and give it to your receivers."
)
LONGEST_OVERLAP_S = 86_400
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


class SecretReader(AccountReader):
    """Reads and rotates the signing secret of an organization."""

    @networked
    async def secret(self) -> Secret:
        """Read the secret that signs deliveries to a `webhook_url` (spec 6.6).

        The first read creates it. Only `reveal()` shows it.

        Raises:
            ServiceError: The service does not respond.
        """
        return secret_in(await self._read(SECRET_PATH, "the signing secret"))

    @networked
    async def rotate_secret(self, *, overlap_s: int = LONGEST_OVERLAP_S) -> Secret:
        """Create a new secret; the previous one also signs for a time (spec 6.6).

        Args:
            overlap_s: Seconds for which both sign, 0 to 86,400.

        Returns:
            The new secret; both sign until its `previous_expires_at`.

        Raises:
            InputError: The overlap is invalid; nothing was sent.
            AuthError: The member of this key is neither owner nor admin.
            ServiceError: No response; the error says what that means.
        """
        if type(overlap_s) is not int or not 0 <= overlap_s <= LONGEST_OVERLAP_S:
            accepted = f"a whole number from 0 to {LONGEST_OVERLAP_S:,}"
            raise InputError("overlap_s", got=overlap_s, accepted=accepted, spec="6.6")
        content = json.dumps({"expire_in_seconds": overlap_s}).encode()
        try:
            # No retry: after two rotations the receivers' secret no longer signs.
            answer = await self._transport.exchange(
                "POST", f"{SECRET_PATH}/rotate", content=content
            )
        except NoAnswerError as error:
            if error.sent:
                text = (
                    f"The service did not answer ({error.reason}), so it is not known "
                    "whether the secret was rotated. mediakit does not try again: "
                    "compare client.deliveries.secret() with the secret of your "
                    "receiver."
                )
            else:
                text = (
                    f"The service cannot be reached ({error.reason}). Nothing was "
                    "sent, and the secret is unchanged."
                )
            raise ServiceError(text, in_doubt=error.sent) from error
        then = "Only owners and admins may rotate it." if answer.status == 403 else ""
        checked = self._checked(answer, "the signing secret", then)
        return secret_in(checked, ROTATED)


class _PreviousSecret(Record):
    previous_expires_at: datetime | None = None


def secret_in(answer: HttpResponse, then: str = "") -> Secret:
    """Find the only secret in a response, by the prefix of secrets."""
    facts = [*_facts_in(_json_or_text(answer))]
    secrets = {
        value
        for name, value in facts
        if isinstance(value, str)
        and value.startswith(SECRET_PREFIX)
        and not _OLDER.search(name)
    }
    if len(secrets) != 1:
        # Do not show the response: it may hold the secret in another form.
        text = f"The service returned {answer.status} without a readable secret"
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
