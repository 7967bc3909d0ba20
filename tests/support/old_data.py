"""Data written by older versions of mediakit, and the values that they read from it.

`tools/write_old_data.py` wrote the files, and says with which version.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import tarfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import psycopg

from mediakit import Client

VERSIONS = Path(__file__).parent.parent / "history" / "versions"
FOLDERS = sorted(VERSIONS.iterdir())


def sharpness(path: Path) -> dict[str, float | str]:
    """Score a picture, for the tests; the source of a scorer is its identity."""
    return {"score": path.stat().st_size / 2, "reason": "its bytes"}


def follows(path: Path, row: dict[str, Any]) -> dict[str, float | str | int]:
    """Judge by the prompt, for a charge; the tests of version 12 and later."""
    stars = len(row["prompt"])
    return {"stars": stars, "reason": f"{stars} letters", "cost_micro_usd": 250}


def facts_of(client: Client) -> dict[str, Any]:
    """Return the content of a history: jobs, charges, sweeps and uploads."""
    store = client.components.store
    budget = client.budget()
    assert budget is not None
    sweeps = client.sweeps()
    facts = {
        "history": records(client.history.frame(params=True)),
        "budget": [budget.spent_micro_usd, budget.reserved_micro_usd],
        "limit": budget.limit_micro_usd,
        "reserved": client.reserved_micro_usd(),
        "balance": client.balance().balance_micro_usd,
        "charges": records(client.spend.charges()),
        "sweeps": records(sweeps),
        "results": [
            records(client.sweep_results(each).frame()) for each in sweeps["sweep"]
        ],
        "deliveries": len(list(client.deliveries.list())),
        "total": store.settled_total_micro_usd(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts, default=str))
    return plain


def records(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain values, without unknown ones.

    Instants are in UTC, with or without a time zone.
    """
    for name in frame.select_dtypes("datetime"):
        frame[name] = frame[name].dt.tz_localize("UTC")
    rows: list[dict[str, Any]] = json.loads(
        frame.reset_index().to_json(orient="records", date_format="iso", date_unit="us")
    )
    return [{k: v for k, v in row.items() if v is not None} for row in rows]


def put_history(folder: Path, place: Path | str) -> None:
    """Make an old history: a file, or the content of an empty Postgres database."""
    if isinstance(place, Path):
        run_sql(folder / "history.sql", place)
        return
    with psycopg.connect(place) as plain:
        plain.execute((folder / "history_postgres.sql").read_bytes())


def put_home(folder: Path, home: Path) -> Path:
    """Make a home with an old history and an old sandbox."""
    put_history(folder, home / "history.sqlite3")
    put_sandbox(folder, home / "sandbox")
    return home


def put_sandbox(folder: Path, data: Path) -> Path:
    """Make the data directory of an old sandbox."""
    run_sql(folder / "sandbox.sql", data / "sandbox.sqlite3")
    content = base64.decodebytes((folder / "sandbox_files.base64").read_bytes())
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        archive.extractall(data, filter="data")
    return data


def run_sql(script: Path, file: Path) -> None:
    """Make a SQLite database, in WAL mode as it was."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as plain:
        plain.executescript(script.read_text("utf-8"))
        plain.execute("PRAGMA journal_mode = WAL")
