"""The user's own rates are named beside prices, and do not lower holds by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from mediakit import BudgetError
from tests.sweep.service import BASE_URL, KEY, Outcome, Service

CLIP: dict[str, Any] = {"prompt": "a kite", "duration": 5}
CLIP_MICRO_USD = 340_000
OWN_MICRO_USD = 100
FUNCTIONS = """
[functions]
text-to-video = "sandbox/text-to-video/text-to-video"
text-to-image = "sandbox/text-to-image/text-to-image"
video-upscale = "sandbox/video-upscale/video-upscale"
"""
LOWER = '[rates.text-to-video]\nusd_per_request = "0.0001"\n'
NEW = '[rates.text-to-image]\nusd_per_request = "0.04"\n'


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def connected(tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Connect in a folder with these rates."""
    opened: list[mk.Client] = []

    def connect(rates: str, **more: Any) -> mk.Client:
        (tmp_path / "mediakit.toml").write_text(FUNCTIONS + rates)
        monkeypatch.chdir(tmp_path)
        client = mk.connect(
            BASE_URL,
            KEY,
            home=tmp_path / "home",
            transport=httpx.MockTransport(service.handle),
            **more,
        )
        opened.append(client)
        return client

    yield connect
    for client in opened:
        client.close()


def test_a_lower_rate_of_the_folder_does_not_lower_holds(
    connected: Any, service: Service
) -> None:
    client = connected(LOWER, budget="$0.01")
    with pytest.raises(BudgetError) as caught:
        client.submit("text-to-video", **CLIP)
    assert caught.value.needed_micro_usd == CLIP_MICRO_USD
    assert not service.posts


def test_the_price_names_the_file_and_the_price_lists_rate(
    connected: Any,
) -> None:
    price = connected(LOWER).estimate("text-to-video", **CLIP)
    assert price.high == OWN_MICRO_USD
    assert price.hold_micro_usd == CLIP_MICRO_USD
    said = " ".join(price.notes)
    assert "mediakit.toml" in said
    assert "$0.34" in said
    assert "own_rates=True" in said


def test_the_greeting_names_the_file_and_the_functions(
    connected: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connected(LOWER + NEW)
    said = capsys.readouterr().out
    assert str(tmp_path / "mediakit.toml") in said
    assert "text-to-video" in said
    assert "text-to-image" in said
    assert "hold the higher" in said


def test_an_argument_in_code_lets_budgets_hold_the_lower_rate(
    connected: Any, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    client = connected(LOWER, budget="$0.01", own_rates=True)
    price = client.estimate("text-to-video", **CLIP)
    assert price.hold_micro_usd == OWN_MICRO_USD
    assert "$0.34" in " ".join(price.notes)
    assert "hold the higher" not in capsys.readouterr().out
    client.submit("text-to-video", **CLIP)
    assert service.sold_n == 1


def test_a_rate_for_a_function_without_a_listed_price_is_used_by_budgets(
    connected: Any, service: Service
) -> None:
    service.decide = lambda *_: Outcome(settles=10**6)  # the hold stays
    client = connected(NEW, budget="$0.05")
    price = client.estimate("text-to-image", prompt="a kite")
    assert price.hold_micro_usd == 40_000
    assert "mediakit.toml" in " ".join(price.notes)
    client.submit("text-to-image", prompt="a kite")
    with pytest.raises(BudgetError):
        client.submit("text-to-image", prompt="a gull")
    assert len(service.posts) == 1


def test_a_rate_for_a_request_without_an_upper_price_does_not_invent_one(
    connected: Any,
) -> None:
    client = connected('[rates.video-upscale]\nusd_per_request = "0.0001"\n')
    price = client.estimate("video-upscale", video="https://media.test/a.mp4")
    assert price.high is None
    assert price.hold_micro_usd is None


def test_a_sweep_holds_the_higher_rate_too(connected: Any, service: Service) -> None:
    plan = connected(LOWER).sweep("text-to-video", prompt=["a", "b"], duration=5)
    with pytest.raises(mk.InputError, match=r"at least \$0\.34"):
        plan.run("$0.01")
    assert not service.posts


HIGHER = '[rates.text-to-video]\nusd_per_request = "2"\n'


def test_a_higher_rate_of_the_folder_is_held(connected: Any) -> None:
    price = connected(HIGHER).estimate("text-to-video", **CLIP)
    assert price.high == price.hold_micro_usd == 2_000_000
    assert "own_rates=True" not in " ".join(price.notes)


def test_another_take_and_a_rejected_request_are_held_at_the_current_price(
    connected: Any, service: Service
) -> None:
    service.decide = lambda *_: Outcome(settles=10**6)  # the holds stay
    cheap = connected(LOWER, own_rates=True)
    job = cheap.submit("text-to-video", **CLIP)
    service.decide = lambda *_: Outcome(rejects=403, code="insufficient_balance")
    with pytest.raises(mk.BalanceError):
        cheap.submit("text-to-video", prompt="a gull", duration=5)

    service.decide = lambda *_: Outcome(settles=10**6)
    with pytest.raises(BudgetError) as caught:
        connected(HIGHER, budget="$1").job(job.id).next_take()
    assert caught.value.needed_micro_usd == 2_000_000
    dear = connected(HIGHER)
    dear.job(job.id).next_take()
    dear.submit("text-to-video", prompt="a gull", duration=5)
    held = dear.history.frame()["reserved_micro_usd"].tolist()
    assert held == [2_000_000, 2_000_000, OWN_MICRO_USD]
