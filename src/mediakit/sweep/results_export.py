"""Exports the results of a run, and logs them to trackers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.sweep.export import Exported, export
from mediakit.sweep.rankings import bradley_terry
from mediakit.sweep.results_frame import (
    frame_of,
    number_scores,
    preferences_of,
    rows_of,
    score_texts,
)
from mediakit.sweep.trackers import metrics_of

if TYPE_CHECKING:
    from mediakit.sweep.results import AsyncResults

EXPORTED = ("cells", "completed", "failed", "owned", "spent_micro_usd")


def export_results(results: AsyncResults, where: str | Path) -> Exported:
    """Export results; this blocks the thread that calls it."""
    plan, run = results.plan, results.run
    progress, frame = results.progress, frame_of(run)
    return export(
        frame,
        where,
        fields={
            row.outcome.job_id: plan.cells[row.cell].fields
            for row in rows_of(run)
            if row.outcome.job_id is not None and not row.is_repair
        },
        values=["rating", *number_scores(frame)],
        scores=score_texts(run, frame["job_id"].dropna()),
        ranking=bradley_terry(preferences_of(run)),
        fetch=results.files.fetch,
        plan_code=plan.code,
        title=plan.title,
        axes=plan.axes,
        numbers={name: getattr(progress, name) for name in EXPORTED},
    )


def log_results(
    results: AsyncResults, log: Callable[..., None], run: Any, name: str
) -> None:
    """Log results to a tracker; this blocks the thread that calls it."""
    metrics = metrics_of(results.progress, frame_of(results.run))
    log(partial(export_results, results), metrics, run, name)
