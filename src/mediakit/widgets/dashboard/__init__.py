"""The dashboard of a month's spend, in the notebook and as an HTML report."""

from mediakit.widgets.dashboard.client_spend import AsyncSpend, Spend

__all__ = ["AsyncSpend", "Spend"]
