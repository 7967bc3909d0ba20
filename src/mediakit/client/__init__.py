"""The client: an asynchronous one, and a blocking one that runs it on the I/O thread.

It depends on the history and the catalog.

A request has three shapes. `requests` turns the fields that users write into a
`ValidatedRequest`: checked, priced, its files uploaded; pricing needs no network, and
nothing else is sent. `submissions` turns it into a `Submission`: the exact bytes, the
idempotency key and the hold, which the history commits before anything is sent, so that
any process can send it again; with its outcome, it is the history's `Entry`. The
service responds with a job: `jobs` has its `AsyncJob`, whose `state` holds the newest
record of the service, and `Job` is the blocking interface to it.
`AsyncClient.submit` is these two steps, `_validated` and `_submit`; `Client.submit`
waits for the same two.
"""

from mediakit.client.async_client import AsyncClient
from mediakit.client.blocking_client import Client
from mediakit.client.budgets import Amount, AnyBudget, BudgetState
from mediakit.client.job_state import JobState
from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.job import Job
from mediakit.client.service import Service

__all__ = [
    "Amount",
    "AnyBudget",
    "AsyncClient",
    "AsyncJob",
    "BudgetState",
    "Client",
    "Job",
    "JobState",
    "Service",
]
