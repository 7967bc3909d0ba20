"""One exchange with a server over httpx, its retries, and what a response means.

It depends on `runtime`; it knows neither jobs nor money.
"""
