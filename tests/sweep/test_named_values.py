"""Prompts as users write them: named versions, and rows with other columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mediakit as mk
from mediakit import Client
from mediakit.errors import InputError
from tests.sweep.runs import run
from tests.sweep.service import Service

VERSIONS = {"v1": "a {s} at dawn", "v2": "a {s} at dusk"}
SHOTS = ["cup", "box"]


def test_named_prompts_have_their_names_wherever_values_are_shown(
    client: Client, tmp_path: Any
) -> None:
    plan = client.sweep("text-to-video", prompt=VERSIONS, s=SHOTS, duration=3)
    plain = client.sweep(
        "text-to-video", prompt=[*VERSIONS.values()], s=SHOTS, duration=3
    )
    assert plan.id == plain.id
    assert plan.frame()["prompt"].tolist() == ["v1", "v1", "v2", "v2"]
    assert plan.cells[0].fields["prompt"] == "a cup at dawn"
    again: dict[str, Any] = {"client": client}
    exec(plan.code, again)
    pd.testing.assert_frame_equal(again["plan"].frame(), plan.frame())

    results = run(client, plan)
    for job_id in results.frame()["job_id"]:
        results.rate(job_id, 4)
    for each in (results, client.sweep_results(results.id)):
        assert each.frame()["prompt"].tolist() == ["v1", "v1", "v2", "v2"]
        assert each.compare("prompt").frame["second"].tolist() == ["v2"]
    exported = results.export(tmp_path / "out")
    manifest = pd.read_csv(tmp_path / "out" / "manifest.csv")
    assert manifest["prompt"].tolist() == ["v1", "v1", "v2", "v2"]
    assert exported is not None
    job = client.job(results.frame()["job_id"].iloc[0])
    assert job.state.prompt == "a cup at dawn"


def test_slots_and_zipped_values_may_have_names_too(client: Client) -> None:
    plan = client.sweep(
        "text-to-video",
        prompt="a {s}",
        zip={"s": {"plain": "cup", "fine": "porcelain cup"}, "duration": [3, 4]},
    )
    assert plan.frame()["s"].tolist() == ["plain", "fine"]
    assert [cell.fields["prompt"] for cell in plan.cells] == [
        "a cup",
        "a porcelain cup",
    ]
    one = client.sweep("text-to-video", prompt={"only": "a kite"}, duration=3)
    assert one.frame()["prompt"].tolist() == ["only"]


ROWS = pd.DataFrame(
    {"id": [7, 8], "prompt": ["a kite", "a gull"], "expected": ["sky", None]}
)


MISSING = [None, float("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize(
    ("known", "dtype"),
    [("sky", "category"), (7, "Int64"), (0.5, "float64"), (True, "boolean")],
    ids=repr,
)
def test_a_missing_label_stays_missing_and_empty_text_stays_text(
    client: Client, missing: Any, known: Any, dtype: str
) -> None:
    prompts = ["a kite", "a gull", "a crane"]
    rows = pd.DataFrame({"prompt": prompts}).assign(
        expected=pd.Series([known, missing, known], dtype="object"),
        hint=pd.Series(["x", missing, ""], dtype="object"),
    )
    labels = ["expected", "hint"]
    plan = client.sweep("text-to-video", rows=rows, labels=labels, duration=3)
    frame = plan.frame()
    assert frame["expected"].isna().tolist() == [False, True, False]
    assert frame["expected"].dropna().tolist() == [known, known]
    assert frame["expected"].dtype == dtype
    assert frame["hint"].isna().tolist() == [False, True, False]
    assert frame["hint"].dropna().tolist() == ["x", ""]


def test_a_value_that_is_not_set_is_missing_in_every_frame(client: Client) -> None:
    prompts = ["a kite", "a gull"]
    rows = pd.DataFrame({"prompt": prompts, "resolution": ["1080p", None]})
    plan = client.sweep(
        "text-to-video",
        rows=rows.assign(id=pd.array([1, None], "Int64")),
        labels=["id"],
        duration=3,
    )
    results = run(client, plan)
    for each in (plan, results, client.sweep_results(results.id)):
        frame = each.frame()
        assert frame["resolution"].isna().tolist() == [False, True]
        assert frame["id"].isna().tolist() == [False, True]
    wall: Any = results.gallery(rows="resolution")
    assert ">None<" not in wall._repr_mimebundle_()["text/html"]


def test_labels_are_carried_and_never_sent(client: Client) -> None:
    labels = ["id", "expected"]
    plan = client.sweep("text-to-video", rows=ROWS, labels=labels, duration=3, takes=2)
    plain = client.sweep(
        "text-to-video", prompt=["a kite", "a gull"], duration=3, takes=2
    )
    assert plan.id == plain.id
    assert plan.axes == ("prompt",)
    assert all(not {*labels} & {*cell.fields} for cell in plan.cells)
    results = run(client, plan)
    for each in (results, client.sweep_results(results.id)):
        frame = each.frame()
        assert frame["id"].tolist() == [7, 8, 7, 8]
        assert frame["expected"].astype("str").tolist()[0] == "sky"
    seen: list[int] = []

    def note_id(path: Any, row: dict[str, Any]) -> float:
        seen.append(row["id"])
        return 1.0

    results.score(note_id, version="1")
    assert sorted(seen) == [7, 7, 8, 8]


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_a_versions_name_and_a_label_are_there_after_a_restart_and_for_a_colleague(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    history: dict[str, Any] = {}
    if place == "postgres":
        history = {"history": request.getfixturevalue("postgres_url")}
    service = Service()
    with service.client(tmp_path / "home", **history) as first:
        named = run(first, first.sweep("text-to-video", prompt=VERSIONS, s=SHOTS)).id
        labelled = run(
            first, first.sweep("text-to-video", rows=ROWS, labels=["id", "expected"])
        ).id

    # On a shared history, a colleague has a folder of their own.
    home = tmp_path / ("colleague" if history else "home")
    with service.client(home, **history) as second:
        found = [second.sweep_results(each) for each in (named, labelled)]
        found[1].export(tmp_path / "out")
        both = mk.concat(found)

    assert both["prompt"].tolist() == ["v1", "v1", "v2", "v2", "a kite", "a gull"]
    assert both["id"].tolist()[-2:] == [7, 8]
    assert both["id"].isna().sum() == 4
    manifest = pd.read_csv(tmp_path / "out" / "manifest.csv")
    for frame in (both.iloc[-2:], manifest):
        assert frame["expected"].astype("str").tolist()[0] == "sky"
        assert frame["id"].astype("int64").tolist() == [7, 8]


@pytest.mark.parametrize(
    "labels", [["rating"], ["colour"], ["id", "prompt", "expected"]]
)
def test_a_label_must_be_a_column_of_the_rows(client: Client, labels: Any) -> None:
    with pytest.raises(InputError, match="labels"):
        client.sweep("text-to-video", rows=ROWS, labels=labels)
    with pytest.raises(InputError, match="labels"):
        client.sweep("text-to-video", prompt="a kite", labels=["id"])


def test_a_plan_says_which_columns_an_open_function_is_sent(client: Client) -> None:
    function = next(f for f in client.catalog if f.is_open)
    rows = pd.DataFrame({"prompt": ["a kite"], "reviewer_note": ["private"]})
    plan = client.sweep(function.path, rows=rows)
    assert plan.note in repr(plan)
    assert "not declare them: reviewer_note" in plan.note
    kept = client.sweep(function.path, rows=rows, labels=["reviewer_note"])
    assert "reviewer_note" not in kept.note
    assert "reviewer_note" not in kept.cells[0].fields
