"""A lost history is rebuilt from the service and from sidecars."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from mediakit import Catalog, Client, Job
from mediakit.errors import GoneError, InputError, MediakitError
from mediakit.history import (
    Entry,
    History,
    Submission,
    plain_values,
)
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.client.test_deliveries import CURSORS
from tests.support.samples.media_samples import make_png
from tests.support.servers.serving import free_port


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox for this module, whose whole store is compared."""
    data = tmp_path_factory.mktemp("rebuild")
    served = start(Sandbox(data, speed=20, sketch=True, allow_loopback_callbacks=True))
    yield served
    served.stop()


def client_of(running: RunningSandbox, home: Path, key: str | None = None) -> Client:
    return Client(running.base_url, key or running.api_key, home=home)


def paint(client: Client, prompt: str, **more: Any) -> Job:
    return client.submit("text-to-image", prompt=prompt, **more)


def done(job: Job) -> Job:
    return job.wait().settle()


def spent_micro_usd(client: Client) -> int:
    return int(client.spend.daily()["charge_micro_usd"].sum())


def outcomes(frame: Any) -> list[str]:
    return [str(outcome) for outcome in frame["outcome"]]


def saved(running: RunningSandbox, home: Path, folder: Path, prompt: str) -> Job:
    """Buy a picture and save it, in another folder than the history."""
    folder.mkdir(exist_ok=True)
    with client_of(running, home) as client:
        job = done(paint(client, prompt))
        job.download(folder)
    return job


# -- from what lies beside results -----------------------------------------------------


def test_after_a_rebuild_from_saved_results_the_same_calls_pay_nothing(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    picture = make_png(tmp_path / "cat.png", (32, 32))

    def run_all(client: Client) -> list[str]:
        jobs = [
            paint(client, "one"),
            paint(client, "one", take=2),
            paint(client, "two"),
        ]
        jobs += [client.submit("image-upscale", image_url=picture)]
        for job in jobs:
            done(job).download(folder)
        return [job.id for job in jobs]

    with client_of(running, tmp_path / "first") as client:
        bought = run_all(client)
        spent = spent_micro_usd(client)
    with client_of(running, tmp_path / "second") as client:
        assert len(client.history.frame()) == 0
        frame = client.history.rebuild(folders=folder, deliveries=False)

        assert outcomes(frame) == ["added"] * 4
        assert list(frame["job_id"]) == bought
        assert client.history.settled_total_micro_usd() == spent
        assert frame["charge_micro_usd"].sum() == spent
        assert run_all(client) == bought
        assert spent_micro_usd(client) == spent
        assert len(client.history.frame()) == 4
        again = client.history.rebuild(folders=[folder], deliveries=False)
        assert outcomes(again) == ["known"] * 4
        assert list(client.history.search("TWO")["job_id"]) == [bought[2]]
    running.stop()


@pytest.fixture(scope="module")
def bought(
    running: RunningSandbox, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Job, Path, Entry]:
    """Return a bought and saved picture, its folder, and its lost entry."""
    home = tmp_path_factory.mktemp("bought")
    job = saved(running, home, home / "results", "bought before")
    with History(home / "history.sqlite3") as history:
        entry = history.find(job.id)
    assert entry is not None
    return job, home / "results", entry


def test_a_file_that_was_changed_by_hand_is_no_evidence_of_another_request(
    running: RunningSandbox, bought: tuple[Job, Path, Entry], tmp_path: Path
) -> None:
    job, folder, _ = bought
    [sidecar] = folder.glob("*.json")
    fields = json.loads(sidecar.read_text("utf-8"))
    fields["body"]["prompt"] = "never sent"
    (tmp_path / sidecar.name).write_text(json.dumps(fields), "utf-8")
    with client_of(running, tmp_path / "second") as client:
        frame = client.history.rebuild(folders=tmp_path, deliveries=False)

        assert outcomes(frame) == ["added"]
        assert client.history.settled_total_micro_usd() == job.charge_micro_usd
        assert paint(client, "never sent").id != job.id


SOMEWHERE = {"mediakit": 1, "service": "", "account": ""}
A_JOB = {"job_id": "media_a"}


@pytest.mark.parametrize(
    "fields",
    [
        {"mediakit": 1},
        SOMEWHERE | {"job_id": "../../billing/balance"},
        SOMEWHERE | A_JOB | {"service": 7},
        SOMEWHERE | A_JOB | {"take": 0},
    ],
)
def test_a_damaged_sidecar_is_named(
    running: RunningSandbox, tmp_path: Path, fields: dict[str, Any]
) -> None:
    broken = tmp_path / "deep" / "kite.mp4.json"
    broken.parent.mkdir()
    broken.write_text(json.dumps(fields), "utf-8")
    (tmp_path / "package.json").write_text('{"name": "of something else"}', "utf-8")
    (tmp_path / "cut.json").write_text('{"mediakit": 1, "job_', "utf-8")
    with client_of(running, tmp_path / "home") as client:
        frame = client.history.rebuild(folders=tmp_path, deliveries=False)

        assert outcomes(frame) == ["unreadable"]
        assert list(frame["where"]) == [str(broken)]
        assert len(client.history.frame()) == 0


# -- from ids --------------------------------------------------------------------------


def test_an_id_recovers_the_charge_and_the_sidecar_recovers_the_request(
    running: RunningSandbox, bought: tuple[Job, Path, Entry], tmp_path: Path
) -> None:
    job, folder, _ = bought
    with client_of(running, tmp_path) as client:
        by_id = client.history.rebuild(job.id, deliveries=False)
        assert outcomes(by_id) == ["added"]
        assert list(by_id["function"]) == ["unknown"]
        assert client.history.settled_total_micro_usd() == job.charge_micro_usd
        assert client.job(job.id).charge_micro_usd == job.charge_micro_usd

        by_file = client.history.rebuild(job.id, folder, deliveries=False)
        assert outcomes(by_file) == ["completed"]
        assert len(client.history.frame()) == 1
        assert paint(client, "bought before").id == job.id


@pytest.mark.parametrize("at_next_start", [False, True])
def test_a_job_that_was_rebuilt_and_is_then_answered_is_one_entry_and_one_charge(
    at_next_start: bool,  # noqa: FBT001
    running: RunningSandbox,
    bought: tuple[Job, Path, Entry],
    tmp_path: Path,
) -> None:
    job, _, claimed = bought
    with client_of(running, tmp_path) as client:
        client.history.rebuild(job.id, deliveries=False)
        if at_next_start:
            # As after a submission without a response.
            client.components.store.claim(Submission(**plain_values(claimed)))
            assert [found.id for found in client.resume()] == [job.id]
        assert paint(client, "bought before").id == job.id

        frame = client.history.frame()
        assert list(frame["job_id"]) == [job.id]
        assert list(frame["prompt"]) == ["bought before"]
        assert client.history.settled_total_micro_usd() == job.charge_micro_usd
        assert client.reserved_micro_usd() == 0


def test_an_unknown_job_is_not_recorded(
    running: RunningSandbox, tmp_path: Path
) -> None:
    stranger = f"media_{uuid4()}"
    with client_of(running, tmp_path) as client:
        frame = client.history.rebuild([stranger], deliveries=False)

        assert outcomes(frame) == ["unknown"]
        assert len(client.history.frame()) == 0
        for argument in ("job_ids", "folders"):
            with pytest.raises(InputError, match=rf"^{argument} must be "):
                client.history.rebuild(**{argument: 5})  # type: ignore[arg-type]
        for broken in ("media_../balance", "", 7):
            with pytest.raises(InputError, match="job_ids"):
                client.history.rebuild([broken])  # type: ignore[list-item]
        with pytest.raises(InputError, match="no-such-folder"):
            client.history.rebuild(folders=tmp_path / "no-such-folder")


def test_an_erased_job_is_rebuilt_as_erased(
    running: RunningSandbox, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    job = saved(running, tmp_path / "first", folder, "to be erased")
    with client_of(running, tmp_path / "first") as client:
        client.job(job.id).erase()
    with client_of(running, tmp_path / "second") as client:
        client.history.rebuild(folders=folder, deliveries=False)

        assert client.history.settled_total_micro_usd() == job.charge_micro_usd
        with pytest.raises(GoneError, match="was erased"):
            paint(client, "to be erased")


# -- from the log of deliveries --------------------------------------------------------


def test_jobs_are_recovered_from_the_delivery_log(
    tmp_path: Path,
) -> None:
    settings = Sandbox(
        tmp_path / "data", speed=20, sketch=True, allow_loopback_callbacks=True
    )
    running = start(settings)
    hook = f"http://127.0.0.1:{free_port()}/hook"
    with client_of(running, tmp_path / "first") as client:
        told = [done(paint(client, f"told {n}", webhook_url=hook)) for n in "12"]
        done(paint(client, "nobody was told"))
    with client_of(running, tmp_path / "second") as client:
        frame = client.history.rebuild()
        rows = client.history.frame()

        assert set(frame["job_id"]) == {job.id for job in told}
        assert outcomes(frame) == ["added"] * 2
        assert set(frame["function"]) == {"sandbox/text-to-image/text-to-image"}
        assert set(rows["kind"]) == {"text-to-image"}
        assert rows["finished_at"].notna().all()
        total = sum(job.charge_micro_usd or 0 for job in told)
        assert client.history.settled_total_micro_usd() == total
    running.stop()


@pytest.mark.parametrize("around", CURSORS.values(), ids=CURSORS)
def test_every_page_of_the_log_is_rebuilt_whatever_its_cursor_is_called(
    around: Callable[[str | None], dict[str, Any]], tmp_path: Path
) -> None:
    job_ids = [f"media_{uuid4()}" for _ in range(3)]

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.startswith("/v1/media/jobs/"):
            fields = {"status": "failed", "error": {"code": "internal"}}
            return httpx.Response(200, json={"id": path.split("/")[-1], **fields})
        if path != "/v1/webhooks/deliveries":
            return httpx.Response(404, json={"message": "no such delivery"})
        start = int(request.url.params.get("cursor", "0"))
        following = "2" if start == 0 else None
        rows = [
            {"id": f"whd_{job_id}", "source_id": job_id}
            for job_id in job_ids[start : start + 2]
        ]
        return httpx.Response(200, json={"data": rows, **around(following)})

    with Client(
        "http://service.test",
        "key",
        home=tmp_path,
        catalog=Catalog.default(),
        transport=httpx.MockTransport(answer),
    ) as client:
        frame = client.history.rebuild()
        assert outcomes(frame) == ["added"] * 3
        assert set(frame["job_id"]) == set(job_ids)


def test_an_unreadable_log_does_not_stop_the_rest_of_the_rebuild(
    tmp_path: Path,
) -> None:
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    job = saved(running, tmp_path / "first", tmp_path / "results", "no log")
    refused = {"path": "webhooks/deliveries"}
    running.fault("status", status=403, message="not for this key", where=refused)
    with client_of(running, tmp_path / "second") as client:
        frame = client.history.rebuild(folders=tmp_path / "results")

        assert outcomes(frame) == ["added", "unreadable"]
        assert paint(client, "no log").id == job.id
    running.stop()


# -- what people see -------------------------------------------------------------------


def test_a_client_sees_its_own_service_only(
    running: RunningSandbox, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with client_of(running, tmp_path) as one, client_of(sandbox, tmp_path) as other:
        here, there = done(paint(one, "mine here")), done(paint(other, "mine there"))

        assert list(one.history.frame()["job_id"]) == [here.id]
        assert list(other.history.search("mine")["job_id"]) == [there.id]
        charge = here.charge_micro_usd or 0
        assert one.history.settled_total_micro_usd() == charge
        assert one.history.frame(status="failed").empty
        assert str(tmp_path) in repr(one.history)


# -- a backup, and a history that is damaged -------------------------------------------


def clips(client: Client, count: int) -> list[str]:
    return [
        client.submit("text-to-video", prompt=f"kite {n}", duration=3).id
        for n in range(count)
    ]


def test_a_backup_holds_all_entries_and_opens_as_a_history(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    made = clips(client, 3)
    target = client.history.backup(tmp_path / "backup.sqlite3")

    assert target == tmp_path / "backup.sqlite3"
    assert [each.name for each in tmp_path.glob("*backup*")] == [target.name]
    if sys.platform != "win32":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with Client(sandbox.base_url, sandbox.api_key, history=target) as restored:
        assert sorted(restored.history.frame()["job_id"]) == sorted(made)
        assert clips(restored, 3) == made
        assert len(restored.history.frame()) == 3


def test_a_backup_never_replaces_a_file(client: Client, tmp_path: Path) -> None:
    client.history.backup(tmp_path / "backup.sqlite3")
    before = (tmp_path / "backup.sqlite3").read_bytes()
    clips(client, 1)

    with pytest.raises(InputError, match="a new file in a folder"):
        client.history.backup(tmp_path / "backup.sqlite3")
    assert (tmp_path / "backup.sqlite3").read_bytes() == before
    with pytest.raises(InputError, match="a new file in a folder"):
        client.history.backup(tmp_path / "missing" / "backup.sqlite3")


def test_the_error_of_a_damaged_history_names_the_command_that_recovers_jobs(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with Client(sandbox.base_url, sandbox.api_key, home=home) as client:
        clips(client, 3)
        target = client.history.backup(tmp_path / "backup.sqlite3")
    content = bytearray(target.read_bytes())
    # The header and the schema stay intact; all other pages are damaged.
    content[8_192:] = b"\xff" * len(content[8_192:])
    target.write_bytes(content)

    with (
        pytest.raises(MediakitError, match=r"history\.rebuild\(") as caught,
        Client(sandbox.base_url, sandbox.api_key, history=target) as damaged,
    ):
        damaged.history.frame()
    assert "-wal" in str(caught.value)


# -- sidecars that somebody else wrote -------------------------------------------------


def rewritten(folder: Path, job: Job, **changes: Any) -> None:
    """Change the sidecar of a job, as an attacker may do."""
    for path in folder.glob("*.json"):
        fields = json.loads(path.read_text())
        if fields["job_id"] == job.id:
            path.write_text(json.dumps(fields | changes))


@pytest.mark.parametrize("claims", ["another file", "nothing there", "not its input"])
def test_a_forged_sidecar_cannot_replace_the_file_of_an_input(
    running: RunningSandbox, tmp_path: Path, claims: str
) -> None:
    cat = make_png(tmp_path / "cat.png", (48, 32))
    other = make_png(tmp_path / "other.png", (16, 16), colour=(9, 9, 9))
    folder = tmp_path / "results"
    folder.mkdir()
    with client_of(running, tmp_path / "first") as client:
        url = client.upload(other)
        job = done(client.submit("image-upscale", image_url=url))
        job.download(folder)
    if claims == "nothing there":
        url = f"http://127.0.0.1:{free_port()}/other.png"
    sent = {
        "url": url,
        "sha256": sha256(cat.read_bytes()).hexdigest(),
        "size_bytes": cat.stat().st_size,
        "content_type": "image/png",
    }
    body = {} if claims == "not its input" else {"body": {"image_url": url}}
    rewritten(folder, job, inputs=[sent], **body)

    with client_of(running, tmp_path / "second") as client:
        client.history.rebuild(folders=folder, deliveries=False)
        assert client.upload(cat) != url
        upscaled = done(client.submit("image-upscale", image_url=cat))
        assert upscaled.id != job.id


def test_a_forged_sidecar_cannot_attribute_a_job_to_another_request(
    running: RunningSandbox, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    cheap = saved(running, tmp_path / "first", folder, "cheap and foreign")
    with client_of(running, tmp_path / "other") as client:
        dear = done(paint(client, "dear and mine"))
    with History(tmp_path / "other" / "history.sqlite3") as history:
        entry = history.find(dear.id)
        assert entry is not None
    rewritten(folder, cheap, asked_key=entry.asked_key)

    with client_of(running, tmp_path / "second") as client:
        client.history.rebuild(folders=folder, deliveries=False)
        assert paint(client, "dear and mine").id != cheap.id
        assert paint(client, "cheap and foreign").id == cheap.id
