"""Runs jobs: claims them, downloads their inputs, renders, ends them (spec 3.1)."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from mediakit.api_models import ErrorCode
from mediakit.catalog import Function
from mediakit.clock import MS_PER_S, US_PER_S, Clock
from mediakit.errors import InputError
from mediakit.sandbox.events import announce
from mediakit.sandbox.faults import FailRender, LateSettlement, requested_failure
from mediakit.sandbox.jobs.inputs import JobInputs, undeclared_media
from mediakit.sandbox.jobs.pricing import charge_of, is_open_ended, price_of, usage_of
from mediakit.sandbox.jobs.renderer import Renderer, render_request
from mediakit.sandbox.render.protocol import Rendered, RenderError
from mediakit.sandbox.service import SandboxService
from mediakit.sandbox.store import admission, jobs
from mediakit.sandbox.store.admission import UNPRICEABLE_MESSAGE
from mediakit.sandbox.store.database import Value
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.store.money import held_micro_usd
from mediakit.sandbox.work_loop import persist
from mediakit.schema import InputFacts

logger = logging.getLogger(__name__)

INTERNAL_MESSAGE = "The sandbox failed while it ran this job. Nothing was charged."
FAULT_MESSAGE = "A scripted fault of the sandbox failed the job. Nothing was charged."


class JobRunner:
    """Starts queued jobs as slots become free, and ends them."""

    def __init__(
        self,
        service: SandboxService,
        inputs: JobInputs,
        renderer: Renderer,
        system: Clock,
    ) -> None:
        self._service = service
        self._inputs = inputs
        self._renderer = renderer
        self._system = system
        self._running: set[asyncio.Task[None]] = set()

    def tasks(self) -> Collection[asyncio.Task[None]]:
        """Return the running tasks; after a restart, interrupted jobs run again."""
        return self._running

    def start_due(self, now_us: int) -> int:
        """Start every job that may start; return their number."""
        stuck = self._service.faults.stuck_functions()
        started_n = 0
        # An organization may run more jobs than there are workers: a job that waits for
        # a worker is queued, not running.
        while len(self._running) < self._renderer.workers_n and (
            job := jobs.claim(self._service.db, now_us, stuck)
        ):
            self._start(job)
            started_n += 1
        return started_n

    def _start(self, job: JobRow) -> None:
        task = asyncio.create_task(self._make_and_end(job), name=job.id)
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._service.work.wake()

    async def _make_and_end(self, job: JobRow) -> None:
        end: Callable[[], None] | None
        try:
            end = await self._make(job)
        except RenderError as failure:
            end = partial(self._fail, job, failure)
        except Exception:
            logger.exception("%s could not be run", job.id)
            bug = RenderError(ErrorCode.INTERNAL, INTERNAL_MESSAGE)
            end = partial(self._fail, job, bug)
        # The job keeps its slot until its end is written, however long that takes.
        if end is not None:
            await persist("ending a job", end)

    def _fail(self, job: JobRow, failure: RenderError) -> None:
        now_us = self._service.clock.now_us()
        with self._service.db.transaction():
            ended = jobs.fail(
                self._service.db,
                job,
                failure.code,
                failure.message,
                now_us=now_us,
                settle_due_us=self._settle_due_us(job, now_us),
            )
            if ended:
                announce(self._service, job.id)

    def _settle_due_us(self, job: JobRow, now_us: int) -> int:
        late = self._service.faults.take_for_function(LateSettlement, job.function)
        late_s = 0.0 if late is None else late.seconds
        after_s = self._service.settings.settle_after_s + late_s
        return now_us + round(after_s * US_PER_S)

    def _fails_by_fault(self, job: JobRow) -> bool:
        with self._service.db.transaction():
            rule = self._service.faults.take_for_function(FailRender, job.function)
            if rule is not None:
                message = rule.message or FAULT_MESSAGE
                self._fail(job, RenderError(rule.code, message))
        return rule is not None

    async def _make(self, job: JobRow) -> Callable[[], None] | None:
        """Make the output; return a function that ends the job, or None if ended."""
        if self._fails_by_fault(job):
            return None  # the job ended in the transaction that counted the fault down
        function, body = self._request(job)
        failure = requested_failure(body)
        if failure is not None:
            raise RenderError(*failure)
        started_s = self._system.monotonic_s()
        result, seconds = await self._render(job, function, body)
        runtime_ms = round((self._system.monotonic_s() - started_s) * MS_PER_S)
        usage = usage_of(function, body, result.duration_ms)
        charge = charge_of(
            function,
            body,
            usage,
            seconds=seconds,
            hold_micro_usd=held_micro_usd(self._service.db, job.id),
        )
        return partial(
            self._complete,
            job,
            charge,
            media_type=function.media_type,
            content_type=result.content_type,
            usage=None if usage is None else json.dumps(usage),
            runtime_ms=runtime_ms,
        )

    def _complete(self, job: JobRow, charge_micro_usd: int, **columns: Value) -> None:
        db, now_us = self._service.db, self._service.clock.now_us()
        with db.transaction():
            charge = self._service.faults.drifted_micro_usd(
                job.function,
                charge_micro_usd,
                hold_micro_usd=held_micro_usd(db, job.id),
            )
            ended = jobs.complete(
                db,
                job,
                charge,
                now_us=now_us,
                settle_due_us=self._settle_due_us(job, now_us),
                **columns,
            )
            if ended:
                announce(self._service, job.id)

    def _request(self, job: JobRow) -> tuple[Function, dict[str, Any]]:
        try:
            function = self._service.catalog.function(job.function)
        except InputError:
            # The job was queued by a version of mediakit that still served the
            # function.
            message = f"{job.function} is no longer served. Nothing was charged."
            raise RenderError(ErrorCode.PROVIDER_UNAVAILABLE, message) from None
        return function, json.loads(job.body or "{}")

    async def _render(
        self, job: JobRow, function: Function, body: dict[str, Any]
    ) -> tuple[Rendered, Mapping[str, float]]:
        files = self._service.files
        part = files.part(job.file)
        try:
            with files.scratch(job.id) as folder:
                media = [*function.media(body), *undeclared_media(function, body)]
                paths = await self._inputs.gather(media, folder)
                clips = {item.label: item for item in media if item.kind != "image"}
                seconds: dict[str, float] = {}
                if clips and is_open_ended(function, body):
                    measured = await self._renderer.probe(
                        {label: (c.kind, paths[c.value]) for label, c in clips.items()}
                    )
                    seconds = {clips[label].value: s for label, s in measured.items()}
                price = price_of(function, body, InputFacts(seconds=seconds))
                self._hold(job, price)
                seed = _seed(job, body)
                sketch = self._service.settings.sketch
                request = render_request(
                    function, body, paths, part, seed, sketch=sketch
                )
                result = await self._renderer.render(request)
            await files.keep(part, job.file)
        finally:
            part.unlink(missing_ok=True)
        return result, seconds

    def _hold(self, job: JobRow, price_micro_usd: int | None) -> None:
        if price_micro_usd is None:
            raise RenderError(ErrorCode.INVALID_INPUT, UNPRICEABLE_MESSAGE)
        db = self._service.db
        now_us = self._service.clock.now_us()
        refusal = admission.hold_more(db, job.id, price_micro_usd, now_us)
        if refusal is not None:
            costs = f"With its clips, it costs {price_micro_usd} micro-USD."
            raise RenderError(refusal.code, f"{costs} {refusal.message}")


def _seed(job: JobRow, body: dict[str, Any]) -> int:
    # Without a seed each job gets its own, which stays the same when a restarted
    # server runs the job again.
    seed = body.get("seed")
    if isinstance(seed, int) and seed >= 0:  # -1 lets R5 choose a seed (spec 4.9)
        return seed
    return int.from_bytes(hashlib.sha256(job.id.encode()).digest()[:4])
