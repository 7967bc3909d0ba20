"""The spend of a month as a dashboard in the notebook, and as a page to send.

Importing it imports neither ipywidgets nor matplotlib.
"""

from mediakit.widgets.dashboard.shown import AsyncSpend, Spend

__all__ = ["AsyncSpend", "Spend"]
