"""From what people wrote to what can be checked and priced; nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from mediakit.catalog import Function
from mediakit.errors import InputError
from mediakit.media import (
    MediaInfo,
    body_with_stand_ins,
    facts_of,
    is_url,
    local_file,
    probe,
)
from mediakit.rates import Estimate
from mediakit.rules import Problem
from mediakit.schema import InputFacts


@dataclass(frozen=True)
class Prepared:
    """A request that was checked and priced.

    Args:
        function: The function.
        body: The body; local files still as paths.
        infos: What each local file is, by its value in the body.
        estimate: Its price.
    """

    function: Function
    body: dict[str, object]
    infos: Mapping[str, MediaInfo]
    estimate: Estimate

    @property
    def paths(self) -> dict[str, Path]:
        """Return each local file, by its value in the body."""
        return {value: local_file(value) for value in self.infos}


def prepare(
    function: Function,
    fields: Mapping[str, object],
    *,
    seconds: Mapping[str, float | Decimal] | None = None,
    price_only: bool = False,
) -> Prepared:
    """Check a request and price it.

    Args:
        function: The function.
        fields: The fields as people wrote them.
        seconds: Known durations of media, seconds by URL.
        price_only: Let fields be wrong that do not bear on the price.

    Raises:
        InputError: Something is not acceptable; all problems are in it.
    """
    body = {name: plain(value) for name, value in fields.items() if value is not None}
    checked, paths = body_with_stand_ins(function, body)
    infos, problems = _probed(function, body)
    if not price_only:
        problems = [*function.check(checked), *problems]
        if problems:
            raise InputError.of(problems, spec=function.spec)
    known = dict(facts_of(function, body, infos).seconds) | dict(seconds or {})
    known |= {paths[p]: known[p] for p in paths if p in known}
    estimate = function.estimate(checked, InputFacts(seconds=known))
    return Prepared(function, body, infos, estimate)


def plain(value: object) -> object:
    """Turn what notebooks hold into what JSON holds: paths, tuples, array scalars."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return plain(value.tolist())
    return value


def _probed(
    function: Function, body: Mapping[str, object]
) -> tuple[dict[str, MediaInfo], list[Problem]]:
    infos: dict[str, MediaInfo] = {}
    problems: list[Problem] = []
    for item in function.media(body):
        if is_url(item.value) or item.value in infos:
            continue
        try:
            infos[item.value] = probe(local_file(item.value), item.kind, item.label)
        except InputError as error:
            problems.append(Problem(error.field, error.got, error.accepted))
    return infos, problems
