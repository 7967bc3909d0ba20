"""What stands beside the upload button of a form's media controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mediakit.widgets.chaining.picker import ResultPicker, Run, Sleep
from mediakit.widgets.chaining.results import Results
from mediakit.widgets.media_list import MediaControl


@dataclass(frozen=True)
class Beside:
    """Makes the buttons beside an upload button, for one form.

    Args:
        results: Finds results.
        run: Starts a coroutine function on the I/O thread.
        sleep: Waits.
    """

    results: Results
    run: Run
    sleep: Sleep

    def __call__(self, control: MediaControl) -> tuple[Any, ...]:
        """Return the buttons for one control."""
        picker = ResultPicker(control, self.results, control.kit, self.run, self.sleep)
        return (picker.button,)
