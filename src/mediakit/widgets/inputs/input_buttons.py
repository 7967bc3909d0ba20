"""The buttons beside a media control's upload button."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mediakit.client.media_inputs import RemoteMedia
from mediakit.widgets.inputs.masks.painter import MaskPainter
from mediakit.widgets.inputs.result_picker import ResultPicker, Run, Sleep
from mediakit.widgets.inputs.result_search import Results
from mediakit.widgets.media.media_fields import MediaControl


@dataclass(frozen=True)
class Beside:
    """Makes the buttons beside an upload button, for one form.

    Args:
        results: Finds results.
        remote: Reads what is behind URLs.
        value_of: Returns what another field of the form holds.
        run: Starts a coroutine function on the I/O thread.
        sleep: Waits.
    """

    results: Results
    remote: RemoteMedia
    value_of: Callable[[str], object]
    run: Run
    sleep: Sleep

    def __call__(self, control: MediaControl) -> tuple[Any, ...]:
        """Return the buttons for one control."""
        return tuple(self._buttons(control))

    def _buttons(self, control: MediaControl) -> Iterator[Any]:
        yield ResultPicker(
            control, self.results, control.context, self.run, self.sleep
        ).button
        painted = control.spec.mask_of
        if painted is not None:

            def clip() -> object:
                return self.value_of(painted)

            yield MaskPainter(control, clip, self.remote, self.run).button
