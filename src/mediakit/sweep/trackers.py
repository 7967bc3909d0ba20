"""Logs the results of a sweep to experiment trackers: Weights & Biases and MLflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from mediakit.errors import InputError, MediakitError
from mediakit.extras import install_command, missing_modules
from mediakit.media import content_type_of
from mediakit.money import MICRO_PER_USD
from mediakit.sweep.export import Exported, poster_name
from mediakit.sweep.outcomes import Progress
from mediakit.sweep.results_frame import number_scores

if TYPE_CHECKING:
    import pandas as pd

OUTPUT = "output"
"""The column of a table of Weights & Biases that shows the media."""

PLAYED_BY_WANDB = (".mp4", ".webm", ".gif", ".ogg")
NOTHING_LOGGED = "Nothing was logged."

Write = Callable[[Path], Exported]
"""Exports results to a folder."""


def log_to_wandb(
    write: Write, metrics: Mapping[str, float], run: Any, name: str
) -> None:
    """Log results to a run of Weights & Biases; see `AsyncResults.to_wandb`."""
    import wandb

    with TemporaryDirectory() as folder:
        rows = _records(write(Path(folder)))
        outputs = [_wandb_media(Path(folder), row["file"]) for row in rows]
        kinds = {type(output) for output in outputs if output is not None}
        table = wandb.Table(
            columns=[*rows[0], OUTPUT],
            data=[
                [*row.values(), output]
                for row, output in zip(rows, outputs, strict=True)
            ],
            allow_mixed_types=len(kinds) > 1,
        )
        # This copies the files, so that the folder can be deleted.
        run.log({name: table})
    run.summary.update({f"{name}/{key}": value for key, value in metrics.items()})


def log_to_mlflow(
    write: Write, metrics: Mapping[str, float], run_id: str, name: str
) -> None:
    """Log results to a run of MLflow; see `AsyncResults.to_mlflow`."""
    import mlflow
    import pandas as pd

    table = f"{name}.json"
    logged = mlflow.MlflowClient().list_artifacts(run_id)
    if any(artifact.path == table for artifact in logged):
        accepted = "a new name: MLflow would add the rows to those logged before"
        raise InputError("name", got=name, accepted=accepted, then=NOTHING_LOGGED)
    with TemporaryDirectory() as folder:
        rows = _records(write(Path(folder)))
        mlflow.log_artifacts(folder, name, run_id=run_id)
    # With pandas 3, MLflow warns of columns of the dtype str.
    mlflow.log_table(pd.DataFrame(rows, dtype="object"), table, run_id=run_id)
    values = {f"{name}/{key}": value for key, value in metrics.items()}
    mlflow.log_metrics(values, run_id=run_id)


def metrics_of(progress: Progress, frame: pd.DataFrame) -> dict[str, float]:
    """Return the numbers of a sweep by which runs are compared."""
    means = frame[["rating", *number_scores(frame)]].mean().dropna()
    return {
        "charge_usd": progress.spent_micro_usd / MICRO_PER_USD,
        "cells": progress.cells,
        "completed": progress.completed,
        "failed": progress.failed,
        **{f"mean_{column}": float(mean) for column, mean in means.items()},
    }


def _records(exported: Exported) -> list[dict[str, Any]]:
    """Return the rows of a manifest as plain values, with None for missing ones."""
    assert exported.manifest is not None  # an export to a folder has one
    plain = exported.manifest.astype(object)
    records = plain.where(plain.notna(), None).to_dict("records")
    return cast(list[dict[str, Any]], records)


def _wandb_media(folder: Path, name: str | None) -> Any:
    """Return an output as W&B shows it, a still of a clip that it cannot play."""
    import wandb

    if name is None:
        return None
    path, poster = folder / name, folder / poster_name(name)
    medium = content_type_of(name).partition("/")[0]
    if medium == "video" and path.suffix not in PLAYED_BY_WANDB:
        path, medium = poster, "image"
    classes = {"audio": wandb.Audio, "image": wandb.Image, "video": wandb.Video}
    try:
        return classes[medium](str(path))
    except (OSError, ValueError):  # a damaged picture, or a clip without a still
        return None


def run_of_wandb(run: Any) -> Any:
    """Return a run of Weights & Biases, by default the active one."""
    _require("wandb", "Weights & Biases")
    import wandb

    run = wandb.run if run is None else run
    if run is None:
        accepted = 'a run, such as wandb.init(project="prompts"); none is active'
        raise InputError("run", got=run, accepted=accepted, then=NOTHING_LOGGED)
    return run


def run_id_of_mlflow(run_id: str | None) -> str:
    """Return the id of a run of MLflow, by default the one active in this thread."""
    _require("mlflow", "MLflow")
    import mlflow

    run = mlflow.active_run()
    if run_id is not None:
        return run_id
    if run is None:
        accepted = "the id of a run, or omitted within `with mlflow.start_run():`"
        raise InputError("run_id", got=run_id, accepted=accepted, then=NOTHING_LOGGED)
    return str(run.info.run_id)


def _require(extra: str, tracker: str) -> None:
    if missing_modules(extra):
        raise MediakitError(
            f"{tracker} is not installed. Install it: {install_command(extra)}. "
            f"{NOTHING_LOGGED}"
        )
