"""The bar above the history: the number of selected jobs, and actions for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ipywidgets as w

from mediakit.widgets.controls.context import ViewContext
from mediakit.widgets.dashboard.exports import saves_here
from mediakit.widgets.studio.history.selection import FEWEST_COMPARED, Selection
from mediakit.widgets.studio.state import Question, StudioState
from mediakit.widgets.toolkit.styles import line_html

FOLDER = "results"
ERASE_TEXT = (
    "Erase {count} for good? The service deletes the stored media and requests. "
    "Prompts, charges and files that you saved stay here."
)


@dataclass(frozen=True)
class SelectionActs:
    """What is done with the selected jobs.

    Args:
        select_all: Selects all rows that are shown, or none of them.
        clear: Selects nothing.
        compare: Shows the results side by side.
        ask: Asks before something is done; empty closes the question.
        save: Saves the results into a folder.
        erase: Erases what the service stores.
    """

    select_all: Callable[[bool], object]
    clear: Callable[[], object]
    compare: Callable[[], object]
    ask: Callable[[Question], object]
    save: Callable[[str], object]
    erase: Callable[[], object]


class BarView:
    """What is selected, what it cost, and what can be done with it.

    Args:
        context: What widgets are made with.
        acts: What is done.
        environment: The environment of this process: a page that Voilà serves offers
            no folder of this machine.
    """

    def __init__(
        self,
        context: ViewContext,
        acts: SelectionActs,
        environment: Mapping[str, str],
    ) -> None:
        self._context = context
        self._quiet = False
        self._saves = saves_here(environment)
        make = context.factory.make
        self.all = make(
            w.Checkbox, "mk-tick mk-st-all", description="Select all", indent=False
        )
        self.all.observe(context.guard(self._all_of(acts)), "value")
        self.sum = make(w.HTML, "mk-live mk-st-sum")
        button = self._button
        self.compare = button("Compare", "Show the results side by side", acts.compare)
        self.save = button(
            "Save to folder…",
            "Save the results on the machine that runs the kernel",
            lambda: acts.ask("save"),
        )
        self.erase = button(
            "Erase…", "Erase the stored media for good", lambda: acts.ask("erase")
        )
        self.clear = button("Clear", "Select nothing", acts.clear)
        self._line = make(w.HBox, "mk-st-bar")
        self.folder = make(w.Text, "mk-st-folder", description="Folder", value=FOLDER)
        self._question = make(w.HTML)
        self._yes_save = button(
            "Save", "Save into this folder", lambda: acts.save(self.folder.value)
        )
        self._yes_erase = button("Yes, erase", "This cannot be undone", acts.erase)
        self._yes_erase.button_style = "danger"
        self._no = button("Cancel", "Do nothing", lambda: acts.ask(""))
        self._asking = make(w.HBox, "mk-st-question")
        self.widget = make(w.VBox, "mk-st-selection", children=(self._line,))

    def _all_of(self, acts: SelectionActs) -> Callable[[Any], None]:
        def select(change: Any) -> None:
            if not self._quiet:
                acts.select_all(bool(change.new))

        return select

    def _button(self, words: str, tooltip: str, act: Callable[[], object]) -> Any:
        button = self._context.factory.make(
            w.Button, "mk-small", description=words, tooltip=tooltip
        )
        button.on_click(self._context.guard(lambda _: act()))
        return button

    def show(self, state: StudioState) -> None:
        """Bring the widgets in line with a state; only differences are sent."""
        selection, rows = state.selection, state.page.rows
        self._quiet = True
        self.all.value = selection.has_all(rows)
        self._quiet = False
        self.all.disabled = not rows
        self.sum.value = line_html(selection.text)
        self._line.children = (self.all, self.sum, *self._offered(selection))
        asked = self._asked(state.question, selection)
        is_new = asked != self._asking.children
        self._asking.children = asked
        self.widget.children = (self._line, self._asking) if asked else (self._line,)
        if asked and is_new:  # the next key acts on the question
            (self._no if state.question == "erase" else self.folder).focus()

    def _offered(self, selection: Selection) -> tuple[Any, ...]:
        if not selection:
            return ()
        results = len(selection.with_result)
        self.compare.disabled = results < FEWEST_COMPARED
        self.save.disabled = not results
        self.erase.disabled = not selection.erasable
        save = (self.save,) if self._saves else ()
        return (self.compare, *save, self.erase, self.clear)

    def _asked(self, question: Question, selection: Selection) -> tuple[Any, ...]:
        if question == "save":
            self._yes_save.description = f"Save {_count(len(selection.with_result))}"
            return (self.folder, self._yes_save, self._no)
        if question == "erase":
            count = _count(len(selection.erasable))
            self._question.value = line_html(ERASE_TEXT.format(count=count), "plain")
            self._yes_erase.description = f"Yes, erase {count}"
            return (self._question, self._yes_erase, self._no)
        return ()

    def loose(self) -> tuple[Any, ...]:
        """Return the widgets that are not in the tree at the moment."""
        buttons = (self.compare, self.save, self.erase, self.clear)
        asked = (self.folder, self._question, self._yes_save, self._yes_erase, self._no)
        return (*buttons, *asked, self._asking)


def _count(results: int) -> str:
    return f"{results:,} result{'' if results == 1 else 's'}"
