"""The spend of a month as a dashboard in the notebook, and as a page to send.

Importing it imports neither ipywidgets nor matplotlib.
"""

from mediakit.widgets.dashboard.client_spend import AsyncSpend, Spend

__all__ = ["AsyncSpend", "Spend"]
