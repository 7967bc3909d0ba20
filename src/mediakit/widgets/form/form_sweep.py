"""The sweep of a form: the panel while it is wanted, and the wall of the last run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mediakit.clock import Clock
from mediakit.widgets.form.fields_payload import Payload
from mediakit.widgets.form.live_state import LiveState
from mediakit.widgets.form.widget import FormWidget
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.cell_outputs import CardHandle

if TYPE_CHECKING:
    from mediakit.blocking_client import Client
    from mediakit.widgets.form.sweep_call import SweepChoice
    from mediakit.widgets.form.sweep_panel import SweepPanel

PAST = (
    "The results of this form's last sweep are in the history; in code: "
    'client.sweep_results("{}").'
)


class FormSweep:
    """Makes the panel when somebody opens it; it imports pandas."""

    def __init__(
        self,
        client: Client,
        live: LiveState,
        widget: FormWidget,
        handle: CardHandle,
        tasks: TaskRunner,
        clock: Clock,
        *,
        show: Callable[[], object],
    ) -> None:
        self.last = ""
        """The id of the sweep that ran last; empty for none."""
        self._client = client
        self._live = live
        self._widget = widget
        self._handle = handle
        self._tasks = tasks
        self._clock = clock
        self._show = show
        self._panel: SweepPanel | None = None
        self._choice: SweepChoice | None = None
        self._has_wall = False

    @property
    def choice(self) -> SweepChoice | None:
        """Return what varies; None before anything was chosen."""
        return self._choice if self._panel is None else self._panel.choice

    @choice.setter
    def choice(self, choice: SweepChoice | None) -> None:
        self._choice = choice

    def hear(self, said: Mapping[str, Any]) -> None:
        panel = self._panel = self._panel or self._make_panel()
        if "past" in said:
            self._tasks.run(partial(panel.show_past, self.last))
        elif "open" in said:
            panel.is_open = bool(said["open"])
        else:
            panel.hear(said)
        self._show()

    def payload(self) -> Payload:
        """Return what the page draws of it, for what the form holds now."""
        past = PAST.format(self.last) if self.last and not self._has_wall else ""
        if self._panel is None:
            return {"sweep": None, "past": past}
        self._panel.follow(self._live.now)
        return {"sweep": self._panel.payload, "past": past}

    def close(self) -> None:
        """Close the panel; a run continues."""
        if self._panel is not None:
            self._panel.close()

    def _make_panel(self) -> SweepPanel:
        from mediakit.widgets.form.sweep_call import SweepChoice
        from mediakit.widgets.form.sweep_panel import SweepPanel

        handle = self._handle.another()
        self._widget.hides += handle.live_rules
        return SweepPanel(
            self._client,
            self._live.now,
            self._choice or SweepChoice(),
            tasks=self._tasks,
            clock=self._clock,
            handle=handle,
            show=self._show,
            place=self._place,
        )

    def _place(self, wall: Any, sweep: str) -> None:
        self.last = sweep
        self._has_wall = True
        self._widget.show_form({"wall": [wall.model_id], "past": ""}, brings=True)
        self._show()
