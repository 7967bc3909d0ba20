"""Plans and results of sweeps that display themselves in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mediakit import sweep

if TYPE_CHECKING:
    from mediakit.widgets.gallery import Gallery
    from mediakit.widgets.gallery.result_actions import OpenForm
    from mediakit.widgets.sweeps.plan_view import PlanView


class _DisplayedPlan(sweep.BasePlan):
    """A plan that shows itself: cells, money, and buttons that run it."""

    view: PlanView | None = None
    """What shows it, and follows its runs."""

    def _ipython_display_(self) -> None:
        from mediakit.widgets.sweeps.plan_view import PlanView

        self.view = PlanView(self)
        self.view.display()


class _DisplayedResults:
    """Results that show themselves as a wall."""

    core: Any

    def __init__(self, plan: Any, *args: Any, **more: Any) -> None:
        super().__init__(plan, *args, **more)  # type: ignore[call-arg] # its other base
        if isinstance(plan, _DisplayedPlan) and plan.view is not None:
            plan.view.follow(self.core)

    def _ipython_display_(self) -> None:
        self.gallery()._ipython_display_()

    def gallery(self, rows: str | None = None, cols: str | None = None) -> Gallery:
        """Return the wall of all cells, to be shown in the cell.

        It follows the run. Results are rated, kept and compared in it, and what is
        written of them is kept in the history.

        Args:
            rows: The axis down the side, or "take" or "prompt"; the first axis when
                both are omitted.
            cols: The axis along the top; the second one when both are omitted.

        Raises:
            InputError: There is no such axis.
        """
        from mediakit.widgets.sweeps.wall import wall_of

        return wall_of(self.core, rows, cols, form_opener(self.core.plan))


def form_opener(plan: sweep.BasePlan) -> OpenForm | None:
    """Return what opens a form in which a result is used; None without a client."""
    owner = plan.owner if isinstance(plan, sweep.Plan) else None
    if owner is None:
        return None

    def open_form(path: str, name: str, values: dict[str, Any]) -> Any:
        return owner.form(path, name=name, fresh=True, **values).widget

    return open_form


class AsyncShownResults(_DisplayedResults, sweep.AsyncResults):
    """The results of a run, awaited, and shown as a wall."""

    @property
    def core(self) -> sweep.AsyncResults:
        """Return the results as they are awaited: these."""
        return self


class ShownResults(_DisplayedResults, sweep.Results):
    """The results of a run, shown as a wall."""


class AsyncShownPlan(_DisplayedPlan, sweep.AsyncPlan):
    """A plan whose run is awaited, and that shows itself."""

    async_results_type = AsyncShownResults


class ShownPlan(_DisplayedPlan, sweep.Plan):
    """A plan that shows itself."""

    results_type = ShownResults
