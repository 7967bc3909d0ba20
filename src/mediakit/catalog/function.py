"""A model function: one declaration, bound to the path where it is served."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mediakit.errors import InputError
from mediakit.rates import Estimate
from mediakit.rules import Problem, Rule
from mediakit.schema import (
    FieldSpec,
    InputFacts,
    MediaName,
    MediaRequest,
    canonical_body,
    check,
    fields_of,
    json_schema,
    with_defaults,
)

NO_FACTS = InputFacts()


@dataclass(frozen=True)
class MediaItem:
    """One medium that a body names.

    Args:
        field: The field.
        index: Its place in a list; None for a single medium.
        kind: Which medium is expected.
        value: What the body holds: a URL, or a local path.
    """

    field: str
    index: int | None
    kind: MediaName
    value: str

    @property
    def label(self) -> str:
        """Return the field with its place, such as "images[0]"."""
        return self.field if self.index is None else f"{self.field}[{self.index}]"


@dataclass(frozen=True)
class Function:
    """A model function of the service.

    Args:
        path: Where it is served, `vendor/model/function`.
        request_type: Its declaration.
    """

    path: str
    request_type: type[MediaRequest]

    @property
    def kind(self) -> str:
        """Return the short name that people type."""
        return self.request_type.declared.kind

    @property
    def spec(self) -> str:
        """Return the section of the interface that describes it."""
        return self.request_type.declared.spec

    @property
    def media_type(self) -> MediaName:
        """Return what it makes."""
        return self.request_type.declared.media_type

    @property
    def doc(self) -> str:
        """Return one sentence about it."""
        return (self.request_type.__doc__ or "").strip().splitlines()[0]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules between its fields."""
        return self.request_type.rules

    @cached_property
    def fields(self) -> Mapping[str, FieldSpec]:
        """Return its fields by name, as declared."""
        return fields_of(self.request_type)

    def check(
        self, body: Mapping[str, object], *, strict_names: bool = True
    ) -> list[Problem]:
        """Find everything that is not acceptable about a body.

        Args:
            body: The body, as it would be sent.
            strict_names: Refuse unknown properties even where the service does not.
        """
        return check(self.request_type, body, strict_names=strict_names)

    def estimate(
        self, body: Mapping[str, object], facts: InputFacts = NO_FACTS
    ) -> Estimate:
        """Price a body without sending anything (spec 8).

        Fields that do not bear on the price may still be missing or wrong.

        Args:
            body: The body.
            facts: Known durations, and the tokens of a finished job.

        Raises:
            InputError: A field that the price is made from is missing or wrong.
        """
        priced_by = self.request_type.declared.priced_by
        problems = [p for p in self.check(body) if p.root in priced_by]
        if problems:
            raise InputError.of(problems, spec=self.spec)
        request = self._request(body)
        return Estimate.of(request.lines(facts), request.notes())

    def nominal_tokens(self, body: Mapping[str, object], output_ms: int) -> int | None:
        """Count the tokens of so much output; None when it is not token-metered.

        Args:
            body: A valid body.
            output_ms: The output's length, milliseconds.
        """
        return self._request(body).nominal_tokens(output_ms)

    def _request(self, body: Mapping[str, object]) -> MediaRequest:
        values = with_defaults(self.request_type, body)
        return self.request_type.model_construct(None, **values)

    def canonical_body(self, body: Mapping[str, object]) -> dict[str, object]:
        """Return the body with defaults filled and nulls dropped."""
        return canonical_body(self.request_type, body)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its body."""
        return json_schema(self.request_type)

    def media(self, body: Mapping[str, object]) -> list[MediaItem]:
        """List the media that a body names, in the order of the fields."""
        return list(self._media(body))

    def _media(self, body: Mapping[str, object]) -> Iterator[MediaItem]:
        for name, spec in self.fields.items():
            value = body.get(name)
            if spec.media_kind and isinstance(value, str):
                yield MediaItem(name, None, spec.media_kind, value)
            elif spec.item and spec.item.media_kind and isinstance(value, list):
                for index, url in enumerate(value):
                    if isinstance(url, str):
                        yield MediaItem(name, index, spec.item.media_kind, url)

    def with_media(
        self, body: Mapping[str, object], urls: Mapping[str, str]
    ) -> dict[str, object]:
        """Return the body with media replaced, such as local paths by their URLs.

        Args:
            body: The body.
            urls: The new value of each medium, by its old value.
        """
        changed = dict(body)
        for item in self._media(body):
            new = urls.get(item.value, item.value)
            if item.index is None:
                changed[item.field] = new
            else:
                changed[item.field] = [
                    urls.get(v, v) if isinstance(v, str) else v
                    for v in _items(body[item.field])
                ]
        return changed


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
