"""Local copies of a run's outputs, and repairs of clips."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.client import AsyncJob
from mediakit.client.components import Components
from mediakit.client.download_targets import NameTakenError
from mediakit.client.io_thread import io_thread
from mediakit.client.request_preparation import ValidatedRequest
from mediakit.errors import InputError, NotFoundError
from mediakit.forks import cached_property
from mediakit.history import Entry, History, lineage
from mediakit.media import plain_name
from mediakit.private_folders import make_private_folder
from mediakit.rules import ValueDescription
from mediakit.safe_text import shown
from mediakit.sweep.results_frame import REPAIR, Row, rows_of
from mediakit.sweep.scoring import Fetch, ScoredOutput, Scorer, score_outputs

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.sweep.plan import PlanFacts
    from mediakit.sweep.run import Run

REPAIR_LENGTHS_S = (5, 10)
LENGTH_TOLERANCE_S = 0.5


class OutputFiles:
    """Local copies of outputs, each downloaded once."""

    def __init__(self, components: Components) -> None:
        self._components = components

    @cached_property
    def folder(self) -> Path:
        """Return the folder of the files, beside the history or temporary."""
        home = self._components.home
        return home / "outputs" if home else Path(tempfile.mkdtemp(prefix="mediakit-"))

    def fetch(self, output: ScoredOutput) -> Path:
        """Return an output as a local file; not on the I/O thread."""
        return io_thread().call(self._saved, output.job_id)

    async def _saved(self, job_id: str) -> Path:
        folder = self.folder / plain_name(job_id.replace("/", "_"))
        make_private_folder(folder)
        job = await job_of(self._components, job_id)
        try:
            path = await job.download(folder)
        except NameTakenError:
            # The folder is only for this output, so the existing file is damaged, or
            # its sidecar is missing.
            path = await job.download(folder, overwrite=True)
        path.chmod(0o600)
        return path


def outputs_of(run: Run, rows: Sequence[Row]) -> list[ScoredOutput]:
    """Return the outputs of a run, and the rows that a scorer may see."""
    scorable = [row for row in rows if row.outcome.job_id and row.outcome.output_url]
    # A repair is scored against the request of its cell.
    cell_job_ids = [rows[row.cell].outcome.job_id or "" for row in scorable]
    bodies = lineage.bodies(run.components.store, cell_job_ids)
    axes = run.plan.axes_frame().to_dict("records")
    outputs = []
    for row, job_id in zip(scorable, cell_job_ids, strict=True):
        point = {str(name): value for name, value in axes[row.cell].items()}
        seen = {**point, **bodies[job_id], "job_id": row.outcome.job_id}
        source = str(row.outcome.output_url)
        outputs.append(ScoredOutput(str(row.outcome.job_id), source, seen))
    return outputs


def score_run(
    run: Run,
    fetch: Fetch,
    fn: Scorer,
    executor: Executor | None,
    version: str | None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> pd.DataFrame:
    """Score the outputs of a run; see `AsyncResults.score`.

    Blocks, in the thread that an interrupt and a warning reach.
    """
    scored = score_outputs(
        outputs_of(run, rows_of(run)),
        fn,
        fetch=fetch,
        history=run.components.store,
        owner=run.components.account_history.owner,
        executor=executor,
        version=version,
        loop=loop,
    )
    io_thread().post(_announce, run)
    return scored


async def _announce(run: Run) -> None:
    run.changed()


async def job_of(components: Components, job_id: str) -> AsyncJob:
    """Return a job from the history, without a request to the service."""
    return await components.jobs.resume(await entry_of(components, job_id))


async def entry_of(components: Components, job_id: str) -> Entry:
    """Return the history entry of a job."""
    entry = await components.account_history.ask(History.find, job_id)
    if entry is None:
        raise NotFoundError(
            f"{shown(job_id)} is not in this history. Nothing was sent."
        )
    return entry


async def repair_output(
    plan: PlanFacts,
    job_id: str,
    *,
    region: str,
    prompt: str,
    submit: Callable[[ValidatedRequest], Awaitable[AsyncJob]],
    more: dict[str, Any],
) -> AsyncJob:
    """Replace a region of a clip; the new job belongs to the clip's sweep."""
    components = plan.client.components
    job = await job_of(components, job_id)
    length_s = more.pop("duration_s", None) or await _repair_length_s(components, job)
    fields = {
        "video": job,
        "prompt": prompt,
        "modify_region_roi": region,
        "duration_s": length_s,
        **more,
    }
    return await submit(await components.prepared(REPAIR, **fields))


async def _repair_length_s(components: Components, job: AsyncJob) -> int:
    url = job.url
    if url is None:
        raise InputError(
            "job_id", got=job.state.text, accepted="a job with a clip as its output"
        )
    infos = await components.remote_media.probe([("video", url)])
    info = infos["video", url]
    length_s = None if info is None else info.duration_s
    for fitting_s in REPAIR_LENGTHS_S:
        if length_s and abs(float(length_s) - fitting_s) <= LENGTH_TOLERANCE_S:
            return fitting_s
    got = "no clip" if length_s is None else f"a clip of {float(length_s):.1f} s"
    raise InputError(
        "job_id", got=ValueDescription(got), accepted="a clip of 5 or 10 s"
    )
