"""Arguments besides the declared fields: `extra`, and the webhook URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.catalog import Catalog
from mediakit.catalog.own_rates import OwnRate
from mediakit.errors import InputError
from mediakit.money import MicroUSD
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.samples.media_samples import make_png

SECOND = OwnRate(second_micro_usd=MicroUSD(20_000))


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("text-to-video", "duration", 10),
        ("text-to-video", "audio", None),
        ("r5", "resolution", "2K"),
        ("r5", "video_urls", ["https://clips.example/a.mp4"]),
    ],
)
def test_a_declared_field_inside_extra_is_refused_because_it_would_not_be_priced(
    client: Client, kind: str, field: str, value: object
) -> None:
    with pytest.raises(InputError, match=r"Nothing was sent") as caught:
        client.submit(kind, prompt="a kite", extra={field: value})
    assert caught.value.field == f"extra[{field!r}]"
    assert f"{field}=" in caught.value.accepted
    assert client.history.frame().empty


def test_the_user_s_own_rate_counts_the_seconds_in_extra(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    catalog = Catalog.default().with_rates({"r5b": SECOND})
    with Client(
        sandbox.base_url, sandbox.api_key, home=tmp_path, catalog=catalog
    ) as client:
        job = client.submit("r5b", prompt="a kite", extra={"duration": 7})
    estimate = job.state.estimate
    assert estimate is not None
    assert estimate.low == estimate.high == 140_000


HALF_A_PAIR = "\ud800"


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("mood", {"mood": float("nan")}),
        ("mood", {"mood": object()}),
        ("mood", {"mood": {"deep": [HALF_A_PAIR]}}),
        ("mood", {"extra": {"mood": {1, 2}}}),
        ("mood", {"extra": {"mood": HALF_A_PAIR}}),
        ("webhook_url", {"webhook_url": f"https://hooks.example/{HALF_A_PAIR}"}),
    ],
    ids=["nan", "object", "half a pair", "a set in extra", "half in extra", "webhook"],
)
def test_a_value_that_is_not_json_is_rejected_and_its_field_is_named(
    client: Client, field: str, call: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=r"Nothing was sent") as caught:
        client.submit("r5b", prompt="a kite", **call)
    assert caught.value.field == field
    assert client.history.frame().empty


def test_a_whole_number_with_a_decimal_point_makes_the_same_request(
    client: Client, tmp_path: Path
) -> None:
    image_url = client.upload(make_png(tmp_path / "a.png", (64, 48)))
    first = client.submit("image-upscale", image_url=image_url, sharpen=1)
    again = client.submit("image-upscale", image_url=image_url, sharpen=1.0)
    assert (again.id, again.reused) == (first.id, True)
