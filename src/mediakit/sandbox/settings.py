"""What can be chosen about a sandbox."""

import math
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from mediakit.catalog import Catalog
from mediakit.errors import InputError
from mediakit.money import MICRO_PER_USD


@dataclass(frozen=True)
class Sandbox:
    """The settings of one sandbox.

    Args:
        data_dir: Where its database and files lie; made when missing.
        host: The address to listen on; loopback only, unless told otherwise.
        port: The port; 0 takes the one that this data directory had before, or any.
        api_key: The organization's key; None keeps or makes one.
        admin_token: Controls a sandbox that listens off loopback; None leaves its
            controls closed there.
        balance_micro_usd: What a new data directory starts with, micro-USD.
        concurrency: How many jobs run at once; 0 leaves every job queued.
        queue_size: How many jobs wait before further ones are rejected.
        speed: How fast the sandbox's clock runs; 1 is real time.
        allow_loopback_callbacks: Let callbacks and input URLs reach this machine,
            over http and on any port.
        start_after_s: Seconds of the sandbox's clock that a job is queued at least.
        settle_after_s: Seconds of the sandbox's clock from a job's end to its charge.
        keep_days: Days of the sandbox's clock that outputs and uploads are kept.
        keep_gb: Gigabytes of outputs and uploads that are kept; when there are more,
            the oldest ones are removed.
        delivery_timeout_s: Real seconds that a receiver of a webhook has to answer.
        catalog: The functions that it serves; all declared ones by default.

    Raises:
        InputError: A number is out of range.
    """

    data_dir: str | Path
    host: str = "127.0.0.1"
    port: int = 0
    api_key: str | None = field(default=None, repr=False)
    admin_token: str | None = field(default=None, repr=False)
    balance_micro_usd: int = 100 * MICRO_PER_USD
    concurrency: int = 2
    queue_size: int = 50
    speed: float = 1.0
    allow_loopback_callbacks: bool = False
    start_after_s: float = 0.0
    settle_after_s: float = 1.5
    keep_days: float = math.inf
    keep_gb: float = 10.0
    delivery_timeout_s: float = 20.0
    catalog: Catalog = field(default_factory=Catalog.default)

    def __post_init__(self) -> None:
        accepted = {
            "port": (0 <= self.port <= 65_535, "0 to 65535"),
            "balance_micro_usd": (self.balance_micro_usd >= 0, "0 or more"),
            "concurrency": (self.concurrency >= 0, "0 or more"),
            "queue_size": (self.queue_size >= 0, "0 or more"),
            "speed": (0 < self.speed <= 1_000_000, "above 0, up to 1000000"),
            "start_after_s": (self.start_after_s >= 0, "0 or more"),
            "settle_after_s": (self.settle_after_s >= 0, "0 or more"),
            "keep_days": (self.keep_days > 0, "above 0"),
            "keep_gb": (self.keep_gb > 0, "above 0"),
            "delivery_timeout_s": (
                0 < self.delivery_timeout_s <= 20,
                "above 0, up to 20",
            ),
        }
        for name, (fits, words) in accepted.items():
            if not fits:
                raise InputError(name, got=getattr(self, name), accepted=words)
        for name in ("api_key", "admin_token"):
            secret = getattr(self, name)
            if secret is not None and not _is_header_text(secret):
                raise InputError(
                    name, got="(not shown)", accepted="8 to 200 visible characters"
                )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a listening address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_header_text(key: str) -> bool:
    return 8 <= len(key) <= 200 and all("!" <= c <= "~" for c in key)
