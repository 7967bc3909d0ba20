"""Results in the offline stores of Weights & Biases and MLflow, as these read them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
import wandb

from mediakit import Client, extras
from mediakit.errors import InputError, MediakitError
from mediakit.sweep.blocking import Results

pytestmark = pytest.mark.soak

STARS = {"v1": 4.0, "v2": 2.0}


def judge(path: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Prefer the first version, for $0.002 an answer."""
    stars = STARS[row["version"]]
    reason = f"=SUM({stars:.0f})"
    return {"stars": stars, "reason": reason, "cost_micro_usd": 2_000}


@pytest.fixture
def results(client: Client) -> Results:
    """Return a judged and rated sweep of two pictures, whose versions have names."""
    plan = client.sweep(
        "text-to-image",
        rows=pd.DataFrame(
            {
                "prompt": ["a kite", "a red kite"],
                "version": ["v1", "v2"],
                "shot": ["beach", "beach"],
            }
        ),
        labels=["version", "shot"],
    )
    results = plan.run().wait()
    results.score(judge)
    results.rate(results.frame()["job_id"][0], 5)
    return results


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database starts slowly
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield
    mlflow.set_tracking_uri(before)


def test_a_table_of_wandb_has_versions_scores_charges_and_pictures(
    results: Results, tmp_path: Path
) -> None:
    with wandb.init(project="kites") as run:
        results.to_wandb()
        summary = dict(run.summary)
        files = Path(run.dir)
    (path,) = files.rglob("*.table.json")
    table = json.loads(path.read_text("utf-8"))
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]

    assert [row["version"] for row in rows] == ["v1", "v2"]
    assert [row["shot"] for row in rows] == ["beach", "beach"]
    assert [row["prompt"] for row in rows] == ["a kite", "a red kite"]
    assert [row["stars"] for row in rows] == [4, 2]
    assert [row["reason"] for row in rows] == ["=SUM(4)", "=SUM(2)"]
    assert [row["judge_cost_micro_usd"] for row in rows] == [2_000, 2_000]
    assert [row["rating"] for row in rows] == [5, None]
    charges = results.frame()["charge_micro_usd"]
    assert [row["charge_micro_usd"] for row in rows] == [*charges]
    assert [row["output"] for row in rows] == ["Image", "Image"]
    exported = Path(results.export(tmp_path / "kites").place)
    pictures = {(exported / row["file"]).read_bytes() for row in rows}
    staged = {path.read_bytes() for path in (tmp_path / "artifacts").rglob("tmp*")}
    assert pictures <= staged
    assert summary["results/charge_usd"] == charges.sum() / 1_000_000
    assert summary["results/mean_stars"] == 3
    assert summary["results/completed"] == 2


def test_a_run_of_mlflow_has_the_table_the_files_and_the_metrics(
    results: Results,
) -> None:
    with mlflow.start_run() as run:
        results.to_mlflow(name="kites")
    run_id = run.info.run_id
    table = mlflow.load_table("kites.json", run_ids=[run_id])
    metrics = mlflow.get_run(run_id).data.metrics
    files = mlflow.artifacts.list_artifacts(run_id=run_id, artifact_path="kites")

    assert [*table["version"]] == ["v1", "v2"]
    assert [*table["stars"]] == [4, 2]
    assert [*table["reason"]] == ["=SUM(4)", "=SUM(2)"]
    charges = results.frame()["charge_micro_usd"]
    assert [*table["charge_micro_usd"]] == [*charges]
    names = {Path(each.path).name for each in files}
    assert {*table["file"], "manifest.csv", "report.html"} <= names
    assert metrics["kites/charge_usd"] == charges.sum() / 1_000_000
    assert metrics["kites/mean_rating"] == 5


def test_async_results_are_logged_to_the_active_run(
    results: Results,
) -> None:
    with mlflow.start_run() as run:
        asyncio.run(results.core.to_mlflow())

    assert len(mlflow.load_table("results.json", run_ids=[run.info.run_id])) == 2


def test_a_second_call_adds_no_rows_to_the_table_of_a_run(results: Results) -> None:
    with mlflow.start_run() as run:
        results.to_mlflow()
        with pytest.raises(InputError, match=r"^name must be a new name"):
            results.to_mlflow()

    assert len(mlflow.load_table("results.json", run_ids=[run.info.run_id])) == 2


def test_without_an_active_run_nothing_is_logged(
    results: Results, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"^run must be a run"):
        results.to_wandb()
    with pytest.raises(InputError, match=r"^run_id must be the id of a run"):
        results.to_mlflow()
    assert not [*tmp_path.rglob("*wandb*"), *tmp_path.rglob("metrics")]


@pytest.mark.parametrize("extra", ["wandb", "mlflow"])
def test_a_missing_tracker_is_a_sentence_with_the_command(
    extra: str, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(extras.EXTRAS, extra, ("not_installed",))

    with pytest.raises(MediakitError, match=r"Install it: .*not_installed"):
        getattr(results, f"to_{extra}")()
