"""The client on a real sandbox over real HTTP."""

from __future__ import annotations

import asyncio
import inspect
import logging
import signal
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit import AsyncClient, Client, Job
from mediakit.client import AsyncJob
from mediakit.client.deliveries import AsyncDeliveries, Deliveries
from mediakit.client.history_view import AsyncHistoryView, HistoryView
from mediakit.client.media_inputs import RETRY_AFTER_S
from mediakit.errors import (
    ConflictError,
    GoneError,
    InputError,
    JobFailedError,
    NotFoundError,
    WaitInterrupted,
    WaitTimeoutError,
)
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.advancing_clock import AdvancingClock
from tests.support.rows import assert_each
from tests.support.samples.media_samples import make_mp4, make_png, make_wav
from tests.support.servers.file_server import FileServer


def settled(job: Job) -> Job:
    job.wait()
    job.settle()
    return job


def test_the_main_job_ends_with_a_file_and_the_estimated_charge(
    client: Client, tmp_path: Path
) -> None:
    estimate = client.estimate("text-to-video", prompt="a kite", duration=3)
    job = settled(client.run("text-to-video", prompt="a kite", duration=3))

    assert estimate.kind == "exact"
    assert job.charge_micro_usd == estimate.high == 204_000
    saved = job.download(tmp_path)
    assert saved.suffix == ".mp4"
    assert saved.read_bytes()[4:8] == b"ftyp"
    assert list(tmp_path.glob("*.part")) == []


def test_charges_in_five_places_agree_to_the_micro_dollar(tmp_path: Path) -> None:
    settings = Sandbox(
        tmp_path / "data", speed=20, sketch=True, balance_micro_usd=50_000_000
    )
    running = start(settings)
    png = make_png(tmp_path / "cat.png", (64, 48))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        settled(client.submit("text-to-video", prompt="a", duration=3))
        settled(client.submit("image-upscale", image_url=png, upscale_factor="x3"))
        settled(client.submit("r1", prompt="a", duration=4, resolution="480p"))
        settled(
            client.submit(
                "keyframes",
                images=[png, png],
                transition_duration_s=1,
                resolution="720p",
            )
        )
        drop = 50_000_000 - client.balance().balance_micro_usd
        history = client.history.settled_total_micro_usd()
        daily = int(client.spend.daily()["charge_micro_usd"].sum())
        monthly = int(client.spend.monthly()["charge_micro_usd"].sum())
        from_csv = client.spend.monthly_csv()

        assert history == 204_000 + 126_000 + 449_400 + 40_000
        assert drop == daily == monthly == history
        assert int(from_csv["charge_micro_usd"].sum()) == history
        assert from_csv.attrs["total_micro_usd"] == history
    running.stop()


def test_charges_are_summed_since_a_day_or_an_instant(own_client: Client) -> None:
    settled(own_client.submit("text-to-video", prompt="a", duration=3))
    total_micro_usd = own_client.history.settled_total_micro_usd

    assert total_micro_usd(since="2020-01-01") == 204_000
    assert total_micro_usd(since="2999-01-01T00:00:00Z") == 0
    for since in ("noon", datetime(2020, 1, 1)):  # noqa: DTZ001
        with pytest.raises(InputError, match=r"^since must be .*with its offset"):
            total_micro_usd(since=since)


def test_the_same_call_returns_the_same_job_and_the_next_take_makes_another(
    client: Client,
) -> None:
    first = settled(client.submit("text-to-video", prompt="one", duration=3))
    again = client.submit("text-to-video", prompt="one", duration=3, resolution="720p")
    other = client.submit("text-to-video", prompt="one", duration=3, take="next")

    assert again.id == first.id
    assert (first.reused, again.reused, other.reused) == (False, True, False)
    assert not first.state.reused
    assert other.id != first.id
    assert client.submit("text-to-video", prompt="one", duration=3, take=2).id == (
        other.id
    )


def test_a_job_of_an_earlier_process_says_that_it_was_submitted_before(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    job = settled(client.submit("text-to-video", prompt="earlier", duration=3))
    home = tmp_path / "home"
    with Client(sandbox.base_url, sandbox.api_key, home=home) as later:
        again = later.submit("text-to-video", prompt="earlier", duration=3)

        assert again.id == job.id
        assert again.reused
        assert "nothing was sent" in repr(again)
        assert again.charge_micro_usd == job.charge_micro_usd


def test_an_interrupt_ends_the_waiting_and_names_the_job(tmp_path: Path) -> None:
    running = start(Sandbox(tmp_path / "data", concurrency=0))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        job = client.submit("text-to-video", prompt="interrupted", duration=3)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 2.0)

        with pytest.raises(KeyboardInterrupt, match=job.id) as caught:
            job.wait()
        assert isinstance(caught.value, WaitInterrupted)
        signal.signal(signal.SIGALRM, before)
        assert client.job(job.id).status == "queued"
    running.stop()


NAN = float("nan")
CLIP = "https://clips.example/a.mp4"
KITE: dict[str, Any] = {"prompt": "a kite"}
WRONG_CALLS: list[tuple[str, str, tuple[Any, ...], dict[str, Any]]] = [
    *(
        ("take", "submit", ("text-to-video",), KITE | {"take": take})
        for take in (0, True, "last", 1.5, 2**31)
    ),
    *(
        ("timeout_s", "run", ("text-to-video",), KITE | {"timeout_s": timeout_s})
        for timeout_s in ("5", True, NAN)
    ),
    *(
        ("webhook_url", "submit", ("text-to-video",), KITE | {"webhook_url": url})
        for url in (5, ["https://a.example"])
    ),
    *(
        ("extra", "submit", ("text-to-video",), KITE | {"extra": extra})
        for extra in ("foo", [1], {5: 1})
    ),
    *(
        ("seconds", "submit", ("text-to-video",), KITE | {"seconds": seconds})
        for seconds in (5, {5: 1}, {CLIP: "5"}, {CLIP: True}, {CLIP: -1}, {CLIP: NAN})
    ),
    *(("job_id", "job", (job_id,), {}) for job_id in (None, ["media_1"], "")),
    *(("file", "upload", (path,), {}) for path in (None, b"", ["a.png"], "~nobody/a")),
    ("function", "submit", ("text-to-vidoe",), KITE),
    ("prompt", "submit", ("text-to-video",), {}),
    ("promt", "submit", ("text-to-video",), KITE | {"promt": "b"}),
    ("duration", "submit", ("text-to-video",), KITE | {"duration": 99}),
    ("duration", "submit", ("text-to-video",), KITE | {"duration": "5"}),
]


def test_a_wrong_argument_is_named_and_nothing_is_sent(client: Client) -> None:
    def check(row: tuple[str, str, tuple[Any, ...], dict[str, Any]]) -> None:
        field, method, given, named = row
        with pytest.raises(InputError, match="Nothing was sent") as caught:
            getattr(client, method)(*given, **named)
        assert caught.value.field == field

    assert_each(WRONG_CALLS, check)
    assert client.history.frame().empty
    with pytest.raises(InputError, match="text-to-video"):
        client.submit("text-to-vidoe", **KITE)
    with pytest.raises(InputError, match=r"^body must be .*Nothing was sent"):
        mk.estimate("text-to-video", "prompt")  # type: ignore[arg-type]


def test_a_missing_file_or_one_that_is_not_a_picture_is_named(
    client: Client, tmp_path: Path
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a picture", "utf-8")
    clip = make_mp4(tmp_path / "clip.mp4")

    names = ("~no-such-user/a.png", "x" * 5_000, "a\0b")
    for path in (tmp_path / "gone.png", text, clip, tmp_path, *map(Path, names)):
        with pytest.raises(InputError, match="image_url") as caught:
            client.submit("image-upscale", image_url=path)
        assert str(path)[:60] in str(caught.value) or "\0" in str(path)
    span = {"timestamp": 0, "duration": 1000, "url": tmp_path / "gone.mp4"}
    track = {"id": "a", "type": "video", "keyframes": [span]}
    with pytest.raises(InputError, match="no such file") as caught:
        client.submit("compose-video", tracks=[track])
    assert caught.value.field == "tracks[0].keyframes[0].url"
    assert len(client.history.frame()) == 0


def test_a_file_beyond_a_limit_is_refused_before_anything_is_uploaded(
    client: Client, tmp_path: Path
) -> None:
    short = make_mp4(tmp_path / "short.mp4", duration_s=1.0)
    fields: dict[str, Any] = {"prompt": "a", "duration": 4, "image_urls": ["gone.png"]}

    uploads: list[object] = []
    client.on_transfer(uploads.append)
    with pytest.raises(InputError, match="Nothing was sent") as caught:
        client.submit("r1", video_urls=[short], **fields)
    assert [p.sentence for p in caught.value.problems][1:] == [
        "video_urls[0] must be 2 to 30 s (got 1 s)"
    ]
    assert caught.value.problems[0].field == "image_urls[0]"
    assert len(client.history.frame()) == 0
    assert uploads == []


def test_local_files_deep_in_a_body_are_uploaded(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 2.0, audio=True)
    picture = make_png(tmp_path / "picture.png", (320, 180))
    sound = make_wav(tmp_path / "sound.wav", 1.0)

    def track(name: str, kind: str, *files: Path) -> dict[str, Any]:
        spans = [
            {"timestamp": 1000 * at, "duration": 1000, "url": file}
            for at, file in enumerate(files)
        ]
        return {"id": name, "type": kind, "keyframes": spans}

    tracks = (
        track("below", "video", clip),
        track("above", "image", picture),
        track("heard", "audio", sound),
    )
    job = settled(client.submit("compose-video", tracks=tracks))

    assert job.charge_micro_usd == 200  # one second at 0.0002
    kept = job.state.body["tracks"]
    assert isinstance(kept, list)
    urls = [span["url"] for row in kept for span in row["keyframes"]]
    assert urls == [client.upload(file) for file in (clip, picture, sound)]


@pytest.mark.parametrize(
    "url", ["ftp://a.test/y.png", "s3://kept/y.png", "FILE:///y.png", "data:,a//b"]
)
def test_a_url_that_the_service_cannot_fetch_is_quoted_unchanged(
    client: Client, url: str
) -> None:
    with pytest.raises(InputError) as caught:
        client.submit("image-upscale", image_url=url)

    assert str(caught.value) == (
        "image_url must be an http(s) URL or an existing file "
        f"(got {url!r}). Nothing was sent."
    )


def upscale_micro_usd(seconds: float) -> int:
    return round(seconds * 76_000)


def test_the_length_of_a_clip_at_a_url_makes_the_price_exact(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5)
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        for source in (server.url("a.mp4"), clip, client.upload(clip)):
            estimate = client.estimate("video-upscale", video_url=source)
            assert (estimate.kind, estimate.high) == ("exact", upscale_micro_usd(1.5))

    asked = {name.lower() for _, sent in server.requests for name in sent}
    assert "x-api-key" not in asked


def test_a_given_length_is_not_read_from_the_clip(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5)
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        url = server.url("a.mp4")
        given = client.estimate("video-upscale", video_url=url, seconds={url: 9})
        local = client.estimate("video-upscale", video_url=clip, seconds={str(clip): 9})

    assert given.high == local.high == upscale_micro_usd(9)
    assert server.requests == []


def test_another_take_is_priced_by_the_current_clip_or_at_the_higher_price(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    def priced(url: str, job_id: str | None, **more: Any) -> Job:
        with Client(sandbox.base_url, sandbox.api_key, home=tmp_path) as client:
            if job_id is not None:
                return client.job(job_id).next_take()
            return client.submit("video-upscale", video_url=url, **more)

    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5)
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        url = server.url("a.mp4")
        first = priced(url, None, seconds={url: 90})
        second = priced(url, first.id)
        server.files.clear()  # it can no longer be read
        third = priced(url, first.id)

    estimates = [each.state.estimate for each in (first, second, third)]
    expected = [upscale_micro_usd(seconds) for seconds in (90, 1.5, 90)]
    assert [each and each.high for each in estimates] == expected


def test_media_that_do_not_affect_the_price_are_not_read(
    client: Client,
) -> None:
    with FileServer({}) as server:
        clip = server.url("a.mp4")
        fields: dict[str, Any] = {"prompt": "a", "video_urls": [clip]}
        client.estimate("r1", duration=5, **fields)
        client.estimate("r1", duration="auto", **fields)
        client.estimate("region-replace", video=clip, prompt="a")

    assert server.requests == []


def test_an_unreadable_clip_leaves_the_price_unbounded_for_a_minute(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5)
    clock = AdvancingClock()
    with (
        FileServer({}) as server,
        Client(sandbox.base_url, sandbox.api_key, home=tmp_path, clock=clock) as client,
    ):
        url = server.url("late.mp4")
        for wait_s, high in (
            (0, None),
            (RETRY_AFTER_S / 2, None),
            (RETRY_AFTER_S, 114_000),
        ):
            clock.skip(wait_s)
            assert client.estimate("video-upscale", video_url=url).high == high
            server.files["late.mp4"] = clip.read_bytes()


def test_an_unsuitable_clip_at_a_url_is_rejected_before_sending(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 3.0)
    task = "edit"
    fields: dict[str, Any] = {"duration": "auto", "omni_reference_task_type": task}
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        urls = [server.url("a.mp4")]
        assert client.estimate("r1", video_urls=urls, **fields).kind == "nominal"
        with pytest.raises(InputError, match="57,600 pixels"):
            client.submit("r1", prompt="a", video_urls=urls, **fields)

    assert len(client.history.frame()) == 0


def test_a_likely_mistake_is_reported_once_and_still_sent(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")
    png = make_png(tmp_path / "cat.png", (64, 48))
    fields: dict[str, Any] = {"resolution": "480p", "image_urls": [png]}
    prompt = "@Image1 beside @Image2"

    with pytest.raises(InputError, match="duration"):
        client.submit("r1", prompt=prompt, duration=99, **fields)
    job = client.submit("r1", prompt=prompt, duration=4, **fields)
    said = [r.getMessage() for r in caplog.records if "@Image2" in r.getMessage()]
    assert said == [
        "prompt mentions @Image2, but there is only @Image1. It is sent unchanged."
    ]
    assert job.state.prompt == prompt


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "status", "status": 429, "retry_after": 3}, "is busy; trying"),
        ({"kind": "latency", "seconds": 2}, "has not responded yet"),
    ],
    ids=["asked to wait", "slow"],
)
def test_a_slow_submit_explains_why_once(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    fault: dict[str, Any],
    words: str,
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        client.submit("text-to-video", prompt="at once", duration=3)
        client.components.delays.first_after_s = 1.0
        where = {"function": running.functions["text-to-video"]}
        running.fault(count=1, where=where, **fault)
        client.submit("text-to-video", prompt="later", duration=3)

        said = [r.message for r in caplog.records if r.message.startswith("The serv")]
        assert len(said) == 1
        assert words in said[0]
    running.stop()


def test_a_slow_upload_reports_its_progress_repeatedly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    running.fault("latency", seconds=3, count=1, where={"path": "/uploads/"})
    cat = make_png(tmp_path / "cat.png", (64, 48))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        delays = client.components.delays
        delays.first_after_s = delays.then_every_s = 0.5
        client.submit("image-upscale", image_url=cat)

        said = [r.message for r in caplog.records if "cat.png" in r.message]
        length = f"{cat.stat().st_size} bytes"
        assert len(said) > 1
        assert said[-1] == f"Uploading cat.png: {length} of {length}."
        assert delays.upload_text() == ""
    running.stop()


def test_waiting_ends_and_the_job_continues(tmp_path: Path) -> None:
    running = start(Sandbox(tmp_path / "data", concurrency=0))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        job = client.submit("text-to-video", prompt="a", duration=3)

        said = r"Waited \d+(\.\d)? s for .*continues"
        with pytest.raises(WaitTimeoutError, match=said) as caught:
            job.wait(timeout_s=0.2)
        assert caught.value.job is job
        assert job.id in str(caught.value)
        with pytest.raises(ConflictError, match="no output yet"):
            job.download()
        with pytest.raises(ConflictError, match="not ended yet"):
            job.erase()
    running.stop()


def test_an_erased_job_is_not_submitted_again_silently(client: Client) -> None:
    job = settled(client.submit("text-to-video", prompt="erase me", duration=3))
    job.erase()

    assert job.state.record.deleted_at is not None
    assert "completed · erased · " in job.state.text
    with pytest.raises(GoneError, match="erased"):
        job.download()
    with pytest.raises(GoneError, match='take="next"'):
        client.submit("text-to-video", prompt="erase me", duration=3)
    assert job.charge_micro_usd == 204_000


def test_a_failed_job_raises_again_and_is_not_resubmitted(
    client: Client, tmp_path: Path
) -> None:
    broken = f"{client.service.base_url}/files/nothing-here.png"
    with pytest.raises(JobFailedError, match="not charged") as caught:
        client.run("image-upscale", image_url=broken)
    job = caught.value.job

    assert isinstance(job, Job)
    assert caught.value.code == "invalid_input"
    job.settle()
    assert job.charge_micro_usd == 0
    with pytest.raises(JobFailedError) as second:
        client.submit("image-upscale", image_url=broken)
    assert second.value.job.id == job.id


def test_a_job_is_returned_by_its_id(client: Client) -> None:
    job = client.submit("text-to-video", prompt="by id", duration=3)

    assert client.job(job.id).wait().state.prompt == "by id"
    with pytest.raises(NotFoundError, match="media_none"):
        client.job("media_none")


def test_an_async_client_is_opened_by_its_first_call_and_not_by_its_repr(
    tmp_path: Path,
) -> None:
    def written() -> list[Path]:
        return list(tmp_path.iterdir())

    async def scenario() -> None:
        client = AsyncClient(home=tmp_path)
        for name in ("catalog", "history", "deliveries", "spend", "service"):
            assert not hasattr(client, name)
        with pytest.raises(AttributeError, match="not open yet: use `async with`"):
            client.functions  # noqa: B018
        assert not written()

        async with client:
            assert len(client.catalog) == len(dir(client.functions))
            assert await client.reserved_micro_usd() == 0
        with pytest.raises(AttributeError, match=r"no attribute 'spent'$"):
            client.spent  # type: ignore[attr-defined]  # noqa: B018

    with asyncio.Runner() as runner:
        runner.run(scenario())


INNER_OF_JOBS = {"subscribe", "update", "see", "trouble", "end", "watch", "release"}
INNER_OF_JOBS |= {"raise_if_failed", "read_content", "read_output", "recipe_edits"}


@pytest.mark.parametrize(
    ("blocking", "awaited", "on_one_side"),
    [
        (Client, AsyncClient, {"form", "on_close", "owned", "studio", "aclose"}),
        (Job, AsyncJob, {"show", *INNER_OF_JOBS}),
        (Deliveries, AsyncDeliveries, {"pages"}),
        (HistoryView, AsyncHistoryView, set()),
    ],
)
def test_a_blocking_class_has_the_methods_of_its_async_counterpart(
    blocking: type, awaited: type, on_one_side: set[str]
) -> None:
    def signatures(kind: type) -> set[tuple[str, str]]:
        return {
            (name, str(inspect.signature(value).replace(return_annotation="")))
            for name, value in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_") and name not in on_one_side
        }

    assert signatures(blocking) == signatures(awaited)
