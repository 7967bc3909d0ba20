"""A wall of a run that ends while the wall is made."""

from __future__ import annotations

from functools import partial
from typing import Any

from mediakit import Client
from mediakit.widgets.gallery import Gallery
from tests.support.samples.walls import until
from tests.support.soak import trials
from tests.sweep.runs import run

CLIPS, TIMES = trials(3, 6), trials(2, 20)


def test_a_wall_of_owned_clips_shows_all_of_them_as_done(client: Client) -> None:
    prompts = [f"a kite over dune {n}" for n in range(CLIPS)]
    plan = client.sweep("text-to-image", prompt=prompts)
    run(client, plan)

    for _ in range(TIMES):
        results: Any = plan.refresh().run()
        wall = results.gallery()
        until(partial(is_done, wall))
        wall.close()


def is_done(wall: Gallery) -> bool:
    return {cell.status for cell in wall.cells} == {"completed"}
