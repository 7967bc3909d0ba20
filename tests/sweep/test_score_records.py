"""Scores as records: scorer, value, reason, time and cost for each output."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd
import pytest
from sqlalchemy import select

import mediakit as mk
from mediakit import Client
from mediakit.history.forgetting import forget
from mediakit.history.tables import metadata
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.sweep import AsyncResults
from tests.sweep.runs import begin_async, plan_of
from tests.sweep.service import Service
from tests.sweep.test_scoring import made

EXTRA = ["stars", "verdict", "reason", "judge_cost_micro_usd"]


def judge(path: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Judge by the length of the prompt, for a tenth of a cent a star."""
    stars = len(row["prompt"])
    return {
        "stars": stars,
        "verdict": "long" if stars > 4 else None,
        "reason": f"It has {stars} letters.",
        "cost_micro_usd": 1_000 * stars,
    }


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def client(service: Service, tmp_path: Path) -> Iterator[Client]:
    with service.client(tmp_path / "home") as client:
        yield client


def listed(frame: pd.DataFrame, *names: str) -> list[list[Any]]:
    """Return columns, with None for what is missing."""
    plain = frame[[*names]].astype(object)
    return plain.where(plain.notna(), None).to_numpy().tolist()


JUDGED: list[list[Any]] = [
    [4.0, None, "It has 4 letters.", 4_000],
    [5.0, "long", "It has 5 letters.", 5_000],
]


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_a_score_is_in_every_frame_after_a_restart_and_for_a_colleague(
    place: str, service: Service, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    history: dict[str, Any] = {}
    if place == "postgres":
        history = {"history": request.getfixturevalue("postgres_url")}
    before = datetime.now(UTC)
    with service.client(tmp_path / "home", **history) as client:
        results = made(client, "kite", "kites")
        scored = results.score(judge, version="2")
        names = ["stars", "verdict", "reason", "cost_micro_usd"]
        assert listed(scored, *names) == JUDGED

    # On a shared history, a colleague has a folder of their own.
    home = "colleague" if history else "home"
    with service.client(tmp_path / home, **history) as client:
        found = client.sweep_results(results.id)
        assert listed(found.frame(), *EXTRA) == JUDGED
        assert listed(mk.concat([found]), *EXTRA) == JUDGED
        for frame in (client.spend.charges(), client.history.frame(params=True)):
            assert listed(frame.sort_values("stars"), *EXTRA) == JUDGED
            assert str(frame["judge_cost_micro_usd"].dtype) == "Int64"
        (sweep,) = client.sweeps().to_dict("records")
        assert (sweep["stars"], sweep["judge_cost_micro_usd"]) == (4.5, 9_000)
        records = found.scores()
        # A judged output is not judged again for anybody.
        again = found.score(judge, version="2")

    assert listed(again, *names[:3]) == [each[:3] for each in JUDGED]
    assert again["cost_micro_usd"].isna().all()
    assert set(records["scorer"]) == {f"{judge.__module__}.judge"}
    assert records["version"].str.startswith("2-").all()
    stars = records[records["name"] == "stars"]
    assert listed(stars, "value", "reason", "cost_micro_usd") == [
        [stars, reason, cost] for stars, _, reason, cost in JUDGED
    ]
    assert records["text"].dropna().tolist() == ["long"]
    assert stars["scored_at"].min() >= before


def test_a_result_that_was_not_scored_has_unknown_scores(client: Client) -> None:
    results = made(client, "kite")
    results.score(judge)
    both = mk.concat([results, made(client, "a gull at noon")])

    assert listed(both, *EXTRA) == [JUDGED[0], [None] * 4]
    assert str(both["judge_cost_micro_usd"].dtype) == "Int64"
    assert listed(client.sweeps(), "stars", "judge_cost_micro_usd") == [
        [None, None],
        [4.0, 4_000],
    ]


def test_a_name_has_the_values_of_the_judge_that_used_it_last(client: Client) -> None:
    def first(path: Path) -> dict[str, Any]:
        return {"light": 1, "colour": 2, "reason": "It is dark."}

    def second(path: Path) -> dict[str, Any]:
        return {"colour": 4, "motion": 3, "reason": "It is red.", "cost_micro_usd": 7}

    results = made(client, "kite")
    names = ["light", "colour", "motion", "reason", "judge_cost_micro_usd"]
    results.score(first)
    results.score(second)
    reason = "light: It is dark.; colour, motion: It is red."
    assert listed(results.frame(), *names) == [[1, 4, 3, reason, 7]]
    results.score(first)  # nothing is scored, but it is what counts now
    reason = "motion: It is red.; light, colour: It is dark."
    assert listed(results.frame(), *names) == [[1, 2, 3, reason, 7]]
    for frame in (client.spend.charges(), client.sweeps()):
        assert listed(frame, *names[:3]) == [[1, 2, 3]]
    assert results.scores()["value"].tolist() == [4, 3, 1, 2]


def test_an_earlier_version_counts_again_when_it_is_asked_for_again(
    client: Client,
) -> None:
    results, marks = made(client, "kite", "gull"), {"1": 1.0, "2": 2.0}

    def scorer(version: str) -> Callable[[Path], float]:
        return lambda path: marks[version]

    for version in ("1", "2", "1"):
        results.score(scorer(version), version=version)
        frame = client.sweep_results(results.id).frame()
        assert frame["score"].tolist() == [marks[version]] * 2
        assert client.sweeps()["score"].tolist() == [marks[version]]
        assert client.spend.charges()["score"].tolist() == [marks[version]] * 2


def test_an_output_that_two_jobs_share_is_judged_and_paid_for_once(
    client: Client,
) -> None:
    calls = Counter[str]()

    def size(path: Path) -> dict[str, Any]:
        calls[path.read_text()] += 1
        return {"size": path.stat().st_size, "cost_micro_usd": 500}

    results = made(client, "kite", takes=3)
    scored = results.score(size, version="1")

    assert calls == {"kite": 1}
    assert scored["cost_micro_usd"].sum() == 500
    frame = results.frame()
    assert frame["size"].tolist() == [4, 4, 4]
    assert frame["judge_cost_micro_usd"].sum() == 500
    assert client.sweeps()["judge_cost_micro_usd"].tolist() == [500]


def test_a_score_never_takes_the_place_of_another_column(client: Client) -> None:
    taken = {"prompt": 1, "duration": 2, "sweep": 3, "stars": 4}
    results = made(client, "a {stars}", stars=["kite"])
    results.score(lambda path: taken, version="1")

    frame = results.frame()
    assert listed(frame, "stars", "score_stars", "score_prompt", "duration") == [
        ["kite", 4, 1, 2]
    ]
    assert frame["sweep"].tolist() == [results.id]
    charges = client.spend.charges()
    assert listed(charges, "prompt", "duration", "score_duration") == [["a kite", 3, 2]]


def test_exports_and_the_wall_show_scores_with_their_reasons(
    client: Client, tmp_path: Path
) -> None:
    results = made(client, "kite", "kites")
    results.score(judge)
    results.export(tmp_path / "out")

    words = [
        "stars 4 (It has 4 letters.)",
        "stars 5, verdict: long (It has 5 letters.)",
    ]
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(text in page for text in words)
    manifest = pd.read_csv(tmp_path / "out" / "manifest.csv")
    assert listed(manifest, *EXTRA) == JUDGED
    shown = json.dumps(results.gallery()._repr_mimebundle_())
    assert all(text in shown for text in words)


WORDS = ["zyzzyva", "quokka", "axolotl", "numbat", "okapi"]


def texts_in(client: Client) -> str:
    """Return all rows of all tables of a history as one text."""
    database = client.components.store.database
    rows = [database.rows(select(each)) for each in metadata.tables.values()]
    return repr([[tuple(row) for row in table] for table in rows])


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_a_forgotten_job_leaves_no_text_anywhere_in_the_history_but_its_charges(
    place: str,
    sandbox: RunningSandbox,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    history: dict[str, Any] = {}
    if place == "postgres":
        history = {"history": request.getfixturevalue("postgres_url")}

    def told(path: Path, row: dict[str, Any]) -> dict[str, Any]:
        said = f"An {row['animal']}, a numbat." if row["animal"] == "axolotl" else "A."
        return {"verdict": said, "stars": 4, "reason": said, "cost_micro_usd": 900}

    home, key = tmp_path / "home", sandbox.api_key
    with Client(sandbox.base_url, key, home=home, **history) as client:
        # The sandbox is shared: the same request would be the job of another test.
        results = client.sweep(
            "text-to-image",
            prompt=f"a zyzzyva, a {{animal}}, {uuid4().hex}",
            animal=["axolotl", "gull"],
            size="256x256",
        ).run()
        results.wait()
        results.score(told)
        secret, other = results.frame()["job_id"]
        results.rate(secret, 5)
        results.rate(other, 3)
        results.note(secret, "The quokka is blurred.")
        results.tag(secret, "okapi")
        before = texts_in(client)
        assert all(word in before for word in WORDS)
        charged = client.job(secret).settle().charge_micro_usd
        client.job(secret).erase(forget=True)

        # The other job's request has the zyzzyva of their template.
        after = texts_in(client)
        assert [word for word in WORDS if word in after] == ["zyzzyva"]
        client.job(other).settle().erase(forget=True)
        assert not [word for word in WORDS if word in texts_in(client)]

    with Client(sandbox.base_url, key, home=home, **history) as client:
        found = client.sweep_results(results.id).frame()
        assert found["animal"].tolist() == ["(forgotten)"] * 2
        assert found["judge_cost_micro_usd"].tolist() == [900, 900]
        assert found["rating"].tolist() == [5, 3]
        row = client.spend.charges().set_index("job_id").loc[secret]
        assert (row["charge_micro_usd"], row["judge_cost_micro_usd"]) == (charged, 900)


def test_a_judgement_of_an_output_that_two_jobs_share_stays_with_the_other(
    client: Client,
) -> None:
    def told(path: Path) -> dict[str, Any]:
        return {"stars": 3, "reason": "It is a kite."}

    results = made(client, "kite", takes=2)
    results.score(told)
    first, second = results.frame()["job_id"]
    forget(client.components.store, first)
    frame = results.frame().set_index("job_id")
    assert listed(frame, "stars", "reason") == [[None, None], [3, "It is a kite."]]
    forget(client.components.store, second)
    assert "It is a kite." not in texts_in(client)


# -- asynchronous scorers --------------------------------------------------------------


async def later(path: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Judge as `judge` does, later."""
    await asyncio.sleep(0)
    return judge(path, row)


class Later:
    """An object that is called asynchronously."""

    version = "1"

    async def __call__(self, path: Path, row: dict[str, Any]) -> dict[str, Any]:
        return await later(path, row)


@pytest.mark.parametrize("fn", [later, partial(later), Later(), Later().__call__])
def test_an_asynchronous_scorer_is_awaited(client: Client, fn: Any) -> None:
    results = made(client, "kite", "kites")
    results.score(fn, version="1")

    assert listed(results.frame(), *EXTRA) == JUDGED


def test_eight_outputs_are_scored_at_once_and_all_calls_share_a_loop(
    client: Client,
) -> None:
    results = made(client, *[f"kite {n}" for n in range(20)])
    at_once, most, loops, threads = 0, 0, set(), set()
    is_full = asyncio.Event()

    async def counted(path: Path) -> int:
        nonlocal at_once, most
        loops.add(asyncio.get_running_loop())
        threads.add(threading.current_thread())
        at_once += 1
        most = max(most, at_once)
        if at_once == 8:
            is_full.set()
        await is_full.wait()
        for _ in range(50):
            await asyncio.sleep(0)
        at_once -= 1
        return 1

    for version in ("1", "2"):
        assert results.score(counted, version=version)["counted"].sum() == 20
    assert most == 8
    assert len(loops) == len(threads) == 1
    # It cannot hold up the requests of this client.
    assert {thread.name for thread in threads} == {"mediakit-scorers"}


def test_an_asynchronous_scorer_that_fails_affects_only_its_output(
    client: Client,
) -> None:
    async def fails(path: Path, row: dict[str, Any]) -> int:
        if row["prompt"] == "kite":
            raise RuntimeError("no model")
        return 1

    results = made(client, "kite", "gull")
    scored = results.score(fails)
    assert listed(scored, "fails", "problem") == [
        [None, "RuntimeError: no model"],
        [1.0, None],
    ]
    with pytest.warns(UserWarning, match="failed on the only output"):
        made(client, "kite").score(fails)


def test_async_results_await_a_scorer_on_the_callers_loop(
    client: Client,
) -> None:
    async def scored(results: AsyncResults) -> list[list[Any]]:
        loop = asyncio.get_running_loop()

        async def here(path: Path) -> bool:
            return asyncio.get_running_loop() is loop

        await results.wait()
        return listed(await results.score(here, version="1"), "here", "problem")

    results = begin_async(client, plan_of(client, 2))
    assert asyncio.run(scored(results)) == [[1.0, None]] * 2
