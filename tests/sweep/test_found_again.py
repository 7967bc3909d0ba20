"""Earlier sweeps, restored from the history alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mediakit as mk
from mediakit import Client, InputError, NotFoundError
from mediakit.sweep import Results
from tests.support.rows import assert_each
from tests.support.samples.media_samples import make_mp4, make_png
from tests.sweep.runs import (
    VIDEO_3_S,
    plan_of,
    problems,
    run,
    statuses,
)
from tests.sweep.service import Outcome, Service

SEEN = ["prompt", "take", "status", "charge_micro_usd", "rating", "keep", "job_id"]


def same(one: Results, other: Results) -> None:
    """Compare what two results show."""
    left, right = one.frame(), other.frame()
    assert list(left.columns) == list(right.columns)
    pd.testing.assert_frame_equal(left[SEEN], right[SEEN], check_categorical=False)


def test_a_sweep_is_found_again_after_a_restart_and_nothing_is_sent(
    tmp_path: Path,
) -> None:
    service = Service(lambda *_: Outcome(reads=1))
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 3, takes=2), budget="$5")
        first = results.frame()["job_id"][0]
        results.rate(first, 4)
        results.keep(first)
    posts = sum(service.posts.values())
    with service.client(tmp_path) as other:
        again = other.sweep_results(results.id).wait()
        same(again, results)
        assert [job.id for job in again.kept] == [first]
        assert again.progress.spent_micro_usd == 6 * VIDEO_3_S
        namespace: dict[str, Any] = {"client": other}
        exec(again.plan.code, namespace)
        assert namespace["plan"].id == again.id == results.id
        assert namespace["plan"].estimate().high == 0
    assert sum(service.posts.values()) == posts == 6


def test_a_sweep_has_the_cells_that_an_earlier_one_paid_for(tmp_path: Path) -> None:
    with Service().client(tmp_path) as client:
        run(client, plan_of(client, 2))
        wider = run(client, plan_of(client, 3))
        again = client.sweep_results(wider.id).wait()
        same(again, wider)
        assert statuses(again) == {"completed": 3}


def test_a_file_that_is_gone_does_not_matter(client: Client, tmp_path: Path) -> None:
    picture = make_png(tmp_path / "kite.png", (64, 64))
    plan = client.sweep("image-upscale", image_url=[picture], sharpen=[0.1, 0.2])
    results = plan.run().wait()
    picture.unlink()
    again = client.sweep_results(results.id).wait()
    assert list(again.frame()["job_id"]) == list(results.frame()["job_id"])
    assert list(again.frame()["sharpen"]) == [0.1, 0.2]


def picture(path: Path, size: int) -> Path:
    return make_png(path, (32 * size, 48))


def clip(path: Path, size: int) -> Path:
    return make_mp4(path, duration_s=size)


@pytest.mark.parametrize(
    ("function", "field", "make", "said"),
    [
        ("image-upscale", "image_url", picture, "was changed after the plan was made"),
        ("video-upscale", "video_url", clip, "$0.228 instead of $0.076"),
    ],
)
def test_a_file_replaced_before_sending_is_reported_and_its_job_is_found_again(
    client: Client,
    tmp_path: Path,
    function: str,
    field: str,
    make: Callable[[Path, int], Path],
    said: str,
) -> None:
    files = [make(tmp_path / name, size) for name, size in (("a", 2), ("b", 1))]
    axis: dict[str, Any] = {field: [*map(str, files)]}
    plan = client.sweep(function, **axis)
    make(files[1], 3)
    results = run(client, plan)
    assert statuses(results) == {"completed": 1, "unsent": 1}
    [problem] = problems(results, "unsent")
    assert said in problem

    results.retry().wait()
    assert statuses(results) == {"completed": 2}
    assert results.frame()["job_id"].nunique() == 2
    same(client.sweep_results(results.id).wait(), results)


def test_files_that_have_moved_up_by_one_are_each_found_under_their_own_names(
    client: Client, tmp_path: Path
) -> None:
    files = [picture(tmp_path / f"{number}.png", number + 1) for number in range(3)]
    plan = client.sweep("image-upscale", image_url=[*map(str, files)])
    for number, file in enumerate(files):
        picture(file, number + 2)
    results = run(client, plan, in_flight=1)
    assert statuses(results) == {"unsent": 3}
    results.retry().wait()
    assert results.frame()["job_id"].nunique() == 3
    again = client.sweep_results(results.id).wait()
    seen = ["image_url", "status", "job_id"]
    left, right = again.frame()[seen], results.frame()[seen]
    pd.testing.assert_frame_equal(left, right, check_categorical=False)


def test_cells_that_were_not_sent_say_how_to_send_them(tmp_path: Path) -> None:
    service = Service()
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 4, duration=[3, 99]), budget="$0.41")
        again = client.sweep_results(results.id).wait()
        assert statuses(again) == {"completed": 2, "unsent": 2}
        again.retry().wait()
        assert statuses(again) == {"completed": 2, "unsent": 2}
        problem = again.frame()["problem"].dropna().unique().item()
        assert "results.plan.code" in problem
    assert len(service.jobs) == 2


def test_jobs_that_failed_are_sent_again_within_the_budget_of_the_sweep(
    tmp_path: Path,
) -> None:
    def decide(_: dict[str, Any], before: int) -> Outcome:
        return Outcome(reads=1, fails=None if before else "provider_error")

    service = Service(decide)
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 3), budget="$0.41")
        assert statuses(results) == {"failed": 3}
    with service.client(tmp_path) as other:
        again = other.sweep_results(results.id).wait()
        assert statuses(again) == {"failed": 3}
        again.retry().wait()
        assert statuses(again) == {"completed": 2, "unsent": 1}
    assert service.charged_micro_usd == 2 * VIDEO_3_S


def test_the_sweeps_are_a_frame_which_is_a_log_of_prompt_versions(
    tmp_path: Path,
) -> None:
    with Service().client(tmp_path) as client:
        assert client.sweeps().empty
        versions = ["a {animal}", "a {animal} at dusk"]
        ids = []
        for number, prompt in enumerate(versions):
            its: Any = {"prompt": prompt, "animal": ["kite", "gull"], "duration": 3}
            results = client.sweep("text-to-video", **its).run("$2").wait()
            for job_id in results.frame()["job_id"]:
                results.rate(job_id, 3 + number)
            results.keep(job_id)
            ids.append(results.id)
        frame = client.sweeps()
        assert list(frame["sweep"]) == ids[::-1]
        assert list(frame["prompt"]) == versions[::-1]
        assert set(frame["axes"]) == {"animal"}
        assert list(frame["rating"]) == [4.0, 3.0]
        counts = frame[["cells", "completed", "kept"]]
        assert counts.to_numpy().tolist() == [[2, 2, 1]] * 2
        assert list(frame["charge_micro_usd"]) == [2 * VIDEO_3_S] * 2
        assert list(frame["charge_usd"]) == [0.408] * 2
        assert (frame["ended_at"] >= frame["begun_at"]).all()
        assert str(frame["begun_at"].dtype) == "datetime64[us, UTC]"

        together = mk.concat(client.sweep_results(id) for id in ids)
        assert list(together.columns[:2]) == ["animal", "take"]
        by_sweep = together.groupby("sweep", sort=False)["rating"].mean()
        assert by_sweep.to_dict() == {ids[0]: 3.0, ids[1]: 4.0}


def test_async_clients_find_sweeps_too(tmp_path: Path) -> None:
    service = Service()
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 2))

        async def main() -> list[str]:
            (sweep,) = (await client.core.sweeps())["sweep"]
            again = await (await client.core.sweep_results(sweep)).wait()
            return list((await again.frame())["job_id"])

        assert asyncio.run(main()) == list(results.frame()["job_id"])


def test_an_unknown_sweep_is_reported_as_unknown(tmp_path: Path) -> None:
    with (
        Service().client(tmp_path) as client,
        pytest.raises(NotFoundError, match=r"client\.sweeps\(\)"),
    ):
        client.sweep_results("5eed")


def test_results_with_different_axes_are_combined(tmp_path: Path) -> None:
    with Service().client(tmp_path) as client:
        one = run(client, plan_of(client, 2))
        two = run(client, plan_of(client, 1, duration=[3, 5]))
        frame = mk.concat([one, two.frame()])
        assert list(frame.columns[:3]) == ["prompt", "duration", "take"]
        assert list(frame["sweep"]) == [one.id] * 2 + [two.id] * 2
        assert frame["duration"].isna().tolist() == [True, True, False, False]

        def check(given: Any) -> None:
            with pytest.raises(InputError, match="results"):
                mk.concat(given)

        assert_each([[], ["media_1"]], check)
