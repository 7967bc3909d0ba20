"""The forms of a studio: one for each function, kept while another is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Function
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.form.controller import Form
from mediakit.widgets.job.uses import Elsewhere
from mediakit.widgets.job.view import JobView

if TYPE_CHECKING:
    from mediakit.blocking_client import Client


class StudioForms:
    """Forms by the path of their function.

    Args:
        client: The client that sends and watches.
        made: Called, mostly on the I/O thread, when a job was made or has changed.
        name: Tells the forms of this studio from all others.
        elsewhere: Opens the form of what takes a result.
    """

    def __init__(
        self,
        client: Client,
        made: Callable[[], None],
        name: str,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._client = client
        self._made = made
        self._name = name
        self._elsewhere = elsewhere
        self._forms: dict[str, Form] = {}
        self._heard: set[JobView] = set()
        self._ends: list[Callable[[], None]] = []

    def __contains__(self, path: object) -> bool:
        return path in self._forms

    def get(self, path: str | None) -> Form | None:
        """Return the form of the function at a path; None without one."""
        return None if path is None else self._forms.get(path)

    @property
    def jobs(self) -> tuple[JobView, ...]:
        """Return the views of all jobs that the forms made, form by form."""
        return tuple(job for form in tuple(self._forms.values()) for job in form.jobs)

    def open(self, function: Function) -> Form:
        """Return the form of a function, made when it is wanted first."""
        if function.path not in self._forms:
            # Its name keeps it apart from the forms of cells and of other studios.
            name = f"{self._name} {function.path}"
            form = Form(self._client, function, name=name, elsewhere=self._elsewhere)
            self._hear(form)
        return self._forms[function.path]

    def fill(self, function: Function, settings: Mapping[str, Any]) -> str:
        """Give a form the settings of a request, and all else its default.

        Args:
            function: The function.
            settings: The fields of the request.

        Returns:
            A sentence about what could not be taken over; empty when all was.

        Raises:
            InputError: A control cannot show a value; nothing was changed.
        """
        form = self.open(function)
        values: dict[str, Any] = {n: settings.get(n) for n in function.fields}
        others = {n: v for n, v in settings.items() if n not in values}
        if function.is_open:
            values[FURTHER.name] = others
        form.values.update(values)
        if not others or function.is_open:
            return ""
        return (
            f"The form has no field for {', '.join(others)}, so it is left out of what "
            "would be sent. All other settings are taken over."
        )

    def take_over(self, before: StudioForms) -> None:
        """Take the forms of a studio that is replaced, with values and jobs."""
        before.mute()
        forms, before._forms = before._forms, {}
        known = {function.path: function for function in self._client.catalog}
        for path, form in forms.items():
            if form.client is self._client:
                self._hear(form)
            elif path in known:
                # The new form replaces the one of the same name.
                self.open(known[path])
            else:
                form.close()

    def _hear(self, form: Form) -> None:
        self._forms[form.function.path] = form
        self._ends.append(form.on_job(self._on_job))
        self._hear_jobs()

    def _on_job(self) -> None:
        self._hear_jobs()
        self._made()

    def _hear_jobs(self) -> None:
        for job in self.jobs:
            if job not in self._heard:
                self._heard.add(job)
                self._ends.append(job.on_card(self._made))

    def mute(self) -> None:
        """Hear no more of the forms and their jobs."""
        ends, self._ends = self._ends, []
        for end in ends:
            end()

    def close(self) -> None:
        """Close every form; their jobs continue."""
        self.mute()
        for form in self._forms.values():
            form.close()
        self._forms.clear()
