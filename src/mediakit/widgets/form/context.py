"""What all parts of one form share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mediakit.catalog import Function
from mediakit.clock import Clock
from mediakit.widgets.form.form_page import FormPage
from mediakit.widgets.form.live_state import LiveState
from mediakit.widgets.inputs.result_search import ResultSearch
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.cell_outputs import CardHandle

if TYPE_CHECKING:
    from mediakit.blocking_client import Client


@dataclass(frozen=True)
class FormContext:
    """The client and the function of a form, and what its parts work with."""

    client: Client
    function: Function
    live: LiveState  # what the form holds
    page: FormPage  # what people see of it
    handle: CardHandle  # the cards of its jobs, in the saved notebook
    tasks: TaskRunner  # errors become a sentence on the page
    clock: Clock
    results: ResultSearch
