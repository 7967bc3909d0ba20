"""The sweep of a form: makes its plan, runs it, and shows its wall."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mediakit.client.io_thread import ClosedError, io_thread
from mediakit.errors import MediakitError
from mediakit.widgets.form.model import FormModel
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.sweep_call import SweepCall
from mediakit.widgets.form.sweep_panel import (
    PLAN_CHANGED,
    Planned,
    call_to_plan,
    plan_of_call,
    run_text,
)
from mediakit.widgets.toolkit.callbacks import sentence_of
from mediakit.widgets.toolkit.throttle import Paced

if TYPE_CHECKING:
    from mediakit.sweep import AsyncPlan, AsyncResults
    from mediakit.widgets.gallery import Gallery
    from mediakit.widgets.toolkit.cell_outputs import CardHandle

# Sweeps import pandas, so they are imported on first use.

UPDATES_EVERY_S = 2.0


class FormSweep:
    """Plans and runs a form's sweep; nothing is planned until its panel is opened."""

    def __init__(self, model: FormModel) -> None:
        self._model = model
        self._handle: CardHandle | None = None
        self._gallery: Gallery | None = None
        self._ends: list[Callable[[], object]] = []

    def close(self) -> None:
        """Stop planning; a run continues."""
        for end in self._ends:
            end()
        if self._gallery is not None:
            self._gallery.close()
        if self._handle is not None:
            self._handle.close()

    def on_message(self, message: Mapping[str, Any]) -> None:
        if not self._model.state.sweep.was_opened:
            self._follow_prices()
        self._model.change(
            lambda now: replace(now, sweep=now.sweep.edited(now, message))
        )
        match message:
            case {"past": True}:
                self._model.tasks.run(self._show_past)
            case {"run": text}:
                self._run(str(text))
            case {"drafts": True}:
                self._model.tasks.run(self._show_drafts)

    def _follow_prices(self) -> None:
        """Read the plan again after cells and other jobs change its price."""
        model = self._model
        updates = Paced(
            io_thread(), model.clock, UPDATES_EVERY_S, self._refresh, model.say
        )
        leave = model.client.on_settled(lambda _: updates.ask())
        self._ends += [leave, updates.close]

    # -- the plan -----------------------------------------------------------------

    def plan_soon(self) -> None:
        """Plan the form's call once typing pauses, unless that was done."""
        call = call_to_plan(self._model.state)
        self._model.after_typing("sweep", call, self._make_plan)

    async def _make_plan(self, call: SweepCall | None) -> None:
        from mediakit.sweep import AsyncPlan, plan_of

        if call is None:
            return
        used = self._model.state.sweep.used_micro_usd
        try:
            plan = await plan_of(
                self._model.client.core,
                AsyncPlan,
                self._model.function.path,
                takes=call.takes,
                **call.axes,
            )
            used = await plan._used_micro_usd()
            planned = Planned(call, plan)
        except MediakitError as error:
            planned = Planned(call, reason=str(error))

        def with_planned(now: FormState) -> FormState:
            if now.sweep_call != call:
                return now
            return now.with_sweep(planned=planned, used_micro_usd=used)

        self._model.change(with_planned)

    async def _replace_plan(
        self, before: AsyncPlan, plan: AsyncPlan, **changes: Any
    ) -> None:
        """Show a newer plan of the same call, unless another has taken its place."""
        used = await plan._used_micro_usd()

        def with_plan(now: FormState) -> FormState:
            planned = now.sweep.planned
            if planned is None or planned.plan is not before:
                return now
            planned = replace(planned, plan=plan, **changes)
            return now.with_sweep(planned=planned, used_micro_usd=used)

        self._model.change(with_plan)

    async def _show_drafts(self) -> None:
        """Show the plan of drafts, with its price on the button."""
        plan = plan_of_call(self._model.state)
        if plan is not None:
            await self._replace_plan(plan, await plan._drafts(), is_draft=True)

    async def _refresh(self) -> None:
        state = self._model.state
        plan = plan_of_call(state)
        if plan is None or state.sweep.runs:
            return
        with suppress(ClosedError):  # keep the last display
            await plan._refresh()
            await self._replace_plan(plan, plan)

    # -- running it ---------------------------------------------------------------

    def _run(self, text: str) -> None:
        """Run the plan if its price is the one on the button."""
        state = self._model.state
        plan = plan_of_call(state)
        if state.sweep.runs:
            return
        if plan is None or text != run_text(state):
            error = (state.sweep_call, PLAN_CHANGED)
            self._model.change(lambda now: now.with_sweep(error=error))
            return
        self._model.change(lambda now: now.with_sweep(runs=True))
        self._model.tasks.run(partial(self._run_plan, plan, state, text))

    async def _run_plan(self, plan: AsyncPlan, state: FormState, text: str) -> None:
        from mediakit.widgets.sweeps.plan_view import CHANGED

        budget, call = state.sweep.budget or None, state.sweep_call
        ended: dict[str, Any] = {"runs": False}
        try:
            now = await plan._again()
            used = await now._used_micro_usd()
            label = replace(state.sweep, used_micro_usd=used).spending.run_text(now)
            if label != text:
                await self._replace_plan(plan, now)
                ended["error"] = (call, CHANGED.format(label, text))
                return
            results = await plan._begin(budget)
            self._show_wall(results)
        except MediakitError as error:
            ended["error"] = (call, sentence_of(error))
            return
        finally:
            self._model.change(lambda now: now.with_sweep(**ended))
        await results.wait()
        await plan._refresh()
        await self._replace_plan(plan, plan)

    async def _show_past(self) -> None:
        """Show the wall of a sweep that an earlier form ran; nothing is sent."""
        from mediakit.sweep import AsyncPlan, AsyncResults, past_plan

        core = self._model.client.core
        plan = await past_plan(core, self._model.state.sweep.last, AsyncPlan)
        self._show_wall(AsyncResults(plan, core))

    def _show_wall(self, results: AsyncResults) -> None:
        from mediakit.widgets.sweeps.wall import wall_of

        page = self._model.page
        if self._handle is None:
            self._handle = page.handle.another()
            page.widget.hides += self._handle.live_rules
        wall = wall_of(results).gallery
        before, self._gallery = self._gallery, wall
        panel = {"last": results.id, "wall": wall.view.model_id}
        self._model.change(lambda now: now.with_sweep(**panel), brings=True)
        wall.follow_with(self._handle)
        if before is not None:
            before.close()
