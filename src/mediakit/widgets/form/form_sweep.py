"""The sweep of a form: the panel while it is wanted, and the wall of the last run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mediakit.widgets.form.context import FormContext
from mediakit.widgets.job.payload import Payload

if TYPE_CHECKING:
    from mediakit.widgets.form.sweep_call import SweepChoice
    from mediakit.widgets.form.sweep_panel import SweepPanel

PAST = (
    "The results of this form's last sweep are in the history; in code: "
    'client.sweep_results("{}").'
)


class FormSweep:
    """Makes the panel when somebody opens it, because it imports pandas."""

    def __init__(self, context: FormContext) -> None:
        self.last = ""
        """The id of the sweep that ran last; empty for none."""
        self._context = context
        self._panel: SweepPanel | None = None
        self.first_choice: SweepChoice | None = None
        """What varies when the panel is opened; None for nothing."""
        self._has_wall = False

    @property
    def choice(self) -> SweepChoice | None:
        """Return what varies; None before anything was chosen."""
        return self.first_choice if self._panel is None else self._panel.choice

    def on_message(self, message: Mapping[str, Any]) -> None:
        panel = self._panel = self._panel or self._make_panel()
        if "past" in message:
            self._context.tasks.run(partial(panel.show_past, self.last))
        elif "open" in message:
            panel.is_open = bool(message["open"])
        else:
            panel.on_message(message)
        self._context.live.show()

    def payload(self) -> Payload:
        """Return what the page draws of it, for what the form holds now."""
        past = PAST.format(self.last) if self.last and not self._has_wall else ""
        if self._panel is None:
            return {"sweep": None, "past": past}
        self._panel.follow()
        return {"sweep": self._panel.payload, "past": past}

    def close(self) -> None:
        """Close the panel; a run continues."""
        if self._panel is not None:
            self._panel.close()

    def _make_panel(self) -> SweepPanel:
        from mediakit.widgets.form.sweep_call import SweepChoice
        from mediakit.widgets.form.sweep_panel import SweepPanel

        handle = self._context.handle.another()
        self._context.page.widget.hides += handle.live_rules
        choice = self.first_choice or SweepChoice()
        return SweepPanel(self._context, choice, handle, show_wall=self._show_wall)

    def _show_wall(self, wall: Any, sweep: str) -> None:
        self.last = sweep
        self._has_wall = True
        parts = {"wall": [wall.model_id], "past": ""}
        self._context.page.widget.show_form(parts, brings=True)
        self._context.live.show()
