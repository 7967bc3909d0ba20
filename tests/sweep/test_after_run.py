"""After a run: repairs, finals of drafts, scores and exports belong to the sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mediakit as mk
from mediakit import Client
from mediakit.errors import BudgetError, InputError, NotFoundError
from mediakit.history import ratings
from tests.support.rows import assert_each

PATIENCE_S = 120.0
REPAIR_MICRO_USD = 30_000
CLIP_MICRO_USD = 5 * 68_000
ANIMALS = ["kite", "gull", "boat", "goat"]


@pytest.fixture
def results(client: Client) -> Any:
    """Give the results of two clips of 5 seconds."""
    plan = client.sweep("text-to-video", prompt=["a kite", "a gull"], duration=5)
    return plan.run(budget="$1").wait(PATIENCE_S)


def size_of(path: Path) -> float:
    return float(path.stat().st_size)


def test_a_repair_is_a_child_of_its_cell_and_counts_into_the_keeper(
    results: Any,
) -> None:
    clip = results.frame()["job_id"].iloc[0]
    child = results.fix(clip, region="the string", prompt="a red string")
    child.wait(PATIENCE_S).settle(PATIENCE_S)
    results.keep(child.id)
    frame = results.frame()
    assert len(frame) == 3
    row = frame.iloc[2]
    assert (row.prompt, row.job_id, row.parent_job_id) == ("a kite", child.id, clip)
    assert (row.charge_micro_usd, bool(row.keep)) == (REPAIR_MICRO_USD, True)
    cost = results.cost_of_keeper().iloc[0]
    assert cost.charged_micro_usd == 2 * CLIP_MICRO_USD + REPAIR_MICRO_USD
    assert cost.cost_micro_usd_per_keeper == cost.charged_micro_usd
    assert [job.id for job in results.kept] == [child.id]


def test_a_repair_is_still_there_after_a_restart(results: Any, client: Client) -> None:
    clip = results.frame()["job_id"].iloc[1]
    child = results.fix(clip, region="a wing", prompt="a white wing").wait(PATIENCE_S)
    again = results.plan.refresh() and client.sweep(
        "text-to-video", prompt=["a kite", "a gull"], duration=5
    )
    assert again.estimate().high == 0
    frame = again.run(budget="$1").wait(PATIENCE_S).frame()
    assert frame["parent_job_id"].tolist()[2] == clip
    assert frame["job_id"].tolist()[2] == child.id


def test_a_repair_that_does_not_fit_the_budget_of_the_sweep_is_refused(
    client: Client,
) -> None:
    plan = client.sweep("text-to-video", prompt=["a lantern"], duration=5)
    done = plan.run(budget="$0.35").wait(PATIENCE_S)
    with pytest.raises(BudgetError, match="budget"):
        done.fix(done.frame()["job_id"].iloc[0], region="the glass", prompt="blue")


def test_a_clip_whose_length_does_not_fit_is_refused(client: Client) -> None:
    plan = client.sweep("text-to-video", prompt=["a short kite"], duration=3)
    done = plan.run().wait(PATIENCE_S)
    with pytest.raises(InputError, match="5 or 10 s"):
        done.fix(done.frame()["job_id"].iloc[0], region="the sky", prompt="grey")
    with pytest.raises(NotFoundError, match="Nothing was sent"):
        done.fix("media_nobody", region="the sky", prompt="grey")


def test_the_best_results_are_made_again_with_other_values_within_a_budget(
    client: Client,
) -> None:
    plan = client.sweep(
        "text-to-video", prompt="a {animal}", animal=ANIMALS, duration=3
    )
    done = plan.run().wait(PATIENCE_S)
    kite, gull, boat, _ = done.frame()["job_id"]
    for job_id, rating in ((kite, 3), (gull, 5)):
        done.rate(job_id, rating)
    done.keep(boat)

    promotion = done.promotion(2, resolution="1080p")
    assert list(promotion.frame()["animal"]) == ["boat", "gull"]
    price = client.estimate("text-to-video", prompt="a", duration=3, resolution="1080p")
    assert price.high is not None
    assert promotion.estimate().high == 2 * price.high

    budget = mk.format_usd(price.high)
    finals = done.promote(3, resolution="1080p", budget=budget).wait(PATIENCE_S)
    frame = finals.frame()
    assert list(frame["animal"]) == ["boat", "gull", "kite"]
    assert list(frame["prompt"]) == ["a boat", "a gull", "a kite"]
    assert list(frame["status"]) == ["completed", "unsent", "unsent"]
    assert done.promotion(1, resolution="1080p").estimate().high == 0
    namespace: dict[str, Any] = {"client": client}
    exec(promotion.code, namespace)
    assert namespace["plan"].id == promotion.id


def test_results_that_nobody_judged_cannot_be_promoted(results: Any) -> None:
    with pytest.raises(InputError, match="a column with values"):
        results.promote(1)
    results.keep(results.frame()["job_id"][0])

    def check(field: str) -> None:
        wrong: dict[str, Any] = {"k": 0, "by": "prompt", "colour": "red"}
        with pytest.raises(InputError) as caught:
            results.promote(**{"k": 1, field: wrong[field]})
        assert caught.value.field == field

    assert_each(["k", "by", "colour"], check)


def test_the_best_drafts_are_promoted_to_finals(client: Client) -> None:
    plan = client.sweep("r1", prompt=["a kite", "a gull"], duration=5)
    drafts = plan.drafts()
    assert 0 < (drafts.estimate().high or 0) < (plan.estimate().high or 0)
    done = drafts.run().wait(PATIENCE_S)
    done.score(size_of)

    finals = done.promotion(2, by="size_of")
    assert set(finals.frame()["high_micro_usd"]) == set(plan.frame()["high_micro_usd"])
    assert all("draft" not in cell.fields for cell in finals.cells)
    with pytest.raises(InputError, match="draft"):
        client.sweep("text-to-video", prompt=["a"]).drafts()


def test_an_export_opens_without_jupyter_and_makes_the_plan_again(
    results: Any, tmp_path: Path
) -> None:
    exported = results.export(tmp_path / "export")
    assert exported.files == 2
    page = (tmp_path / "export" / "report.html").read_text()
    assert "client.sweep(" in page
    assert "0.68</dd>" in page
    manifest = pd.read_csv(tmp_path / "export" / "manifest.csv")
    assert manifest["charge_micro_usd"].sum() == 2 * CLIP_MICRO_USD
    names = {path.name for path in (tmp_path / "export").glob("*.mp4")}
    assert names == set(manifest["file"])
    namespace: dict[str, Any] = {"client": results.plan.owner}
    exec(results.plan.code, namespace)
    assert namespace["plan"].id == results.plan.id
    assert namespace["plan"].estimate().high == 0


def test_a_copy_that_lost_its_sidecar_or_is_damaged_is_fetched_again(
    results: Any, client: Client, tmp_path: Path
) -> None:
    results.export(tmp_path / "before")
    assert client.components.home is not None
    first, second = sorted((client.components.home / "outputs").glob("*/*.mp4"))
    Path(f"{first}.json").unlink()
    second.write_bytes(second.read_bytes()[:1000])

    exported = results.export(tmp_path / "after")
    assert exported.files == 2
    assert results.score(size_of)["size_of"].min() > 1000


def test_blind_comparisons_rank_the_results(results: Any, client: Client) -> None:
    first, second = results.frame()["job_id"]
    owner: dict[str, Any] = dict(client.components.account_history.owner)
    for _ in range(3):
        ratings.prefer(client.components.store, **owner, winner=second, loser=first)
    ranked = results.ranking()
    prompts = results.frame().set_index("job_id")["prompt"]
    assert ranked["item"].tolist() == [second, first]
    assert ranked["prompt"].tolist() == [prompts[second], prompts[first]]
