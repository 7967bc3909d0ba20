"""The interface: each operation with its handler and its wire models."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from mediakit.sandbox import wire
from mediakit.sandbox.api import billing, jobs, uploads, webhooks

Handler = Callable[[Request], Awaitable[Response]]

JOB = "/v1/media/jobs/{request_id}"
MONTH = "/billing/monthly/{month}"
LOG = "/v1/webhooks/deliveries"
DELIVERY = f"{LOG}/{{delivery_id}}"
SECRET = "/v1/webhooks/secret"


@dataclass(frozen=True)
class Operation:
    """One operation of the interface, besides the submission of a job.

    The name and docstring of the handler describe the operation. Without a response
    model, the response is a CSV table. `errors` are in addition to 401 and 403.
    """

    method: str
    path: str
    handler: Handler
    answer: type[wire.ResponseBody] | None
    errors: tuple[int, ...] = ()
    body: type[wire.RequestBody] | None = None
    query: type[BaseModel] | None = None


OPERATIONS = (
    Operation(
        "POST",
        "/v1/media/uploads",
        uploads.grant_upload,
        wire.UploadGrantBody,
        (422,),
        body=wire.UploadRequest,
    ),
    Operation("GET", JOB, jobs.read_job, wire.JobBody, (404,)),
    Operation("DELETE", JOB, jobs.erase_job, wire.JobBody, (404, 409)),
    Operation(
        "GET", f"{JOB}/content", jobs.read_content, wire.Content, (404, 409, 410)
    ),
    Operation("GET", "/billing/balance", billing.read_balance, wire.BalanceBody),
    Operation(
        "GET",
        "/billing/spend/daily",
        billing.read_daily_spend,
        wire.DailySpend,
        (422,),
        query=wire.DailyQuery,
    ),
    Operation(
        "GET",
        MONTH,
        billing.read_month,
        wire.MonthlyReport,
        (422,),
        query=wire.MonthPath,
    ),
    Operation(
        "GET",
        f"{MONTH}/csv",
        billing.read_month_csv,
        None,
        (422,),
        query=wire.MonthPath,
    ),
    Operation(
        "GET",
        LOG,
        webhooks.list_deliveries,
        wire.DeliveryPage,
        (422,),
        query=wire.DeliveryQuery,
    ),
    Operation("GET", DELIVERY, webhooks.read_delivery, wire.DeliveryDetail, (404,)),
    Operation(
        "GET",
        f"{DELIVERY}/attempts",
        webhooks.list_attempts,
        wire.AttemptList,
        (404,),
    ),
    Operation(
        "POST",
        f"{DELIVERY}/replay",
        webhooks.replay_delivery,
        wire.DeliveryBody,
        (404, 409),
    ),
    Operation("GET", SECRET, webhooks.read_secret, wire.SecretBody),
    Operation(
        "POST",
        f"{SECRET}/rotate",
        webhooks.rotate_secret,
        wire.RotatedSecret,
        (422,),
        body=wire.Rotation,
    ),
)
