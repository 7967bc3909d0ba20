"""The spend reports of a client as frames, with blocking methods."""

from __future__ import annotations

from mediakit.client.loop import Blocking, blocking
from mediakit.spend.async_spend import AsyncSpend


class Spend(Blocking):
    """The blocking version of `AsyncSpend`; each method runs on the I/O thread."""

    core: AsyncSpend

    daily = blocking(AsyncSpend.daily)
    monthly = blocking(AsyncSpend.monthly)
    monthly_csv = blocking(AsyncSpend.monthly_csv)
    to_csv = blocking(AsyncSpend.to_csv)
    charges = blocking(AsyncSpend.charges)
    budget = blocking(AsyncSpend.budget)
    forecast = blocking(AsyncSpend.forecast)
    anomalies = blocking(AsyncSpend.anomalies)
    reconcile = blocking(AsyncSpend.reconcile)
    rates = blocking(AsyncSpend.rates)
