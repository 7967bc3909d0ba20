"""The controller of a form: connects its state, its page and its jobs."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from anyio import to_thread

from mediakit.catalog import Function
from mediakit.client import AsyncJob, JobState
from mediakit.client.media_inputs import JobOutput
from mediakit.client.recipes import LOOKED_THROUGH_BYTES, parse_recipe
from mediakit.client.request_preparation import full_names, plain_fields
from mediakit.clock import Clock, SystemClock
from mediakit.errors import ConflictError, MediakitError
from mediakit.history import Entry, forms
from mediakit.safe_text import shown
from mediakit.widgets.form.actions import SENDING_TEXT, FormActions
from mediakit.widgets.form.draft import Draft, digest_of
from mediakit.widgets.form.draft_store import DraftStore, origin_of
from mediakit.widgets.form.form_inputs import FormInputs
from mediakit.widgets.form.form_jobs import FormJobs, with_submission
from mediakit.widgets.form.form_page import FormPage
from mediakit.widgets.form.form_sweep import FormSweep
from mediakit.widgets.form.form_values import (
    FormValues,
    adapted,
    assigned,
    assigned_together,
    fields_of_recipe,
    named,
    visible_fields,
)
from mediakit.widgets.form.funds import Funds
from mediakit.widgets.form.funds_store import FundsStore
from mediakit.widgets.form.html import values_html
from mediakit.widgets.form.model import FormModel
from mediakit.widgets.form.payload import price_seen
from mediakit.widgets.form.python_code import code_of_form
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.payload import JobHost, varied
from mediakit.widgets.job.uses import Elsewhere, Use, Uses
from mediakit.widgets.job.view import JobView
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of
from mediakit.widgets.toolkit.cell_identity import ReplacedByCell
from mediakit.widgets.toolkit.cell_outputs import (
    HasCard,
    NotebookCell,
    bundle_of,
    current_cell,
)

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

SHORT_BALANCE_AGE_S = 10.0
"""The age at which a balance that does not cover the price is read again."""
BALANCE_AGE_S = 60.0
"""The age at which any other balance is read again when the form is used."""
SAVE_PAUSE_S = 1.0
LEFT = "Not changed."
FORM_CHANGED = (
    "The form changed before this click arrived, so nothing was sent. Check it, and "
    "press the button again."
)
CLOSED = (
    "This form is closed, because its cell was run again or it was closed in code. "
    "Nothing was changed. Use the newest form of that cell, or make another one with "
    "client.form(...)."
)

NO_RECIPE = "{} has no request that mediakit saved, so nothing was filled in."
OTHER_RECIPE = (
    "{} was made by {}, so nothing was filled in. Drop it on a form of that function."
)
RECIPE_TAKEN = (
    "The form now has the settings from {}. Media are restored only for jobs in this "
    "history. Nothing has been sent."
)

_open_forms: ReplacedByCell[Form] = ReplacedByCell()


class Form:
    """A form in the notebook; displaying it is all you need.

    When its cell is run again, the new form takes over the values and jobs of the old
    one and closes it. Forms of other cells are unaffected; several forms of one
    function in a cell are matched by their order. If the notebook does not identify its
    cells, all count as one.

    After a restart of the kernel, the form is restored from the history: its values,
    even unsent ones, and its jobs, which are followed again, including those that "Show
    it" brought. A value that the code no longer gives returns to its default, unless
    somebody changed it. A notebook is identified by its path, so a copied or moved
    notebook begins empty.
    """

    def __init__(
        self,
        client: Client,
        function: Function,
        values: Mapping[str, object] | None = None,
        *,
        clock: Clock | None = None,
        name: str = "",  # only a form of the same name is replaced
        cell: NotebookCell | None = None,
        fresh: bool = False,  # starts without earlier values and jobs
        lasting: bool = True,  # whether to save its draft in the history
        submits_for: str | None = None,  # the form that its jobs belong to
        elsewhere: Elsewhere | None = None,  # opens forms for results
    ) -> None:
        self.client = client
        self.function = function
        self._key = _open_forms.key(_kind_of(client, function, name), cell)
        origin = origin_of(client.components.store, self._key) if lasting else None
        self._draft_store = DraftStore(client, origin)
        self._origin = origin or submits_for
        self._code_values = plain_fields(function, full_names(function, values or {}))
        self._is_saving_soon = False
        self._focuses = 0
        self._values = FormValues(self._read_values, self._set_values)

        page = FormPage(client, function, self._on_message)
        clock = clock or SystemClock()
        changed = self._after_change
        model = FormModel(client, function, clock, page, after_change=changed)
        self._model = model
        self._page = page
        self._tasks = model.tasks
        self._guard = guarded(model.say, model.lock)
        self.widget = page.widget
        """The live form as a widget, for layouts of your own."""
        self._sweep = FormSweep(model)
        self._inputs = FormInputs(model)
        self._jobs = FormJobs(model, self._make_host(elsewhere))
        self._actions = FormActions(
            model,
            self._origin,
            show_job=self._take_bought,
            refresh_funds=self._refresh,
        )
        with model.lock:
            before = _open_forms.replace(self._key, self)
            earlier = self._begin(before, fresh=fresh)
        self._funds, leave = FundsStore.follow(client, self._guard(self._take_funds))
        self._ends = [leave, client.on_close(self.close)]
        self._refresh()
        self._tasks.run(self._actions.look_at_media)
        self._jobs.watch_again(earlier)

    # Properties.

    @property
    def state(self) -> FormState:
        """Return everything that the form shows."""
        return self._model.state

    @property
    def values(self) -> FormValues:
        """Return the value of every field; setting one moves the form's controls.

        None means "not sent": `form.values.duration = 7`.
        """
        return self._values

    def _read_values(self) -> dict[str, object]:
        values = {name: self.state.values[name] for name in self.function.fields}
        return values | self.state.further

    def request(self) -> dict[str, object]:
        """Return the body that Generate would send; local files still as paths."""
        return self.state.body()

    def as_python(self) -> str:
        """Return the code of the call that makes the same request.

        It returns the existing job of the request, or pays at most the price shown.
        """
        return code_of_form(self.client.catalog, self.state)

    @property
    def jobs(self) -> tuple[JobView, ...]:
        """Return the views of the form's jobs, newest first."""
        return self._jobs.views

    def on_job(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each new job.

        Returns a function that unsubscribes it.
        """
        return self._jobs.on_job(listener)

    def _ipython_display_(self) -> None:
        """Display the live form, and an output for the cards of its jobs."""
        if current_cell() is None:
            print(repr(self))  # noqa: T201 - there is no cell to show it in
        self._write_static_copy()
        # The cards replace a fallback.
        self._page.handle.display_beside(self.widget)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the live widget, and its values for a page without a kernel."""
        return bundle_of(self.widget, values_html(self.state), repr(self))

    def __repr__(self) -> str:
        kind = self.function.kind
        return (
            f"<Form for {kind} of {self.client.service.label}, displayed only in "
            f'notebooks; in code, use client.submit("{kind}", ...)>'
        )

    def close(self) -> None:
        """Close the form and free its widgets; its jobs continue."""
        with self._model.lock:
            if self._model.is_closed:
                return
            self._draft_store.save(self._draft)
            for end in self._ends:
                end()
            _open_forms.remove(self._key, self)
            self._write_static_copy()
            self._sweep.close()
            self._inputs.close()
            self._model.close()
            self._jobs.close()

    # Initial state.

    def _begin(self, before: Form | None, *, fresh: bool) -> Sequence[Entry]:
        """Show the first state and jobs; return the entries of an earlier kernel."""
        state = self.state
        draft, earlier, sentences = self._remembered(fresh=fresh)
        views: Sequence[JobView] = ()
        if before is not None:
            if not fresh:
                draft = replace(before._draft(), after=0)
                views = before._jobs.give_away()
                state = replace(state, sweep=before.state.sweep.kept())
            before.close()
        values = self._code_values
        if draft is not None:
            located = self._model.results.located(draft.values)
            values = replace(draft, values=located).begun_with(self._code_values)
        for name, value in values.items():
            state, problem = assigned(state, name, value)
            sentences += [f"{problem.sentence}. {LEFT}"] if problem else []
        if draft is not None:
            touched = draft.touched | set(self._code_values)
            state = replace(state, touched=touched).with_sweep(last=draft.sweep)
        state = named(adapted(state))
        if before is None and not fresh:
            for entry in earlier:
                state = with_submission(state, entry)
            views = self._jobs.recalled(earlier)
        # A body counts as submitted here if its job is shown; otherwise the form
        # reports an existing job.
        submitted = {} if draft is None else draft.submitted
        for job_id in submitted.keys() & {view.id for view in views}:
            state = state.with_submitted(job_id, submitted[job_id])
        if self._draft_store.keeps and not fresh:
            self.widget.show_form({"returns": True})
        state = state.saying("\n".join(sentences))
        self._model.change(lambda _: state)
        self._jobs.begin(views)
        if before is None and not fresh:
            self._draft_store.skip(self._draft())
        return earlier

    def _remembered(
        self, *, fresh: bool
    ) -> tuple[Draft | None, Sequence[Entry], list[str]]:
        """Return the draft and jobs of an earlier kernel, or why they are unknown."""
        try:
            draft = self._draft_store.begin(fresh=fresh)
            return draft, self._draft_store.entries(), []
        except MediakitError as error:
            return None, [], [sentence_of(error)]

    # Jobs.

    def _make_host(self, elsewhere: Elsewhere | None) -> JobHost:
        def open_form(use: Use) -> Form:
            client, origin = self.client, self._origin
            return side_form(client, use.function, self._follow, submits_for=origin)

        uses = Uses(self.client.catalog, open_form, elsewhere)
        return JobHost(self._take_in, self._vary, self._origin, uses)

    @property
    def _newest(self) -> Form:
        """Return the form that replaced this one, or this one."""
        return _open_forms.at(self._key) or self

    def _follow(self, view: HasCard) -> None:
        """Keep a card for a job that was made from a result of this form."""
        self._newest._page.handle.follow(view)

    def _accept(self, job: AsyncJob, submitted: str | None = None) -> None:
        """Show a job; `submitted` is the digest of its body."""
        # The cell may have been run again while the request was under way.
        form = self._newest if self._model.is_closed else self
        form._jobs.accept(job, submitted)

    def _take_in(self, job: AsyncJob) -> None:
        """Show a job that was submitted from another job's view."""
        self._accept(job)
        self._refresh()

    def _vary(self, state: JobState) -> str:
        form = self._newest
        sent = self.client.components.media_names.with_files(state.body)
        form._set_values(varied(form.function, sent))
        form.bring_into_view()
        return "The form now has these settings. Nothing has been sent."

    def take_result(self, use: Use, made: JobOutput) -> None:
        """Put a result into a field, and focus the form."""
        name = use.spec.name
        self._set_values({name: use.value(made, self.state.values[name])})
        self.bring_into_view()

    def bring_into_view(self) -> None:
        """Focus the form and scroll it into view."""
        self._focuses += 1
        self.widget.show_form({"focus": self._focuses})

    def _draft(self) -> Draft:
        given = {name: digest_of(value) for name, value in self._code_values.items()}
        return Draft(
            values=self._model.results.named(self.state.values),
            given=given,
            touched=self.state.touched,
            submitted=self.state.submitted,
            after=self._draft_store.after,
            sweep=self.state.sweep.last,
        )

    def _set_values(self, values: Mapping[str, object]) -> None:
        """Set values from code, all or none."""
        given = plain_fields(self.function, full_names(self.function, values))
        with self._model.lock:
            if self._model.is_closed:
                raise ConflictError(CLOSED)
            self._model.change(lambda now: assigned_together(now, given))
            for name in given:
                self._look_at_media_of(name)

    # User actions.

    def _on_message(
        self, message: Mapping[str, Any], buffers: Sequence[memoryview]
    ) -> None:
        """Handle a message of the page, on any thread."""
        act = {
            "edit": self._edit,
            "generate": self._generate,
            "show_owned": lambda _: self._show_owned(),
            "stop": lambda _: self._actions.stop(),
            "refresh": lambda _: self._refresh(),
            "code": lambda message: self._model.change(
                partial(replace, shows_code=bool(message["open"]))
            ),
            "sweep": self._sweep.on_message,
        }.get(str(message.get("do")))
        if act is not None:
            self._guard(act)(message)
        elif message.get("do") == "recipe":
            self._guard(self._take_recipe)(str(message["name"]), buffers)
        else:
            self._guard(self._inputs.on_message)(message, buffers)

    def _take_recipe(self, name: str, parts: Sequence[memoryview]) -> None:
        """Fill in the form from the recipe of a dropped file."""
        recipe = parse_recipe(*(bytes(each[:LOOKED_THROUGH_BYTES]) for each in parts))
        if recipe is None:
            self._model.say(NO_RECIPE.format(shown(name)), until_edited=True)
        elif recipe.function != self.function.path:
            text = OTHER_RECIPE.format(shown(name), shown(recipe.function))
            self._model.say(text, until_edited=True)
        else:
            self._set_values(fields_of_recipe(self.client, self.function, recipe))
            self._model.say(RECIPE_TAKEN.format(shown(name)), until_edited=True)

    def _edit(self, message: Mapping[str, Any]) -> None:
        """Apply an edit, unless a newer message from the same view has arrived."""
        if not self._page.is_news(message):
            return
        before = self.state.values
        now = self._model.change(
            lambda now: self._page.read(now, message["values"]),
            heard=[message["view"], message["number"]],
        )
        for name in message["values"]:
            if repr(now.values.get(name)) != repr(before.get(name)):
                self._look_at_media_of(name)
        self._refresh_stale()

    def _look_at_media_of(self, name: str) -> None:
        spec = visible_fields(self.state).get(name)
        holds_media = spec is not None and any(s.media_kind for s in spec.with_inner())
        # Another field may make the price depend on the length of a clip.
        if holds_media or self.state.media.unmeasured:
            self._actions.look_at_media_soon()

    def _generate(self, message: Mapping[str, Any]) -> None:
        """Submit the values on the page, at most at the price on its button."""
        if not self._page.is_first_click(message) or self.state.sending is not None:
            return
        self._page.is_news(message)
        values = message["values"]

        def clicked(now: FormState) -> FormState:
            now = self._page.read(
                now, {name: values[name] for name in message["edited"]}
            )
            if self._page.differs(now, values):
                return now.saying(FORM_CHANGED, until_edited=True)
            return replace(now.saying(""), sending=SENDING_TEXT, can_stop=False)

        heard = [message["view"], message["number"]]
        now = self._model.change(clicked, heard=heard)
        if now.sending is not None:
            seen = price_seen(message["price"])
            self._actions.start(now, seen, another=message["another"])

    def _show_owned(self) -> None:
        owned = self.state.owned
        if owned is not None:
            digest = self.state.body_digest
            self._tasks.run(partial(self._bring_owned, owned.job_id, digest))

    async def _bring_owned(self, job_id: str, body_digest: str) -> None:
        if self._origin is not None:
            store = self.client.components.store
            await to_thread.run_sync(forms.adopt_job, store, job_id, self._origin)
        await self._take_bought(await self.client.core.job(job_id), body_digest)

    async def _take_bought(self, job: AsyncJob, body_digest: str) -> None:
        self._accept(job, body_digest)
        await self._save_draft()

    def _refresh(self) -> None:
        self._funds.refresh()

    def _take_funds(self, funds: Funds) -> None:
        self._model.change(lambda now: now.with_balance(funds))

    def _refresh_stale(self) -> None:
        """Read the balance again if it may have changed."""
        is_short = self.state.affordability.covered is False
        read_at = self.state.funds.read_at or self._model.clock.now()
        age_s = (self._model.clock.now() - read_at).total_seconds()
        if age_s > (SHORT_BALANCE_AGE_S if is_short else BALANCE_AGE_S):
            self._refresh()

    # Display.

    def _after_change(self) -> None:
        self._actions.find_owned_soon()
        self._sweep.plan_soon()
        self._save_soon()

    def _save_soon(self) -> None:
        """Save the draft, at most once a second."""
        wanted = self._page.handle.is_displayed or self._draft_store.keeps
        if wanted and not self._is_saving_soon:
            self._is_saving_soon = True
            self._tasks.run(self._save_later)

    async def _save_later(self) -> None:
        await self._model.clock.sleep(SAVE_PAUSE_S)
        with self._model.lock:
            self._is_saving_soon = False
            if not self._model.is_closed and self._page.handle.is_displayed:
                self._write_static_copy()
        await self._save_draft()

    async def _save_draft(self) -> None:
        if self._draft_store.keeps and not self._model.is_closed:
            await to_thread.run_sync(self._draft_store.save, self._draft)

    def _write_static_copy(self) -> None:
        self._page.handle.show(values_html(self.state), repr(self))


def is_open(
    client: Client, function: Function, cell: NotebookCell | None = None, name: str = ""
) -> bool:
    """Return whether a new form would continue an existing one."""
    kind = _kind_of(client, function, name)
    key = _open_forms.next_key(kind, cell)
    store = client.components.store
    origin = origin_of(store, key)
    is_saved = origin is not None and forms.draft(store, origin) is not None
    return is_saved or _open_forms.at(key) is not None


def _kind_of(client: Client, function: Function, name: str) -> tuple[str, str, str]:
    return client.service.identity, function.kind, name


def _save_drafts() -> None:
    """Save the last second's edits before the process ends."""
    for form in _open_forms.all():
        form._draft_store.save(form._draft)


atexit.register(_save_drafts)


def side_form(
    client: Client,
    function: Function,
    follow: Callable[[HasCard], None],
    values: Mapping[str, object] | None = None,
    submits_for: str | None = None,
) -> Form:
    """Return a form that replaces no other; `follow` keeps its jobs' cards."""
    name = f"side {uuid4().hex}"
    form = Form(
        client, function, values, name=name, lasting=False, submits_for=submits_for
    )
    form.on_job(lambda: follow(form.jobs[0]))
    return form
