"""The client: one async core, and a blocking face of it on one I/O thread.

It stands on the history and the catalog.

A request has three shapes. `requests` makes a `ValidatedRequest` of the fields that
people write: checked, priced, its files uploaded; it can be priced without the network,
and nothing else of it is sent. `submissions` makes a `Submission` of it: the exact
bytes, the idempotency key and the hold, which the history commits before anything is
sent and from which any process can ask again; with what became of it, it is the
history's `Entry`. The service answers it with a job: `jobs` has its `AsyncJob`, whose
`state` holds the newest record of the service, and `Job` is the blocking face of it.
`AsyncClient.submit` is these two steps, `_validated` and `_submit`; `Client.submit`
waits for the same two.
"""

from mediakit.client.client import Client
from mediakit.client.core import AsyncClient
from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.job import Job
from mediakit.client.records.job_state import JobState
from mediakit.client.runtime.service import Service
from mediakit.client.submissions.admission import Amount, AnyBudget, BudgetState

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
