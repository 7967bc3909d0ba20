"""A lost history is rebuilt from the service and from what lies beside results."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from mediakit import Client, Job
from mediakit.client import rebuilder
from mediakit.errors import GoneError, InputError, ServiceError
from mediakit.history import (
    BudgetUse,
    Entry,
    EntryState,
    History,
    Submission,
    plain_values,
    rebuilding,
)
from mediakit.records import Job as Record
from mediakit.sandbox.server import admin_client
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.advancing_clock import AdvancingClock
from tests.support.samples.media_samples import make_png
from tests.support.servers.postgres import default_to_stricter_transactions
from tests.support.servers.serving import free_port
from tests.support.soak import BOTH_DATABASES
from tests.support.submissions import HERE, completed, costing
from tests.support.submissions import job as record_of

PATIENCE_S = 60.0
AT = datetime(2026, 10, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox of this module's own, whose books are read in whole."""
    data = tmp_path_factory.mktemp("rebuild")
    served = start(Sandbox(data, speed=20, sketch=True, allow_loopback_callbacks=True))
    yield served
    served.stop()


def client_of(running: RunningSandbox, home: Path, key: str | None = None) -> Client:
    return Client(running.base_url, key or running.api_key, home=home)


def paint(client: Client, prompt: str, **more: Any) -> Job:
    return client.submit("text-to-image", prompt=prompt, **more)


def done(job: Job) -> Job:
    return job.wait(PATIENCE_S).settle(PATIENCE_S)


def spent_micro_usd(client: Client) -> int:
    return int(client.spend.daily()["charge_micro_usd"].sum())


def outcomes(frame: Any) -> list[str]:
    return [str(outcome) for outcome in frame["outcome"]]


def saved(running: RunningSandbox, home: Path, folder: Path, prompt: str) -> Job:
    """Buy a picture and save it, with the history in one folder and it in another."""
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
    """Give a picture that was bought and saved, its folder, and its lost entry."""
    home = tmp_path_factory.mktemp("bought")
    job = saved(running, home, home / "results", "bought before")
    with History(home / "history.sqlite3") as history:
        entry = history.find(job.id)
    assert entry is not None
    return job, home / "results", entry


def test_another_key_rebuilds_what_was_asked_and_when_and_finds_the_job_too(
    running: RunningSandbox, bought: tuple[Job, Path, Entry], tmp_path: Path
) -> None:
    job, folder, before = bought
    made = admin_client.call(
        running.base_url, running.api_key, "POST", "orgs/org_sandbox/keys", {}
    )
    with client_of(running, tmp_path, made["key"]) as client:
        frame = client.history.rebuild(folders=folder, deliveries=False)
        after = client.components.store.find(job.id)
        assert outcomes(frame) == ["added"]
        assert paint(client, "bought before").id == job.id

    assert after is not None
    # What the watching and the saving saw at the same moment may come in either order.
    anew: dict[str, Any] = {
        "number": 0,
        "account": "",
        "created_at": AT,
        "settled_at": AT,
        "finished_at": AT,
    }
    assert replace(before, **anew) == replace(after, **anew)
    assert after.submitted_at is not None
    assert after.finished_at is not None
    assert after.settled_at is not None
    assert after.submitted_at <= after.finished_at <= after.settled_at


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
def test_a_file_of_ours_that_makes_no_sense_is_named(
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


def test_an_id_brings_the_charge_back_and_the_file_beside_it_the_request(
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
            # As a submit leaves it whose answer was lost.
            client.components.store.claim(Submission(**plain_values(claimed)))
            assert [found.id for found in client.resume()] == [job.id]
        assert paint(client, "bought before").id == job.id

        frame = client.history.frame()
        assert list(frame["job_id"]) == [job.id]
        assert list(frame["prompt"]) == ["bought before"]
        assert client.history.settled_total_micro_usd() == job.charge_micro_usd
        assert client.reserved_micro_usd() == 0


def test_nothing_of_an_unknown_job_is_written_down(
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


def test_a_job_that_still_runs_is_watched_until_its_charge_is_settled(
    running: RunningSandbox, tmp_path: Path
) -> None:
    with client_of(running, tmp_path / "first") as client:
        job = paint(client, "still running")
    with client_of(running, tmp_path / "second") as client:
        client.history.rebuild(job.id, deliveries=False)
        charge = client.job(job.id).settle(PATIENCE_S).charge_micro_usd

        assert charge
        assert client.history.settled_total_micro_usd() == charge


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


def test_a_service_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    with (
        Client(nowhere, "a-key", home=tmp_path, clock=AdvancingClock()) as client,
        pytest.raises(ServiceError, match="does not answer"),
    ):
        client.history.rebuild(f"media_{uuid4()}", deliveries=False)


# -- from the log of deliveries --------------------------------------------------------


def test_the_log_of_deliveries_tells_which_jobs_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilder, "PAGE", "1")  # several pages of few deliveries
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


def test_a_log_that_cannot_be_read_does_not_keep_the_rest_from_being_rebuilt(
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


def test_a_client_sees_its_own_service_unless_it_asks_for_all(
    running: RunningSandbox, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with client_of(running, tmp_path) as one, client_of(sandbox, tmp_path) as other:
        here, there = done(paint(one, "mine here")), done(paint(other, "mine there"))

        assert list(one.history.frame()["job_id"]) == [here.id]
        assert list(other.history.search("mine")["job_id"]) == [there.id]
        assert len(one.history.frame(everywhere=True)) == 2
        assert len(one.history.page(everywhere=True)) == 2
        charge = here.charge_micro_usd or 0
        assert one.history.settled_total_micro_usd() == charge
        assert one.history.settled_total_micro_usd(everywhere=True) == 2 * charge
        assert one.history.frame(status="failed").empty
        assert str(tmp_path) in repr(one.history)


# -- the store -------------------------------------------------------------------------


def asked() -> Submission:
    return costing("k1", 5)


def unasked(**changes: Any) -> Submission:
    """Return what is written of a job whose request nobody knows."""
    name = "rebuilt-media_1"
    return costing(name, 5, draw_key=name, body=b"{}", prompt=None, **changes)


def adopted(history: History, submission: Submission, record: Record) -> Entry:
    return rebuilding.adopt(
        history, submission, record, created_at=AT, submitted_at=AT, finished_at=None
    )


@pytest.fixture(params=BOTH_DATABASES)
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[History]:
    place = tmp_path / "history.sqlite3"
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_url")
    with History(place) as opened:
        yield opened


def test_an_adopted_job_is_not_unanswered_and_holds_no_made_up_times(
    history: History,
) -> None:
    entry = adopted(history, asked(), completed(5))

    assert entry == history.find("media_1") == history.find_key("k1")
    assert entry.state is EntryState.SETTLED
    assert (entry.created_at, entry.submitted_at, entry.finished_at) == (AT, AT, None)
    assert history.unanswered_entries(**HERE) == []
    function = {"kind": entry.kind, "function": entry.function}
    assert history.usual_runtime_s(service="sandbox", **function) is None
    assert [found.key for found in history.page(text="media_1 KITE")] == ["k1"]


def test_two_jobs_of_one_request_are_both_kept_and_both_counted(
    history: History,
) -> None:
    first = adopted(history, asked(), completed(5))
    second = adopted(history, asked(), completed(7, job_id="media_2"))

    assert (first.key, second.key) == ("k1", "rebuilt-media_2")
    assert history.settled_total_micro_usd() == 12
    assert adopted(history, asked(), completed(7, job_id="media_2")) == second
    assert len(history.page()) == 2


def test_a_request_whose_job_was_rebuilt_before_takes_over_what_is_known_of_it(
    history: History,
) -> None:
    rebuilt = adopted(history, unasked(project="kites", budget="b"), completed(5))
    history.claim(asked())
    assert history.account_use(**HERE) == BudgetUse(5, 5)
    entry = history.record_job("k1", record_of("completed"))

    assert [entry] == history.page() == history.page(text="media_1 KITE")
    assert entry.key == "k1"
    known = ("created_at", "submitted_at", "settled_at", "charge_micro_usd", "project")
    assert [getattr(entry, name) for name in known] == [
        getattr(rebuilt, name) for name in known
    ]
    assert entry.state is EntryState.SETTLED
    assert history.settled_total_micro_usd() == 5
    assert history.account_use(**HERE) == BudgetUse(5, 0)
    assert history.budget_use("b") == BudgetUse(5, 0)
    assert adopted(history, unasked(), completed(5)) == entry


def test_a_refused_request_whose_job_was_rebuilt_loses_its_refusal(
    history: History,
) -> None:
    adopted(history, unasked(), completed(5))
    history.claim(asked())
    history.record_refusal("k1", code="404", message="no such thing")
    entry = history.record_job("k1", completed(5))

    assert (entry.state, entry.error_code) == (EntryState.SETTLED, None)
    assert history.page() == [entry]


def test_an_unanswered_request_that_a_file_names_takes_its_rebuilt_job_over(
    history: History,
) -> None:
    adopted(history, unasked(), completed(5))
    history.claim(asked())
    entry = adopted(history, asked(), completed(5))

    assert history.page() == [entry]
    assert (entry.key, entry.charge_micro_usd) == ("k1", 5)
    assert history.account_use(**HERE) == BudgetUse(5, 0)


def test_a_job_that_is_answered_while_it_is_rebuilt_is_one_entry(
    postgres_url: str,
) -> None:
    default_to_stricter_transactions(postgres_url)
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    running = record_of("running")
    with (
        History(postgres_url) as history,
        psycopg.connect(postgres_url) as holder,
        psycopg.connect(postgres_url, autocommit=True) as other,
        ThreadPoolExecutor() as pool,
    ):
        history.claim(asked())

        def wait_for(count: int, done: Future[Any]) -> None:
            while not done.done() and other.execute(waiting).fetchall() < [(count,)]:
                time.sleep(0.01)

        # The rebuilt entry is written, and its transaction goes on for a while.
        holder.execute("SELECT * FROM mediakit_totals FOR UPDATE")
        rebuilding = pool.submit(adopted, history, unasked(), running)
        wait_for(1, rebuilding)
        answering = pool.submit(history.record_job, "k1", running)
        wait_for(2, answering)
        holder.rollback()

        rebuilding.result()
        assert answering.result().key == "k1"
        assert [entry.key for entry in history.page()] == ["k1"]
        assert history.account_use(**HERE) == BudgetUse(0, 5)


def test_a_job_that_another_process_gave_its_request_is_recorded_anyway(
    tmp_path: Path,
) -> None:
    place = tmp_path / "history.sqlite3"
    running = record_of("running")
    with History(place) as one, History(place) as other:
        adopted(one, unasked(), running)
        assert one.record(running) is not None
        adopted(other, asked(), running)
        entry = one.record(completed(5))

        assert entry is not None
        assert (entry.key, entry.charge_micro_usd) == ("k1", 5)
        assert entry == other.find("media_1")
