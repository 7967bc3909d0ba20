"""After a run: repairs, finals of drafts, scores and exports belong to the sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

import mediakit as mk
from mediakit import Client
from mediakit.errors import BudgetError, ConflictError, InputError, NotFoundError
from mediakit.history import ratings
from tests.support.rows import assert_each
from tests.support.samples.media_samples import make_png

REPAIR_MICRO_USD = 30_000
CLIP_MICRO_USD = 5 * 68_000
ANIMALS = ["kite", "gull", "boat", "goat"]


@pytest.fixture
def results(client: Client) -> Any:
    """Return the results of two clips of 5 seconds."""
    plan = client.sweep("text-to-video", prompt=["a kite", "a gull"], duration=5)
    return plan.run(budget="$1").wait()


def test_a_promotion_uses_the_files_that_were_sent(
    client: Client, tmp_path: Path
) -> None:
    files = [make_png(tmp_path / f"{n}.png", (64, 32 * n)) for n in (1, 2)]
    plan = client.sweep("image-upscale", image_url=files, upscale_factor="x2")
    results = plan.run(budget="$1").wait()
    for job_id, stars in zip(results.frame()["job_id"], (4, 5), strict=True):
        results.rate(job_id, stars)
    assert len(results.promotion(1, upscale_factor="x3")) == 1

    make_png(files[0], (64, 96))
    assert len(results.promotion(1, upscale_factor="x3")) == 1
    for promote in (results.promotion, results.promote):
        with pytest.raises(ConflictError, match=r"sweep_results") as refused:
            promote(2, upscale_factor="x3")
        assert refused.value.sent is False
    assert len(client.history.frame()) == 2

    again = client.sweep_results(results.id).promote(2, upscale_factor="x3")
    jobs = again.wait().frame()["job_id"]
    heights = set()
    for job in jobs:
        with Image.open(client.job(job).download(tmp_path)) as picture:
            heights.add(picture.height)
    assert heights == {96, 192}


def size_of(path: Path) -> float:
    return float(path.stat().st_size)


def test_a_repair_is_a_child_of_its_cell_and_counts_into_the_keeper(
    results: Any,
) -> None:
    clip = results.frame()["job_id"].iloc[0]
    child = results.fix(clip, region="the string", prompt="a red string")
    child.wait().settle()
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
    child = results.fix(clip, region="a wing", prompt="a white wing").wait()
    again = results.plan.refresh() and client.sweep(
        "text-to-video", prompt=["a kite", "a gull"], duration=5
    )
    assert again.estimate().high == 0
    frame = again.run(budget="$1").wait().frame()
    assert frame["parent_job_id"].tolist()[2] == clip
    assert frame["job_id"].tolist()[2] == child.id


def test_a_repair_that_does_not_fit_the_budget_of_the_sweep_is_refused(
    client: Client,
) -> None:
    plan = client.sweep("text-to-video", prompt=["a lantern"], duration=5)
    done = plan.run(budget="$0.35").wait()
    with pytest.raises(BudgetError, match="budget"):
        done.fix(done.frame()["job_id"].iloc[0], region="the glass", prompt="blue")


def test_a_clip_whose_length_does_not_fit_is_refused(client: Client) -> None:
    plan = client.sweep("text-to-video", prompt=["a short kite"], duration=3)
    done = plan.run().wait()
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
    done = plan.run().wait()
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
    finals = done.promote(3, resolution="1080p", budget=budget).wait()
    frame = finals.frame()
    assert list(frame["animal"]) == ["boat", "gull", "kite"]
    assert list(frame["prompt"]) == ["a boat", "a gull", "a kite"]
    assert list(frame["status"]) == ["completed", "unsent", "unsent"]
    assert done.promotion(1, resolution="1080p").estimate().high == 0
    namespace: dict[str, Any] = {"client": client}
    exec(promotion.code, namespace)
    assert namespace["plan"].id == promotion.id


def test_unrated_results_cannot_be_promoted(results: Any) -> None:
    with pytest.raises(InputError, match="a column that has values"):
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
    done = drafts.run().wait()
    done.score(size_of)

    finals = done.promotion(2, by="size_of")
    assert set(finals.frame()["high_micro_usd"]) == set(plan.frame()["high_micro_usd"])
    assert all("draft" not in cell.fields for cell in finals.cells)
    with pytest.raises(InputError, match=r"a function that makes drafts \(r1\)"):
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


def test_a_damaged_copy_or_one_without_a_sidecar_is_fetched_again(
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


def test_tied_results_of_the_better_version_are_promoted(
    client: Client,
) -> None:
    versions, shots = ["a cup {s}", "macro cup {s}"], ["on snow", "on sand", "at sea"]
    plan = client.sweep("text-to-video", prompt=versions, s=shots, duration=3)
    results = plan.run(budget="$3").wait()
    frame = results.frame()
    for job_id, stars in zip(frame["job_id"], [5, 4, 4, 5, 5, 5], strict=True):
        results.rate(job_id, stars)

    best = results.promotion(3, resolution="1080p")
    assert best.frame()["prompt"].tolist() == [versions[1]] * 3
    assert best.note.startswith("4 results tie with the last one")
    assert "Taken: macro cup {s}, on snow; macro cup {s}, on sand;" in best.note
    assert "Not taken: a cup {s}, on snow. " in best.note
    assert best.note in repr(best)
    everything = results.promotion(6, resolution="1080p")
    assert everything.note == ""
    results.rate(frame["job_id"].iloc[0], 3)
    assert results.promotion(3, resolution="1080p").note == ""


def test_a_promotion_is_of_one_version_or_of_the_lowest_values(client: Client) -> None:
    prompts = {"v1": "a {s}", "v2": "one {s}"}
    plan = client.sweep("text-to-video", prompt=prompts, s=["cup", "box"], duration=3)
    results = plan.run(budget="$2").wait()
    for job_id, stars in zip(results.frame()["job_id"], [1, 2, 5, 4], strict=True):
        results.rate(job_id, stars)

    of_v1 = results.promotion(2, where={"prompt": "v1"}, resolution="1080p")
    assert of_v1.frame()[["prompt", "s"]].to_numpy().tolist() == [
        ["v1", "box"],
        ["v1", "cup"],
    ]
    some = results.promotion(4, where={"prompt": ["v1", "v2"], "s": "box"}, duration=4)
    assert some.frame()["prompt"].tolist() == ["v2", "v1"]
    lowest = results.promotion(1, ascending=True, resolution="1080p")
    assert lowest.frame()[["prompt", "s"]].to_numpy().tolist() == [["v1", "cup"]]
    refused: list[Any] = [{"colour": "red"}, {"prompt": "v3"}, "v1"]
    for where in refused:
        with pytest.raises(InputError, match="where"):
            results.promotion(1, where=where, resolution="1080p")


def test_the_best_version_is_promoted_with_all_of_its_shots(client: Client) -> None:
    prompts = {"v1": "a {s}", "v2": "one {s}"}
    plan = client.sweep("text-to-video", prompt=prompts, s=["cup", "box"], duration=3)
    results = plan.run(budget="$2").wait()
    for job_id, stars in zip(results.frame()["job_id"], [5, 1, 4, 4], strict=True):
        results.rate(job_id, stars)
    for each in (results, client.sweep_results(results.id)):
        finals = each.promotion(best="prompt", resolution="1080p")
        assert finals.frame()["prompt"].tolist() == ["v2", "v2"]
        assert finals.frame()["s"].tolist() == ["cup", "box"]
        assert finals.note == (
            "Of the values of prompt, v2 (4 over 2 results) has the best mean rating, "
            "before v1 (3 over 2 results)"
        )
        one = each.promotion(1, best="prompt", resolution="1080p")
        assert one.frame()["s"].tolist() == ["cup"]
        assert "Not taken: v2, box" in one.note

    results.rate(results.frame()["job_id"].iloc[1], 3)
    tied = results.promotion(best="prompt", resolution="1080p")
    assert tied.frame()["prompt"].tolist() == ["v1", "v1"]
    tie = "v1 (4 over 2 results) and v2 (4 over 2 results) have the same mean rating"
    assert tie in tied.note
    with pytest.raises(InputError, match="best must be one of prompt, s"):
        results.promotion(best="colour")
    with pytest.raises(InputError, match="k must be a number of results"):
        results.promotion(resolution="1080p")


def test_after_a_restart_ties_are_broken_as_before(client: Client) -> None:
    # As many shots as versions: only the slot tells which axis is the version.
    prompts = {"v1": "a {s}", "v2": "one {s}"}
    plan = client.sweep("text-to-video", prompt=prompts, s=["cup", "box"], duration=3)
    results = plan.run(budget="$2").wait()
    for job_id, stars in zip(results.frame()["job_id"], [5, 1, 5, 4], strict=True):
        results.rate(job_id, stars)
    past = client.sweep_results(results.id)
    assert past.plan.unit == results.plan.unit == "s"
    for each in (results, past):
        best = each.promotion(1, resolution="1080p")
        assert best.frame()["prompt"].tolist() == ["v2"]


def test_a_plan_still_names_the_price_of_its_first_run(client: Client) -> None:
    plan = client.sweep("text-to-video", prompt=["a kite", "a gull"], duration=5)
    assert "First run" not in repr(plan)
    plan.run(budget="$1").wait()
    assert "2 owned, 0 new: $0.00" in repr(plan.refresh())
    assert "First run: 2 cells for $0.68" in repr(plan)
    plan.run(budget="$1").wait()
    assert "First run: 2 cells for $0.68" in repr(plan)


def test_only_jobs_with_a_result_are_rated(client: Client) -> None:
    prompts = ["a kite", "a lamp sandbox:fail=content_moderation"]
    plan = client.sweep("text-to-video", prompt=prompts, duration=[3, 99])
    results = plan.run().wait()
    made, _, failed, unsent = results.frame()["job_id"]
    results.rate(made, 4)
    for job_id, words in ((failed, "this one failed"), (unsent, "was not sent")):
        with pytest.raises(InputError, match=words):
            results.rate(job_id, 4)
        with pytest.raises(InputError, match=words):
            results.keep(job_id)
    results.note(failed, "the lamp was too bright")
    assert results.frame()["rating"].count() == 1
    assert client.job(made).prompt == "a kite"
