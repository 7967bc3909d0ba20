"""The client: one async core, and a blocking face of it on one I/O thread.

It stands on the history and the catalog. A request has three shapes here: what people
write becomes a validated request (`requests.prepare`), which a submission writes down
with its idempotency key before anything is sent (`submissions`), and which the service
answers with a job (`jobs`).
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
