"""The sweeps that were run, their cells, and the outcomes."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    and_,
    case,
    func,
    literal,
    select,
    type_coerce,
    update,
)

from mediakit.api_models import JobStatus
from mediakit.history.entry import Entry
from mediakit.history.frames import free_name, instants, text_array
from mediakit.history.rows import entry_of, whole_entries
from mediakit.history.scores import (
    JUDGE_COST,
    Score,
    cost_micro_usd,
    score_of,
    scores_query,
    visible,
)
from mediakit.history.store import History
from mediakit.history.tables import (
    entries,
    has_later_attempt,
    job_scores,
    judgements,
    sweep_cells,
    sweeps,
    totals,
    upsert,
)
from mediakit.money import MICRO_PER_USD

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sweep:
    """A sweep that was run."""

    id: str
    function: str
    axes: tuple[str, ...]
    prompt: str | None  # the prompt of all cells, with slots; None if it varies
    code: str  # the call that makes the plan


class SweepCell(NamedTuple):
    """A cell of a sweep: its request, and its place in the grid."""

    asked_key: str
    take: int
    point: Mapping[str, object]
    """The value of each axis, and the number of the take under `take`."""


def save_sweep(
    history: History, sweep: Sweep, cells: Iterable[SweepCell], *, service: str
) -> None:
    """Save a sweep when it begins; an existing one is not changed."""
    row = {
        "id": sweep.id,
        "service": service,
        "function": sweep.function,
        "axes": json.dumps(sweep.axes, ensure_ascii=False),
        "prompt": sweep.prompt,
        "code": sweep.code,
        "begun_at": history.clock.now(),
    }
    with history.database.writing() as db:
        query = select(sweeps.c.id).where(sweeps.c.id == sweep.id)
        if db.execute(query).first() is not None:
            return
        upsert(db, sweeps, [row])
        rows = [
            {
                "sweep": sweep.id,
                "number": number,
                "asked_key": cell.asked_key,
                "take": cell.take,
                "point": json.dumps(cell.point, ensure_ascii=False),
            }
            for number, cell in enumerate(cells)
        ]
        upsert(db, sweep_cells, rows)


def change_request(
    history: History, sweep_id: str, cell: SweepCell, asked_key: str
) -> None:
    """Save another request for a cell whose file was changed during the sweep.

    Other cells may have had the old request, so the place in the grid has to match,
    too.
    """
    table = sweep_cells.c
    query = select(table.number, table.point).where(
        table.sweep == sweep_id,
        table.asked_key == cell.asked_key,
        table.take == cell.take,
    )
    point = json.loads(json.dumps(cell.point)).items()
    with history.database.writing() as db:
        numbers = [
            number
            for number, recorded in db.execute(query)
            if point <= json.loads(recorded).items()
        ]
        is_it = and_(table.sweep == sweep_id, table.number.in_(numbers))
        db.execute(update(sweep_cells).where(is_it).values(asked_key=asked_key))


def find_sweep(
    history: History, sweep_id: str, *, service: str
) -> tuple[Sweep, list[tuple[SweepCell, Entry | None]]] | None:
    """Return a sweep and its cells, each with its newest entry; None if unknown."""
    names = ("id", "function", "axes", "prompt", "code")
    query = select(*(sweeps.c[name] for name in names)).where(
        sweeps.c.id == sweep_id, sweeps.c.service == service
    )
    found = next(iter(history.database.rows(query)), None)
    if found is None:
        return None
    its = dict(found._mapping)
    sweep = Sweep(**{**its, "axes": tuple(json.loads(its["axes"]))})
    is_its = and_(
        entries.c.asked_key == sweep_cells.c.asked_key,
        entries.c.take == sweep_cells.c.take,
        ~has_later_attempt(),
    )
    cells = (
        whole_entries()
        .add_columns(
            sweep_cells.c.asked_key.label("cell_key"),
            sweep_cells.c.take.label("cell_take"),
            sweep_cells.c.point,
        )
        .select_from(sweep_cells.outerjoin(entries, is_its))
        .where(sweep_cells.c.sweep == sweep_id)
        .order_by(sweep_cells.c.number)
    )
    return sweep, [
        (
            SweepCell(row.cell_key, row.cell_take, json.loads(row.point)),
            None if row.number is None else entry_of(row),
        )
        for row in history.database.rows(cells)
    ]


def sweep_names(
    history: History, kinds: Mapping[str, str], *, service: str
) -> list[tuple[str, str]]:
    """Return the id and a name of each sweep, such as "r1 by prompt, 2026-10-01".

    `kinds` has the short names of functions, by path.
    """
    table = sweeps.c
    query = (
        select(table.id, table.function, table.axes, table.begun_at)
        .where(table.service == service)
        .order_by(table.begun_at.desc())
    )
    return [
        (
            sweep,
            f"{kinds.get(path, path)} by {', '.join(json.loads(axes))}, {at:%Y-%m-%d}",
        )
        for sweep, path, axes, at in history.database.rows(query)
    ]


def sweeps_frame(history: History, *, service: str, account: str) -> "pd.DataFrame":
    """Return the sweeps of a service as a frame, newest first."""
    import pandas as pd

    is_completed = entries.c.status == JobStatus.COMPLETED
    query = (
        select(
            sweeps.c.id,
            sweeps.c.function,
            sweeps.c.axes,
            sweeps.c.prompt,
            func.count(sweep_cells.c.number.distinct()),
            func.sum(case((is_completed, 1), else_=0)),
            func.sum(case((judgements.c.keep, 1), else_=0)),
            func.avg(judgements.c.rating),
            func.max(totals.c.spent_micro_usd),
            _number(sweeps.c.begun_at),
            func.max(_number(entries.c.finished_at)),
        )
        .select_from(sweeps)
        .join(sweep_cells, sweep_cells.c.sweep == sweeps.c.id)
        .outerjoin(
            entries,
            and_(
                entries.c.asked_key == sweep_cells.c.asked_key,
                entries.c.take == sweep_cells.c.take,
            ),
        )
        .outerjoin(
            judgements,
            and_(
                judgements.c.service == service,
                judgements.c.account == account,
                judgements.c.job_id == entries.c.job_id,
            ),
        )
        .outerjoin(totals, totals.c.name == literal("sweep ") + sweeps.c.id)
        .where(sweeps.c.service == service)
        .group_by(*(sweeps.c[name] for name in ("id", "function", "axes", "prompt")))
        .group_by(sweeps.c.begun_at)
        .order_by(sweeps.c.begun_at.desc(), sweeps.c.id)
    )
    rows = history.database.rows(query)
    columns: list[Any] = [*zip(*rows, strict=True)] or [()] * 11
    ids, functions, axes, prompts, *counts, ratings, spent, begun, ended = columns
    frame = pd.DataFrame({"sweep": text_array(ids), "function": text_array(functions)})
    frame["axes"] = text_array([", ".join(json.loads(each)) for each in axes])
    frame["prompt"] = text_array(prompts)
    for name, values in zip(("cells", "completed", "kept"), counts, strict=True):
        frame[name] = pd.array([int(each) for each in values], dtype="int64")
    frame["rating"] = pd.array(list(ratings), dtype="Float64").to_numpy(
        "float64", na_value=float("nan")
    )
    frame["charge_micro_usd"] = pd.array([n or 0 for n in spent], dtype="int64")
    frame["charge_usd"] = frame["charge_micro_usd"].astype("float64") / MICRO_PER_USD
    frame["begun_at"], frame["ended_at"] = instants(begun), instants(ended)
    its = score_means(history, service=service, account=account)
    names = dict.fromkeys(name for means in its.values() for name in means)
    for name in sorted(names, key=JUDGE_COST.__eq__):
        values = [its.get(sweep, {}).get(name) for sweep in ids]
        kind = "Int64" if name == JUDGE_COST else "float64"
        frame[free_name(name, frame)] = pd.Series(values, dtype=kind)
    return frame


def score_means(
    history: History, *, service: str, account: str
) -> dict[str, dict[str, float | int]]:
    """Return the mean of each score of each sweep, and the charges of its judges."""
    is_its = and_(
        entries.c.asked_key == sweep_cells.c.asked_key,
        entries.c.take == sweep_cells.c.take,
    )
    query = (
        scores_query()
        .add_columns(sweep_cells.c.sweep)
        .join(entries, entries.c.job_id == job_scores.c.job_id)
        .join(sweep_cells, is_its)
        .where(job_scores.c.service == service, job_scores.c.account == account)
    )
    scores: dict[str, list[Score]] = {}
    for row in history.database.rows(query):
        scores.setdefault(row.sweep, []).append(score_of(row))
    means: dict[str, dict[str, float | int]] = {}
    for sweep, its in scores.items():
        values: dict[str, list[float]] = {}
        for score in chain.from_iterable(visible(its).values()):
            for name, value in score.values.items():
                if not isinstance(value, str) and value == value:
                    values.setdefault(name, []).append(value)
        means[sweep] = {name: fmean(each) for name, each in sorted(values.items())}
        cost = cost_micro_usd(its)
        if cost is not None:
            means[sweep][JUDGE_COST] = cost
    return means


def _number(column: Any) -> Any:
    """Select an instant as the stored integer."""
    return type_coerce(column, BigInteger)
