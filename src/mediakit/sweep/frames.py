"""Results as rows and as frames: cells, their repairs, and what people say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mediakit.errors import InputError
from mediakit.history import Judgement, Preference, tuning
from mediakit.money import MICRO_PER_USD
from mediakit.sweep.outcomes import CellStatus, Outcome, outcome_of
from mediakit.sweep.scoring import Values, column

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.sweep.results import Results
    from mediakit.sweep.run import Run

MEDIA_TYPES = ("video", "image", "audio")
_NONE: tuple[tuple[str, str | None], ...] = (("", None),)


class Row(NamedTuple):
    """A row of the results: a cell, or a repair of its result."""

    cell: int
    outcome: Outcome
    parent_job_id: str | None
    """The job whose output is an input; the repaired one of a repair."""
    judgement: Judgement | None
    """What somebody said of it; None for nothing."""
    is_repair: bool


def rows_of(run: Run) -> list[Row]:
    """Return the cells of a run as they are now and, below them, the repairs."""
    outcomes, store = list(run.outcomes), run.components.store
    cell_of = {
        outcome.job_id: cell
        for cell, outcome in enumerate(outcomes)
        if outcome.job_id is not None
    }
    inputs = tuning.parents(store, cell_of)
    found = [
        (cell, outcome, inputs.get(outcome.job_id or "", _NONE)[0][1], False)
        for cell, outcome in enumerate(outcomes)
    ]
    for parent, entry in tuning.children(store, run.plan.id):
        if parent in cell_of and entry.job_id and entry.job_id not in cell_of:
            cell = cell_of[entry.job_id] = cell_of[parent]
            outcome = replace(outcome_of(entry), problem=entry.error_message)
            found.append((cell, outcome, parent, True))
    owner = run.components.account_history.owner
    said = tuning.judgements(store, **owner, job_ids=[*cell_of])
    judged = {each.job_id: each for each in said}
    return [
        Row(cell, outcome, parent, judged.get(outcome.job_id or ""), is_repair)
        for cell, outcome, parent, is_repair in found
    ]


def preferences_of(run: Run) -> list[Preference]:
    """Return the blind comparisons of the results with each other."""
    mine = {row.outcome.job_id for row in rows_of(run)}
    owner = run.components.account_history.owner
    said = tuning.preferences(run.components.store, **owner)
    return [each for each in said if {each.winner, each.loser} <= mine]


def frame_of(run: Run, scores: Mapping[str, Values]) -> pd.DataFrame:
    """Return the results as a frame, with a column for each kind of score by job."""
    import pandas as pd

    from mediakit.history.frames import text_array

    rows, plan = rows_of(run), run.plan
    outcomes = [row.outcome for row in rows]
    said = [row.judgement for row in rows]

    def texts(values: Iterable[Any]) -> Any:
        return text_array([value or None for value in values])

    found = plan.axes_frame().iloc[[row.cell for row in rows]].copy()
    found.index = pd.RangeIndex(len(rows), name=found.index.name)
    levels = [str(status) for status in CellStatus]
    found["status"] = pd.Categorical([str(each.status) for each in outcomes], levels)
    charges = [each.charge_micro_usd for each in outcomes]
    found["charge_micro_usd"] = pd.array(charges, dtype="Int64")
    found["charge_usd"] = found["charge_micro_usd"].astype("float64") / MICRO_PER_USD
    runtimes = [each.runtime_s for each in outcomes]
    found["runtime_s"] = pd.Series(runtimes, index=found.index, dtype="float64")
    ratings = [each.rating if each else None for each in said]
    found["rating"] = pd.array(ratings, dtype="Int8")
    keeps = [each is not None and each.keep for each in said]
    found["keep"] = pd.array(keeps, dtype="boolean")
    for name in ("job_id", "problem", "output_url"):
        found[name] = texts(getattr(each, name) for each in outcomes)
    media_types = [each.media_type for each in outcomes]
    found["media_type"] = pd.Categorical(media_types, MEDIA_TYPES)
    if "prompt" not in plan.axes:
        prompts = [plan.cells[row.cell].fields.get("prompt") for row in rows]
        found["prompt"] = texts(p if isinstance(p, str) else None for p in prompts)
    found["parent_job_id"] = texts(row.parent_job_id for row in rows)
    found["tags"] = texts(", ".join(each.tags) if each else None for each in said)
    for name in ("note", "rater"):
        found[name] = texts(getattr(each, name, None) for each in said)
    found["sweep"] = texts([plan.id] * len(rows))
    for name, values in scores.items():
        found[name] = column([values.get(each.job_id or "") for each in outcomes])
    return found


def concat(results: Iterable[Results[Any] | pd.DataFrame]) -> pd.DataFrame:
    """Put the results of several sweeps into one frame; `sweep` says whose a row is.

    Args:
        results: Results, or frames of results.

    Returns:
        The rows of all, with the columns of `results.frame()`. The axes of all are to
        the left of `take`; one that a sweep does not have is missing in its rows.

    Raises:
        InputError: There are none, or one is not results.
    """
    import pandas as pd

    from mediakit.sweep.results import Results
    from mediakit.sweep.statistics import axes_of

    frames = []
    for each in results:
        frame: object = each.frame() if isinstance(each, Results) else each
        if not isinstance(frame, pd.DataFrame):
            accepted = "results, or the frames of results"
            raise InputError("results", got=each, accepted=accepted)
        # Categories of different sweeps have no common order.
        words = {
            name: frame[name].cat.categories.dtype
            for name in axes_of(frame)
            if isinstance(frame[name].dtype, pd.CategoricalDtype)
        }
        frames.append(frame.astype(words))
    if not frames:
        raise InputError("results", got="none", accepted="at least one")
    axes = dict.fromkeys(name for frame in frames for name in axes_of(frame))
    whole = pd.concat(frames, ignore_index=True)
    return whole[[*axes, *whole.columns.drop([*axes])]]
