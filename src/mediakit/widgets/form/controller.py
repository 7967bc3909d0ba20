"""The form of a model function: connects its state, its view and its jobs."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from anyio import to_thread

from mediakit.catalog import Function
from mediakit.client import AsyncJob, JobState
from mediakit.client.media_inputs import JobOutput
from mediakit.client.preparing import full_names, plain_fields
from mediakit.client.submitting import asking_from
from mediakit.clock import Clock, SystemClock
from mediakit.errors import ConflictError, MediakitError
from mediakit.history import Entry, forms
from mediakit.media import kernel_folder
from mediakit.records import JobStatus
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.controls.wire import Wire, shown
from mediakit.widgets.form.fields_payload import (
    Payload,
    fields_of,
    media_specs,
    schema_payload,
)
from mediakit.widgets.form.form_inputs import FormInputs
from mediakit.widgets.form.form_values import (
    FormValues,
    adapted,
    assigned,
    assigned_together,
    held_in,
    started,
)
from mediakit.widgets.form.html import values_html
from mediakit.widgets.form.memory.draft import Draft, digest_of
from mediakit.widgets.form.memory.form_memory import (
    FormMemory,
    is_over,
    is_same,
    origin_of,
)
from mediakit.widgets.form.payload import (
    Ends,
    found_payload,
    head_payload,
    is_dearer,
    own_names,
    state_payload,
)
from mediakit.widgets.form.price.funds import Funds
from mediakit.widgets.form.price.funds_store import FundsStore
from mediakit.widgets.form.python_code import is_extra, python_call
from mediakit.widgets.form.state import FormState, Owned
from mediakit.widgets.form.submit_progress import SENDING_TEXT, explained
from mediakit.widgets.form.widget import EditorsWidget, FormWidget
from mediakit.widgets.inputs.inspector import Inspector
from mediakit.widgets.inputs.result_search import Results
from mediakit.widgets.job.payload import JobHost, varied
from mediakit.widgets.job.uses import Elsewhere, Use, Uses
from mediakit.widgets.job.view import JobView
from mediakit.widgets.timeline.editor import TimelineEditor
from mediakit.widgets.timeline.time_axis import Axis
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of
from mediakit.widgets.toolkit.cell_identity import ReplacedByCell
from mediakit.widgets.toolkit.cell_outputs import CardHandle, Cell, HasCard, bundle_of
from mediakit.widgets.uploads.upload_folder import UploadFolder

if TYPE_CHECKING:
    from mediakit.blocking_client import Client
    from mediakit.widgets.form.sweep.sweep_call import SweepChoice
    from mediakit.widgets.form.sweep.sweep_panel import SweepPanel

TYPING_PAUSE_S = 0.4
STALE_S = 10.0
"""How old a balance that does not suffice is read again."""
OLD_S = 60.0
"""How old any other one is, once the form is used."""
KEEPING_PAUSE_S = 1.0
LEFT = "Not changed."
ANOTHER = (
    "This request has already been submitted. This click sent nothing; press the "
    "button again for another take."
)
CHANGED = (
    "The form had changed when this click came, so nothing was sent. Check it, and "
    "press the button again."
)
RISEN = "The price is now {}. Nothing was sent. Press Generate again to pay this price."
CLOSED = (
    "This form is closed, because its cell was run again or it was closed in code. "
    "Nothing was changed. Use the newest form of that cell, or make another one with "
    "client.form(...)."
)

PAST = (
    "The last sweep of this form has its results in the history, also as "
    'client.sweep_results("{}").'
)

FormKind = tuple[str, str, str]

_open_forms: ReplacedByCell[Form] = ReplacedByCell()


class Form:
    """A form in the notebook; showing it is enough to use it.

    A form that is made again, because its cell was run again, takes over the values
    and the jobs of the one that it replaces, and closes it. Forms of other cells stay;
    those that one cell makes of one function are known again by their order. Where the
    notebook does not tell its cells apart, they count as one.

    After a restart of the kernel it is the same, from what the history keeps: values,
    typed and unsent ones too, and jobs, which are watched again. A notebook is known by
    its path: a copy, or a notebook that was moved, begins empty.

    Args:
        client: The client that sends and watches.
        function: The function.
        values: Values to begin with, by field.
        clock: Gives time; the system's by default.
        name: Tells forms of one function apart; only one of the same name is replaced.
        cell: The cell that makes it; None outside of any.
        fresh: Begin without what the form held, and without its jobs.
        lasting: Keep what the form holds in the history.
        asked_from: The form that its jobs belong to in the history, where it keeps
            nothing itself; see `Uses`.
        elsewhere: Opens the form of what takes a result; below its card when omitted.
    """

    def __init__(
        self,
        client: Client,
        function: Function,
        values: Mapping[str, object] | None = None,
        *,
        clock: Clock | None = None,
        name: str = "",
        cell: Cell | None = None,
        fresh: bool = False,
        lasting: bool = True,
        asked_from: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.client = client
        self.function = function
        kind = _kind_of(client, function, name)
        self._key = _open_forms.key(kind, cell)
        origin = origin_of(client.components.store, self._key) if lasting else None
        self._memory = FormMemory(client, origin)
        self._asked_from = origin or asked_from
        self._elsewhere = elsewhere
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._closed = False
        self._is_outdated = self._keeping = self._shows_code = False
        self._focuses = 0
        self._said = ""
        self._heard: dict[str, int] = {}
        self._wires: dict[str, Wire] = {}
        self._sweep: SweepPanel | None = None
        self._swept: SweepChoice | None = None
        self._past_sweep = ""
        self._media_edits = self._lookups = 0
        self._looked_for: tuple[str, bool] | None = None
        self._jobs: tuple[JobView, ...] = ()
        self._job_listeners: list[Callable[[], None]] = []
        self._inspector = Inspector(client.components.remote_media)
        self._tasks = TaskRunner(client.io, self._say)
        self._results = Results(client)
        self._guard = guarded(self._say, self._lock)
        self._handle = CardHandle()
        self._state = started(FormState.start(function))
        self._given = plain_fields(function, full_names(function, values or {}))
        self._live_values = FormValues(self._read_values, self._set_values)
        axes = {n: Axis.of(s, function.rules) for n, s in function.fields.items()}
        self._timelines = {n: TimelineEditor(axis) for n, axis in axes.items() if axis}
        self.widget = self._make_widget()
        self._inputs = FormInputs(
            client,
            self._results,
            UploadFolder(client.components.home or kernel_folder()),
            self.widget,
            value_of=lambda name: self._state.values.get(name),
            specs=lambda: media_specs(self._fields),
            run=self._tasks.run,
            work=self._work,
        )
        with self._lock:
            self._begin(_open_forms.replace(self._key, self), fresh=fresh)
            self._show()
            self._handle.follow(*reversed(self._jobs))
        self._funds, leave = FundsStore.follow(client, self._guard(self._take_funds))
        self._ends = [
            leave,
            client.on_close(self.close),
        ]
        self._refresh()
        self._tasks.run(self._look)
        self._continue_watching()

    def _make_widget(self) -> FormWidget:
        specs = self.function.fields.values()
        inner = (each for spec in specs for each in spec.with_inner())
        edits = bool(self._timelines) or any(each.mask_of for each in inner)
        make = EditorsWidget if edits else FormWidget
        widget = make(self._hear, hides=self._handle.live_rules)
        head = head_payload(self.function, self.client.service.label, "* required")
        widget.show_form({"head": head, "returns": False, "focus": 0, "wall": []})
        return widget

    @property
    def _fields(self) -> dict[str, FieldSpec]:
        """The fields that are shown; of several kinds of body, those of the chosen."""
        fields = fields_of(self.function, self._state.values)
        if self.function.tag is None:
            return fields
        return {n: s for n, s in fields.items() if n not in self._state.disabled}

    # What people read.

    @property
    def state(self) -> FormState:
        """Return what the form shows, as one value."""
        return self._state

    @property
    def values(self) -> FormValues:
        """Return the value of every field; setting one moves the form's controls.

        None means "not sent": `form.values.duration = 7`.
        """
        return self._live_values

    def _read_values(self) -> dict[str, object]:
        values = {name: self._state.values[name] for name in self.function.fields}
        return values | self._state.further

    def request(self) -> dict[str, object]:
        """Return the body that Generate would send; local files still as paths."""
        return self._state.body()

    def as_python(self) -> str:
        """Return the call that makes the same request, as code."""
        return python_call(self.client.catalog, self.function, self.request())

    @property
    def jobs(self) -> tuple[JobView, ...]:
        """Return the views of the jobs that it made, the newest first."""
        return self._jobs

    def on_job(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, when the form has made a job.

        Returns:
            A function that ends it.
        """
        self._job_listeners.append(listener)
        return lambda: self._job_listeners.remove(listener)

    def _ipython_display_(self) -> None:
        """Show the live form, and a place where the cards of its jobs stay."""
        self._keep_values()
        # The cards say more than a fallback would: one of them is enough.
        self._handle.display_beside(self.widget)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the live widget, and its values for a copy without a kernel."""
        return bundle_of(self.widget, values_html(self._state), repr(self))

    def __repr__(self) -> str:
        return f"<Form for {self.function.kind} of {self.client.service.label}>"

    def close(self) -> None:
        """Close the form and free its widgets; its jobs continue."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._memory.save(self._draft)
            for end in self._ends:
                end()
            _open_forms.remove(self._key, self)
            self._keep_values()
            self._handle.close()
            if self._sweep is not None:
                self._sweep.close()
            self._inputs.close()
            self.widget.close()
            for job in self._jobs:
                job.close()

    # How it begins.

    def _begin(self, before: Form | None, *, fresh: bool) -> None:
        draft, said = self._remembered(fresh=fresh)
        if before is not None:
            if not fresh:
                draft = replace(before._draft, after=0)
                self._jobs, before._jobs = before._jobs, ()
                self._swept = before._sweep.choice if before._sweep else before._swept
            before.close()
        values = self._given if draft is None else self._begun_with(draft)
        for name, value in values.items():
            self._state, problem = assigned(self._state, name, value)
            said += [f"{problem.sentence}. {LEFT}"] if problem else []
        if draft is not None:
            self._past_sweep = draft.sweep
            touched = draft.touched | set(self._given)
            self._state = replace(
                self._state, touched=touched, submitted=draft.submitted
            )
        self._state = adapted(self._state)
        for name, timeline in self._timelines.items():
            self._put(name, timeline.began(self._state.values[name]))
        if before is None and not fresh:
            self._jobs = tuple(self._recalled())
            self._memory.skip(self._draft)
        for view in self._jobs:
            self._note_failure(view)
        if self._memory.keeps and not fresh:
            self.widget.show_form({"returns": True})
        self.widget.show_jobs(self._jobs)
        self._said = "\n".join(said)

    def _begun_with(self, draft: Draft) -> Mapping[str, object]:
        """Return the values to continue with; results are where they are now."""
        located = replace(draft, values=self._results.located(draft.values))
        return located.begun_with(self._given)

    def _remembered(self, *, fresh: bool) -> tuple[Draft | None, list[str]]:
        """Return what the form held in an earlier kernel, and what keeps from it."""
        self._asked: list[Entry] = []
        try:
            draft = self._memory.begin(fresh=fresh)
            self._asked = self._memory.entries()
        except MediakitError as error:
            return None, [sentence_of(error)]
        return draft, []

    def _recalled(self) -> Iterator[JobView]:
        """Make views of the jobs that an earlier kernel asked for, newest first."""
        for entry in self._asked:
            if entry.job_id is not None:
                self._note_same(entry, entry.job_id)
                yield self._viewed(self._memory.recalled(entry), recalled=True)

    def _note_same(self, entry: Entry, job_id: str) -> None:
        """Note that an earlier kernel submitted what the form holds."""
        is_own = entry.function == self.function.path
        known = job_id in self._state.submitted
        if is_own and not known and is_same(self._state, entry):
            digest = self._state.body_digest
            self._state = self._state.with_submitted(job_id, digest)

    def _viewed(self, job: AsyncJob, *, recalled: bool = False) -> JobView:
        # The history also gives it the jobs that were made from its results.
        is_own = job.state.function == self.function.path
        home = JobHost(
            self._take_in,
            self._vary if is_own else None,
            self._asked_from,
            Uses(
                self.client.catalog,
                partial(form_for, self.client, self._follow, self._asked_from),
                self._elsewhere,
            ),
        )
        arrives = not recalled
        return JobView(job, self.client, home=home, recalled=recalled, arrives=arrives)

    @property
    def _newest(self) -> Form:
        """Return the form that has this one's place: its cell may have run again."""
        return _open_forms.at(self._key) or self

    def _follow(self, view: HasCard) -> None:
        """Keep the card of a job that was made from a result of this form."""
        self._newest._handle.follow(view)

    def take_result(self, use: Use, made: JobOutput) -> None:
        """Put a result into a field, and the focus into the form.

        Args:
            use: The field.
            made: The result.
        """
        name = use.spec.name
        self._set_values({name: use.value(made, self._state.values[name])})
        self.bring_into_view()

    def bring_into_view(self) -> None:
        """Put the focus into the form, and the form where it can be seen."""
        self._focuses += 1
        self.widget.show_form({"focus": self._focuses})

    def _continue_watching(self) -> None:
        """Watch what an earlier kernel left."""
        if any(not is_over(entry) for entry in self._asked):
            self._tasks.run(self._watch_again)

    @property
    def _draft(self) -> Draft:
        given = {name: digest_of(value) for name, value in self._given.items()}
        values = self._results.named(self._state.values)
        draft = self._memory.draft_of(replace(self._state, values=values), given)
        ran = self._sweep.last if self._sweep is not None else ""
        return replace(draft, sweep=ran or self._past_sweep)

    def _set_values(self, values: Mapping[str, object]) -> None:
        """Set values in code, all or none.

        Raises:
            InputError: There is no such field, or its control cannot show the value.
            ConflictError: The form is closed.
        """
        given = plain_fields(self.function, full_names(self.function, values))
        with self._lock:
            if self._closed:
                raise ConflictError(CLOSED)
            try:
                self._state = assigned_together(self._state, given)
            finally:
                self._state = adapted(self._state)
            for name in self._timelines.keys() & given.keys():
                self._put(name, self._timelines[name].began(self._state.values[name]))
            self._show()
            for name in given:
                self._look_at_media_of(name)

    def _put(self, name: str, value: object) -> None:
        """Give a field a value that follows from what it holds."""
        values = {**self._state.values, name: value}
        self._state = replace(self._state, values=values)

    # What people do.

    def _hear(self, said: Mapping[str, Any], buffers: Sequence[memoryview]) -> None:
        """Take a message of the page, on whichever thread it comes."""
        act = {
            "edit": self._edit,
            "timeline": self._edit_timeline,
            "generate": self._generate,
            "show_owned": lambda _: self._show_owned(),
            "refresh": lambda _: self._refresh(),
            "code": self._turn_code,
            "sweep": self._hear_sweep,
        }.get(str(said.get("do")))
        if act is not None:
            self._guard(act)(said)
        else:
            self._guard(self._inputs.hear)(said, buffers)

    def _edit(self, said: Mapping[str, Any]) -> None:
        """Take what was edited and not heard yet; a later message holds that too."""
        view, number = str(said["view"]), int(said["number"])
        if number <= self._heard.get(view, 0):
            return
        self._heard[view] = number
        names = self._take(said["values"])
        self._show(heard=[view, number])
        for name in names:
            self._look_at_media_of(name)
        self._refresh_stale()

    def _take(self, wires: Mapping[str, Wire]) -> list[str]:
        """Take what the page holds of some fields; return those that have changed."""
        fields, changed = self._fields, []
        if self._is_outdated:
            self._is_outdated, self._said = False, ""
        for name, wire in wires.items():
            if name not in fields:
                continue  # of another kind of body
            value = held_in(self.function, fields[name], wire)
            self._wires[name] = wire
            if repr(value) != repr(self._state.values.get(name)):
                changed.append(name)
                if name in self._timelines:
                    value = self._timelines[name].listed(value)
                self._state = self._state.with_value(name, value)
        self._state = adapted(self._state)
        return changed

    def _edit_timeline(self, said: Mapping[str, Any]) -> None:
        name = str(said["name"])
        timeline, before = self._timelines[name], self._state.values[name]
        after, place = timeline.hear(said["edit"], before)
        more = {} if place is None else {"reveal": place}
        if after != before:
            self._state = self._state.with_value(name, after)
        self._fit(name)
        self._show(**more)
        if after != before:
            self._look_at_media_of(name)
            self._refresh_stale()

    def _fit(self, name: str) -> None:
        """Give what was just placed the length of its clip, once that is known."""
        timeline, before = self._timelines[name], self._state.values[name]
        after = timeline.fitted(before, self._state.inspections)
        if after != before:
            self._state = self._state.with_value(name, after)

    def _look_at_media_of(self, name: str) -> None:
        spec = self._fields.get(name)
        holds_media = spec is not None and any(s.media_kind for s in spec.with_inner())
        # Another field may make the price depend on the length of a clip.
        if holds_media or self._state.media.unmeasured:
            self._media_edits += 1
            edits = self._media_edits
            self._tasks.run(lambda: self._look_after_typing(edits))

    def _generate(self, said: Mapping[str, Any]) -> None:
        """Submit what stood on the page, at the price that stood on its button."""
        if self._state.sending is not None:
            return
        view, number = str(said["view"]), int(said["number"])
        self._heard[view] = number
        self._take({name: said["values"][name] for name in said["edited"]})
        self._is_outdated = self._differs(said["values"])
        self._said = CHANGED if self._is_outdated else ""
        if not self._said:
            self._state = replace(self._state, sending=SENDING_TEXT)
            seen = said["price"] and tuple(said["price"])
            send = partial(self._send, self._state, seen, another=said["another"])
            self._tasks.run(send)
        self._show(heard=[view, number])

    def _differs(self, wires: Mapping[str, Wire]) -> bool:
        """Tell whether the page holds other values, which code has changed."""
        fields, values = self._fields, self._state.values
        return any(
            repr(held_in(self.function, spec, wires[name])) != repr(values.get(name))
            for name, spec in fields.items()
            if name in wires and name not in self._timelines
        )

    def _show_owned(self) -> None:
        owned = self._state.owned
        if owned is not None:
            digest = self._state.body_digest
            self._tasks.run(partial(self._bring_owned, owned.job_id, digest))

    def _turn_code(self, said: Mapping[str, Any]) -> None:
        self._shows_code = bool(said["open"])
        self._show()

    def _refresh(self) -> None:
        self._funds.refresh()

    def _refresh_stale(self) -> None:
        """Read the balance again where it may have changed."""
        is_short = self._state.affordability.covered is False
        read_at = self._state.funds.read_at or self._clock.now()
        age_s = (self._clock.now() - read_at).total_seconds()
        if age_s > (STALE_S if is_short else OLD_S):
            self._refresh()

    def _hear_sweep(self, said: Mapping[str, Any]) -> None:
        if "open" in said or "past" in said:
            self._sweep = self._sweep or self._make_sweep()
        if "past" in said and self._sweep is not None:
            self._tasks.run(partial(self._sweep.show_past, self._past_sweep))
        elif "open" in said and self._sweep is not None:
            self._sweep.is_open = bool(said["open"])
        elif self._sweep is not None:
            self._sweep.hear(said)
        self._show()

    def _make_sweep(self) -> SweepPanel:
        from mediakit.widgets.form.sweep.sweep_call import SweepChoice
        from mediakit.widgets.form.sweep.sweep_panel import SweepPanel

        handle = self._handle.another()
        self.widget.hides += handle.live_rules
        return SweepPanel(
            self.client,
            self._state,
            self._swept or SweepChoice(),
            tasks=self._tasks,
            clock=self._clock,
            handle=handle,
            show=self._guard(self._show),
            place=self._place_wall,
        )

    def _place_wall(self, wall: Any) -> None:
        self._past_sweep = ""
        parts = {"wall": [wall.model_id], "past": ""}
        self.widget.show_form(parts, brings=True)
        self._keep_values_soon()

    def _work(self, work: Callable[[], Any], done: Callable[[Any], object]) -> None:
        """Do something on a worker thread, and hand over what it returns."""

        async def run() -> None:
            self._guard(done)(await to_thread.run_sync(work))

        self._tasks.run(run)

    # What the I/O thread does.

    async def _look_after_typing(self, edits: int) -> None:
        await self._clock.sleep(TYPING_PAUSE_S)
        if edits == self._media_edits:
            await self._look()

    async def _look(self) -> None:
        await self._look_at_files(self._state)
        results = await self._results.recognised(self._state.media.remote)
        if results:
            self._take_found(results)
        remote = self._state.media.unmeasured
        if remote:
            self._take_found(await self._inspector.measure(remote))

    async def _look_at_files(self, state: FormState) -> None:
        self._take_found(await self._inspector.look(state.media.files))

    def _take_found(self, found: Mapping[MediaKey, Inspection]) -> None:
        with self._lock:
            self._state = self._state.with_inspections(found)
            for name in self._timelines:
                self._fit(name)
            self._show()

    async def _look_for_owned_after_typing(self, looks: int) -> None:
        await self._clock.sleep(TYPING_PAUSE_S)
        if looks == self._lookups and not self._closed:
            await self._look_for_owned(self._state)

    async def _look_for_owned(self, state: FormState) -> None:
        """Ask the history for a job of the request that a form holds."""
        if state.problems or state.media.unseen:
            return
        try:
            entry = await self.client.components.owned_entry(
                self.function.path, **await self._arguments(state.body())
            )
        except MediakitError:
            return  # a click on the button says what is wrong
        owned = None
        if entry is not None and entry.job_id is not None:
            owned = Owned(entry.job_id, entry.status is JobStatus.COMPLETED)
        with self._lock:
            self._state = self._state.with_made(state.body_digest, owned)
            self._show()

    async def _bring_owned(self, job_id: str, body_digest: str) -> None:
        self._accept(await self.client.core.job(job_id), body_digest)
        await self._save_draft()

    def _take_funds(self, funds: Funds) -> None:
        self._state = self._state.with_balance(funds)
        self._looked_for = None  # another form may have submitted the same
        self._show()

    async def _watch_again(self) -> None:
        await self._memory.watch(self._asked)
        for entry in await self._memory.answered(self._asked, self._clock):
            if entry.job_id is not None:
                with self._lock:
                    self._note_same(entry, entry.job_id)
                    self._show()
                self._accept(self._memory.recalled(entry))

    async def _send(
        self, clicked: FormState, seen: Ends | None, *, another: bool
    ) -> None:
        """Submit what a form held, never at a higher price than was seen.

        Args:
            clicked: The form when the button was pressed.
            seen: The price that stood on the page; None for none.
            another: The button said that it submits another take.
        """
        try:
            await self._look_at_files(clicked)  # one may have vanished
            await self._look_for_owned(clicked)
            ready = replace(self._state, values=clicked.values, sending=None)
            if ready.submit_reason is not None:
                self._say(f"{ready.submit_reason} Nothing was sent.")
                return
            if ready.is_another_take and not another:
                self._say(ANOTHER)
                return
            price = ready.estimate
            if seen and price and is_dearer((price.low, price.high), seen):
                self._say(RISEN.format(price.text))
                self._is_outdated = True
                return
            names = {Path(path).name for _, path in ready.media.files}
            async with explained(
                self.client.components.delays, names, self._clock, self._show_delay
            ):
                job = await self._submit(ready.body())
            self._accept(job, ready.body_digest)
            await self._save_draft()
        except MediakitError as error:
            self._say(sentence_of(error))
        finally:
            with self._lock:
                self._state = replace(self._state, sending=None)
                self._show()
        self._refresh()

    def _show_delay(self, text: str) -> None:
        with self._lock:
            self._state = replace(self._state, sending=text)
            self._show()

    async def _submit(self, body: Mapping[str, Any]) -> AsyncJob:
        arguments = await self._arguments(body)
        with asking_from(self._asked_from):
            return await self.client.core.submit(
                self.function.path, take="next", **arguments
            )

    async def _arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the client takes for a body; results are passed as jobs."""
        extra = {n: v for n, v in body.items() if is_extra(self.function, n, v)}
        plain = {n: value for n, value in body.items() if n not in extra}
        return {**await self._results.as_jobs(self.function, plain), "extra": extra}

    def _accept(self, job: AsyncJob, submitted: str | None = None) -> None:
        # The cell may have been run again while the request was under way.
        home = self._newest if self._closed else self
        with home._lock:
            if submitted is not None:
                home._state = home._state.with_submitted(job.id, submitted)
                home._show()
            known = {view.state.record.id for view in home._jobs}
        if job.id not in known:
            home._add(home._viewed(job))

    def _take_in(self, job: AsyncJob) -> None:
        """Show a job that was asked for from another one's view."""
        self._accept(job)
        self._refresh()

    def _vary(self, state: JobState) -> str:
        form = self._newest
        sent = self.client.components.media_names.with_files(state.body)
        form._set_values(varied(form.function, sent))
        form.bring_into_view()
        return "The form now has these settings. Nothing has been sent."

    def _add(self, view: JobView) -> None:
        with self._lock:
            self._jobs = (view, *self._jobs)
            self._note_failure(view)
            if not self._closed:
                self.widget.show_jobs(self._jobs)
        self._handle.follow(view)
        for listener in tuple(self._job_listeners):
            listener()

    def _note_failure(self, view: JobView) -> None:
        """Forget the submission of a job that failed, which is not charged."""

        def note() -> None:
            record = view.state.record
            failed = record.status is JobStatus.FAILED
            if failed and record.id in self._state.submitted:
                # Not here: a view that tells of a change holds a lock of its own.
                self._tasks.run(partial(self._forget_submission, record.id))

        view.on_card(note)
        note()

    async def _forget_submission(self, job_id: str) -> None:
        with self._lock:
            self._state = self._state.without_submitted(job_id)
            self._show()

    # What is shown.

    def _show(self, **more: object) -> None:
        """Show how the form stands.

        Args:
            more: What the page is told beside that.
        """
        if self._closed:
            return
        fields = self._fields
        set_here = self._follow_values(fields)
        wires = {name: self._wires[name] for name in fields}
        if self._sweep is not None:
            self._sweep.follow(self._state)
        parts: Payload = {
            "schema": schema_payload(self.function, fields),
            "values": wires,
            "names": own_names(wires),
            "found": found_payload(self._state.inspections),
            "timelines": self._timelines_shown(),
            **state_payload(self._state, fields),
            "code": self.as_python() if self._shows_code else "",
            "error": self._said,
            "sweep": None if self._sweep is None else self._sweep.payload,
            "past": PAST.format(self._past_sweep) if self._past_sweep else "",
        }
        if "heard" in more:
            more["set"] = set_here
        self.widget.show_form(parts, **more)
        self._look_for_owned_soon()
        self._keep_values_soon()

    def _follow_values(self, fields: Mapping[str, FieldSpec]) -> list[str]:
        """Let the page hold the values; return the fields where it held others."""
        changed = []
        for name, spec in fields.items():
            value, wire = self._state.values.get(name), self._wires.get(name)
            if name in self._wires:
                if repr(held_in(self.function, spec, wire)) == repr(value):
                    continue
                changed.append(name)
            self._wires[name] = shown(spec, value)
        return changed

    def _timelines_shown(self) -> Payload:
        seen = self._state.inspections.items()
        titles = {url: each.title for (_, url), each in seen if each.title}
        return {
            name: timeline.payload(
                self._state.values[name], self._state.problems_of(name), titles
            )
            for name, timeline in self._timelines.items()
        }

    def _look_for_owned_soon(self) -> None:
        wanted = (self._state.body_digest, bool(self._state.media.unseen))
        if wanted != self._looked_for and not self._state.problems:
            self._looked_for = wanted
            self._lookups += 1
            self._tasks.run(partial(self._look_for_owned_after_typing, self._lookups))

    def _keep_values_soon(self) -> None:
        """Write down what the form holds, at most once a second."""
        wanted = self._handle.is_displayed or self._memory.keeps
        if wanted and not self._keeping:
            self._keeping = True
            self._tasks.run(self._keep_values_later)

    async def _keep_values_later(self) -> None:
        await self._clock.sleep(KEEPING_PAUSE_S)
        with self._lock:
            self._keeping = False
            if not self._closed and self._handle.is_displayed:
                self._keep_values()
        await self._save_draft()

    async def _save_draft(self) -> None:
        if self._memory.keeps and not self._closed:
            await to_thread.run_sync(self._memory.save, self._draft)

    def _keep_values(self) -> None:
        self._handle.show(values_html(self._state))

    def _say(self, text: str) -> None:
        with self._lock:
            self._said = text
            if not self._closed:
                self.widget.show_form({"error": text})


def is_open(
    client: Client, function: Function, cell: Cell | None = None, name: str = ""
) -> bool:
    """Tell whether a new form would continue with what another one held.

    Args:
        client: The client of the new form.
        function: Its function.
        cell: The cell that would make it; None outside of any.
        name: The name of the new form.
    """
    kind = _kind_of(client, function, name)
    key = _open_forms.next_key(kind, cell)
    origin = origin_of(client.components.store, key)
    is_kept = (
        origin is not None and forms.draft(client.components.store, origin) is not None
    )
    return _open_forms.at(key) is not None or is_kept


def _kind_of(client: Client, function: Function, name: str = "") -> FormKind:
    return (client.service.identity, function.kind, name)


def _save_drafts() -> None:
    """Save what was typed within the last second, because the process ends."""
    for form in _open_forms.all():
        form._memory.save(form._draft)


atexit.register(_save_drafts)


def form_for(
    client: Client,
    follow: Callable[[HasCard], None],
    asked_from: str | None,
    use: Use,
) -> Form:
    """Make the form in which a result is used.

    Args:
        client: The client that submits.
        follow: Keeps the card of a job that is made there.
        asked_from: The form that the new jobs belong to, as the history names it.
        use: The function, and its field for the result.
    """
    # Under a name of its own, it replaces no other form.
    name = f"use {uuid4().hex}"
    form = Form(client, use.function, name=name, lasting=False, asked_from=asked_from)
    form.on_job(lambda: follow(form.jobs[0]))
    return form
