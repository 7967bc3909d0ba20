"""A sample history from the sandbox: ordinary entries, imported once, at no cost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pandas as pd
import pytest

import mediakit as mk
from mediakit import Client
from mediakit.client.sample_history import PROJECTS
from mediakit.errors import InputError
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.job_states import Markup

DAYS, JOBS = 60, 250


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("past")
    running = start(
        Sandbox(folder / "data", balance_micro_usd=100_000_000, speed=20, sketch=True)
    )
    yield running
    running.stop()


def connected(place: RunningSandbox, home: Path, history: str | None = None) -> Client:
    return Client(place.base_url, place.api_key, home=home, history=history)


@pytest.fixture
def seeded(place: RunningSandbox, tmp_path: Path) -> Iterator[Client]:
    with connected(place, tmp_path / "home") as client:
        client.seed_past(DAYS, JOBS)
        yield client


def test_a_sample_history_has_ordinary_settled_entries(seeded: Client) -> None:
    frame = seeded.history.frame(params=True)

    assert len(frame) == JOBS
    assert frame["state"].eq("settled").all()
    assert frame["charge_micro_usd"].notna().all()
    assert frame["job_id"].is_unique
    assert set(frame["project"]) == set(PROJECTS)
    assert set(frame["kind"]) <= {function.kind for function in seeded.catalog}
    assert {"exact", "nominal", "upper_bound"} <= set(frame["estimate_kind"])
    assert frame["runtime_s"].between(8, 300).all()
    assert (frame["settled_at"] > frame["finished_at"]).all()
    failed = frame["status"].eq("failed")
    assert frame["charge_micro_usd"][failed].eq(0).all()
    assert frame["error_code"][failed].notna().all()
    exact = frame["estimate_kind"].eq("exact") & ~failed
    charged = frame.loc[exact, "charge_micro_usd"]
    assert charged.equals(frame.loc[exact, "estimate_high_micro_usd"])
    completed = frame[~failed]
    assert len(completed) / 3 < completed["rating"].notna().sum() < len(completed)
    assert frame.loc[failed, "rating"].isna().all()
    store = seeded.components.store
    spent = store.budget_use("project autumn campaign").spent_micro_usd
    label = frame["project"].eq("autumn campaign")
    assert spent == frame.loc[label, "charge_micro_usd"].sum()


def test_a_sample_history_ends_yesterday_and_leaves_the_balance(
    own_client: Client,
) -> None:
    before = own_client.balance()
    past = own_client.seed_past(DAYS, JOBS, 7)
    assert own_client.balance() == before
    today = pd.Timestamp(own_client.components.clock.now()).floor("D")
    frame = own_client.history.frame()

    assert past.last_day < today.date()
    assert past.first_day >= (today - pd.Timedelta(days=DAYS)).date()
    assert past.charge_micro_usd == frame["charge_micro_usd"].sum()
    assert (past.jobs, past.added_to_sandbox, past.added_to_history) == (JOBS,) * 3
    assert past.completed == frame["status"].eq("completed").sum()
    assert frame["created_at"].is_monotonic_decreasing
    assert str(past).startswith(f"{JOBS} jobs from {past.first_day} to {past.last_day}")


def test_cached_days_are_updated_by_a_new_sample_history(
    own_client: Client,
) -> None:
    spend = own_client.spend
    first = (own_client.components.clock.now() - timedelta(days=DAYS + 35)).date()
    assert spend.daily(first)["charge_micro_usd"].sum() == 0
    past = own_client.seed_past(DAYS, JOBS, 11)

    assert spend.daily(first)["charge_micro_usd"].sum() == past.charge_micro_usd


def test_the_dashboard_reads_cached_days_again(
    mediakit_sandbox: RunningSandbox, own_client: Client, tmp_path: Path
) -> None:
    spend = own_client.spend
    spend.daily((own_client.components.clock.now() - timedelta(days=DAYS + 35)).date())
    with connected(mediakit_sandbox, tmp_path / "other") as other:
        past = other.seed_past(DAYS, JOBS, 12)
    month = f"{past.first_day:%Y-%m}"
    page = spend.report(month, tmp_path / "month.html").read_text("utf-8")

    monthly = spend.monthly(month)
    jobs, total = monthly["jobs"].sum(), int(monthly["charge_micro_usd"].sum())
    assert f"Total{jobs}{mk.format_usd(total)}100.00" in Markup(page).text


def test_the_same_call_adds_nothing_from_any_client_after_a_restart_and_a_day_later(
    tmp_path: Path,
) -> None:
    settings = Sandbox(tmp_path / "data", speed=20, sketch=True)
    history = str(tmp_path / "shared.sqlite3")
    running = start(settings)
    with connected(running, tmp_path / "one", history=history) as client:
        made = client.seed_past(DAYS, JOBS)
        frame, balance = client.history.frame(params=True), client.balance()
        again = client.seed_past(DAYS, JOBS)
        running.advance(hours=30)
    running.stop()
    running = start(settings)
    with connected(running, tmp_path / "two", history=history) as client:
        later = client.seed_past(DAYS, JOBS)
        after = client.history.frame(params=True)
        assert client.balance() == balance
    running.stop()

    assert (again.added_to_sandbox, again.added_to_history) == (0, 0)
    assert (later.added_to_sandbox, later.added_to_history) == (0, 0)
    assert later.charge_micro_usd == made.charge_micro_usd
    assert later.text.endswith("none of them new in the history.")
    pd.testing.assert_frame_equal(after, frame)


def test_the_same_request_is_still_submitted(seeded: Client) -> None:
    frame = seeded.history.frame(params=True)
    own = frame[frame["account"].eq(seeded.core.service.account)]
    asked = own[own["kind"].eq("text-to-image")].iloc[0]
    balance = seeded.balance().balance_micro_usd

    job = seeded.submit("text-to-image", prompt=asked["prompt"]).wait().settle()

    assert job.id not in set(frame["job_id"])
    bought = seeded.history.frame().set_index("job_id")
    assert bought.loc[job.id, "take"] == 1
    assert job.charge_micro_usd == 50_000
    assert seeded.balance().balance_micro_usd == balance - 50_000


def test_a_hosted_service_is_rejected_without_a_request(tmp_path: Path) -> None:
    heard: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        heard.append(request.url.path)
        return httpx.Response(404, json={"message": "There is nothing here."})

    client = Client(
        "https://api.example.com",
        "mk_key_of_a_test",
        home=tmp_path,
        catalog=mk.Catalog.default(),
        transport=httpx.MockTransport(answer),
    )
    with client, pytest.raises(InputError, match="sandbox on this machine") as caught:
        client.seed_past()

    assert "Nothing was sent." in str(caught.value)
    assert heard == []
