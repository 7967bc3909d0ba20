"""The shown price is the limit: a request that costs more now is not sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit import Client, InputError, PriceError
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.priced_service import (
    CLIP_URL,
    FUNCTIONS,
    LONG_S,
    RATE,
    SHORT_S,
    UPSCALE_MICRO_USD_PER_S,
    PricedService,
)
from tests.support.samples.media_samples import make_mp4
from tests.sweep.runs import problems, statuses
from tests.sweep.service import Outcome

KITE: dict[str, Any] = {"prompt": "a kite", "duration": 5}
WAS, NOW = 340_000, 2_000_000


def refused(error: PriceError) -> tuple[int | None, int | None, bool | None]:
    assert "Nothing was sent." in str(error)
    return error.expected_micro_usd, error.price_micro_usd, error.sent


def test_another_take_is_not_sent_above_the_price_that_was_seen(
    priced: PricedService,
) -> None:
    first = priced.connect("0.34").submit("text-to-video", **KITE).wait()
    job = priced.connect("2.00").job(first.id)
    with pytest.raises(PriceError) as caught:
        job.next_take(max_price="$0.34")
    assert refused(caught.value) == (WAS, NOW, False)
    assert "$2.00 instead of $0.34" in str(caught.value)
    assert len(priced.jobs) == 1
    price = job.next_price()
    assert price.high == NOW
    job.next_take(max_price=price)
    assert len(priced.jobs) == 2


def test_a_failed_job_is_not_sent_again_above_the_price_that_was_seen(
    priced: PricedService,
) -> None:
    priced.decide = lambda *_: Outcome(fails="provider_error", reads=1)
    first = priced.connect("0.34").submit("text-to-video", **KITE)
    with pytest.raises(mk.JobFailedError):
        first.wait()
    job = priced.connect("2.00").job(first.id)
    with pytest.raises(PriceError) as caught:
        job.retry(max_price=first.state.estimate)
    assert refused(caught.value) == (WAS, NOW, False)
    assert len(priced.jobs) == 1
    job.retry(max_price="$2")
    assert len(priced.jobs) == 2


def test_a_call_with_a_maximum_price_pays_no_more_and_still_finds_its_job(
    priced: PricedService,
) -> None:
    dear = priced.connect("2.00")
    with pytest.raises(PriceError) as caught:
        dear.submit("text-to-video", **KITE, max_price="$0.34")
    assert refused(caught.value) == (WAS, NOW, False)
    assert not priced.posts
    with pytest.raises(InputError, match="max_price"):
        dear.submit("text-to-video", **KITE, max_price="a lot")

    job = dear.submit("text-to-video", **KITE, max_price="$2")
    again = dear.submit("text-to-video", **KITE, max_price="$0.34")
    assert again.id == job.id
    assert len(priced.jobs) == 1


def test_a_clip_at_a_url_that_has_grown_is_not_submitted_at_its_old_price(
    priced: PricedService,
) -> None:
    client = priced.connect("0.34")
    price = client.estimate("video-upscale", video_url=CLIP_URL)
    assert price.high == SHORT_S * UPSCALE_MICRO_USD_PER_S
    priced.grow()
    with pytest.raises(PriceError) as caught:
        client.submit("video-upscale", video_url=CLIP_URL, max_price=price)
    assert caught.value.price_micro_usd == LONG_S * UPSCALE_MICRO_USD_PER_S
    assert not priced.posts
    # The price that is shown from now on is the one that is paid.
    now = client.estimate("video-upscale", video_url=CLIP_URL)
    assert now.high == LONG_S * UPSCALE_MICRO_USD_PER_S


def test_cells_whose_clip_has_grown_stay_unsent_and_show_both_prices(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", duration_s=SHORT_S)
    plan = client.sweep("video-upscale", video_url=str(clip), takes=2)
    before = client.balance().spendable_micro_usd
    make_mp4(clip, duration_s=LONG_S)
    results = plan.run().wait()
    assert statuses(results) == {"unsent": 2}
    [said] = problems(results, "unsent")
    assert "$0.608 instead of $0.152" in said
    assert client.balance().spendable_micro_usd == before

    # Both prices were shown: a retry pays the price that was shown last.
    results.retry().wait()
    assert statuses(results) == {"completed": 2}
    charges = results.frame()["charge_micro_usd"]
    assert list(charges) == [LONG_S * UPSCALE_MICRO_USD_PER_S] * 2


def test_cells_whose_clip_at_a_url_has_grown_stay_unsent(
    priced: PricedService,
) -> None:
    client = priced.connect("0.34")
    plan = client.sweep("video-upscale", video_url=CLIP_URL, takes=2)
    priced.grow()
    results = plan.run().wait()
    assert statuses(results) == {"unsent": 2}
    [said] = problems(results, "unsent")
    assert "$0.608 instead of $0.152" in said
    assert not priced.posts


def test_a_failed_cell_is_not_sent_again_above_the_price_of_the_plan(
    priced: PricedService,
) -> None:
    priced.decide = lambda _, before: Outcome(fails=None if before else "internal")
    client = priced.connect("0.34")
    plan = client.sweep("video-upscale", video_url=CLIP_URL, takes=1)
    results = plan.run().wait()
    assert statuses(results) == {"failed": 1}
    priced.grow()
    results.retry().wait()
    assert statuses(results) == {"unsent": 1}
    [said] = problems(results, "unsent")
    assert "$0.608 instead of $0.152" in said
    assert len(priced.jobs) == 1
    results.retry().wait()
    assert statuses(results) == {"completed": 1}
    assert len(priced.jobs) == 2


def test_a_later_kernel_does_not_resend_a_failed_cell_at_a_higher_rate(
    priced: PricedService,
) -> None:
    priced.decide = lambda _, before: Outcome(fails=None if before else "internal")
    plan = priced.connect("0.34").sweep("text-to-video", **KITE, takes=1)
    sweep_id = plan.run().wait().id
    results = priced.connect("2.00").sweep_results(sweep_id).wait()
    results.retry().wait()
    assert statuses(results) == {"unsent": 1}
    [said] = problems(results, "unsent")
    assert "$2.00 instead of $0.34" in said
    assert len(priced.jobs) == 1
    results.retry().wait()
    assert statuses(results) == {"completed": 1}


def test_an_owned_cell_stays_free_when_its_file_has_changed_since(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", duration_s=SHORT_S)
    job = client.submit("video-upscale", video_url=str(clip))
    plan = client.sweep("video-upscale", video_url=str(clip), takes=1)
    assert plan.estimate().high == 0
    make_mp4(clip, duration_s=LONG_S)
    results = plan.run().wait()
    assert list(results.frame()["job_id"]) == [job.id]
    assert len(client.history.frame()) == 1


def test_a_run_pays_at_most_the_price_shown_in_its_plan(
    priced: PricedService,
) -> None:
    plan = priced.connect("2.00").sweep("text-to-video", **KITE, takes=2)
    with pytest.raises(PriceError) as caught:
        plan.run(max_price="$0.68")
    assert refused(caught.value) == (680_000, 4_000_000, False)
    assert not priced.posts
    assert statuses(plan.run(max_price="$4").wait()) == {"completed": 2}


def test_a_higher_rate_spends_none_of_the_balance(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = sandbox.base_url, sandbox.api_key

    def connect(usd: str) -> Client:
        (tmp_path / "mediakit.toml").write_text(FUNCTIONS + RATE.format(usd))
        return mk.connect(*settings, home=tmp_path / "home")

    with connect("0.34") as before:
        made = before.run("text-to-video", **KITE).settle()
    with connect("2.00") as client:
        job, balance = client.job(made.id), client.balance().spendable_micro_usd
        with pytest.raises(PriceError) as caught:
            job.next_take(max_price=made.state.estimate)
        assert refused(caught.value) == (WAS, NOW, False)
        assert client.balance().spendable_micro_usd == balance
        assert len(client.history.frame()) == 1
