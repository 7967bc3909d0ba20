"""The state of a form that is on a page, changed from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mediakit.widgets.form.state import FormState


class LiveState:
    """What a form holds now; each change is shown at once, under the lock."""

    def __init__(self, now: FormState, show: Callable[[], object]) -> None:
        self.lock = threading.RLock()
        self.now = now
        self._show = show

    def change(self, changed: Callable[[FormState], FormState]) -> None:
        with self.lock:
            self.now = changed(self.now)
            self._show()

    def show(self) -> None:
        """Show what is held, because something beside it has changed."""
        with self.lock:
            self._show()
