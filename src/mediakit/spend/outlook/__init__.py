"""Forecasts of a month's total, and days with unusual spend.

It stands on the daily frames.
"""

from mediakit.spend.outlook.anomalies import anomalies_frame
from mediakit.spend.outlook.forecast import Forecast, forecast_month

__all__ = ["Forecast", "anomalies_frame", "forecast_month"]
