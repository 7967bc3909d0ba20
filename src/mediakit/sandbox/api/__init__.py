"""The interface: each operation with its handler and the models of its wire."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from mediakit.sandbox.api import billing, jobs, uploads, webhooks
from mediakit.sandbox.wire import (
    Answer,
    AttemptList,
    Balance,
    Content,
    DailyQuery,
    DailySpend,
    Delivery,
    DeliveryDetail,
    DeliveryPage,
    DeliveryQuery,
    Job,
    MonthlyReport,
    MonthPath,
    RequestBody,
    RotatedSecret,
    Rotation,
    Secret,
    UploadGrant,
    UploadRequest,
)

Handler = Callable[[Request], Awaitable[Response]]

JOB = "/v1/media/jobs/{request_id}"
LOG = "/v1/webhooks/deliveries"
DELIVERY = f"{LOG}/{{delivery_id}}"
SECRET = "/v1/webhooks/secret"


@dataclass(frozen=True)
class Operation:
    """One operation of the interface, besides the submission of a job.

    Args:
        method: Its HTTP method.
        path: Its path; names in braces are parameters.
        handler: What handles it.
        name: Its name in the description.
        summary: What it does, in a few words.
        answer: The model of its response; None for a table in CSV.
        errors: The statuses of its errors, besides 401 and 403.
        body: The model of its request body.
        query: The model of its parameters.
    """

    method: str
    path: str
    handler: Handler
    name: str
    summary: str
    answer: type[Answer] | None
    errors: tuple[int, ...] = ()
    body: type[RequestBody] | None = None
    query: type[BaseModel] | None = None


OPERATIONS = (
    Operation(
        "POST",
        "/v1/media/uploads",
        uploads.grant,
        "grantUpload",
        "Request an upload grant.",
        UploadGrant,
        (422,),
        body=UploadRequest,
    ),
    Operation("GET", JOB, jobs.read, "readJob", "Read a job.", Job, (404,)),
    Operation(
        "DELETE",
        JOB,
        jobs.erase,
        "eraseJob",
        "Erase stored media and captured request.",
        Job,
        (404, 409),
    ),
    Operation(
        "GET",
        f"{JOB}/content",
        jobs.content,
        "readContent",
        "Find the output.",
        Content,
        (404, 409, 410),
    ),
    Operation(
        "GET",
        "/billing/balance",
        billing.balance,
        "readBalance",
        "Spending capacity.",
        Balance,
    ),
    Operation(
        "GET",
        "/billing/spend/daily",
        billing.daily,
        "readDailySpend",
        "Daily spend.",
        DailySpend,
        (422,),
        query=DailyQuery,
    ),
    Operation(
        "GET",
        "/billing/monthly/{month}",
        billing.monthly,
        "readMonth",
        "Monthly usage report.",
        MonthlyReport,
        (422,),
        query=MonthPath,
    ),
    Operation(
        "GET",
        "/billing/monthly/{month}/csv",
        billing.monthly_csv,
        "readMonthCsv",
        "The same month as CSV: a row for each model and a totals row.",
        None,
        (422,),
        query=MonthPath,
    ),
    Operation(
        "GET",
        LOG,
        webhooks.read_all,
        "listDeliveries",
        "List deliveries.",
        DeliveryPage,
        (422,),
        query=DeliveryQuery,
    ),
    Operation(
        "GET",
        DELIVERY,
        webhooks.read,
        "readDelivery",
        "One delivery.",
        DeliveryDetail,
        (404,),
    ),
    Operation(
        "GET",
        f"{DELIVERY}/attempts",
        webhooks.attempts,
        "listAttempts",
        "Attempts of a delivery.",
        AttemptList,
        (404,),
    ),
    Operation(
        "POST",
        f"{DELIVERY}/replay",
        webhooks.replay,
        "replayDelivery",
        "Re-send a delivery.",
        Delivery,
        (404, 409),
    ),
    Operation(
        "GET",
        SECRET,
        webhooks.read_secret,
        "readSecret",
        "Read the organization's secret.",
        Secret,
    ),
    Operation(
        "POST",
        f"{SECRET}/rotate",
        webhooks.rotate_secret,
        "rotateSecret",
        "Rotate the organization's secret.",
        RotatedSecret,
        (422,),
        body=Rotation,
    ),
)
