"""The parts of a client: submissions, polling, money, files and HTTP.

A request has three shapes. `preparing` turns the fields that users write into a
`ValidatedRequest`: checked, priced, its files uploaded; pricing needs no network, and
nothing else is sent. `submitting` turns it into a `Submission`: the exact bytes, the
idempotency key and the hold, which the history commits before anything is sent, so that
any process can send it again; with its outcome, it is the history's `Entry`. The
service responds with a job: `jobs` has its `AsyncJob`, whose `state` is that entry with
the newest record of the service. `AsyncClient.submit` is these two steps, `prepared`
and `submit_prepared` of its `Components`.
"""

# The first, before any other module imports aiohttp.
from mediakit.client import aiohttp_import  # noqa: F401
from mediakit.client.async_job import AsyncJob
from mediakit.client.budgets import Amount, AnyBudget, BudgetState
from mediakit.client.job_state import JobState
from mediakit.client.service import Service

__all__ = [
    "Amount",
    "AnyBudget",
    "AsyncJob",
    "BudgetState",
    "JobState",
    "Service",
]
