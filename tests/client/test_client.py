"""The client on a real sandbox over real HTTP."""

from __future__ import annotations

import asyncio
import inspect
import logging
import signal
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient, Client, Job, format_usd
from mediakit.client import AsyncJob, Service
from mediakit.client.idempotency import submission_of
from mediakit.client.uploads import fingerprint
from mediakit.errors import (
    AuthError,
    BalanceError,
    ConflictError,
    GoneError,
    InputError,
    JobFailedError,
    NotFoundError,
    RateLimitError,
    ServiceError,
    WaitTimeoutError,
)
from mediakit.history import EntryState, History, tuning
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.samples.media_samples import make_mp4, make_png, make_wav
from tests.support.servers.file_server import FileServer
from tests.support.servers.lossy_proxy import LossyProxy

PATIENCE_S = 60.0


def settled(job: Job) -> Job:
    job.wait(PATIENCE_S)
    job.settle(PATIENCE_S)
    return job


def jobs_at(client: Client) -> int:
    frame = client.spend.daily()
    return int(frame["jobs"].sum())


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


def test_five_books_agree_to_the_micro_dollar(tmp_path: Path) -> None:
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


def test_spend_reports_go_up_to_the_day_and_the_month_of_the_services_clock(
    tmp_path: Path,
) -> None:
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    running.advance(hours=24 * 40)
    with Client(running.base_url, running.api_key, home=tmp_path / "home") as client:
        settled(client.submit("text-to-video", prompt="a", duration=3))
        by_now = (datetime.now(UTC) + timedelta(days=39)).date()
        daily, monthly = client.spend.daily(), client.spend.monthly()
        from_csv = client.spend.monthly_csv()

        assert daily["charge_micro_usd"].tolist() == [204_000]
        assert daily["day"].dt.date.min() >= by_now
        assert monthly["charge_micro_usd"].tolist() == [204_000]
        assert monthly.attrs["notes"] == []
        assert from_csv["charge_micro_usd"].tolist() == [204_000]
        assert client.spend.daily(end=datetime.now(UTC).date()).empty
    running.stop()


def test_charges_are_summed_from_a_day_or_an_instant_on(own_client: Client) -> None:
    settled(own_client.submit("text-to-video", prompt="a", duration=3))
    total_micro_usd = own_client.history.settled_total_micro_usd

    assert total_micro_usd(since="2020-01-01") == 204_000
    assert total_micro_usd(since="2999-01-01T00:00:00Z") == 0
    for since in ("noon", 5, datetime(2020, 1, 1)):  # noqa: DTZ001
        with pytest.raises(InputError, match=r"^since must be .*with its offset"):
            total_micro_usd(since=since)  # type: ignore[arg-type]


def test_the_same_call_is_the_same_job_and_the_next_take_is_another(
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


@pytest.mark.parametrize("take", [0, -1, True, "last", 1.5, 2**31, 10**30])
def test_a_take_is_a_count_or_next(client: Client, take: object) -> None:
    with pytest.raises(InputError, match="take"):
        client.submit("text-to-video", prompt="a", take=take)  # type: ignore[arg-type]


def test_a_lost_answer_makes_one_job(tmp_path: Path) -> None:
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    with (
        LossyProxy(running.base_url, "POST", losses=2) as proxy,
        Client(proxy.base_url, running.api_key, home=tmp_path) as client,
    ):
        before = client.balance().balance_micro_usd
        job = settled(client.submit("text-to-video", prompt="lost", duration=3))

        posts = [r for r in proxy.requests if r.startswith(b"POST")]
        keys = {line for r in posts for line in r.splitlines() if b"dempotency" in line}
        assert proxy.left == 0
        assert len(posts) == 3
        assert len(keys) == 1
        assert before - client.balance().balance_micro_usd == job.charge_micro_usd
        assert jobs_at(client) == 1
    running.stop()


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def impatient(base_url: str, api_key: str, home: Path) -> AsyncClient:
    """Give a client that asks for half a second only."""
    return async_client(
        Service(base_url, api_key, identity="one-service"),
        history=History(home / "history.sqlite3"),
        submit_retry_for_s=0.5,
    )


def test_what_could_not_be_sent_is_kept_and_made_once_at_the_next_start(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    async def scenario() -> None:
        dead = impatient(closed_port(), sandbox.api_key, tmp_path)
        function = dead.catalog.function("text-to-video")
        submission = submission_of(
            dead.service,
            function,
            function.canonical_body({"prompt": "kept", "duration": 3}),
            function.estimate({"duration": 3}),
        )
        dead.components.store.claim(submission)
        await dead.resume()
        [entry] = dead.components.store.unanswered_entries(**owner(dead))
        assert entry.state is EntryState.UNANSWERED

        live = impatient(sandbox.base_url, sandbox.api_key, tmp_path)
        [job] = await live.resume()
        assert await live.resume() == [job]
        await job.wait(PATIENCE_S)
        same = await live.submit("text-to-video", prompt="kept", duration=3)
        assert same.id == job.id
        assert live.components.store.unanswered_entries(**owner(live)) == []
        await live.aclose()

    with asyncio.Runner() as runner:
        runner.run(scenario())


def test_a_next_take_after_a_lost_answer_finds_that_job_instead_of_submitting_another(
    tmp_path: Path,
) -> None:
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    kite: dict[str, Any] = {"prompt": "pressed twice", "duration": 3}

    async def scenario(proxy: LossyProxy) -> None:
        client = impatient(proxy.base_url, running.api_key, tmp_path)
        with pytest.raises(ServiceError, match="not known whether"):
            await client.submit("text-to-video", take="next", **kite)
        proxy.left = 0
        job = await client.submit("text-to-video", take="next", **kite)
        assert len(await client.history.frame()) == 1

        draws = [client.submit("text-to-video", take="next", **kite) for _ in range(3)]
        others = {other.id for other in await asyncio.gather(*draws)}
        assert len(others) == 3
        assert job.id not in others
        await client.aclose()

    with (
        LossyProxy(running.base_url, "POST", losses=10_000) as proxy,
        asyncio.Runner() as runner,
    ):
        runner.run(scenario(proxy))
    running.stop()


def owner(client: AsyncClient) -> dict[str, str]:
    service = client.service
    return {"service": service.identity, "account": service.account}


def test_a_service_that_is_not_there_is_one_sentence_and_costs_nothing(
    tmp_path: Path,
) -> None:
    client = Client(closed_port(), "key-01234567", home=tmp_path)

    with pytest.raises(ServiceError, match="does not answer") as caught:
        client.io.call(client.components.billing.balance, retry_for_s=0.3)
    assert "key-01234567" not in str(caught.value)


def test_a_proxy_of_the_environment_is_not_asked_for_what_is_on_this_machine(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, closed_port())
    with Client(sandbox.base_url, sandbox.api_key, home=tmp_path) as client:
        png = make_png(tmp_path / "cat.png", (20, 20))
        job = client.run("image-upscale", image_url=png, timeout_s=PATIENCE_S)

        assert job.download(tmp_path).stat().st_size > 0


def test_an_interrupt_ends_the_waiting_and_names_the_job(tmp_path: Path) -> None:
    running = start(Sandbox(tmp_path / "data", concurrency=0))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        job = client.submit("text-to-video", prompt="interrupted", duration=3)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)

        with pytest.raises(KeyboardInterrupt, match=job.id):
            job.wait(timeout_s=20)
        signal.signal(signal.SIGALRM, before)
        assert client.job(job.id).status == "queued"
    running.stop()


def test_a_wrong_key_is_refused_by_name_without_being_shown(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with (
        Client(sandbox.base_url, "wrong-key-123", home=tmp_path) as client,
        pytest.raises(AuthError, match="API key") as caught,
    ):
        client.balance()
    assert "wrong-key-123" not in str(caught.value)


def test_a_base_url_that_is_no_such_service_is_one_sentence(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    url = f"{sandbox.base_url}/files"
    with (
        Client(url, sandbox.api_key, home=tmp_path) as client,
        pytest.raises((NotFoundError, ServiceError)),
    ):
        client.balance()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"prompt": "a", "duration": 99}, "duration"),
        ({"prompt": "a", "duration": "5"}, "duration"),
        ({}, "prompt"),
        ({"prompt": "a", "promt": "b"}, "promt"),
    ],
)
def test_bad_input_names_the_field_and_nothing_is_sent(
    client: Client, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InputError, match="Nothing was sent") as caught:
        client.submit("text-to-video", **fields)

    assert caught.value.field == field
    assert len(client.history.frame()) == 0


@pytest.mark.parametrize("path", [None, b"", 5, ["a.png"], "~nobody-here/a.png"])
def test_what_is_no_path_is_not_uploaded(client: Client, path: Any) -> None:
    with pytest.raises(InputError, match=r"^file must be .*Nothing was sent"):
        client.upload(path)


@pytest.mark.parametrize("job_id", [None, 5, ["media_1"], ""])
def test_what_is_no_id_of_a_job_is_not_asked_for(client: Client, job_id: Any) -> None:
    with pytest.raises(InputError, match=r"^job_id must be .*Nothing was sent"):
        client.job(job_id)


@pytest.mark.parametrize("timeout_s", ["5", True, float("nan")])
def test_what_is_no_time_is_refused_before_the_job_is_submitted(
    client: Client, timeout_s: Any
) -> None:
    with pytest.raises(InputError, match=r"^timeout_s must be .*Nothing was sent"):
        client.run("text-to-video", prompt="in no time", timeout_s=timeout_s)
    assert client.history.frame().empty


def test_an_unknown_function_offers_the_nearest_names(client: Client) -> None:
    with pytest.raises(InputError, match="text-to-video"):
        client.submit("text-to-vidoe", prompt="a")


def test_a_file_that_vanished_or_is_no_picture_is_named(
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
    assert len(client.history.frame()) == 0


def test_a_file_beyond_a_limit_is_refused_before_anything_is_uploaded(
    client: Client, tmp_path: Path
) -> None:
    short = make_mp4(tmp_path / "short.mp4", duration_s=1.0)
    fields: dict[str, Any] = {"prompt": "a", "duration": 4, "image_urls": ["gone.png"]}

    with pytest.raises(InputError, match="Nothing was sent") as caught:
        client.submit("r1", video_urls=[short], **fields)
    assert [p.sentence for p in caught.value.problems][1:] == [
        "video_urls[0] must be 2 to 30 s (got 1 s)"
    ]
    assert caught.value.problems[0].field == "image_urls[0]"
    assert len(client.history.frame()) == 0
    digest = fingerprint(short).sha256
    uploaded = tuning.uploaded(
        client.components.store,
        service=client.core.service.identity,
        sha256=digest,
        content_type="video/mp4",
    )
    assert uploaded is None


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


def test_a_missing_file_deep_in_a_body_is_named_by_its_place(
    client: Client, tmp_path: Path
) -> None:
    span = {"timestamp": 0, "duration": 1000, "url": tmp_path / "gone.mp4"}
    track = {"id": "a", "type": "video", "keyframes": [span]}

    with pytest.raises(InputError, match="no such file") as caught:
        client.submit("compose-video", tracks=[track])
    assert caught.value.field == "tracks[0].keyframes[0].url"


@pytest.mark.parametrize(
    "url", ["ftp://a.test/y.png", "s3://kept/y.png", "FILE:///y.png", "data:,a//b"]
)
def test_a_url_that_the_service_cannot_fetch_is_quoted_as_it_came(
    client: Client, url: str
) -> None:
    with pytest.raises(InputError) as caught:
        client.submit("image-upscale", image_url=url)

    assert str(caught.value) == (
        "image_url must be an http(s) URL or an existing file "
        f"(got {url!r}). Nothing was sent."
    )


def test_no_url_at_all_is_one_problem(client: Client) -> None:
    with pytest.raises(InputError, match="got ''") as caught:
        client.submit("image-upscale", image_url="")

    assert [problem.field for problem in caught.value.problems] == ["image_url"]


def upscale_micro_usd(seconds: float) -> int:
    return round(seconds * 76_000)


def test_the_length_of_a_clip_behind_a_url_firms_up_the_price(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5)
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        for source in (server.url("a.mp4"), clip, client.upload(clip)):
            estimate = client.estimate("video-upscale", video_url=source)
            assert (estimate.kind, estimate.high) == ("exact", upscale_micro_usd(1.5))

    asked = {name.lower() for _, sent in server.requests for name in sent}
    assert "x-api-key" not in asked


def test_a_length_that_is_given_is_not_looked_for(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5)
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        url = server.url("a.mp4")
        given = client.estimate("video-upscale", video_url=url, seconds={url: 9})
        local = client.estimate("video-upscale", video_url=clip, seconds={str(clip): 9})

    assert given.high == local.high == upscale_micro_usd(9)
    assert server.requests == []


def test_nothing_is_looked_for_that_the_price_does_not_depend_on(
    client: Client,
) -> None:
    with FileServer({}) as server:
        clip = server.url("a.mp4")
        fields: dict[str, Any] = {"prompt": "a", "video_urls": [clip]}
        client.estimate("r1", duration=5, **fields)
        client.estimate("r1", duration="auto", **fields)
        client.estimate("region-replace", video=clip, prompt="a")

    assert server.requests == []


def test_a_clip_that_cannot_be_looked_at_leaves_the_price_open(client: Client) -> None:
    with FileServer({}) as server:
        for _ in range(2):
            url = server.url("gone.mp4")
            estimate = client.estimate("video-upscale", video_url=url)
            assert (estimate.kind, estimate.high) == ("upper_bound", None)

    assert len(server.requests) == 1


def test_a_clip_behind_a_url_that_will_not_do_is_refused_before_it_is_sent(
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


def test_a_price_from_a_looked_up_length_is_the_charge(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5, audio=True, sound_s=2.0)
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        url = server.url("a.mp4")
        estimate = client.estimate("video-upscale", video_url=url)
        job = settled(client.submit("video-upscale", video_url=url))

    assert estimate.high == job.charge_micro_usd == upscale_micro_usd(1.5)


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [r.getMessage() for r in caplog.records if r.name == "mediakit.client"]
    return [line for line in lines if "@Image2" in line]


def test_what_is_likely_a_mistake_is_reported_once_and_still_sent(
    client: Client, sandbox: RunningSandbox, tmp_path: Path, caplog: Any
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")
    png = make_png(tmp_path / "cat.png", (64, 48))
    fields: dict[str, Any] = {"duration": 4, "resolution": "480p", "image_urls": [png]}
    prompt = "@Image1 beside @Image2"

    job = client.submit("r1", prompt=prompt, **fields)
    (line,) = warned(caplog)
    assert line == (
        "prompt cites @Image2, but image_urls has 1 item. It is sent as it is."
    )
    assert job.state.prompt == prompt

    caplog.clear()
    core = AsyncClient(sandbox.base_url, sandbox.api_key, home=tmp_path / "home")
    same = client.io.call(core.submit, "r1", prompt=prompt, **fields)
    client.io.call(core.aclose)
    assert same.id == job.id
    assert len(warned(caplog)) == 1


def test_nothing_is_said_to_be_sent_that_is_not(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")

    with pytest.raises(InputError, match="duration"):
        client.submit("r1", prompt="@Image2", duration=99)
    assert warned(caplog) == []


def test_the_same_bytes_are_uploaded_once(client: Client, tmp_path: Path) -> None:
    png = make_png(tmp_path / "cat.png", (64, 48))
    copy = tmp_path / "copy of the cat.png"
    copy.write_bytes(png.read_bytes())

    assert client.upload(png) == client.upload(str(copy))
    assert client.upload(make_png(tmp_path / "dog.png", (48, 64))) != client.upload(png)


def test_a_balance_that_cannot_carry_it_sends_nothing(tmp_path: Path) -> None:
    running = start(
        Sandbox(tmp_path / "data", balance_micro_usd=500_000, speed=20, sketch=True)
    )
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        with pytest.raises(BalanceError, match="Nothing was sent") as caught:
            client.submit("text-to-video", prompt="a", duration=15)

        assert caught.value.needed_micro_usd == 1_020_000
        assert caught.value.available_micro_usd == 500_000
        assert format_usd(1_020_000) in str(caught.value)
        assert len(client.history.frame()) == 0
    running.stop()


def test_what_is_in_flight_is_held_against_the_balance(tmp_path: Path) -> None:
    running = start(
        Sandbox(tmp_path / "data", balance_micro_usd=500_000, concurrency=0)
    )
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        client.submit("text-to-video", prompt="a", duration=5)
        assert client.reserved_micro_usd() == 340_000

        with pytest.raises(BalanceError, match=r"\$0.34 is held"):
            client.submit("text-to-video", prompt="b", duration=5)
    running.stop()


def test_a_full_queue_is_one_sentence_with_the_time_to_try_again(
    tmp_path: Path,
) -> None:
    running = start(
        Sandbox(tmp_path / "data", concurrency=0, queue_size=1, speed=20, sketch=True)
    )
    clock = AdvancingClock()
    with Client(
        running.base_url, running.api_key, home=tmp_path, clock=clock
    ) as client:
        client.submit("text-to-video", prompt="a", duration=3)

        with pytest.raises(RateLimitError, match="Nothing was charged") as caught:
            client.submit("text-to-video", prompt="b", duration=3)
        assert caught.value.retry_after_s is not None
        frame = client.history.frame()
        assert list(frame["error_code"].dropna().unique()) == ["rate_limited"]
        assert frame["key"].is_unique
    running.stop()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "status", "status": 429, "retry_after": 3}, "asks to wait; trying"),
        ({"kind": "latency", "seconds": 2}, "has not accepted the request yet"),
    ],
    ids=["asked to wait", "slow"],
)
def test_a_submit_that_takes_long_says_why_once(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    fault: dict[str, Any],
    words: str,
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        client.submit("text-to-video", prompt="at once", duration=3)
        monkeypatch.setattr("mediakit.blocking_client.SILENT_S", 1.0)
        where = {"function": running.functions["text-to-video"]}
        running.fault(count=1, where=where, **fault)
        client.submit("text-to-video", prompt="later", duration=3)

        said = [r.message for r in caplog.records if r.message.startswith("The serv")]
        assert len(said) == 1
        assert words in said[0]
    running.stop()


def test_an_upload_that_takes_long_says_how_far_it_is_and_says_it_again(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")
    monkeypatch.setattr("mediakit.blocking_client.SILENT_S", 0.5)
    monkeypatch.setattr("mediakit.blocking_client.STILL_SILENT_S", 0.5)
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    running.fault("latency", seconds=3, count=1, where={"path": "/uploads/"})
    cat = make_png(tmp_path / "cat.png", (64, 48))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        client.submit("image-upscale", image_url=cat)

        said = [r.message for r in caplog.records if "cat.png" in r.message]
        length = f"{cat.stat().st_size} bytes"
        assert len(said) > 1
        assert said[-1] == f"Uploading cat.png: {length} of {length}."
        assert client.components.delays.upload_text() == ""
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


def test_a_job_that_failed_says_so_again_and_is_not_submitted_again(
    client: Client, tmp_path: Path
) -> None:
    broken = f"{client.service.base_url}/files/nothing-here.png"
    with pytest.raises(JobFailedError, match="not charged") as caught:
        client.run("image-upscale", image_url=broken, timeout_s=PATIENCE_S)
    job = caught.value.job

    assert isinstance(job, Job)
    assert caught.value.code == "invalid_input"
    job.settle(PATIENCE_S)
    assert job.charge_micro_usd == 0
    with pytest.raises(JobFailedError) as second:
        client.submit("image-upscale", image_url=broken)
    assert second.value.job.id == job.id


def test_a_job_is_picked_up_by_its_id(client: Client) -> None:
    job = client.submit("text-to-video", prompt="by id", duration=3)

    assert client.job(job.id).wait(PATIENCE_S).state.prompt == "by id"
    with pytest.raises(NotFoundError, match="media_none"):
        client.job("media_none")


def test_a_download_never_replaces_a_file_silently(
    client: Client, tmp_path: Path
) -> None:
    job = client.run("text-to-video", prompt="save", duration=3, timeout_s=PATIENCE_S)
    target = tmp_path / "out.mp4"
    target.write_bytes(b"mine")

    with pytest.raises(InputError, match="overwrite=True"):
        job.download(target)
    assert target.read_bytes() == b"mine"
    assert job.download(target, overwrite=True) == target
    assert target.stat().st_size > 1_000
    with pytest.raises(InputError, match="folder that exists"):
        job.download(tmp_path / "no" / "out.mp4")


def test_a_job_tells_its_listeners_every_state_in_order(client: Client) -> None:
    job = client.submit("text-to-video", prompt="tell", duration=3)
    seen: list[str] = []
    job.core.subscribe(lambda state: seen.append(state.record.status.value))
    settled(job)

    order = ["queued", "running", "completed"]
    assert [order.index(s) for s in seen] == sorted(order.index(s) for s in seen)
    assert seen[-1] == "completed"


def test_secrets_reach_no_repr_and_no_log(
    client: Client, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    key = client.service.api_key
    png = make_png(tmp_path / "secret.png", (32, 32))
    job = client.run("image-upscale", image_url=png, timeout_s=PATIENCE_S)

    shown = f"{client!r} {client.core!r} {client.service!r} {client.place!r} {job!r}"
    assert key not in shown
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("mediakit")]
    assert ours
    assert not any(key in line or "signature" in line.lower() for line in ours)
    home = tmp_path / "home"
    for file in home.rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes()


def test_the_async_client_works_on_one_loop_after_another(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    client = AsyncClient(sandbox.base_url, sandbox.api_key, home=tmp_path)

    async def run() -> str:
        job = await client.run("text-to-video", prompt="loops", duration=3)
        await (await client.job(job.id)).settle(PATIENCE_S)
        return (await job).id

    ids = []
    for _ in range(2):
        with asyncio.Runner() as runner:
            ids.append(runner.run(run()))
    with asyncio.Runner() as runner:
        runner.run(client.aclose())
    assert ids[0] == ids[1]


def test_await_on_a_blocking_clients_job_works_in_a_cell(client: Client) -> None:
    async def cell() -> Job:
        job = client.submit("text-to-video", prompt="await", duration=3)
        return await job

    with asyncio.Runner() as runner:
        assert runner.run(cell()).status == "completed"


def test_an_awaited_client_is_opened_by_its_first_call_and_not_by_looking_at_it(
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
            assert len(client.catalog) == len(client.functions)
            assert await client.reserved_micro_usd() == 0
        with pytest.raises(AttributeError, match=r"no attribute 'spent'$"):
            client.spent  # type: ignore[attr-defined]  # noqa: B018

    with asyncio.Runner() as runner:
        runner.run(scenario())


def test_a_listener_that_fails_keeps_no_other_from_hearing_of_the_end(
    sandbox: RunningSandbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(sandbox.base_url, sandbox.api_key, home=tmp_path)
    heard: list[str] = []

    def fails() -> None:
        raise ValueError("a broken listener")

    client.on_close(fails)
    client.on_close(lambda: heard.append("heard"))
    unsubscribe = client.on_close(lambda: heard.append("not heard"))
    unsubscribe()
    unsubscribe()
    client.close()

    assert heard == ["heard"]
    assert "a broken listener" in caplog.text


BLOCKING_ONLY = {"form", "on_close", "owned", "studio"}
ASYNC_ONLY = {"aclose"}


def signatures(kind: type) -> dict[str, str]:
    return {
        name: str(inspect.signature(value).replace(return_annotation=""))
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_both_clients_have_the_same_methods_with_the_same_arguments() -> None:
    blocking, awaited = signatures(Client), signatures(AsyncClient)

    assert set(blocking) - BLOCKING_ONLY == set(awaited) - ASYNC_ONLY
    for name in set(blocking) & set(awaited):
        assert blocking[name] == awaited[name], name


def test_both_jobs_have_the_same_methods_with_the_same_arguments() -> None:
    blocking, awaited = signatures(Job), signatures(AsyncJob)
    inner = {"subscribe", "update", "see", "trouble", "end", "release"}
    inner |= {"raise_if_failed", "read_output", "pass_output"}

    assert set(blocking) - {"show"} == set(awaited) - inner
    for name in set(blocking) - {"show"}:
        assert blocking[name] == awaited[name], name


@pytest.mark.parametrize("code", ["content_moderation", "timed_out", "provider_error"])
def test_a_failure_that_was_asked_for_is_one_typed_error(
    client: Client, code: str
) -> None:
    with pytest.raises(JobFailedError) as caught:
        client.run("text-to-video", prompt=f"a kite sandbox:fail={code}", duration=3)

    assert caught.value.code == code
    assert ".." not in str(caught.value)
    assert "not charged" in str(caught.value)
