"""Validates and prices requests; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

from mediakit.catalog import Function
from mediakit.client.requests.body_values import full_names, plain_fields
from mediakit.client.requests.job_inputs import Inputs, is_job
from mediakit.client.requests.validated_request import ValidatedRequest
from mediakit.errors import InputError
from mediakit.media import (
    MediaInfo,
    body_with_placeholders,
    is_url,
    probe_named,
)
from mediakit.rules import Problem
from mediakit.schema import (
    FieldSpec,
    MediaName,
    canonical_json,
)

Seconds = Mapping[str, float | Decimal] | Mapping[Path, float | Decimal]

LENGTHS = 'seconds by URL or path, such as {"https://a.example/clip.mp4": 4.5}'
IN_JSON = "what JSON can hold: whole text, finite numbers, booleans, lists, mappings"


def validate(
    function: Function,
    fields: Mapping[str, object],
    *,
    seconds: Seconds | None = None,
    extra: Mapping[str, object] | None = None,
    price_only: bool = False,
) -> ValidatedRequest:
    """Check a request and price it.

    Args:
        function: The function.
        fields: The fields as the user wrote them.
        seconds: Known durations of media, seconds by URL or path.
        extra: Additional properties to send.
        price_only: Allow invalid fields that do not affect the price.

    Raises:
        InputError: The request is invalid; the error has all problems.
    """
    inputs = Inputs()
    body = plain_body(function, fields, inputs)
    lengths = known_lengths(seconds)
    beside = plain_fields(function, _properties(extra))
    infos, problems = _probed(function, body)
    checked, _ = body_with_placeholders(function, body)
    read, wrong = function.read(checked)
    request = ValidatedRequest(
        function,
        body,
        infos,
        lengths,
        price_only,
        inputs.infos,
        read,
        beside,
        tuple(inputs.parents),
    )
    request.refuse([*wrong, *problems, *_beside_the_fields(function, body, beside)])
    return request


def known_lengths(seconds: object) -> dict[str, float | Decimal]:
    """Return the given lengths of media, seconds by the text of URL or path.

    Args:
        seconds: The argument; None for none.

    Raises:
        InputError: It is something else.
    """
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
    """Yield the problems of properties that the declaration does not check."""
    for name, value in {**body, **extra}.items():
        if name in function.fields:
            if name in extra:
                accepted = f"{name}=... outside of extra, where it is priced"
                yield Problem(f"extra[{name!r}]", value, accepted)
        elif not _is_json(value):
            yield Problem(name, value, IN_JSON)


def _is_json(value: object) -> bool:
    try:
        canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def check_webhook_url(url: object) -> None:
    """Reject an invalid `webhook_url`; None is valid.

    Raises:
        InputError: It is not text, or JSON cannot hold it.
    """
    if url is not None and not (isinstance(url, str) and _is_json(url)):
        raise InputError("webhook_url", got=url, accepted="the URL as text, or None")


def reads_files(function: Function, fields: Mapping[str, object]) -> bool:
    """Return whether a request names local files or objects, which take time to read.

    Args:
        function: The function.
        fields: The fields as the user wrote them.
    """
    if not function.may_name_media:
        return False
    plain = plain_fields(function, full_names(function, fields), _as_if_kept)
    return any(not is_url(item.value) for item in function.media(plain))


def _as_if_kept(value: object, _: MediaName, __: str) -> Path | None:
    is_at_hand = isinstance(value, str | Path | list | tuple | None) or is_job(value)
    return None if is_at_hand else Path()


def plain_body(
    function: Function, fields: Mapping[str, object], inputs: Inputs | None = None
) -> dict[str, object]:
    """Return the body of a request, unchecked; local files still as paths.

    Args:
        function: The function.
        fields: The fields as the user wrote them.
        inputs: Converts media objects, and collects the jobs.
    """
    fields = full_names(function, fields)
    known = function.of(fields).fields
    given = {
        name: value
        for name, value in fields.items()
        if value is not None or _takes_null(known.get(name))
    }
    return plain_fields(function, given, None if inputs is None else inputs.keep)


def _takes_null(spec: FieldSpec | None) -> bool:
    """Return whether None is sent as null; else it means that the field is omitted."""
    if spec is None:
        return False
    return spec.null_when_empty or (spec.required and spec.kind == "json")


def _probed(
    function: Function, body: Mapping[str, object]
) -> tuple[dict[str, MediaInfo], list[Problem]]:
    """Read the local files; a file with video and audio counts as video."""
    infos: dict[str, MediaInfo] = {}
    problems: list[Problem] = []
    for item in function.media(body):
        known = infos.get(item.value)
        if is_url(item.value) or (known is not None and known.kind == item.kind):
            continue
        if not item.value:
            continue  # the field itself rejects it
        try:
            info = probe_named(item)
        except InputError as error:
            problems.append(Problem(error.field, error.got, error.accepted))
        else:
            infos[item.value] = known if known and known.kind == "video" else info
    return infos, problems
