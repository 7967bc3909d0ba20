"""A notebook-first toolkit for hosted media generation.

>>> import mediakit as mk
>>> client = mk.connect()                       # doctest: +SKIP
>>> client.form("text-to-video")                # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mediakit import webhooks as webhooks
    from mediakit.async_client import AsyncClient as AsyncClient
    from mediakit.blocking_client import Client as Client
    from mediakit.catalog import Catalog as Catalog
    from mediakit.client.budgets import Budget as Budget
    from mediakit.diagnosis import doctor as doctor
    from mediakit.entry_points import connect as connect
    from mediakit.entry_points import estimate as estimate
    from mediakit.errors import AuthError as AuthError
    from mediakit.errors import BalanceError as BalanceError
    from mediakit.errors import BudgetError as BudgetError
    from mediakit.errors import ConflictError as ConflictError
    from mediakit.errors import GoneError as GoneError
    from mediakit.errors import IncompleteDataWarning as IncompleteDataWarning
    from mediakit.errors import InputError as InputError
    from mediakit.errors import JobFailedError as JobFailedError
    from mediakit.errors import MediakitError as MediakitError
    from mediakit.errors import NotFoundError as NotFoundError
    from mediakit.errors import PriceError as PriceError
    from mediakit.errors import RateLimitError as RateLimitError
    from mediakit.errors import ServiceError as ServiceError
    from mediakit.errors import SignatureError as SignatureError
    from mediakit.errors import WaitTimeoutError as WaitTimeoutError
    from mediakit.estimates import Estimate as Estimate
    from mediakit.job import Job as Job
    from mediakit.money import MicroUSD as MicroUSD
    from mediakit.money import format_usd as format_usd
    from mediakit.money import parse_usd as parse_usd
    from mediakit.notebook import allow_nested_loops as allow_nested_loops
    from mediakit.sweep.comparison import compare as compare
    from mediakit.sweep.results_frame import concat as concat
    from mediakit.webhooks import Event as Event
    from mediakit.webhooks import verify_webhook as verify_webhook

# Each name is imported on first use, so that importing mediakit is quick.
_HOMES = {
    "AsyncClient": "async_client",
    "AuthError": "errors",
    "BalanceError": "errors",
    "Budget": "client.budgets",
    "BudgetError": "errors",
    "Catalog": "catalog",
    "Client": "blocking_client",
    "ConflictError": "errors",
    "Estimate": "estimates",
    "Event": "webhooks",
    "GoneError": "errors",
    "IncompleteDataWarning": "errors",
    "InputError": "errors",
    "Job": "job",
    "JobFailedError": "errors",
    "MediakitError": "errors",
    "MicroUSD": "money",
    "NotFoundError": "errors",
    "PriceError": "errors",
    "RateLimitError": "errors",
    "ServiceError": "errors",
    "SignatureError": "errors",
    "WaitTimeoutError": "errors",
    "allow_nested_loops": "notebook",
    "compare": "sweep.comparison",
    "concat": "sweep.results_frame",
    "connect": "entry_points",
    "doctor": "diagnosis",
    "estimate": "entry_points",
    "format_usd": "money",
    "parse_usd": "money",
    "verify_webhook": "webhooks",
}

# `mk.webhooks.receiver(...)` needs no separate import.
_WEBHOOKS = "webhooks"

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        from mediakit.extras import DISTRIBUTION

        return version(DISTRIBUTION)
    if name == _WEBHOOKS:
        return import_module(f"{__name__}.{_WEBHOOKS}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """Add the magics `%%generate`, `%jobs` and `%balance`: `%load_ext mediakit`.

    Args:
        shell: The IPython shell that loads the extension.
    """
    from mediakit.magics import load

    load(shell)


def __dir__() -> list[str]:
    return sorted([*_HOMES, _WEBHOOKS, "__doc__", "__file__", "__version__"])
