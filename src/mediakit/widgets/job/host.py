"""The interface of a job view to the form, cell or studio around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mediakit.catalog import Function
from mediakit.client import AsyncJob, JobState
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.job.uses.use_menu import Uses


@dataclass(frozen=True)
class JobHost:
    """What the place around a job view does for it.

    Args:
        add: Shows a job that was asked for from the view, above the others; None
            where nothing can be asked for.
        vary: Gives a job's settings to a form, and says what was done; None where
            there can be no form.
        origin: The form that new jobs belong to, as the history names it; None for
            none.
        uses: Opens forms that begin with the job's result; None for no forms.
    """

    add: Callable[[AsyncJob], object] | None
    vary: Callable[[JobState], str] | None = None
    origin: str | None = None
    uses: Uses | None = None


def varied(function: Function, body: Mapping[str, object]) -> dict[str, object]:
    """Return the values that let a form make a request again.

    Args:
        function: The function of the form.
        body: What was sent. A field that is not in it has its default.
    """
    values = {name: spec.default for name, spec in function.fields.items()}
    sent = {name: value for name, value in body.items() if name != "webhook_url"}
    if not function.is_open:
        return values | sent
    further = {name: value for name, value in sent.items() if name not in values}
    known = {name: value for name, value in sent.items() if name in values}
    return values | known | {FURTHER.name: further}
