"""Values that no request, file or column can hold: one error, and others continue."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from tests.support.samples.media_samples import make_png
from tests.support.service_in_memory import API, KEY, ServiceInMemory

HALF = "a kite \ud83d"
CLIP: dict[str, Any] = {"duration": 5}
BOUND = '[functions]\n"text-to-video" = "a/b/c"\n'


@pytest.fixture
def client(service: ServiceInMemory, tmp_path: Path) -> Iterator[mk.Client]:
    with service.client(tmp_path) as client:
        yield client


@pytest.mark.parametrize(
    "axes",
    [
        {"prompt": ["a boat", HALF]},
        {"rows": [{"prompt": "a boat"}, {"prompt": HALF}]},
        {"zip": {"prompt": ["a boat", HALF], "resolution": ["720p", "1080p"]}},
    ],
)
def test_half_an_emoji_makes_one_cell_invalid_and_the_others_run(
    service: ServiceInMemory, client: mk.Client, axes: dict[str, Any]
) -> None:
    plan = client.sweep("text-to-video", **axes, **CLIP)
    assert "2 cells" in repr(plan)
    results = plan.run()
    results.wait()
    frame = results.frame()
    assert frame.status.tolist() == ["completed", "invalid"]
    assert "prompt" in frame.problem[1]
    assert len(service.posts) == 1


@pytest.mark.parametrize(
    "extra", [{"\ud83d": 1}, {"mood": "\ud83d"}, {"mood": {"\ud83d": 1}}]
)
def test_half_an_emoji_in_extra_is_rejected_with_a_readable_message(
    service: ServiceInMemory, client: mk.Client, extra: dict[str, Any]
) -> None:
    with pytest.raises(mk.InputError):
        client.submit("text-to-video", prompt="a boat", extra=extra, **CLIP)
    assert service.posts == []


def test_a_file_whose_name_is_not_utf8_is_uploaded(
    service: ServiceInMemory, client: mk.Client, tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.png"
    make_png(tmp_path / "cat.png").rename(os.fsdecode(name))
    file = Path(os.fsdecode(name))
    assert client.estimate("image-upscale", image_url=file).high
    client.submit("image-upscale", image_url=str(file)).wait()
    assert len(service.posts) == 1


@pytest.mark.parametrize("path", ["http://[::1/", "\ud83d.mp4", "a\0b"])
def test_an_invalid_destination_name_is_rejected_with_a_readable_message(
    client: mk.Client, path: str
) -> None:
    job = client.submit("text-to-video", prompt="a boat", **CLIP).wait()
    with pytest.raises(mk.InputError, match="path"):
        job.download(path)


@pytest.mark.parametrize("limit", [10**13, "1e30", "9" * 400, "$10000000000"])
def test_a_budget_that_no_column_can_hold_is_refused(
    client: mk.Client, tmp_path: Path, limit: Any
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: mk.Budget("b", limit),
        lambda: mk.Client(API, KEY, home=tmp_path, budget=limit),
        lambda: client.sweep("text-to-video", prompt=["a"], **CLIP).run(budget=limit),
    ]
    for call in calls:
        with pytest.raises(mk.InputError, match=r"up to \$9,007,199,254"):
            call()


@pytest.mark.parametrize(
    "content",
    [
        "a = " + "[" * 5_000,
        BOUND + '[rates]\n"text-to-video" = { usd_per_request = "1e30" }',
        BOUND + '[rates]\n"text-to-video" = { usd_per_second = "9007199254" }',
        BOUND + '[rates]\n"text-to-video" = { usd_per_second = 1e300 }',
    ],
)
def test_deeply_nested_or_huge_settings_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    (tmp_path / "mediakit.toml").write_text(content)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mk.InputError, match=r"usd_per_|TOML"):
        mk.Client(API, KEY, home=tmp_path)


@pytest.mark.parametrize(
    "pasted",
    [" {} ", "{}\n", "'{}'", '"{}"', f"{API}/v1/media/jobs/{{}}", "`{}`"],
)
def test_a_pasted_id_is_recognised(client: mk.Client, pasted: str) -> None:
    job = client.submit("text-to-video", prompt="a boat", **CLIP).wait()
    assert client.job(pasted.format(job.id)).id == job.id
    rows = client.history.rebuild(pasted.format(job.id), deliveries=False)
    assert rows.job_id.tolist() == [job.id]


@pytest.mark.parametrize("wrong", [5, None, b"media_1", 5.0, "", "  ", "\ud83d"])
def test_an_invalid_id_is_rejected_with_a_readable_message(
    client: mk.Client, wrong: Any
) -> None:
    with pytest.raises(mk.InputError, match="a job id: media_<uuid>"):
        client.job(wrong)


def test_a_search_for_a_number_is_rejected_with_a_readable_message(
    client: mk.Client,
) -> None:
    number: Any = 5
    with pytest.raises(mk.InputError, match="text"):
        client.history.search(number)
