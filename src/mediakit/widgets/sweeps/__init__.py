"""Plans and results of sweeps, shown in a notebook."""

from mediakit.widgets.sweeps.plan_view import PlanView
from mediakit.widgets.sweeps.wall import wall_of

__all__ = ["PlanView", "wall_of"]
