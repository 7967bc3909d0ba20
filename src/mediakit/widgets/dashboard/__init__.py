"""The dashboard of a month's spend, in the notebook and as an HTML report.

Importing it imports neither ipywidgets nor matplotlib.
"""

from mediakit.widgets.dashboard.client_spend import AsyncSpend, Spend

__all__ = ["AsyncSpend", "Spend"]
