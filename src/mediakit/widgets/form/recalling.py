"""Values of a request that was made before, to begin a form with."""

from __future__ import annotations

import json

from mediakit.catalog import Function
from mediakit.client import Client, Job
from mediakit.errors import InputError, NotFoundError
from mediakit.history import Entry

LAST = "last"
LOOKED_THROUGH = 50
ACCEPTED = '"last", a job, or the id of a job that was submitted from here'


def recalled(
    client: Client[Job], function: Function, like: Job | str
) -> dict[str, object]:
    """Return the fields of an earlier request, its media as URLs.

    Args:
        client: The client whose history is read.
        function: The function of the form.
        like: A job or its id; "last" for what the function was asked for last.

    Returns:
        The fields as they were sent; none if the function was never asked before.

    Raises:
        InputError: It is nothing that names a job.
        NotFoundError: The job is not in this history.
    """
    if like == LAST:
        made = client.history.page(kind=function.kind, limit=LOOKED_THROUGH)
        same = [entry for entry in made if entry.function == function.path]
        return _fields(same[0]) if same else {}
    job_id = like.id if isinstance(like, Job) else like
    if not isinstance(job_id, str):
        raise InputError("like", got=job_id, accepted=ACCEPTED)
    entry = client.core.store.find(job_id)
    if entry is None:
        raise NotFoundError(
            f"{job_id} is not in this history. Accepted: {ACCEPTED}.", job_id=job_id
        )
    return _fields(entry)


def _fields(entry: Entry) -> dict[str, object]:
    body: dict[str, object] = json.loads(entry.body)
    body.pop("webhook_url", None)
    return body
