"""JSON Schemas of what the service answers (spec 2)."""

from typing import Any

from mediakit.records import BillingState, ErrorCode, JobStatus
from mediakit.sandbox.uploads import MAX_UPLOAD_BYTES

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 0}
AMOUNT: Json = {"type": "integer", "description": "Micro-USD."}
MOMENT: Json = {"type": "string", "format": "date-time"}
NAMES: Json = {"model": TEXT, "function": TEXT, "model_id": TEXT}
USAGE: Json = {
    "type": ["object", "null"],
    "additionalProperties": {"type": "number"},
    "description": "Only the units that the job reported.",
}


def _record(properties: Json, optional: tuple[str, ...] = ()) -> Json:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _list(item: Json) -> Json:
    return {"type": "array", "items": item}


def ref(name: str) -> Json:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def _media_file() -> Json:
    return _record({"url": TEXT, "content_type": TEXT})


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
            "billing": {"anyOf": [ref("Billing"), {"type": "null"}]},
            "deleted_at": MOMENT,
        },
        optional=("output", "error", "usage", "deleted_at"),
    ),
    "UploadRequest": {
        **_record(
            {
                "content_type": TEXT,
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
    "Balance": _record({"balance_micro_usd": AMOUNT}),
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
            "invoices": _list({"type": "object"}),
        }
    ),
}
