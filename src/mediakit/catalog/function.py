"""A model function: one declaration, bound to a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mediakit.catalog.own_rates import OwnRate
from mediakit.errors import InputError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.forks import cached_property, no_fork
from mediakit.media_limits import EXTENSION, MediaLimits, MediaName
from mediakit.rules import Problem, Rule
from mediakit.schema import (
    Declared,
    FieldSpec,
    InputFacts,
    MediaRequest,
    Purpose,
    body_of,
    canonical_body,
    fields_of,
    problems_in,
    schema_of,
    with_defaults,
)

if TYPE_CHECKING:
    from mediakit.schema.conformance import Conformance

SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._~-]{0,99}"
_SEGMENT = re.compile(SEGMENT)
NO_FACTS = InputFacts()
NO_RATE = "No rate is known for this function; set one in mediakit.toml under [rates]."
_ENLARGES = re.compile(r"upscal|enlarg|super-?res", re.IGNORECASE)


def title_at(kind: str, path: str) -> str:
    """Return a function's display name from its kind and path."""
    last = path.rsplit("/", 1)[-1]
    parts = dict.fromkeys((kind, last))
    words = " · ".join(part.replace("-", " ") for part in parts)
    return words[:1].upper() + words[1:]


@dataclass(frozen=True)
class MediaItem:
    """One medium in a body."""

    label: str
    kind: MediaName
    value: str

    @property
    def field(self) -> str:
        """Return the top-level field that contains the medium."""
        return self.label.split("[", 1)[0].split(".", 1)[0]


Slot = tuple[MediaItem, Any, Any]
"""A medium in a body, the object or list that holds it, and its key there."""


@dataclass(frozen=True)
class SchemaDeclaration:
    """A request declared by a service's JSON Schema."""

    declared: Declared
    body: FieldSpec
    rules: tuple[Rule, ...] = ()
    conformance: Conformance | None = field(default=None, compare=False, repr=False)
    """Checks the constraints that neither a field nor a rule expresses."""


@dataclass(frozen=True)
class Function:
    """A model function of the service."""

    path: str
    declaration: type[MediaRequest] | SchemaDeclaration
    rate: OwnRate | None = None  # the user's rate; replaces the declared ones

    @property
    def declared(self) -> Declared:
        """Return the declaration, apart from the fields."""
        return self.declaration.declared

    @property
    def kind(self) -> str:
        """Return the short name that users type."""
        return self.declared.kind

    @property
    def spec(self) -> str:
        """Return the section of the specification that describes the function."""
        return self.declared.spec

    @property
    def media_type(self) -> MediaName:
        """Return the medium of the output."""
        return self.declared.media_type

    @property
    def title(self) -> str:
        """Return the display name: "Text to video"."""
        return title_at(self.kind, self.path)

    @property
    def doc(self) -> str:
        """Return a one-sentence description."""
        # `python -OO` keeps no docstrings.
        text = self.declared.doc or self.declared.choose
        return (text.strip().splitlines() or [""])[0]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules between fields."""
        return self.declaration.rules

    def item_counts(self, values: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the required lengths of lists that depend on other fields."""
        if isinstance(self.declaration, SchemaDeclaration):
            return {}
        return self.declaration.item_counts(values)

    @cached_property
    def body(self) -> FieldSpec:
        """Return the body: an object, or variants selected by a tag."""
        if isinstance(self.declaration, SchemaDeclaration):
            return self.declaration.body
        return body_of(self.declaration)

    @cached_property
    def fields(self) -> Mapping[str, FieldSpec]:
        """Return the fields by name; for variants, the fields of all."""
        return fields_of(self.body)

    @cached_property
    def purpose(self) -> Purpose:
        """Return the purpose, by default derived from the name and the media."""
        if self.declared.purpose is not None:
            return self.declared.purpose
        if _ENLARGES.search(f"{self.path} {self.kind}"):
            return Purpose.ENLARGE
        if self.media_type != "video":
            return Purpose.PICTURE if self.media_type == "image" else Purpose.SOUND
        media = {
            (each.media_kind, f.required)
            for f in self.fields.values()
            for each in f.with_inner()
            if each.media_kind
        }
        if ("video", True) in media:
            return Purpose.CHANGE
        if {kind for kind, _ in media} - {"image"}:
            return Purpose.REFERENCES
        return Purpose.PICTURES if media else Purpose.WORDS

    @property
    def is_open(self) -> bool:
        """Return whether the function accepts any field."""
        bodies = self.body.variants.values() if self.tag else [self.body]
        return not all(body.closed for body in bodies)

    @property
    def tag(self) -> str | None:
        """Return the field that selects the kind of body; None if there is only one."""
        return self.body.tag

    @cached_property
    def variants(self) -> Mapping[str, Function]:
        """Return the function for each kind of body, by tag."""
        return {
            value: replace(self, declaration=SchemaDeclaration(self.declared, body))
            for value, body in self.body.variants.items()
        }

    def of(self, body: Mapping[str, object]) -> Function:
        """Return the function for a body's kind; the body may be just its tag."""
        value = None if self.tag is None else body.get(self.tag)
        return self.variants.get(value, self) if isinstance(value, str) else self

    @cached_property
    def may_name_media(self) -> bool:
        """Return whether any field takes media."""
        return any(spec.media_kind for spec in self.body.with_inner())

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
        # Imported here: a sandbox's start does not need it.
        from mediakit.catalog.openapi_functions import described

        path = path_of(path)
        segment = path.rsplit("/", 1)[-1]
        request = described(schema, kind=kind, function=segment, media_type=media_type)
        return cls(path, request, rate)

    def priced_at(self, rate: OwnRate | None) -> Function:
        """Return the function with the user's own rate; None removes that rate."""
        return replace(self, rate=rate)

    def check(
        self, body: Mapping[str, object], *, strict_names: bool = True
    ) -> list[Problem]:
        """Find all problems of a body.

        Unknown properties are problems, unless `strict_names` is false, even if the
        service accepts them.
        """
        problems = {p.field: p for p in problems_in(self.body, dict(body))}
        chosen = self.of(body)
        if not strict_names and not (self.declared.closed or self.is_open):
            problems = {n: p for n, p in problems.items() if p.root in chosen.fields}
        wrong = {problem.root for problem in problems.values()}
        values = self.with_defaults(body) if chosen.rules else {}
        for rule in chosen.rules:
            if wrong.isdisjoint(rule.reads):
                for problem in rule.problems(values):
                    problems.setdefault(problem.field, problem)
        return self._by_document(list(problems.values()), body)

    def _by_document(
        self, problems: list[Problem], body: Mapping[str, object]
    ) -> list[Problem]:
        """Return the problems, and those that only the document reveals."""
        conformance = self._conformance
        if conformance is None:
            return problems
        sent = self.canonical_body(body)
        if conformance.verdict(sent):
            # A form needs the tag of a union; the document may not.
            return [each for each in problems if not each.is_missing]
        wrong = {each.root for each in problems}
        if self.tag in wrong:  # the tag decides which other fields exist
            return problems
        further = conformance.problems(sent)
        return problems + [each for each in further if each.root not in wrong]

    @property
    def _conformance(self) -> Conformance | None:
        if isinstance(self.declaration, SchemaDeclaration):
            return self.declaration.conformance
        return None

    def read(
        self, body: Mapping[str, object]
    ) -> tuple[MediaRequest | None, list[Problem]]:
        """Parse a body; None if it has problems or no class declares the function."""
        problems = self.check(body)
        if problems or isinstance(self.declaration, SchemaDeclaration):
            return None, problems
        with no_fork():  # pydantic builds the class on first use
            return self.declaration.model_validate(self.canonical_body(body)), []

    def with_defaults(self, body: Mapping[str, object]) -> dict[str, object]:
        """Return the body with defaults for fields that are omitted or null."""
        return with_defaults(self._chosen_fields(body), body)

    def canonical_body(self, body: Mapping[str, object]) -> dict[str, object]:
        """Return the body with defaults filled in and nulls dropped.

        A default that the document rejects beside the other fields is not filled in.
        """
        fields = self._chosen_fields(body)
        filled = canonical_body(fields, body)
        conformance = self._conformance
        if conformance is None or conformance.verdict(filled) is not False:
            return filled
        bare = {name: replace(spec, default=None) for name, spec in fields.items()}
        without_defaults = canonical_body(bare, body)
        return without_defaults if conformance.verdict(without_defaults) else filled

    def _chosen_fields(self, body: Mapping[str, object]) -> Mapping[str, FieldSpec]:
        chosen = self.of(body)
        return {} if chosen.tag else chosen.fields

    def warnings(self, body: Mapping[str, object]) -> list[Problem]:
        """Find likely mistakes that are allowed, such as a wrong citation."""
        values = self.with_defaults(body) if self.rules else {}
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
        """
        if self.rate is None:
            return self._listed(body, facts, request)
        try:
            listed = self._listed(body, facts, request)
        except InputError:
            # Own rates may price a body that the price list cannot; nothing is sent
            # before the whole body is valid.
            listed = Estimate.of(())
        return self.rate.estimate(self.with_defaults(body), listed)

    @property
    def is_listed(self) -> bool:
        """Return whether the price list may have a rate for it."""
        if isinstance(self.declaration, SchemaDeclaration):
            return False
        return self.declaration.lines is not MediaRequest.lines

    def _listed(
        self,
        body: Mapping[str, object],
        facts: InputFacts,
        request: MediaRequest | None,
    ) -> Estimate:
        """Price a body by the price list."""
        if request is None:
            request, problems = self.read(body)
            priced_by = self.declared.priced_by
            relevant = [p for p in problems if priced_by is None or p.root in priced_by]
            if relevant:
                raise InputError.of(relevant, spec=self.spec)
            request = request or self._request(body)
        if request is None:
            estimate = Estimate.of(())
        else:
            estimate = Estimate.of(request.lines(facts), request.notes())
        if estimate.kind is EstimateKind.UNKNOWN:
            return replace(estimate, notes=(*estimate.notes, NO_RATE))
        return estimate

    def nominal_tokens(self, body: Mapping[str, object], output_ms: int) -> int | None:
        """Return the tokens of an output; None if it is not metered by tokens."""
        request = self._request(body)
        return None if request is None else request.nominal_tokens(output_ms)

    def media_limits(self, body: Mapping[str, object]) -> Mapping[str, MediaLimits]:
        """Return the limits of the media in each field (spec 4.4 to 4.13).

        If the body is not valid, limits that depend on other fields are left out.
        """
        fields = self.of(body).fields
        limits = {n: s.limits for n, s in fields.items() if s.limits is not None}
        request, _ = self.read(body)
        return limits if request is None else {**limits, **request.media_limits()}

    def _request(self, body: Mapping[str, object]) -> MediaRequest | None:
        """Return a request for pricing only; None if no class declares it."""
        if isinstance(self.declaration, SchemaDeclaration):
            return None
        values = self.with_defaults(body)
        # Only known names, because some others are arguments of pydantic.
        arguments = {name: values[name] for name in self.fields if name in values}
        return self.declaration.model_construct(None, **arguments)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the body."""
        if isinstance(self.declaration, SchemaDeclaration):
            schema = schema_of(self.body)
        else:
            with no_fork():
                schema = self.declaration.model_json_schema()
        for body in bodies_in(schema):
            if not self.declared.closed and body.get("additionalProperties") is False:
                # Only the client refuses unknown names; the service accepts them.
                del body["additionalProperties"]
        declared = self.declared
        return schema | {
            "title": declared.name,
            EXTENSION: {
                "kind": declared.kind,
                "media_type": declared.media_type,
                "rules": [rule.sentence for rule in self.rules],
            },
        }

    def media(self, body: Mapping[str, object]) -> list[MediaItem]:
        """List the media in a body, in field order."""
        slots = self._media_slots(body) if self.may_name_media else ()
        return [item for item, _, _ in slots]

    def with_media(
        self, body: Mapping[str, object], urls: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the body with replaced media, such as URLs for local paths."""
        changed = deepcopy(dict(body)) if urls else dict(body)
        for item, holder, key in self._media_slots(changed) if urls else ():
            holder[key] = urls.get(item.value, item.value)
        return changed

    def _media_slots(self, body: Mapping[str, object]) -> Iterator[Slot]:
        for name, spec in self.of(body).fields.items():
            yield from _slots(spec, body, name, name)


def bodies_in(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas of a request's alternative bodies."""
    return schema.get("oneOf") or [schema]


def path_of(path: object, field: str = "path") -> str:
    """Return a function's path without outer slashes; InputError if invalid."""
    segments = path.strip("/").split("/") if isinstance(path, str) else []
    if len(segments) != 3 or not all(map(is_segment, segments)):
        raise InputError(field, got=path, accepted="vendor/model/function")
    return "/".join(segments)


def is_segment(name: str) -> bool:
    """Return whether a name can be a path segment: letters, digits and `._~-`."""
    return _SEGMENT.fullmatch(name) is not None


def _slots(spec: FieldSpec, holder: Any, key: Any, label: str) -> Iterator[Slot]:
    """Yield the media in a value, at any depth."""
    value = holder.get(key) if isinstance(holder, Mapping) else holder[key]
    spec = spec.option(value)
    if spec.media_kind:
        if isinstance(value, str):
            yield MediaItem(label, spec.media_kind, value), holder, key
    elif spec.item is not None and isinstance(value, list):
        for index in range(len(value)):
            yield from _slots(spec.item, value, index, f"{label}[{index}]")
    elif isinstance(value, dict) and (chosen := spec.chosen(value)):
        for name, inner in chosen.fields.items():
            yield from _slots(inner, value, name, f"{label}.{name}")
