"""A new function is a class in `catalog/functions`, and a table in `tests/spec`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mediakit

CLASS = '''
"""Reference-to-video family R7."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import MS_PER_S, Line, per_second
from mediakit.rules import OnlyWhen, when
from mediakit.schema import (
    ImageReference,
    InputFacts,
    MediaRequest,
    Omittable,
    Prompt,
    Unit,
)


class ReferenceToVideoR7(
    MediaRequest, kind="r7", function="reference-to-video", priced_by=("duration",)
):
    """Make a video that nobody has made before."""

    prompt: Annotated[str, Field(min_length=1), Prompt()]
    """What the video shows."""
    picture_urls: Omittable[Annotated[list[ImageReference], Field(max_length=4)]] = None
    """Reference pictures."""
    duration: Annotated[int, Field(ge=1, le=9), Unit("s")] = 2
    """Length of the video."""
    resolution: Literal["480p", "720p"] = "480p"
    """Size of the short side."""
    mood: Literal["calm", "storm"] = "calm"
    """What it feels like."""
    flashes: Omittable[int] = None
    """How much lightning there is."""

    rules = (OnlyWhen(("flashes",), when("mood", "storm")),)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds."""
        ms = self.duration * MS_PER_S
        yield per_second("video output", ms, ms, 40_000)
'''
TABLE = """
kind = "r7"
function = "reference-to-video"
media_type = "video"
required = ["prompt"]
defaults = '{"duration": 2, "resolution": "480p", "mood": "calm"}'
accepted = ['{"prompt": "rain"}', '{"prompt": "rain", "mood": "storm", "flashes": 3}']
refused = [
    ["duration", '{"prompt": "a", "duration": 10}'],
    ["flashes", '{"prompt": "a", "flashes": 1}'],
]

[[price]]
body = '{"prompt": "rain", "duration": 9}'
kind = "exact"
micro_usd = 360_000
"""
WALK = """
import sys
from pathlib import Path

import httpx

import tests.spec as spec
from mediakit import Client
from mediakit.catalog import Catalog
from mediakit.media import probe
from mediakit.sandbox.seeding import US_PER_DAY, past_jobs
from mediakit.sandbox.server.running import Sandbox, start
from tools.write_reference import reference_page

folder = Path(sys.argv[1])
spec.FOLDER = folder
catalog = Catalog.default()
function = catalog.function("r7")

for case in spec.accepted():
    assert function.check(case.body) == []
for case in spec.refused():
    assert [problem.field for problem in function.check(case.body)] == [case.field]
for row in spec.prices():
    assert function.estimate(row["body"]).high == row["high"]

assert "## r7" in reference_page(catalog)
past = past_jobs(catalog, days=90, jobs=900, keys_n=1, seed=1, now_us=99 * US_PER_DAY)
assert function.path in {job.columns["function"] for job in past}

running = start(Sandbox(folder / "sandbox", speed=20, sketch=True))
with Client(running.base_url, running.api_key, home=folder / "home") as client:
    form = client.form("r7", prompt="rain")
    assert form.state.body()["duration"] == 2
    assert form.state.disabled == {"flashes": "applies only when mood is storm"}
    form.close()
    for case in spec.refused():
        answer = httpx.post(
            f"{running.base_url}/v1/media/{function.path}",
            json=case.body,
            headers={"X-API-Key": running.api_key},
        )
        assert answer.status_code == 422
        assert answer.json()["message"].startswith(f"{case.field}: ")
    job = client.run("r7", prompt="rain", duration=1)
    assert job.settle().charge_micro_usd == 40_000
    found = probe(job.download(folder / "rain.mp4"), "video", "file")
    assert (found.width, found.height) == (854, 480)
running.stop()
"""


@pytest.mark.soak  # the catalogue finds every class in the same way
def test_a_class_and_a_table_are_all_of_a_new_function(tmp_path: Path) -> None:
    package = tmp_path / "mediakit"
    shutil.copytree(Path(mediakit.__file__).parent, package)
    (package / "catalog" / "functions" / "r7.py").write_text(CLASS)
    (tmp_path / "r7.toml").write_text(TABLE)
    root = Path(__file__).parents[2]

    walked = subprocess.run(
        [sys.executable, "-W", "error", "-c", WALK, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(root)))},
        capture_output=True,
        text=True,
    )

    assert (walked.returncode, walked.stderr) == (0, "")
