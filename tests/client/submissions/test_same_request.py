"""Two requests are the same if the user's values are, whatever the API key or URL.

An organization may change its API key or have several, a service may sign the URLs of
its files again at each read, and the record of an upload may be lost.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from mediakit import Client, GoneError, Job, JobFailedError, NotFoundError
from mediakit.catalog import Catalog
from mediakit.client import BudgetState, request_preparation
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from mediakit.sweep import CellState
from tests.sandbox.conftest import Api
from tests.support.new_history import with_history
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.sandbox.admin import AdminClient
from tests.support.widgets import finish, until

KITE: dict[str, Any] = {"prompt": "a kite", "duration": 3}
SETTLED_WITHIN_S = 60.0
READS = count(1)


class Watching(httpx.AsyncBaseTransport):
    """Sends requests, and counts those that may be charged.

    Args:
        signs: Sign the URL of each file again whenever it is read.
    """

    def __init__(self, *, signs: bool) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self._signs = signs
        self.submissions = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        is_job = path.startswith("/v1/media/")
        if request.method == "POST" and is_job and "upload" not in path:
            self.submissions += 1
        response = await self._inner.handle_async_request(request)
        if not self._signs or not is_job:
            return response
        fields = json.loads(await response.aread())
        output = fields.get("output") or {}
        for medium in ("video", "image", "audio"):
            if output.get(medium):
                output[medium]["url"] += f"?X-Amz-Signature={next(READS)}"
        return httpx.Response(response.status_code, json=fields)

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass
class Desk:
    """A service, and one folder with the history that all its clients share."""

    admin: AdminClient
    home: Path
    clients: list[Client] = field(default_factory=list)

    @property
    def running(self) -> RunningSandbox:
        return self.admin.api.running

    def org(self, balance_usd: float = 100) -> str:
        return self.admin.org(balance_usd=balance_usd, concurrency=4, queue_size=9)

    def key(self, org: str) -> str:
        key: str = self.admin.key(org)["key"]
        return key

    def client(self, key: str, **given: Any) -> Client:
        home = given.pop("home", self.home)
        client = Client(self.running.base_url, key, home=home, **given)
        self.clients.append(client)
        return client

    def balance_micro_usd(self, org: str) -> int:
        micro_usd: int = self.admin.show(org)["balance_micro_usd"]
        return micro_usd


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox; each test creates its own organizations."""
    data = tmp_path_factory.mktemp("same") / "data"
    running = start(Sandbox(data, speed=20, sketch=True))
    yield running
    running.stop()


@pytest.fixture
def desk(running: RunningSandbox, tmp_path: Path) -> Iterator[Desk]:
    api = Api(running)
    with AdminClient(api) as admin, api.http:
        made = Desk(admin, with_history(tmp_path / "home"))
        yield made
        for client in made.clients:
            client.close()


def state_of(client: Client) -> BudgetState:
    state = client.budget()
    assert state is not None
    return state


def done(job: Job) -> Job:
    return job.settle(SETTLED_WITHIN_S)


# -- another API key ------------------------------------------------------------------


def test_a_notebook_that_runs_again_after_a_key_was_rotated_pays_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    org = desk.org()
    old, new = desk.client(desk.key(org)), desk.client(desk.key(org))
    picture, file = make_png(tmp_path / "a.png"), tmp_path / "kite.mp4"
    uploaded = old.upload(picture)
    first = done(old.run("text-to-video", **KITE))
    assert first.download(file) == file
    written_ns, paid = file.stat().st_mtime_ns, desk.balance_micro_usd(org)

    assert new.upload(picture) == uploaded
    again = new.run("text-to-video", **KITE)
    assert again.download(file) == file

    assert (again.id, again.reused) == (first.id, True)
    assert desk.balance_micro_usd(org) == paid
    assert file.stat().st_mtime_ns == written_ns
    assert len(new.history.frame()) == 1


def test_a_take_and_a_retry_continue_a_request_of_another_key(desk: Desk) -> None:
    org = desk.org()
    old, new = desk.client(desk.key(org)), desk.client(desk.key(org))
    first = old.submit("text-to-video", **KITE)
    second = new.submit("text-to-video", take="next", **KITE)
    assert second.id != first.id
    assert old.submit("text-to-video", take=2, **KITE).id == second.id
    third = new.job(first.id).next_take()
    assert old.submit("text-to-video", take=3, **KITE).id == third.id
    for job in (first, second, third):
        done(job)

    desk.running.fault("fail_render", count=1)
    with pytest.raises(JobFailedError) as caught:
        old.run("text-to-image", prompt="a crane")
    failed = caught.value.job
    again = new.job(failed.id).retry()
    assert again.id != failed.id
    assert old.job(failed.id).retry().id == again.id


def test_a_job_of_another_organization_is_not_paid_again_without_asking(
    desk: Desk,
) -> None:
    one, other = desk.org(), desk.org()
    first = done(desk.client(desk.key(one)).run("text-to-video", **KITE))
    stranger = desk.client(desk.key(other))
    before = desk.balance_micro_usd(other)

    with pytest.raises(GoneError) as caught:
        stranger.submit("text-to-video", **KITE)

    said = str(caught.value)
    assert first.id in said
    assert "another API key" in said
    assert 'take="next"' in said
    assert desk.balance_micro_usd(other) == before
    # The job exists, but not for this key.
    (row,) = stranger.history.frame().to_dict("records")
    assert row["charge_micro_usd"] == first.charge_micro_usd

    own = done(stranger.submit("text-to-video", take="next", **KITE))
    assert own.id != first.id
    assert stranger.submit("text-to-video", take=2, **KITE).id == own.id


def test_the_hold_of_a_job_stays_although_a_key_of_another_organization_asks_for_it(
    desk: Desk,
) -> None:
    one = desk.org()
    desk.admin.change(one, concurrency=0)
    owner = desk.client(desk.key(one), project="kites", budget="$0.40")
    waiting = owner.submit("text-to-video", **KITE)
    held = state_of(owner).reserved_micro_usd
    stranger = desk.client(desk.key(desk.org()))

    with pytest.raises(GoneError):
        stranger.submit("text-to-video", **KITE)

    assert held > 0
    assert state_of(owner).reserved_micro_usd == held
    assert owner.submit("text-to-video", **KITE).id == waiting.id


def test_spend_under_an_earlier_key_is_counted_in_the_balance_of_the_next_key(
    desk: Desk,
) -> None:
    org = desk.org(balance_usd=0.50)
    old, new = desk.client(desk.key(org)), desk.client(desk.key(org))
    done(old.run("text-to-video", **KITE))
    desk.running.fault("fail_render", count=1)
    with pytest.raises(JobFailedError) as caught:
        old.run("text-to-video", prompt="a crane", duration=3)
    failed = caught.value.job.id
    assert new.job(failed).retry().id != failed


def test_the_unknown_request_of_a_rebuilt_job_is_not_invented(
    desk: Desk, tmp_path: Path
) -> None:
    key = desk.key(desk.org())
    lost = desk.client(key, home=tmp_path / "lost")
    job = lost.submit("text-to-image", prompt="a kite")
    client = desk.client(key)
    client.history.rebuild(job.id, deliveries=False)
    with pytest.raises(NotFoundError, match="but not its request"):
        client.job(job.id).next_take()


def test_a_job_is_found_by_a_client_that_connected_while_the_service_was_away(
    tmp_path: Path,
) -> None:
    settings = Sandbox(tmp_path / "data", api_key="a-key-of-tests", sketch=True)
    running = start(settings)
    base_url, home = running.base_url, tmp_path / "home"
    again = settings.model_copy(update={"port": int(base_url.rpartition(":")[2])})
    call: dict[str, Any] = {"prompt": "a kite", "size": "64x64"}
    with Client(base_url, running.api_key, home=home) as client:
        first = client.submit("text-to-image", **call)
    running.stop()

    catalog = Catalog.default()
    with Client(base_url, "a-key-of-tests", home=home, catalog=catalog) as client:
        running = start(again)
        assert client.submit("text-to-image", **call).id == first.id
        running.stop()


def test_a_sandbox_with_another_folder_submits_nothing_again_without_asking(
    tmp_path: Path,
) -> None:
    port = 0
    for folder in ("one", "two"):
        running = start(Sandbox(tmp_path / folder, port=port, sketch=True))
        port = int(running.base_url.rpartition(":")[2])
        with Client(running.base_url, running.api_key, home=tmp_path) as client:
            if folder == "one":
                first = client.submit("text-to-image", prompt="a kite")
                running.stop()
                continue
            with pytest.raises(GoneError, match=first.id):
                client.submit("text-to-image", prompt="a kite")
            again = client.submit("text-to-image", prompt="a kite", take="next")
            assert again.id != first.id
            running.stop()


# -- URLs that change -----------------------------------------------------------------


def region_replace(client: Client, clip: Job) -> Job:
    return client.submit(
        "region-replace", video=clip, prompt="a red kite", modify_region_roi="kite"
    )


def composed(client: Client, clip: Job) -> Job:
    keyframe = {"timestamp": 0, "duration": 2_000, "url": clip}
    track = {"id": "clips", "type": "video", "keyframes": [keyframe]}
    return client.submit("compose-video", tracks=[track])


@pytest.mark.parametrize("chained", [region_replace, composed])
def test_a_chain_is_paid_once_although_the_service_signs_urls_again_at_each_read(
    desk: Desk, chained: Callable[[Client, Job], Job]
) -> None:
    org = desk.org()
    key = desk.key(org)
    ids, submissions, urls = set(), 0, set()
    for _ in range(3):
        service = Watching(signs=True)
        with Client(
            desk.running.base_url, key, home=desk.home, transport=service
        ) as client:
            clip = client.run("text-to-video", **KITE)
            large = done(chained(client, clip))
            ids.add(large.id)
            urls.add(clip.url)
            submissions += service.submissions
            charges = client.history.frame()["charge_micro_usd"]

    assert len(urls) == 3
    assert len(ids) == 1
    assert submissions == 2  # the clip, and what is made of it
    assert 100_000_000 - desk.balance_micro_usd(org) == charges.sum()


def test_another_take_of_a_chain_is_numbered_after_those_under_other_urls(
    desk: Desk,
) -> None:
    key = desk.key(desk.org())
    service = Watching(signs=True)
    with Client(
        desk.running.base_url, key, home=desk.home, transport=service
    ) as client:
        clip = client.run("text-to-video", **KITE)
        takes = [
            client.submit("video-upscale", video=client.job(clip.id), take=take).id
            for take in (1, "next", "next", 1, 2, 3)
        ]

    assert len(set(takes)) == 3
    assert takes[:3] == takes[3:]


def forget_uploads(home: Path) -> None:
    (history,) = home.glob("*.sqlite3")
    with sqlite3.connect(history) as database:
        assert database.execute("DELETE FROM mediakit_uploads").rowcount == 1


def test_a_local_file_is_the_same_input_although_its_upload_is_forgotten(
    desk: Desk, tmp_path: Path
) -> None:
    org = desk.org()
    key = desk.key(org)
    clip = make_mp4(tmp_path / "a.mp4")
    ids, owned, submissions = set(), [], 0
    for _ in range(3):
        service = Watching(signs=False)
        with Client(
            desk.running.base_url, key, home=desk.home, transport=service
        ) as client:
            owned.append(client.sweep("video-upscale", video_url=[clip]).owned.tolist())
            ids.add(done(client.submit("video-upscale", video=clip)).id)
            submissions += service.submissions
        forget_uploads(desk.home)

    assert len(ids) == 1
    assert submissions == 1
    assert owned == [[False], [True], [True]]


def test_a_sweep_reuses_cells_that_another_key_of_the_organization_paid_for(
    desk: Desk,
) -> None:
    org = desk.org()
    old, new = desk.client(desk.key(org)), desk.client(desk.key(org))
    cells: dict[str, Any] = {"prompt": ["a kite", "a crane"], "duration": 3}
    old.sweep("text-to-video", **cells).run().wait(SETTLED_WITHIN_S)
    paid = desk.balance_micro_usd(org)

    plan = new.sweep("text-to-video", **cells)

    assert plan.owned.tolist() == [True, True]
    assert plan.estimate().high == 0
    results = plan.run().wait(SETTLED_WITHIN_S)
    assert desk.balance_micro_usd(org) == paid
    assert len(results.frame()) == 2


def test_the_job_of_an_earlier_key_settles_under_the_next_key(desk: Desk) -> None:
    org = desk.org()
    old = desk.client(desk.key(org), project="kites", budget="$5")
    desk.admin.change(org, concurrency=0)
    waiting = old.submit("text-to-video", **KITE)
    old.close()
    desk.admin.change(org, concurrency=4)

    new = desk.client(desk.key(org), project="kites", budget="$5")
    (found,) = new.resume()
    assert found.id == waiting.id
    charge = done(found).charge_micro_usd
    assert (state_of(new).spent_micro_usd, state_of(new).reserved_micro_usd) == (
        charge,
        0,
    )


class Network(httpx.AsyncBaseTransport):
    """Sends requests, except while it is down."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self.is_down = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_down:
            raise httpx.ConnectError("no route to host", request=request)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def test_a_request_returns_its_existing_job_while_the_service_is_unreachable(
    desk: Desk,
) -> None:
    org, network = desk.org(), Network()
    client = desk.client(desk.key(org), transport=network)
    ended = done(client.submit("text-to-video", **KITE))
    running = client.submit("text-to-video", **KITE, take=2)
    network.is_down = True

    again = client.submit("text-to-video", **KITE)
    assert (again.id, again.reused, again.url) == (ended.id, True, ended.url)
    assert client.submit("text-to-video", **KITE, take=2).id == running.id

    network.is_down = False
    assert done(client.submit("text-to-video", **KITE, take=2)).id == running.id
    assert desk.balance_micro_usd(org) == 100_000_000 - 2 * 204_000


# -- white space around a prompt -------------------------------------------------------


KIND = "text-to-video"
PADDED = ("a kite ", " a kite", "a kite\n", "\t a kite \r\n")
PICTURES = ["https://a.test/1.png", "https://a.test/2.png"]


@pytest.mark.parametrize("prompt", PADDED)
def test_a_prompt_with_outer_space_makes_the_same_request_as_without(
    own_client: Client, prompt: str
) -> None:
    job = own_client.submit(KIND, prompt="a kite", duration=3)
    assert own_client.submit(KIND, prompt=prompt, duration=3).id == job.id
    assert len(own_client.history.frame()) == 1

    plan = own_client.sweep(KIND, prompt=[prompt, "a gull "], duration=3)
    assert plan.counts[CellState.OWNED] == 1
    rows = own_client.sweep(KIND, rows=[{"prompt": prompt, "duration": 3}])
    assert rows.counts[CellState.OWNED] == 1
    slots = own_client.sweep(KIND, prompt="a {what}", what=["kite  "], duration=3)
    assert slots.counts[CellState.OWNED] == 1


def test_outer_space_of_prompts_is_removed_and_inner_space_is_kept(
    own_client: Client,
) -> None:
    job = own_client.submit(
        "keyframes",
        images=PICTURES,
        prompt=" two\n lines ",
        negative_prompt="blur\n",
        transition_prompts=[" slow "],
    )
    entry = own_client.components.store.find(job.id)
    assert entry is not None
    body = json.loads(entry.body)
    assert body["prompt"] == entry.prompt == "two\n lines"
    assert body["negative_prompt"] == "blur"
    assert body["transition_prompts"] == ["slow"]


@pytest.mark.parametrize("prompt", PADDED)
def test_a_form_says_that_a_prompt_with_outer_space_is_owned(
    own_client: Client, prompt: str
) -> None:
    job = own_client.submit(KIND, prompt="a kite", duration=3)
    form = own_client.form(KIND, prompt="a", duration=3)
    form.values.prompt = prompt
    until(lambda: form.state.owned is not None, form)
    assert form.state.owned is not None
    assert form.state.owned.job_id == job.id
    assert form.request()["prompt"] == "a kite"
    finish(form)


@pytest.mark.parametrize("now", ["a kite ", "a kite", " a kite"])
def test_a_request_that_an_earlier_version_sent_with_outer_space_is_found(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    service = sandbox.base_url, sandbox.api_key
    with monkeypatch.context() as earlier, Client(*service, home=tmp_path) as client:
        earlier.setattr(request_preparation, "stripped", lambda _, value: value)
        job = client.run(KIND, prompt="a kite ", duration=3)
    with Client(*service, home=tmp_path) as client:
        entry = client.components.store.find(job.id)
        assert entry is not None
        assert entry.prompt == "a kite "

        assert client.submit(KIND, prompt=now, duration=3).id == job.id
        plan = client.sweep(KIND, prompt=[now, "a gull"], duration=3)
        assert plan.counts[CellState.OWNED] == 1
        plan.run(budget="$1").wait()
        assert len(client.history.frame()) == 2
        form = client.form(KIND, prompt=now, duration=3)
        until(lambda: form.state.owned is not None, form)
        finish(form)
