"""The client: one async core, and a blocking face of it on one I/O thread."""

from mediakit.client.async_job import AsyncJob
from mediakit.client.client import Client
from mediakit.client.core import AsyncClient
from mediakit.client.job import Job
from mediakit.client.job_state import JobState
from mediakit.client.purse import Amount, AnyBudget, BudgetState
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
