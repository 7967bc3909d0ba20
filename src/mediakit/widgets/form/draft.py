"""A form's draft as text, without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from mediakit.safe_text import holds_signature
from mediakit.widgets.controls.json_values import FURTHER, Unreadable

LONGEST_BYTES = 65_536
MOST_SUBMITTED = 100
DIGEST_LENGTH = 16
TYPED = "mediakit: no JSON"
"""The key under which text that is not valid JSON is saved, with the reason."""

_WEBHOOK = "webhook_url"
# In-memory media are in a folder of their kernel.
_KERNELS_OWN = re.compile(r"(?<=[\\/]mediakit-)\w{8}(?=[\\/])")


def digest_of(value: object) -> str:
    """Return a short digest of a value, the same for equal values."""
    text = _KERNELS_OWN.sub("", json.dumps(value, sort_keys=True, default=repr))
    return sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


@dataclass(frozen=True)
class Draft:
    """A form's values, and the values that its code gave."""

    values: Mapping[str, object]
    # digests of the values that the cell's code gave
    given: Mapping[str, str] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()  # the fields that people have changed
    # the digests of submitted bodies by job id, oldest first
    submitted: Mapping[str, str] = field(default_factory=dict)
    after: int = 0  # only jobs whose entries have a higher number belong to the form
    sweep: str = ""  # the ID of the last sweep that the form ran; empty for none

    def begun_with(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the initial values of a form that continues this draft."""
        # A value from code wins if it changed, or if nobody edited the field.
        values = self._typed(self.values, given)
        further = values.get(FURTHER.name)
        if isinstance(further, Mapping):
            values[FURTHER.name] = self._typed(further, given)
        for name, value in given.items():
            before = self.given.get(name)
            untouched = name not in values or digest_of(values[name]) == before
            if untouched or digest_of(value) != before:
                values[name] = value
        return values

    def _typed(
        self, values: Mapping[str, object], given: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the values without those that code alone gave and no longer gives."""
        dropped = self.given.keys() - given.keys()
        return {
            name: value
            for name, value in values.items()
            if name not in dropped or digest_of(value) != self.given[name]
        }

    def text(self, secret: str = "") -> str:
        """Return the draft as JSON without secrets, such as the given API key."""
        values = dict(_clean(self.values, secret))
        while len(text := self._text(values)) > LONGEST_BYTES and values:
            del values[max(values, key=lambda name: len(json.dumps(values[name])))]
        return text

    def _text(self, values: Mapping[str, object]) -> str:
        newest = list(self.submitted.items())[-MOST_SUBMITTED:]
        draft = {
            "values": values,
            "given": dict(self.given),
            "touched": sorted(self.touched),
            "submitted": dict(newest),
            "after": self.after,
            "sweep": self.sweep,
        }
        return json.dumps(draft)

    @classmethod
    def read(cls, text: str | None) -> Draft | None:
        """Parse the text of a draft; None for anything else."""
        try:
            saved = json.loads(text or "null", object_hook=_typed)
            return cls(
                values=dict(saved["values"]),
                given=dict(saved["given"]),
                touched=frozenset(saved["touched"]),
                submitted=dict(saved["submitted"]),
                after=int(saved["after"]),
                sweep=str(saved.get("sweep", "")),
            )
        except (ValueError, KeyError, TypeError):
            return None


def _clean(values: Mapping[str, object], secret: str) -> Iterator[tuple[str, object]]:
    """Yield the values that are not secret, as JSON."""
    for name, value in values.items():
        if name == _WEBHOOK or (isinstance(value, str) and _is_secret(value, secret)):
            continue
        if isinstance(value, Unreadable):
            yield name, {TYPED: [str(value), value.reason]}
        elif isinstance(value, Mapping):
            yield name, dict(_clean(value, secret))
        elif isinstance(value, list | tuple):
            numbered = {str(place): each for place, each in enumerate(value)}
            yield name, [each for _, each in _clean(numbered, secret)]
        elif value is None or isinstance(value, str | int | float):
            yield name, value


def _is_secret(text: str, secret: str) -> bool:
    # Useless after a restart: signed URLs will have expired.
    return holds_signature(text) or bool(secret and secret in text)


def _typed(found: dict[str, Any]) -> object:
    return Unreadable(*found[TYPED]) if found.keys() == {TYPED} else found
