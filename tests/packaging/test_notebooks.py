"""Every notebook runs from top to bottom on a new sandbox, most then as a script.

No notebook has a magic or an await outside a function, so plain Python runs its script.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from mediakit.history import History
from tests.support.notebooks import (
    NOTEBOOKS,
    PATHS,
    code_cells,
    copied,
    ipython_environment,
    read,
)
from tests.support.offline import Offline
from tests.support.soak import IS_SOAK

QUICKSTART = NOTEBOOKS / "01_quickstart.ipynb"
TEAM = NOTEBOOKS / "06_team_history.ipynb"
SCORING = NOTEBOOKS / "04_scoring.ipynb"
SPEND = NOTEBOOKS / "05_spend.ipynb"
TUNING = NOTEBOOKS / "03_prompt_tuning.ipynb"
CLIPS = NOTEBOOKS / "07_five_hundred_clips.ipynb"

# The judges' scores, and whether they are called again.
SCORING_FIGURES = """
import json

frame = results.frame()
asked = []
counted = judges.ModelJudge(
    "http://localhost:11434/v1",
    "a-model-that-sees",
    judge.rubric,
    transport=httpx.MockTransport(asked.append),
)
again = results.score(counted)
found = results.agreement("lit")
mean = frame.groupby("light", observed=True)[["brightness", "lit"]].mean()
print(json.dumps({
    "outputs": [len(scores), len(judged), len(again)],
    "problems": int(frame[["lit", "light_fits", "sharpness"]].isna().sum().sum()),
    "agreement": [found.pairs, found.rank_correlation, found.low],
    "brightest": mean["lit"].tolist(),
    "night": mean.loc["night", "brightness"],
    "snow": mean.loc["first snow", "brightness"],
    "is_asked_again": bool(asked),
    "duds": int((frame["tags"] == "dud").sum()),
}))
"""

# The same amounts from several places, in the notebook's variables.
SPEND_FIGURES = """
import json

# The month in which the past ends; on the first of a month that is not this one.
begin, end = past.last_day.replace(day=1), past.last_day
month_of_past = f"{begin:%Y-%m}"
of_past = client.spend.forecast(month_of_past, budget="$200")
everybody = {
    "forecast": of_past.so_far_micro_usd,
    "daily": int(client.spend.daily(begin, end)["charge_micro_usd"].sum()),
    "charges": int(client.spend.charges(begin, end)["charge_micro_usd"].sum()),
    "monthly": int(client.spend.monthly(month_of_past)["charge_micro_usd"].sum()),
}
buyer = mk.connect(budget=team)
clip = buyer.run("text-to-video", prompt="a pier at noon", duration=3).settle()
ahead = client.spend.forecast(budget=team)
burn_down = client.spend.budget(team).frame()
drawn = plots.cumulative(burn_down, budget=team, forecast=ahead).frame
rows = client.history.frame()
of_budget = rows["budget"] == f"team {forecast.month}"
of_team = {
    "budget": client.spend.budget(team).spent_micro_usd,
    "forecast": ahead.so_far_micro_usd,
    "burn down": int(burn_down["charge_micro_usd"].sum()),
    "plot": int(drawn["spent_micro_usd"].max()),
    "history": int(rows.loc[of_budget, "charge_micro_usd"].sum()),
    "clip": clip.charge_micro_usd,
}
page = client.spend.report(forecast.month, folder / "team.html", budget=team)
print(json.dumps({
    "totals_micro_usd": totals,
    "is_explained": bill.is_explained,
    "year_micro_usd": [int(f["charge_micro_usd"].sum()) for f in (year, charges)],
    "finance": report.read_text(),
    "everybody_micro_usd": everybody,
    "team_micro_usd": of_team,
    "title": drawn.attrs["title"],
    "report": page.read_text(),
}))
"""

# What the pictures of the last clips say, beside pandas.
CLIPS_FIGURES = """
import json

ratings = plots.heatmap(clips, x="resolution", y="kind").frame.dropna()
keepers = plots.cost_per_keeper(clips, by="kind").frame
points = plots.frontier(clips[rated_often], by=settings).frame
print(json.dumps({
    "clips": len(clips),
    "rated": [int(ratings["count"].sum()), int(clips["rating"].count())],
    "charged_micro_usd": [
        int(keepers["charge_micro_usd"].sum()), int(clips["charge_micro_usd"].sum())
    ],
    "kept": [int(keepers["kept"].sum()), int(clips["keep"].sum())],
    "by_resolution": clips.groupby("resolution")["rating"].mean().to_dict(),
    "front": points[points["on_front"]]["rating"].tolist(),
    "fewest_ratings": int(points["rated"].min()),
}))
"""

TUNING_FIGURES = """
import json

history = client.history.frame(project="prompt-tuning")
log = client.sweeps()
owned = [*diary["job_id"], fixed.id, *upscaled.frame()["job_id"]]
print(json.dumps({
    "paid_micro_usd": int(history["charge_micro_usd"].sum()),
    "unsettled": int(history["charge_micro_usd"].isna().sum()),
    "is_each_job_once": bool(history["job_id"].is_unique),
    "forgotten": [*(set(owned) - set(history["job_id"]))],
    "sweeps_micro_usd": int(log["charge_micro_usd"].sum()),
    "cells": log["cells"].tolist(),
    "shared": int(diary["job_id"].duplicated().sum()),
    "again": [in_four_places(prompt).estimate().high for prompt in (V1, V2)],
    "files": exported.files,
    "found_again": client.sweep_results(after.id).frame()["job_id"].tolist()
    == after.frame()["job_id"].tolist(),
}))
"""

CELL_TIMEOUT_S = 600
SCRIPT_TIMEOUT_S = 600
# These buy what others buy, too: what is found again is the same for all.
RUN_AGAIN = [QUICKSTART, TEAM]


def run(path: Path, tmp_path: Path, more: str = "", **settings: str) -> Any:
    """Execute a notebook in a copy of the folder and without a network.

    Args:
        path: The notebook.
        tmp_path: The test's folder.
        more: The code of a further cell at its end; empty for none.
        settings: Further environment variables.

    Returns:
        The notebook with its outputs.
    """
    notebook = read(path)
    if more:
        notebook.cells.append(nbformat.v4.new_code_cell(more))
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        startup_timeout=CELL_TIMEOUT_S,
        iopub_timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(copied(tmp_path))}},
    )
    offline = Offline(tmp_path)
    client.execute(env=ipython_environment(tmp_path) | offline.variables | settings)
    assert offline.tried
    assert offline.outside == set()
    assert all(cell.execution_count for cell in code_cells(notebook))
    outputs = [each for cell in code_cells(notebook) for each in cell.outputs]
    assert [each for each in outputs if each.output_type == "error"] == []
    return notebook


def printed_last(notebook: Any) -> Any:
    """Return the JSON that the last cell printed, before or after its pictures."""
    outputs = code_cells(notebook)[-1].outputs
    # A line may arrive in two outputs, its end by itself.
    text = "".join(each["text"] for each in outputs if each.get("name") == "stdout")
    return json.loads(text.strip().splitlines()[-1])


def run_again(folder: Path, *command: str) -> None:
    """Run a program in the folder of the notebooks, after a first run there."""
    offline = Offline(folder)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder / "notebooks",
        env=ipython_environment(folder) | offline.variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SCRIPT_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, (
        f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    )
    assert offline.outside == set()


def jobs(folder: Path) -> int:
    """Return how many jobs the history has."""
    history = History(folder / "home" / "history.sqlite3")
    count = len(history.frame())
    history.close()
    return count


@pytest.mark.parametrize(
    "path",
    [
        PATHS[0],
        *(
            pytest.param(path, marks=pytest.mark.soak)
            for path in PATHS[1:]
            if path not in (TUNING, SCORING, SPEND, CLIPS)
        ),
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    run(path, tmp_path)
    if IS_SOAK and path in RUN_AGAIN:
        runs_again_for_nothing(path, tmp_path)


def runs_again_for_nothing(path: Path, folder: Path) -> None:
    """Run a notebook a second time, as a script."""
    import jupytext  # type: ignore[import-untyped] # only the soak has it

    before = jobs(folder)
    script = folder / "notebooks" / f"{path.stem}.py"
    jupytext.write(jupytext.read(folder / "notebooks" / path.name), script)
    run_again(folder, script.name)
    assert jobs(folder) == before


@pytest.mark.soak
def test_the_diary_of_prompt_versions_pays_once_and_finds_all_of_it_again(
    tmp_path: Path,
) -> None:
    notebook = run(TUNING, tmp_path, more=TUNING_FIGURES)

    figures = printed_last(notebook)
    paid_micro_usd = figures.pop("paid_micro_usd")
    # Nothing but the sweeps and their repair was bought, below the project's $5.
    assert figures.pop("sweeps_micro_usd") == paid_micro_usd < 5_000_000
    assert figures == {
        "unsettled": 0,
        "is_each_job_once": True,
        "forgotten": [],
        "cells": [1, 1, 4, 4, 6],
        "shared": 1,  # the harbor of version one was an idea of day 1
        "again": [0, 0],
        "files": 1,
        "found_again": True,
    }
    runs_again_for_nothing(TUNING, tmp_path)


@pytest.mark.soak
def test_the_judges_of_the_scoring_notebook_see_the_prompt_and_agree_with_its_ratings(
    tmp_path: Path,
) -> None:
    notebook = run(SCORING, tmp_path, more=SCORING_FIGURES)

    figures = printed_last(notebook)
    assert figures["outputs"] == [80, 80, 80]
    assert figures["problems"] == 0
    pairs, rank_correlation, low = figures["agreement"]
    assert pairs == 24
    assert 0 < low < rank_correlation
    # Whatever the light, the judge holds it against the prompt.
    assert min(figures["brightest"]) > 1
    assert figures["night"] < figures["snow"]
    assert figures["is_asked_again"] is False
    assert 0 < figures["duds"] < 8


@pytest.mark.soak
def test_the_budget_the_forecast_and_the_charges_of_the_spend_notebook_agree(
    tmp_path: Path,
) -> None:
    notebook = run(SPEND, tmp_path, more=SPEND_FIGURES)

    figures = printed_last(notebook)
    printed = "".join(
        each.get("text", "") for cell in code_cells(notebook) for each in cell.outputs
    )
    assert "$0.00 of $40.00 is spent" in printed
    assert len({*figures["totals_micro_usd"].values()}) == 1
    assert figures["totals_micro_usd"]["history"] > 0
    assert figures["is_explained"]
    assert len({*figures["year_micro_usd"]}) == 1
    assert "$" in figures["finance"]
    assert len({*figures["everybody_micro_usd"].values()}) == 1
    assert figures["everybody_micro_usd"]["forecast"] > 0
    # The clip that the last cell buys is all that counts against the budget.
    assert {*figures["team_micro_usd"].values()} == {204_000}
    assert "$0.20 of $40.00 spent" in figures["title"]
    assert "$0.20 of $40.00 spent" in figures["report"]
    # Its sums stay right when another notebook, under papermill, has paid meanwhile.
    papermill = ["papermill", "--kernel=python3", QUICKSTART.name, "done.ipynb"]
    run_again(tmp_path, "-m", *papermill)
    runs_again_for_nothing(SPEND, tmp_path)


@pytest.mark.soak
def test_the_pictures_of_five_hundred_clips_agree_with_their_frame(
    tmp_path: Path,
) -> None:
    notebook = run(CLIPS, tmp_path, more=CLIPS_FIGURES)

    figures = printed_last(notebook)
    assert figures["clips"] == 500
    for name in ("charged_micro_usd", "kept"):
        assert len({*figures[name]}) == 1
        assert figures[name][0] > 0
    drawn, rated = figures["rated"]
    assert 100 < rated == drawn
    # There is something to learn: coarse clips are liked less. How many settings are on
    # the frontier depends on the day that the past ends with.
    liked = figures["by_resolution"]
    assert liked["480p"] < min(liked["720p"], liked["1080p"])
    assert figures["front"]
    assert figures["front"] == sorted(figures["front"])
    assert figures["fewest_ratings"] >= 10
    runs_again_for_nothing(CLIPS, tmp_path)


@pytest.mark.soak
def test_the_team_shares_a_postgres_where_one_is_set(
    tmp_path: Path, postgres_url: str
) -> None:
    notebook = run(TEAM, tmp_path, MEDIAKIT_HISTORY=postgres_url)

    printed = [each.get("text", "") for c in code_cells(notebook) for each in c.outputs]
    assert not any("MEDIAKIT_HISTORY is not set" in text for text in printed)
    history = History(postgres_url)
    assert set(history.frame()["project"]) == {"harbor teaser", "harbor posts"}
    history.close()
    assert not list(tmp_path.rglob("history.sqlite3"))


# JupyterLab typesets what is between two dollar signs, with a backslash or without.
def test_no_paragraph_has_two_amounts_that_are_read_as_a_formula() -> None:
    texts = [
        cell.source
        for path in PATHS
        for cell in read(path).cells
        if cell.cell_type == "markdown"
    ]
    paragraphs = re.split(r"\n\n|\n- ", "\n\n".join(texts))
    assert [text for text in paragraphs if text.count("$") > 1] == []
