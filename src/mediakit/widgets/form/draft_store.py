"""Saves a form's draft in the history, and restores it in a new kernel."""

from __future__ import annotations

import getpass
import json
import logging
import os
import platform
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mediakit.errors import MediakitError
from mediakit.forks import no_fork
from mediakit.history import Entry, History, forms
from mediakit.widgets.form.draft import Draft
from mediakit.widgets.toolkit.cell_identity import CellPlace
from mediakit.widgets.toolkit.cell_outputs import in_kernel

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

log = logging.getLogger("mediakit.widgets")

MOST_JOBS = 100
"""The maximum number of jobs that a form restores; older jobs are in the history."""

FormKey = tuple[tuple[str, str, str], CellPlace]
"""Service, function and name of a form, and its place among the cells."""


def current_notebook() -> str | None:
    """Return the path of this kernel's notebook; None if unknown."""
    # A Jupyter server sets this variable. Voilà does not; its visitors must not see the
    # values that others typed.
    path = Path(os.environ.get("JPY_SESSION_NAME") or ".")
    if not in_kernel() or not path.is_absolute() or path.is_dir():
        return None
    return str(path.resolve())


def origin_of(store: History, key: FormKey) -> str | None:
    """Return a form's name in the history; None if nothing is saved."""
    notebook = current_notebook()
    if notebook is None:
        return None
    kind, place = key
    # A database on a network may be shared, so drafts there are kept per person.
    return json.dumps(["" if store.is_local else _person(), notebook, *place, *kind])


def _person() -> str:
    hub_user = os.environ.get("JUPYTERHUB_USER")
    return hub_user or f"{getpass.getuser()}@{platform.node()}"


class DraftStore:
    """Saves and restores the draft of one form; without an origin, does nothing."""

    def __init__(self, client: Client, origin: str | None) -> None:
        self.origin = origin
        self.after = 0
        """Only jobs whose entries have a higher number belong to the form."""
        self._store = client.components.store
        self._secret = client.service.api_key
        self._saved: str | None = None
        self._saving = threading.Lock()

    @property
    def keeps(self) -> bool:
        return self.origin is not None

    def begin(self, *, fresh: bool = False) -> Draft | None:
        """Return the last draft of the form; `fresh` discards it and its jobs."""
        if self.origin is None:
            return None
        self._saved = forms.draft(self._store, self.origin)
        draft = Draft.read(self._saved)
        self.after = 0 if draft is None else draft.after
        if not fresh:
            return draft
        newest = forms.asked_from(self._store, self.origin, limit=1)
        self.after = newest[0].number if newest else 0
        return None

    def entries(self) -> list[Entry]:
        if self.origin is None:
            return []
        return forms.asked_from(
            self._store, self.origin, limit=MOST_JOBS, after=self.after
        )

    def skip(self, draft: Draft) -> None:
        """Save nothing until the form differs from this draft."""
        if self._saved is None:
            self._saved = draft.text(self._secret)

    def save(self, draft: Callable[[], Draft]) -> None:
        """Save the current draft if it has changed; may block."""
        if self.origin is None:
            return
        # A slow save must not replace what a later one has saved.
        with no_fork(), self._saving:
            text = draft().text(self._secret)
            if text == self._saved:
                return
            try:
                forms.save_draft(self._store, self.origin, text)
                self._saved = text
            except MediakitError as error:
                # Retried at the next change.
                log.warning("the draft of a form was not saved: %s", error)
