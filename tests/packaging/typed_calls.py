"""The types of the calls in the README, checked by mypy and pyright.

Nothing runs it.
"""

# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import pandas as pd

import mediakit as mk
from mediakit.client import AsyncJob
from mediakit.sweep import AsyncResults, Plan, Results
from mediakit.widgets.gallery import Gallery


def of_a_job(client: mk.Client) -> None:
    job = client.submit("text-to-video", prompt="a kite", duration=5)
    assert_type(job, mk.Job)
    assert_type(job.wait(), mk.Job)
    assert_type(job.wait().settle(timeout_s=60), mk.Job)
    assert_type(job.refresh().erase(), mk.Job)
    assert_type(job.next_take(), mk.Job)
    assert_type(job.charge_micro_usd, int | None)
    assert_type(job.download(), Path)
    assert_type(client.run("text-to-video", prompt="a kite"), mk.Job)
    assert_type(client.upload("a.png"), str)


def of_a_sweep(client: mk.Client) -> None:
    plan = client.sweep("text-to-video", prompt=["a gull", "a tern"])
    assert_type(plan, Plan)
    assert_type(plan.drafts(), Plan)
    results = plan.run(budget="$5").wait()
    assert_type(results, Results)
    assert_type(results.gallery(), Gallery)
    assert_type(results.wait(timeout_s=5).retry().stop(), Results)
    assert_type(results.frame(), pd.DataFrame)
    assert_type(results.job("media_1"), mk.Job)
    assert_type(results.promote(1, by="sharpness").wait(), Results)
    assert_type(client.sweep_results("sweep_1").wait(), Results)


async def of_awaited_calls(client: mk.AsyncClient, results: AsyncResults) -> None:
    job = await client.submit("text-to-video", prompt="a kite")
    assert_type(job, AsyncJob)
    assert_type(await job.wait(), AsyncJob)
    plan = await client.sweep("text-to-video", prompt=["a gull"])
    assert_type(await plan.run(), AsyncResults)
    assert_type(await results.wait(), AsyncResults)
