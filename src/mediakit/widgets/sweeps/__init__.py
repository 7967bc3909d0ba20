"""Plans and results of sweeps, shown in a notebook."""

from mediakit.widgets.sweeps.displayed import (
    AsyncShownPlan,
    AsyncShownResults,
    ShownPlan,
    ShownResults,
)

__all__ = ["AsyncShownPlan", "AsyncShownResults", "ShownPlan", "ShownResults"]
