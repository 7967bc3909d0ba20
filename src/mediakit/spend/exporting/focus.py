"""Charges in the columns of FOCUS, the FinOps Open Cost and Usage Specification 1.2.

The names are the column IDs of that specification. Every charge is usage of one job,
billed on the UTC day on which it settled, so that sums by day are those of the daily
report (spec 4.19).
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError
from mediakit.spend.usd import dollars

if TYPE_CHECKING:
    import pandas as pd

NOT_STATED = "Not stated"
NEEDED = ("day", "job_id", "function", "charge_micro_usd")
TAGS = ("project", "sweep", "budget")


def to_focus(charges: pd.DataFrame, *, provider: str = NOT_STATED) -> pd.DataFrame:
    """Return charges in FOCUS 1.2 columns.

    Args:
        charges: As `client.spend.charges(...)` returns them.
        provider: The name of the service, for ProviderName and InvoiceIssuerName.

    Returns:
        One row per charge, in the same order. All four costs are the charge, an exact
        Decimal of USD, because the service publishes one price. ChargePeriodStart is
        the UTC day of settlement and ChargePeriodEnd the day after it, excluded; the
        billing period is the calendar month. One job is consumed. Project, sweep and
        budget are Tags.

    Raises:
        InputError: The frame has no such columns.
    """
    import pandas as pd

    if missing := [name for name in NEEDED if name not in charges]:
        accepted = f"a frame of charges, with {', '.join(NEEDED)}"
        raise InputError(
            "charges",
            got=f"no {missing[0]}",
            accepted=accepted,
            then="Nothing was written.",
        )
    cost, day = dollars(charges["charge_micro_usd"]), charges["day"]
    month_start = day - pd.to_timedelta(day.dt.day - 1, unit="D")
    function = charges["function"].astype(object)
    columns: dict[str, Any] = {
        "BilledCost": cost,
        "EffectiveCost": cost,
        "ListCost": cost,
        "ContractedCost": cost,
        "BillingCurrency": "USD",
        "BillingAccountId": _texts(charges, "account", NOT_STATED),
        "BillingAccountName": None,
        "BillingPeriodStart": month_start,
        "BillingPeriodEnd": month_start + pd.offsets.MonthBegin(1),
        "ChargePeriodStart": day,
        "ChargePeriodEnd": day + pd.Timedelta(days=1),
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "ChargeDescription": _descriptions(charges),
        "ChargeFrequency": "Usage-Based",
        "ConsumedQuantity": 1,
        "ConsumedUnit": "Jobs",
        "PricingQuantity": 1,
        "PricingUnit": "Jobs",
        "ProviderName": provider,
        "InvoiceIssuerName": provider,
        "PublisherName": _vendors(charges, provider),
        "ServiceCategory": "AI and Machine Learning",
        "ServiceSubcategory": "Generative AI",
        "ServiceName": _texts(charges, "kind", NOT_STATED),
        "SkuId": function,
        "SkuPriceId": function,
        "ResourceId": charges["job_id"].astype(object),
        "ResourceType": "Media job",
        "Tags": _tags(charges),
    }
    return pd.DataFrame(columns, index=charges.index)


def _texts(frame: pd.DataFrame, name: str, default: str) -> Any:
    if name not in frame:
        return default
    values = frame[name].astype(object)
    return values.where(values.notna(), default)


def _descriptions(charges: pd.DataFrame) -> Any:
    kinds = _texts(charges, "kind", "job")
    return [
        f"{kind} {job_id}"
        for kind, job_id in zip(
            [kinds] * len(charges) if isinstance(kinds, str) else kinds,
            charges["job_id"],
            strict=True,
        )
    ]


def _vendors(charges: pd.DataFrame, provider: str) -> Any:
    models = _texts(charges, "model", "")
    if isinstance(models, str):
        return provider
    return models.map(lambda model: str(model).partition("/")[0] or provider)


def _tags(charges: pd.DataFrame) -> list[str | None]:
    names = [name for name in TAGS if name in charges]
    rows = charges[names].astype(object).to_dict("records")
    return [_tag(row) for row in rows] if names else [None] * len(charges)


def _tag(row: dict[Hashable, Any]) -> str | None:
    known = {str(name): value for name, value in row.items() if isinstance(value, str)}
    return json.dumps(known, ensure_ascii=False) if known else None
