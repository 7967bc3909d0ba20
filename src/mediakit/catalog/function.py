"""A model function: one declaration, bound to a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mediakit.catalog import functions
from mediakit.catalog.own_rates import OwnRate
from mediakit.catalog.paths import path_of
from mediakit.catalog.places import (
    media_places,
    that_can_hold_media,
    with_media_changed,
)
from mediakit.catalog.titles import with_titles
from mediakit.errors import InputError
from mediakit.media_limits import MediaLimits
from mediakit.rates import Estimate, EstimateKind
from mediakit.rules import Problem, Rule
from mediakit.schema import (
    FieldSpec,
    InputFacts,
    MediaName,
    MediaRequest,
    canonical_body,
    check,
    fields_of,
    is_open,
    json_schema,
    read,
    with_defaults,
)

NO_FACTS = InputFacts()
NO_RATE = "No rate is known; one can be set in mediakit.toml, under [rates]."


@dataclass(frozen=True)
class MediaItem:
    """One medium in a body.

    Args:
        label: Its place, such as "images[0]" or "tracks[1].keyframes[0].url".
        kind: The expected medium.
        value: The value in the body: a URL, or a local path.
    """

    label: str
    kind: MediaName
    value: str

    @property
    def field(self) -> str:
        """Return the top-level field that holds it."""
        return self.label.split("[", 1)[0].split(".", 1)[0]


@dataclass(frozen=True)
class Function:
    """A model function of the service.

    Args:
        path: Its path, `vendor/model/function`.
        request_type: Its declaration.
        rate: The user's own rate, in place of the declared rates; None uses these.
    """

    path: str
    request_type: type[MediaRequest]
    rate: OwnRate | None = None

    @property
    def kind(self) -> str:
        """Return the short name that users type."""
        return self.request_type.declared.kind

    @property
    def spec(self) -> str:
        """Return the section of the interface that describes it."""
        return self.request_type.declared.spec

    @property
    def media_type(self) -> MediaName:
        """Return the medium of its output."""
        return self.request_type.declared.media_type

    @property
    def is_open(self) -> bool:
        """Return whether it accepts any field."""
        return is_open(self.request_type)

    @property
    def doc(self) -> str:
        """Return one sentence about it."""
        return ((self.request_type.__doc__ or "").strip().splitlines() or [""])[0]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules between its fields."""
        return self.request_type.rules

    @cached_property
    def fields(self) -> Mapping[str, FieldSpec]:
        """Return its fields by name, as declared."""
        fields = fields_of(self.request_type)
        is_ours = self.request_type.__module__.startswith(f"{functions.__name__}.")
        return with_titles(fields) if is_ours else fields

    def of(self, body: Mapping[str, object]) -> Function:
        """Return the function for the type of a body.

        Args:
            body: A body, or only its property that names the type.
        """
        request_type = self.request_type.of(body)
        if request_type is self.request_type:
            return self
        return replace(self, request_type=request_type)

    @property
    def may_name_media(self) -> bool:
        """Return whether any of its fields holds media."""
        one_of = self.request_type.one_of
        kinds = (
            [self.of({one_of.tag: tag}) for tag in one_of.types] if one_of else [self]
        )
        return any(kind._fields_of_media for kind in kinds)

    @cached_property
    def _fields_of_media(self) -> Mapping[str, FieldSpec]:
        """The fields to search: most functions take few media, or none."""
        return that_can_hold_media(self.fields)

    @classmethod
    def from_schema(
        cls,
        path: str,
        schema: Mapping[str, object],
        *,
        kind: str | None = None,
        media_type: MediaName | None = None,
        rate: OwnRate | None = None,
    ) -> Function:
        """Make a function from the JSON Schema of its body, instead of a class.

        Args:
            path: Its path, `vendor/model/function`.
            schema: The schema, in draft 2020-12 or in the form of OpenAPI 3.0 or 3.1.
            kind: The short name that users type; by default the one in the schema's
                `x-mediakit`, else the last segment of the path.
            media_type: The medium of its output; by default the one in the schema,
                else the one in that segment, else a video.
            rate: The user's own rate.

        Raises:
            InputError: The path does not have three segments, or the schema is not one
                of an object.
        """
        # Imported here: it takes a tenth of a sandbox's start, which does not use it.
        from mediakit.catalog.documents.requests import request_type_of

        path = path_of(path)
        segment = path.rsplit("/", 1)[-1]
        request_type = request_type_of(
            schema, kind=kind, function=segment, media_type=media_type
        )
        return cls(path, request_type, rate)

    def priced_at(self, rate: OwnRate) -> Function:
        """Return the function with the user's own rate."""
        return replace(self, rate=rate)

    def check(
        self, body: Mapping[str, object], *, strict_names: bool = True
    ) -> list[Problem]:
        """Find all problems of a body.

        Args:
            body: The body to send.
            strict_names: Refuse unknown properties even if the service accepts them.
        """
        return check(self.request_type, body, strict_names=strict_names)

    def read(
        self, body: Mapping[str, object]
    ) -> tuple[MediaRequest | None, list[Problem]]:
        """Read a body as a request; see `check`.

        Returns:
            The request, or None if there is a problem; and the problems.
        """
        return read(self.request_type, body)

    def warnings(self, body: Mapping[str, object]) -> list[Problem]:
        """Find likely mistakes that are allowed, such as a wrong citation.

        Args:
            body: The body to send.
        """
        if not self.rules:
            return []
        values = with_defaults(self.request_type, body)
        return [warning for rule in self.rules for warning in rule.warnings(values)]

    def estimate(
        self,
        body: Mapping[str, object],
        facts: InputFacts = NO_FACTS,
        *,
        request: MediaRequest | None = None,
    ) -> Estimate:
        """Price a body without sending anything (spec 8).

        Fields that do not affect the price can be missing or wrong.

        Args:
            body: The body.
            facts: Known durations, and the tokens of a finished job.
            request: The request that was read from the body; None reads it.

        Raises:
            InputError: A field that affects the price is missing or wrong.
        """
        if self.rate is None:
            return self._listed(body, facts, request)
        try:
            listed = self._listed(body, facts, request)
        except InputError:
            # Own rates may price a body that the price list cannot; nothing is sent
            # before the whole body is valid.
            listed = Estimate.of(())
        return self.rate.estimate(with_defaults(self.request_type, body), listed)

    @property
    def is_listed(self) -> bool:
        """Return whether the price list may have a rate for it."""
        return self.request_type.lines is not MediaRequest.lines

    def _listed(
        self,
        body: Mapping[str, object],
        facts: InputFacts,
        request: MediaRequest | None,
    ) -> Estimate:
        """Price a body by the price list."""
        if request is None:
            request, problems = self.read(body)
            if request is None:
                self._refuse_priced(problems)
                request = self._request(body)
        estimate = Estimate.of(request.lines(facts), request.notes())
        if estimate.kind is EstimateKind.UNKNOWN:
            return replace(estimate, notes=(*estimate.notes, NO_RATE))
        return estimate

    def _refuse_priced(self, problems: list[Problem]) -> None:
        priced_by = self.request_type.declared.priced_by
        relevant = [p for p in problems if priced_by is None or p.root in priced_by]
        if relevant:
            raise InputError.of(relevant, spec=self.spec)

    def nominal_tokens(self, body: Mapping[str, object], output_ms: int) -> int | None:
        """Count the tokens of an output; None if it is not token-metered.

        Args:
            body: A valid body.
            output_ms: The duration of the output, milliseconds.
        """
        return self._request(body).nominal_tokens(output_ms)

    def media_limits(self, body: Mapping[str, object]) -> Mapping[str, MediaLimits]:
        """Return the limits of the media in each field (spec 4.4 to 4.13).

        Args:
            body: The body; if it is not valid, limits that depend on other fields are
                left out.
        """
        fields = self.of(body).fields
        limits = {n: s.limits for n, s in fields.items() if s.limits is not None}
        request, _ = read(self.request_type, body)
        return limits if request is None else {**limits, **request.media_limits()}

    def _request(self, body: Mapping[str, object]) -> MediaRequest:
        values = with_defaults(self.request_type, body)
        # Only known names, because some others are arguments of pydantic.
        known = {name: values[name] for name in self.fields if name in values}
        return self.request_type.model_construct(None, **known)

    def canonical_body(self, body: Mapping[str, object]) -> dict[str, object]:
        """Return the body with defaults filled and nulls dropped."""
        return canonical_body(self.request_type, body)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its body."""
        return json_schema(self.request_type)

    def media(self, body: Mapping[str, object]) -> list[MediaItem]:
        """List the media in a body, in the order of the fields."""
        fields = self.of(body)._fields_of_media
        return [
            MediaItem(label, spec.media_kind, value)
            for label, spec, value in media_places(fields, body)
            if spec.media_kind
        ]

    def with_media(
        self, body: Mapping[str, object], urls: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the body with media replaced, such as local paths by their URLs.

        Args:
            body: The body.
            urls: The new value of each medium, by its old value.
        """
        if not urls:
            return dict(body)
        fields = self.of(body)._fields_of_media
        return with_media_changed(fields, body, lambda value: urls.get(value, value))
