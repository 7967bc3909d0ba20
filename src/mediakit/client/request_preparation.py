"""Prepares requests: checks and prices the user's fields and uploads files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from mimetypes import guess_type
from pathlib import Path
from types import NoneType
from typing import Any

from anyio import to_thread

from mediakit.catalog import Catalog, Function, MediaItem
from mediakit.client.idempotency_keys import name_of_file, name_of_job, priced_at
from mediakit.client.media_inputs import A_MEDIUM, Inputs, RemoteMedia, job_of
from mediakit.client.uploads import LocalMedium, UploadedFile, Uploads, fingerprint
from mediakit.errors import InputError
from mediakit.estimates import Estimate
from mediakit.forks import cached_property
from mediakit.history import Parent, Submission
from mediakit.media import (
    body_with_placeholders,
    facts_of,
    is_url,
    lengths_wanted,
    local_file,
    placeholder,
    preflight,
    probe_named,
)
from mediakit.media.bodies import texts_in
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.rules import Problem, ValueDescription
from mediakit.schema import (
    FieldSpec,
    InputFacts,
    MediaRequest,
    canonical_json,
    stripped,
)
from mediakit.table_columns import (
    as_list,
    is_column,
    is_listing,
    present,
    whole_as_integer,
    with_whole_numbers,
)

Seconds = Mapping[str, float | Decimal] | Mapping[Path, float | Decimal]

LENGTHS = 'seconds by URL or path, such as {"https://a.example/clip.mp4": 4.5}'
NAMES = "names in valid Unicode text"
IN_JSON = (
    "a JSON value (valid Unicode text, finite numbers, booleans, lists, "
    "mappings), a completed job, or the URL that client.upload(path) returns"
)
PLAIN = (str, Path, int, float, list, tuple, set, Mapping, NoneType)
"""Values that a field refuses in the words of its type."""
MEDIA = (
    "a path, an http(s) URL, bytes, a file opened in binary mode for reading, a Pillow "
    "image, an image as an array or tensor, a matplotlib figure or a completed job"
)
UPLOADED = (
    "a URL, such as client.upload(path) returns: this function has no media field of "
    "that name, so the path would be sent as text"
)


# -- fields as in a body -----------------------------------------------------------


def full_names(function: Function, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields under their declared names.

    `video` is short for `video_url`, and `images` for `image_urls`.
    """
    specs = function.of(fields).fields
    return {_full_name(name, specs, fields): each for name, each in fields.items()}


def _full_name(
    name: str, known: Mapping[str, FieldSpec], given: Mapping[str, object]
) -> str:
    if name in known:
        return name
    for full in (f"{name}_url", f"{name}_urls", f"{name.removesuffix('s')}_urls"):
        spec = known.get(full)
        if spec is not None and _medium(spec) is not None and full not in given:
            return full
    return name


def plain_fields(
    function: Function, fields: Mapping[str, object], inputs: Inputs | None = None
) -> dict[str, object]:
    """Return the fields as JSON values; media as file paths or URLs.

    White space around a prompt is removed.
    """
    inputs = inputs or Inputs()
    specs = function.of(fields).fields
    return {
        name: _plain(value, specs.get(name), name, inputs)
        for name, value in fields.items()
    }


def _plain(value: object, spec: FieldSpec | None, label: str, inputs: Inputs) -> object:
    if spec is None and (job := job_of(value)) is not None:
        return inputs.take(job, None, label)
    value = _listed(value)
    spec = None if spec is None else spec.option(value)
    medium = None if spec is None else _medium(spec)
    place = None if medium is None else inputs.place(value, medium, label)
    if place is not None:
        return str(place)
    if spec is not None and spec.media_kind and not isinstance(value, PLAIN):
        raise InputError(
            label, got=ValueDescription(f"a {type(value).__name__}"), accepted=MEDIA
        )
    if isinstance(value, list | tuple):
        item = None if spec is None else spec.item
        return [_plain(v, item, f"{label}[{n}]", inputs) for n, v in enumerate(value)]
    if isinstance(value, Mapping):
        chosen = None if spec is None else spec.chosen(dict(value))
        inner = {} if chosen is None else chosen.fields
        return {
            name: _plain(each, inner.get(name), f"{label}.{name}", inputs)
            for name, each in value.items()
        }
    if isinstance(value, str) and spec is not None:
        return stripped(spec, value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        # Columns with missing values turn whole numbers into floats.
        is_float = spec is None or spec.kind == "number"
        return value.tolist() if is_float else whole_as_integer(value.tolist())
    return str(value) if isinstance(value, Path) else value


def _listed(value: object) -> object:
    """Return any list-like value, such as a table column, as a list.

    Sets are not list-like, because they have no order, nor are arrays, which may be
    pictures.
    """
    is_flat = is_listing(value) and getattr(value, "ndim", 1) == 1
    if not is_flat or isinstance(value, list | tuple | set | frozenset):
        return value
    values = as_list(value)
    return with_whole_numbers(values) if is_column(value) else values


def _medium(spec: FieldSpec) -> MediaName | None:
    # A single image in a field for a list of images is rejected later; the message
    # shows its path instead of a million numbers.
    return spec.media_kind or (spec.item.media_kind if spec.item else None)


def plain_body(
    function: Function, fields: Mapping[str, object], inputs: Inputs | None = None
) -> dict[str, object]:
    """Return the unchecked body of a request; local files are still paths."""
    fields = {
        name: None if _is_missing(value) else value
        for name, value in full_names(function, fields).items()
    }
    specs = function.of(fields).fields
    given = {
        name: value
        for name, value in fields.items()
        if value is not None or _takes_null(specs.get(name))
    }
    return plain_fields(function, given, inputs)


def _is_missing(value: object) -> bool:
    """Return whether pandas counts a value as missing.

    A float NaN is not missing: it is the result of a calculation, and is rejected.
    """
    return present(value) is None and type(value) is not float


def stripped_body(function: Function, body: bytes) -> bytes:
    """Return a sent body without white space around its prompts.

    Earlier versions sent that white space.
    """
    fields = json.loads(body)
    url = {n: fields.pop(n) for n in ("webhook_url",) if n in fields}
    whole = function.canonical_body(plain_body(function, fields)) | url
    return canonical_json(whole)


def _takes_null(spec: FieldSpec | None) -> bool:
    """Return whether None is sent as null; otherwise the field is omitted."""
    if spec is None:
        return False
    return spec.null_when_empty or (spec.required and spec.kind == "json")


# -- requests ----------------------------------------------------------------------


@dataclass(frozen=True)
class ValidatedRequest:
    """A checked and priced request; its local files are still paths."""

    function: Function
    body: dict[str, object]
    infos: Mapping[str, MediaInfo]
    read: MediaRequest | None
    seconds: Mapping[str, float | Decimal]
    extra: Mapping[str, object]
    webhook_url: str | None
    price_only: bool
    parents: tuple[Parent, ...]
    sent: Mapping[str, UploadedFile] = field(default_factory=dict)

    @cached_property
    def canonical_body(self) -> dict[str, object]:
        """Return the canonical body, with media as URLs."""
        urls = {value: file.url for value, file in self.sent.items()}
        body = self.function.with_media(self.body, urls)
        return self.function.canonical_body({**body, **self.extra})

    @property
    def names(self) -> dict[str, str]:
        """Return the name of each job and uploaded file, by URL."""
        jobs = {each.url: name_of_job(each.job_id) for each in self.parents}
        files = {file.url: name_of_file(file.sha256) for file in self.sent.values()}
        return jobs | files

    @property
    def local_media(self) -> dict[str, LocalMedium]:
        """Return each local file, by its value in the body."""
        media: dict[str, LocalMedium] = {}
        for item in self.function.media(self.body):
            info = self.infos.get(item.value)
            if info is not None and not is_url(item.value):
                medium = LocalMedium(local_file(item.value), info, item.label)
                media.setdefault(item.value, medium)
        return media

    @cached_property
    def facts(self) -> InputFacts:
        """Return the known durations; those given by the user take precedence."""
        probed_facts = facts_of(self.function, self.body, self.infos)
        user_durations = {
            placeholder(value): each for value, each in self.seconds.items()
        }
        return InputFacts(seconds={**probed_facts.seconds, **user_durations})

    @cached_property
    def estimate(self) -> Estimate:
        """Return the price; InputError if a field that affects it is wrong."""
        checked, _ = body_with_placeholders(self.function, self.body)
        # A user's own rate may depend on a property that is not declared.
        whole = {**checked, **self.extra}
        return self.function.estimate(whole, self.facts, request=self.read)

    @property
    def lengths_wanted(self) -> list[MediaItem]:
        """Return the media at URLs whose length is needed for an exact price."""
        return lengths_wanted(self.function, self.body, self.facts)

    @property
    def warnings(self) -> list[str]:
        """Return likely mistakes in valid values, one sentence each."""
        warnings = self.function.warnings(self.body)
        return [f"{each.sentence}. It is sent unchanged." for each in warnings]

    def refuse(self, problems: Iterable[Problem] = ()) -> None:
        """Raise an InputError for these problems and those of the media, if any."""
        all_problems = [*problems, *preflight(self.function, self.body, self.infos)]
        if all_problems and not self.price_only:
            raise InputError.of(all_problems, spec=self.function.spec)


def validate(
    function: Function,
    fields: Mapping[str, object],
    *,
    seconds: Seconds | None = None,
    extra: Mapping[str, object] | None = None,
    webhook_url: object = None,
    price_only: bool = False,
) -> ValidatedRequest:
    """Check and price a request without the network; this reads local files.

    The InputError of an invalid request lists all problems.
    """
    if not isinstance(webhook_url, str | None) or not _is_json(webhook_url):
        accepted = "the URL as text, or None"
        raise InputError("webhook_url", got=webhook_url, accepted=accepted)
    inputs = Inputs()
    body = plain_body(function, fields, inputs)
    properties = plain_fields(function, _properties(extra), inputs)
    lengths = known_lengths(seconds)
    # A file is not read if the user gives the length that determines the price.
    infos, problems = _probed(function, body, lengths if price_only else {})
    if problems and price_only:
        raise InputError.of(problems, spec=function.spec)
    checked, _ = body_with_placeholders(function, body)
    read, wrong = function.read(checked)
    request = ValidatedRequest(
        function,
        body,
        {**infos, **inputs.infos},
        read,
        lengths,
        properties,
        webhook_url,
        price_only,
        tuple(inputs.parents),
    )
    request.refuse([*wrong, *problems, *_beside_the_fields(function, body, properties)])
    return request


def known_lengths(seconds: object) -> dict[str, float | Decimal]:
    """Return the given durations of media, seconds by URL or path."""
    if seconds is None:
        return {}
    if not isinstance(seconds, Mapping):
        raise InputError("seconds", got=seconds, accepted=LENGTHS)
    for name, length in seconds.items():
        if not isinstance(name, str | Path):
            raise InputError("seconds", got=name, accepted=LENGTHS)
        if not _is_length(length):
            raise InputError("seconds", got=length, accepted=LENGTHS)
    return {str(name): length for name, length in seconds.items()}


def _is_length(value: object) -> bool:
    if isinstance(value, str):
        return False
    try:
        length = Decimal(str(value))
    except InvalidOperation:
        return False
    return length.is_finite() and length >= 0


def _properties(extra: object) -> Mapping[str, object]:
    if extra is None:
        return {}
    if not isinstance(extra, Mapping) or not all(isinstance(k, str) for k in extra):
        accepted = 'properties by name, such as {"mood": "calm"}'
        raise InputError("extra", got=extra, accepted=accepted)
    return extra


def _beside_the_fields(
    function: Function, body: Mapping[str, object], extra: Mapping[str, object]
) -> Iterator[Problem]:
    """Yield the problems of undeclared properties."""
    for name, value in {**body, **extra}.items():
        if name in extra and not _is_json(name):
            yield Problem("extra", ValueDescription(f"the name {name!a}"), NAMES)
        elif name in function.fields:
            if name in extra:
                accepted = (
                    f"passed as {name}=... instead of in extra, so that it is priced"
                )
                yield Problem(f"extra[{name!r}]", value, accepted)
        elif not _is_json(value):
            yield Problem(name, value, IN_JSON)
        else:
            files = filter(_is_local_medium, texts_in(value))
            yield from (Problem(name, file, UPLOADED) for file in files)


def _is_local_medium(text: str) -> bool:
    kind = (guess_type(text)[0] or "").partition("/")[0]
    try:
        return kind in A_MEDIUM and not is_url(text) and local_file(text).is_file()
    except OSError:  # too long for a file name
        return False


def _is_json(value: object) -> bool:
    try:
        canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _probed(
    function: Function, body: Mapping[str, object], lengths: Mapping[str, object]
) -> tuple[dict[str, MediaInfo], list[Problem]]:
    """Read the local files; a file with video and audio counts as video.

    A file whose length is given may be missing.
    """
    infos: dict[str, MediaInfo] = {}
    problems: list[Problem] = []
    for item in function.media(body):
        kept = infos.get(item.value)
        # The field itself rejects an empty value.
        if not item.value or is_url(item.value) or (kept and kept.kind == item.kind):
            continue
        try:
            info = probe_named(item)
        except InputError as error:
            if item.value not in lengths:
                problems.append(Problem(error.field, error.got, error.accepted))
        else:
            infos[item.value] = kept if kept and kept.kind == "video" else info
    return infos, problems


class Preparer:
    """Checks and prices the requests of one client, and uploads their files."""

    def __init__(
        self, catalog: Catalog, remote_media: RemoteMedia, uploads: Uploads
    ) -> None:
        self._catalog = catalog
        self._remote_media = remote_media
        self._uploads = uploads

    async def validated(
        self,
        function: str,
        fields: Mapping[str, object],
        *,
        is_sent: bool = False,
        **options: Any,
    ) -> ValidatedRequest:
        """Check and price a request; see `validate`.

        The lengths of media at URLs are read if the price needs them, and read again if
        the request is about to be sent.
        """
        target = self._catalog.function(function)
        check = partial(validate, target, fields, **options)
        # Without media, validation is fast.
        request = await to_thread.run_sync(check) if target.may_name_media else check()
        return await self._measured(request, is_sent=is_sent)

    async def _measured(
        self, request: ValidatedRequest, *, is_sent: bool
    ) -> ValidatedRequest:
        wanted = [(item.kind, item.value) for item in request.lengths_wanted]
        if not wanted:
            return request
        remote = self._remote_media
        probe = remote.probe_again if is_sent else remote.probe
        infos = await probe(wanted)
        measured = {url: info for (_, url), info in infos.items() if info}
        request = replace(request, infos={**request.infos, **measured})
        request.refuse()
        return request

    async def uploaded(self, request: ValidatedRequest) -> ValidatedRequest:
        """Upload a request's files, so that it can be submitted."""
        return replace(request, sent=await self._uploads.all(request.local_media))

    async def named(self, request: ValidatedRequest) -> ValidatedRequest:
        """Return a request with names in place of its local files, for a look-up."""
        sent = {}
        for value, medium in request.local_media.items():
            sha256 = (await to_thread.run_sync(fingerprint, medium.path)).sha256
            sent[value] = UploadedFile(name_of_file(sha256), sha256)
        return replace(request, sent=sent)

    async def repriced(self, submission: Submission, *, is_sent: bool) -> Submission:
        """Return a submission at the current price of another take.

        Rates may have risen. If a length that the price depends on can no longer be
        read, the higher of the two prices counts. A submission that cannot be priced
        here keeps its price.
        """
        body = json.loads(submission.body)
        if submission.webhook_url is not None:
            body.pop("webhook_url", None)
        try:
            function = self._catalog.function(submission.function)
            declared = {n: v for n, v in body.items() if n in function.fields}
            fields = body if function.is_open else declared
            extra = {n: v for n, v in body.items() if n not in fields}
            request = validate(function, fields, extra=extra, price_only=True)
            request = await self._measured(request, is_sent=is_sent)
            again = priced_at(submission, request.estimate)
        except InputError:
            return submission
        is_less = again.reserved_micro_usd < submission.reserved_micro_usd
        return submission if request.lengths_wanted and is_less else again
