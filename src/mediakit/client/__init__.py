"""The parts of a client: submissions, polling, money, files and HTTP.

A request takes three forms. `request_preparation` turns the fields that users write
into a `ValidatedRequest`: checked, priced, its files uploaded. `submissions` turns that
into a `Submission`: the exact bytes, the idempotency key and the hold. The history
commits it before anything is sent, so that any process can send it again; with its
outcome, it is an `Entry`. The service responds with a job: an `AsyncJob`,
whose `state` is that entry with the newest record of the service. `AsyncClient.submit`
calls `prepared` and `submit_prepared` of its `Components` for these two steps.
"""

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
