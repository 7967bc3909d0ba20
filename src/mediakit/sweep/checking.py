"""Find the cells that cannot be sent, checking each value and each rule once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from mediakit.catalog import Function
from mediakit.client.requests import plain_body
from mediakit.errors import InputError, shown
from mediakit.media import body_with_placeholders
from mediakit.rules import Rule
from mediakit.sweep.parameter_grid import Grid, Source

Sources = Mapping[str, Source]
SHOWN_N = 5


@dataclass(frozen=True)
class Finding:
    """Problems with combinations of some dimensions.

    Args:
        dimensions: The dimensions.
        reasons: The problem, by the index of the combination.
    """

    dimensions: tuple[int, ...]
    reasons: Mapping[int, str]


def fields_at(
    sources: Sources, grid: Grid, dimensions: tuple[int, ...], code: int
) -> dict[str, object]:
    """Return all fields at one combination; other dimensions use their first value.

    Args:
        sources: The sources of the values.
        grid: The grid.
        dimensions: The dimensions.
        code: The index of the combination.
    """
    at: dict[int, int] = {}
    for number in reversed(dimensions):
        code, at[number] = divmod(code, grid.sizes[number])
    found = {}
    for name, source in sources.items():
        place = 0
        for number in source.dimensions:
            place = place * grid.sizes[number] + at.get(number, 0)
        found[name] = source.values[place]
    return found


def reads_of(sources: Sources, names: Iterable[str]) -> tuple[int, ...]:
    """Return the dimensions that some fields depend on."""
    found = {n for name in names if name in sources for n in sources[name].dimensions}
    return tuple(sorted(found))


def count_of(grid: Grid, dimensions: tuple[int, ...]) -> int:
    """Return the number of combinations of some dimensions."""
    return prod(grid.sizes[number] for number in dimensions)


def findings_of(function: Function, sources: Sources, grid: Grid) -> list[Finding]:
    """Check every value of every field, and every rule over its fields.

    Raises:
        InputError: A value that does not vary is not acceptable.
    """
    _refuse_fixed(function, sources, grid)
    if function.tag is not None and reads_of(sources, [function.tag]):
        return [_whole(function, sources, grid)]
    varying = [name for name, source in sources.items() if source.dimensions]
    found = [
        *(_own(function, sources, grid, name) for name in varying),
        *(_by_rule(function, sources, grid, rule) for rule in function.rules),
        *_repeated(sources, grid),
    ]
    return [finding for finding in found if finding.reasons]


def _refuse_fixed(function: Function, sources: Sources, grid: Grid) -> None:
    body = _body(function, fields_at(sources, grid, (), 0))
    varies = {name for name, source in sources.items() if source.dimensions}
    found = [p for p in function.own_problems(body) if p.root not in varies]
    if not found:
        values = function.with_defaults(body)
        for rule in function.of(body).rules:
            if varies.isdisjoint(rule.reads):
                found += rule.problems(values)
    if found:
        raise InputError.of(found, spec=function.spec)


def _body(function: Function, fields: Mapping[str, object]) -> dict[str, object]:
    body, _ = body_with_placeholders(function, plain_body(function, fields))
    return body


def _own(function: Function, sources: Sources, grid: Grid, name: str) -> Finding:
    """Check the values of one field alone."""
    dimensions = sources[name].dimensions
    reasons: dict[int, str] = {}
    for code in range(count_of(grid, dimensions)):
        body = _body(function, fields_at(sources, grid, dimensions, code))
        for problem in function.own_problems(body):
            if problem.root == name:
                reasons.setdefault(code, problem.sentence)
    return Finding(dimensions, reasons)


def _by_rule(function: Function, sources: Sources, grid: Grid, rule: Rule) -> Finding:
    """Check one rule over all combinations of its fields."""
    dimensions = reads_of(sources, rule.reads)
    reasons: dict[int, str] = {}
    for code in range(count_of(grid, dimensions)) if dimensions else ():
        body = _body(function, fields_at(sources, grid, dimensions, code))
        wrong = {p.root for p in function.own_problems(body)}
        if wrong.isdisjoint(rule.reads):
            values = function.with_defaults(body)
            for problem in rule.problems(values):
                reasons.setdefault(code, problem.sentence)
    return Finding(dimensions, reasons)


def _whole(function: Function, sources: Sources, grid: Grid) -> Finding:
    """Check every combination: the fields depend on the body type, which varies."""
    dimensions = tuple(range(len(grid.sizes)))
    reasons = {}
    for code in range(count_of(grid, dimensions)):
        problems = function.check(
            _body(function, fields_at(sources, grid, dimensions, code))
        )
        if problems:
            reasons[code] = problems[0].sentence
    return Finding(dimensions, reasons)


def _repeated(sources: Sources, grid: Grid) -> Iterator[Finding]:
    """Find texts that are equal because a template does not use a slot."""
    for name, source in sources.items():
        others = {n for o in sources if o != name for n in sources[o].dimensions}
        if len(source.dimensions) > 1 and others.isdisjoint(source.dimensions):
            first: dict[object, int] = {}
            reasons = {
                code: f"{name}: {shown(value)} duplicates another cell"
                for code, value in enumerate(source.values)
                if first.setdefault(value, code) != code
            }
            yield Finding(source.dimensions, reasons)


# -- as arrays --------------------------------------------------------------------


@dataclass(frozen=True)
class Problems:
    """The problems of all cells.

    Args:
        codes: The index of each cell's problem; -1 for none.
        texts: The problems.
    """

    codes: npt.NDArray[np.int32]
    texts: tuple[str, ...]

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Return which cells can be sent."""
        return self.codes < 0

    def of(self, cell: int) -> str | None:
        """Return the problem of a cell; None if there is none."""
        code = int(self.codes[cell])
        return None if code < 0 else self.texts[code]


def problems_of(grid: Grid, findings: Iterable[Finding]) -> Problems:
    """Assign the findings to cells; only the first problem of a cell counts.

    Raises:
        InputError: No cell can be sent.
    """
    codes = np.full(len(grid), -1, dtype="int32")
    texts: dict[str, int] = {}
    for finding in findings:
        table = np.full(count_of(grid, finding.dimensions), -1, dtype="int32")
        for code, reason in finding.reasons.items():
            table[code] = texts.setdefault(reason, len(texts))
        found = table[grid.codes(finding.dimensions)]
        codes = np.where(codes < 0, found, codes)
    problems = Problems(codes, tuple(texts))
    if len(codes) and not problems.valid.any():
        _refuse_all(grid, problems)
    return problems


def _refuse_all(grid: Grid, problems: Problems) -> None:
    found = [problems.texts[code] for code in np.unique(problems.codes)]
    more = f"; and {len(found) - SHOWN_N} more reasons" if len(found) > SHOWN_N else ""
    raise InputError(
        " and ".join(grid.axes) or "sweep",
        got="no valid cell",
        accepted=f"values that the function takes: {'; '.join(found[:SHOWN_N])}{more}",
    )
