"""Forecasts of a month's total, and days with unusual spend.

It depends on the daily frames.
"""

from mediakit.spend.forecasting.anomalies import anomalies_frame
from mediakit.spend.forecasting.forecast import Forecast, forecast_month

__all__ = ["Forecast", "anomalies_frame", "forecast_month"]
