"""JSON Schemas of the service's responses (spec 2)."""

import re
from typing import Any

from mediakit.records import BillingState, ErrorCode, JobStatus
from mediakit.sandbox.api.deliveries import (
    CURSOR_PATTERN,
    DEFAULT_LIMIT,
    MAX_LIMIT,
)
from mediakit.sandbox.api.signing_secret import MAX_OVERLAP_S
from mediakit.sandbox.api.uploads import (
    MAX_UPLOAD_BYTES,
    MEDIA_TYPE_PATTERN,
    SCRIPTED_SUFFIX,
)
from mediakit.sandbox.delivery.events import SUBSCRIBABLE, TEST
from mediakit.sandbox.store.events.deliveries import STATUSES

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
NAME: Json = {"type": "string", "minLength": 1}
COUNT: Json = {"type": "integer", "minimum": 0}
AMOUNT: Json = {"type": "integer", "description": "Micro-USD."}
MOMENT: Json = {"type": "string", "format": "date-time"}
NAMES: Json = {"model": TEXT, "function": TEXT, "model_id": TEXT}
USAGE: Json = {
    "type": ["object", "null"],
    "additionalProperties": {"type": "number"},
    "description": "Only the units that the job reported.",
}

# The fields of a month that only owners and admins see (spec 4.19).
MANAGED_AMOUNTS = (
    "opening_balance_micro_usd",
    "credits_granted_micro_usd",
    "top_ups_micro_usd",
    "closing_balance_micro_usd",
)


def _record(properties: Json, optional: tuple[str, ...] = ()) -> Json:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _list(item: Json) -> Json:
    return {"type": "array", "items": item}


def ref(name: str) -> Json:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _media_file() -> Json:
    return _record({"url": TEXT, "content_type": TEXT})


DELIVERY_STATUS: Json = {"type": "string", "enum": list(STATUSES)}
DELIVERY_FILTERS: Json = {
    "endpoint_id": NAME,
    "status": DELIVERY_STATUS,
    "source_id": NAME | {"description": "The id of a job."},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_LIMIT,
        "default": DEFAULT_LIMIT,
    },
    "cursor": {"type": "string", "pattern": CURSOR_PATTERN},
}
DELIVERY: Json = {
    "id": {"type": "string", "pattern": "^delivery_"},
    "status": DELIVERY_STATUS,
    "event_id": {"type": "string", "pattern": "^msg_"},
    "event_type": {"type": "string", "enum": [*SUBSCRIBABLE, TEST]},
    "source_id": _or_null(TEXT),
    "endpoint_id": _or_null(TEXT),
    "url": TEXT,
    "attempts": COUNT,
    "created_at": MOMENT,
    "next_attempt_at": _or_null(MOMENT),
    "ended_at": _or_null(MOMENT),
}
SECRET: Json = {"type": "string", "pattern": "^whsec_"}


SCHEMAS: Json = {
    "Message": _record({"message": TEXT}),
    "Output": _record(
        {
            "media_type": {"type": "string", "enum": ["video", "image", "audio"]},
            "video": _media_file(),
            "image": _media_file(),
            "audio": _media_file(),
        },
        optional=("video", "image", "audio"),
    ),
    "JobError": _record(
        {
            "code": {"type": "string", "enum": [code.value for code in ErrorCode]},
            "message": TEXT,
        }
    ),
    "Billing": _record(
        {
            "state": {"type": "string", "enum": [s.value for s in BillingState]},
            "charge_micro_usd": AMOUNT,
        },
        optional=("charge_micro_usd",),
    ),
    "Job": _record(
        {
            "id": {"type": "string", "pattern": "^media_"},
            "status": {"type": "string", "enum": [s.value for s in JobStatus]},
            "output": ref("Output"),
            "error": ref("JobError"),
            "usage": USAGE,
            "billing": _or_null(ref("Billing")),
            "deleted_at": MOMENT,
        },
        optional=("output", "error", "usage", "deleted_at"),
    ),
    "UploadRequest": {
        **_record(
            {
                "content_type": {
                    "type": "string",
                    "pattern": MEDIA_TYPE_PATTERN,
                    "not": {"pattern": f"{re.escape(SCRIPTED_SUFFIX)}$"},
                },
                "size_bytes": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_UPLOAD_BYTES,
                },
            }
        ),
        "additionalProperties": False,
    },
    "UploadGrant": _record(
        {
            "upload_url": TEXT,
            "headers": {"type": "object", "additionalProperties": TEXT},
            "url": TEXT,
        }
    ),
    "Content": _record({"url": TEXT}),
    "EndedJob": _record(
        {
            "id": {"type": "string", "pattern": "^media_"},
            "status": {"type": "string", "enum": ["completed", "failed"]},
            "model_id": TEXT,
            "runtime_s": {"type": ["number", "null"]},
            "output": ref("Output"),
            "error": _or_null(ref("JobError")),
            "usage": USAGE,
            "billing": {"type": "null"},
        },
        optional=("output",),
    ),
    "Event": _record(
        {
            "type": DELIVERY["event_type"],
            "timestamp": MOMENT,
            "data": {"anyOf": [ref("EndedJob"), _record({"endpoint_id": TEXT})]},
        }
    ),
    "Delivery": _record(DELIVERY),
    "DeliveryDetail": _record(DELIVERY | {"event": ref("Event")}),
    "DeliveryPage": _record(
        {"data": _list(ref("Delivery")), "next_cursor": _or_null(TEXT)}
    ),
    "AttemptList": _record(
        {
            "data": _list(
                _record(
                    {
                        "number": COUNT,
                        "attempted_at": MOMENT,
                        "status_code": {"type": ["integer", "null"]},
                        "reason": _or_null(TEXT),
                        "duration_ms": COUNT,
                    }
                )
            )
        }
    ),
    "Secret": _record({"secret": SECRET}),
    "Rotation": {
        **_record(
            {
                "expire_in_seconds": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_OVERLAP_S,
                    "default": MAX_OVERLAP_S,
                }
            },
            optional=("expire_in_seconds",),
        ),
        "additionalProperties": False,
    },
    "RotatedSecret": _record(
        {"secret": SECRET, "previous_expires_at": _or_null(MOMENT)}
    ),
    "Balance": _record(
        {
            "balance_micro_usd": AMOUNT,
            "postpaid": _record(
                {
                    "cycle": _record(
                        {
                            "remaining_micro_usd": AMOUNT,
                            "limit_micro_usd": AMOUNT,
                            "start": MOMENT,
                            "end": MOMENT,
                        }
                    )
                }
            ),
        },
        optional=("postpaid",),
    ),
    "DailySpend": _record(
        {
            "start_date": TEXT,
            "end_date": TEXT,
            "rows": _list(
                _record(
                    {
                        "date": TEXT,
                        "api_key_id": TEXT,
                        **NAMES,
                        "jobs": COUNT,
                        "charge_micro_usd": AMOUNT,
                    }
                )
            ),
            "total_micro_usd": AMOUNT,
        }
    ),
    "MonthlyReport": _record(
        {
            "month": TEXT,
            "rows": _list(
                _record(
                    {
                        **NAMES,
                        "jobs": COUNT,
                        "usage": USAGE,
                        "charge_micro_usd": AMOUNT,
                        "credits_applied_micro_usd": AMOUNT,
                    }
                )
            ),
            "total_micro_usd": AMOUNT,
            "credits_applied_micro_usd": AMOUNT,
            "invoices": _list(
                _record(
                    {
                        "id": TEXT,
                        "status": {"type": "string", "enum": ["open", "issued"]},
                        "amount_micro_usd": AMOUNT,
                    }
                )
            ),
            **dict.fromkeys(MANAGED_AMOUNTS, AMOUNT),
        },
        optional=MANAGED_AMOUNTS,
    ),
}
