"""The client: one async core, and a blocking face of it on one I/O thread."""

from mediakit.client.client import Client
from mediakit.client.core import AsyncClient
from mediakit.client.job import AsyncJob, Job, JobState
from mediakit.client.service import Service

__all__ = ["AsyncClient", "AsyncJob", "Client", "Job", "JobState", "Service"]
