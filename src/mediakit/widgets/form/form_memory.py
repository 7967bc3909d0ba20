"""Saves a form's draft and jobs in the history, and restores them in a new kernel."""

from __future__ import annotations

import getpass
import json
import logging
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mediakit.client import AsyncJob
from mediakit.client.sending import may_resend_unasked
from mediakit.clock import Clock
from mediakit.errors import MediakitError
from mediakit.history import Entry, EntryState, History, forms
from mediakit.schema import canonical_json
from mediakit.widgets.form.draft import Draft
from mediakit.widgets.form.state import FormState
from mediakit.widgets.toolkit.cell_identity import CellPlace
from mediakit.widgets.toolkit.cell_outputs import in_kernel

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

log = logging.getLogger("mediakit.widgets")

MOST_JOBS = 100
"""How many jobs come back; older ones are in the history."""
ANSWER_PAUSE_S = 1.0
ANSWER_LOOKS = 300

FormKey = tuple[tuple[str, str, str], CellPlace]
"""Service, function and name of a form, and its place among the cells."""


def current_notebook() -> str | None:
    """Return the path of this kernel's notebook; None where it is unknown."""
    # A Jupyter server sets it. Voilà does not, and there visitors must not see what
    # others typed.
    path = Path(os.environ.get("JPY_SESSION_NAME") or ".")
    if not in_kernel() or not path.is_absolute() or path.is_dir():
        return None
    return str(path.resolve())


def origin_of(store: History, key: FormKey) -> str | None:
    """Return a form's name in the history; None where nothing is kept."""
    notebook = current_notebook()
    if notebook is None:
        return None
    kind, place = key
    # Other people may use a database behind a network, too.
    return json.dumps(["" if store.is_local else _person(), notebook, *place, *kind])


def is_over(entry: Entry) -> bool:
    """Return whether nothing more will happen to a request."""
    return entry.state in (EntryState.SETTLED, EntryState.REFUSED)


def is_same(state: FormState, entry: Entry) -> bool:
    """Return whether a form holds an entry's request, without local files."""
    if state.media.files or state.problems:
        return False
    body = state.function.canonical_body(state.body())
    return canonical_json(body) == entry.body


def _person() -> str:
    hub_user = os.environ.get("JUPYTERHUB_USER")
    return hub_user or f"{getpass.getuser()}@{platform.node()}"


class FormMemory:
    """Saves and restores one form; without an origin it keeps nothing."""

    def __init__(self, client: Client, origin: str | None) -> None:
        self._components = client.components
        self._store = client.components.store
        self._secret = client.service.api_key
        self.origin = origin
        self._saved: str | None = None
        self._after = 0

    @property
    def keeps(self) -> bool:
        return self.origin is not None

    def begin(self, *, fresh: bool = False) -> Draft | None:
        """Return what the form held last; `fresh` forgets it and its jobs."""
        if self.origin is None:
            return None
        self._saved = forms.draft(self._store, self.origin)
        draft = Draft.read(self._saved)
        self._after = 0 if draft is None else draft.after
        if not fresh:
            return draft
        newest = forms.asked_from(self._store, self.origin, limit=1)
        self._after = newest[0].number if newest else 0
        return None

    def entries(self) -> list[Entry]:
        """Return the form's requests, newest first."""
        if self.origin is None:
            return []
        return forms.asked_from(
            self._store, self.origin, limit=MOST_JOBS, after=self._after
        )

    def recalled(self, entry: Entry) -> AsyncJob:
        """Return a job as the history knows it, without the network."""
        return self._components.jobs.recalled(entry)

    def draft_of(self, state: FormState, given: Mapping[str, str]) -> Draft:
        """Return what a form holds now; `given` are digests."""
        return Draft(
            state.values, given, state.touched, state.submitted, after=self._after
        )

    def skip(self, draft: Draft) -> None:
        """Write nothing before the form differs from this."""
        if self._saved is None:
            self._saved = draft.text(self._secret)

    def save(self, draft: Draft) -> None:
        """Write what the form holds, where it has changed; it may block."""
        if self.origin is None:
            return
        text = draft.text(self._secret)
        if text == self._saved:
            return
        try:
            forms.save_draft(self._store, self.origin, text)
            self._saved = text
        except MediakitError as error:
            # It is written at the next change.
            log.warning("what a form holds was not saved: %s", error)

    async def watch(self, entries: Sequence[Entry]) -> None:
        """Watch the jobs again whose charge is not settled."""
        for entry in entries:
            if entry.job_id is not None and not is_over(entry):
                await self._components.jobs.resume(entry)

    async def answered(self, entries: Sequence[Entry], clock: Clock) -> Sequence[Entry]:
        """Wait until requests left unanswered have a job; return their entries."""
        # The client asks for them again; see `resume`.
        keys = [
            entry.key
            for entry in entries
            if entry.state is EntryState.UNANSWERED
            and may_resend_unasked(entry, clock.now())
        ]
        found: list[Entry] = []
        for _ in range(ANSWER_LOOKS if keys else 0):
            read = [
                await self._components.account_history.ask(History.find_key, k)
                for k in keys
            ]
            known = [entry for entry in read if entry is not None]
            found += [entry for entry in known if entry.job_id is not None]
            keys = [e.key for e in known if e.state is EntryState.UNANSWERED]
            if not keys:
                break
            await clock.sleep(ANSWER_PAUSE_S)
        return found
