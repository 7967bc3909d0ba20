"""One exchange with a server over httpx, its retries, and what a response means.

It stands on `runtime`; it knows neither jobs nor money.
"""
