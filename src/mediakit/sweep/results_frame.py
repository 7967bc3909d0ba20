"""The frame of a run's results and its columns, and the frame of all scores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from mediakit.errors import InputError
from mediakit.history import (
    Judgement,
    Preference,
    Score,
    lineage,
    ratings,
    scores,
)
from mediakit.history.frames import score_columns, text_array
from mediakit.history.scores import JUDGE_COST
from mediakit.money import MICRO_PER_USD
from mediakit.rules import ValueDescription
from mediakit.sweep.frame_columns import axes_of
from mediakit.sweep.outcomes import CellStatus, Outcome, outcome_of
from mediakit.web_urls import is_http

if TYPE_CHECKING:
    from mediakit.sweep.blocking import Results
    from mediakit.sweep.run import Run

MEDIA_TYPES = ("video", "image", "audio")
_NONE: tuple[tuple[str, str | None], ...] = (("", None),)
REPAIR = "region-replace"
"""The kind of function that repairs a clip."""


class Row(NamedTuple):
    """A row of the results: a cell, or a repair of its result."""

    cell: int
    outcome: Outcome
    parent_job_id: str | None
    """The job whose output is an input; for a repair, the repaired job."""
    judgement: Judgement | None
    """The ratings, tags and note of the result, or None if there are none."""
    is_repair: bool


def rows_of(run: Run) -> list[Row]:
    """Return the current cells of a run and, below each, its repairs."""
    outcomes, store = list(run.outcomes), run.components.store
    cell_of = {
        outcome.job_id: cell
        for cell, outcome in enumerate(outcomes)
        if outcome.job_id is not None
    }
    inputs = lineage.parents(store, cell_of)
    repairs = [
        (cell, outcome, inputs.get(outcome.job_id or "", _NONE)[0][1], False)
        for cell, outcome in enumerate(outcomes)
    ]
    for parent, entry in lineage.children(store, run.plan.id):
        # Other jobs submitted on the wall belong to the sweep, too, but are not rows.
        is_repair = entry.kind == REPAIR and parent in cell_of
        if is_repair and entry.job_id and entry.job_id not in cell_of:
            cell = cell_of[entry.job_id] = cell_of[parent]
            outcome = replace(outcome_of(entry), problem=entry.error_message)
            repairs.append((cell, outcome, parent, True))
    owner = run.components.account_history.owner
    judgements = ratings.judgements(store, **owner, job_ids=[*cell_of])
    judged = {each.job_id: each for each in judgements}
    return [
        Row(cell, outcome, parent, judged.get(outcome.job_id or ""), is_repair)
        for cell, outcome, parent, is_repair in repairs
    ]


def preferences_of(run: Run) -> list[Preference]:
    """Return the blind comparisons between the results."""
    mine = {row.outcome.job_id for row in rows_of(run)}
    owner = run.components.account_history.owner
    preferences = ratings.preferences(run.components.store, **owner)
    return [each for each in preferences if {each.winner, each.loser} <= mine]


def frame_of(run: Run) -> pd.DataFrame:
    """Return the results as a frame; see `AsyncResults.frame`."""
    rows, plan = rows_of(run), run.plan
    outcomes = [row.outcome for row in rows]
    judgements = [row.judgement for row in rows]

    def texts(values: Iterable[Any]) -> Any:
        return text_array([value or None for value in values])

    frame = plan.axes_frame().iloc[[row.cell for row in rows]].copy()
    frame.index = pd.RangeIndex(len(rows), name=frame.index.name)
    levels = [str(status) for status in CellStatus]
    frame["status"] = pd.Categorical([str(each.status) for each in outcomes], levels)
    charges = [each.charge_micro_usd for each in outcomes]
    frame["charge_micro_usd"] = pd.array(charges, dtype="Int64")
    frame["charge_usd"] = frame["charge_micro_usd"].astype("float64") / MICRO_PER_USD
    runtimes = [each.runtime_s for each in outcomes]
    frame["runtime_s"] = pd.Series(runtimes, index=frame.index, dtype="float64")
    ratings = [each.rating if each else None for each in judgements]
    frame["rating"] = pd.array(ratings, dtype="Int64")
    keeps = [each is not None and each.keep for each in judgements]
    frame["keep"] = pd.array(keeps, dtype="boolean")
    for name in ("job_id", "problem"):
        frame[name] = texts(getattr(each, name) for each in outcomes)
    urls = [each.output_url or "" for each in outcomes]
    frame["output_url"] = texts(url if is_http(url) else None for url in urls)
    media_types = [each.media_type for each in outcomes]
    frame["media_type"] = pd.Categorical(media_types, MEDIA_TYPES)
    if "prompt" not in plan.axes:
        prompts = [plan.cells[row.cell].fields.get("prompt") for row in rows]
        frame["prompt"] = texts(p if isinstance(p, str) else None for p in prompts)
    frame["parent_job_id"] = texts(row.parent_job_id for row in rows)
    frame["tags"] = texts(", ".join(each.tags) if each else None for each in judgements)
    for name in ("note", "rater"):
        frame[name] = texts(getattr(each, name, None) for each in judgements)
    frame["sweep"] = texts([plan.id] * len(rows))
    job_ids = [each.job_id for each in outcomes]
    columns = score_columns(scores_of(run, job_ids), job_ids, {*frame.columns})
    return frame.assign(**columns)


def number_scores(frame: pd.DataFrame) -> list[str]:
    """Return the numeric score columns of a frame of results."""
    names = [str(name) for name in frame]
    scores = frame[names[names.index("sweep") + 1 :]].select_dtypes("number")
    return [name for name in map(str, scores) if not name.endswith(JUDGE_COST)]


def scores_of(run: Run, job_ids: Iterable[str | None]) -> list[Score]:
    """Return all scores of the results, the most recently used last."""
    owner = run.components.account_history.owner
    return scores.of_jobs(run.components.store, filter(None, job_ids), **owner)


def score_texts(run: Run, job_ids: Iterable[str | None]) -> dict[str, str]:
    """Return the scores of the results and their reasons as text, by job."""
    visible_scores = scores.visible(scores_of(run, job_ids))
    return {job_id: scores.scores_text(its) for job_id, its in visible_scores.items()}


def scores_frame(run: Run) -> pd.DataFrame:
    """Return all scores of the results by value; see `AsyncResults.scores`."""
    stored = scores_of(run, [row.outcome.job_id for row in rows_of(run)])
    nothing = [(None, math.nan)]  # a charge without an answer also has a row
    rows = [(each, *item) for each in stored for item in each.values.items() or nothing]
    frame = pd.DataFrame()
    for column in ("job_id", "scorer", "version"):
        frame[column] = text_array([getattr(each, column) for each, *_ in rows])
    frame["name"] = text_array([name for _, name, _ in rows])
    texts = [value if isinstance(value, str) else None for *_, value in rows]
    numbers = [math.nan if isinstance(value, str) else value for *_, value in rows]
    frame["value"] = pd.Series(numbers, dtype="float64")
    frame["text"] = text_array(texts)
    frame["reason"] = text_array([each.reason for each, *_ in rows])
    costs = [each.cost_micro_usd for each, *_ in rows]
    frame["cost_micro_usd"] = pd.array(costs, dtype="Int64")
    times = [each.scored_at for each, *_ in rows]
    frame["scored_at"] = pd.to_datetime(pd.Series(times, dtype="object"), utc=True)
    return frame


def concat(results: Iterable[Results | pd.DataFrame]) -> pd.DataFrame:
    """Combine the results of several sweeps in one frame; `sweep` has their ids.

    Args:
        results: Results, or frames of results.

    Returns:
        The rows of all, with the columns of `results.frame()`. The axes of all are to
        the left of `take`; one that a sweep does not have is missing in its rows.

    Raises:
        InputError: No results are given, or an argument is not results.
    """
    from mediakit.sweep.blocking import Results

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
        raise InputError(
            "results", got=ValueDescription("none"), accepted="at least one"
        )
    axes = dict.fromkeys(name for frame in frames for name in axes_of(frame))
    whole = pd.concat(frames, ignore_index=True)
    return whole[[*axes, *whole.columns.drop([*axes])]]
