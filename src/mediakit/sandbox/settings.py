"""The settings of a sandbox."""

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
        data_dir: The directory of its database and files; created when missing.
        host: The address to listen on; loopback by default.
        port: The port; 0 takes the previous one of this data directory, or any.
        api_key: The organization's key; None keeps or creates one.
        balance_micro_usd: The opening balance of a new data directory, micro-USD.
        concurrency: How many jobs run at once; 0 leaves every job queued.
        queue_size: How many jobs may wait before further ones are rejected.
        speed: How fast the sandbox's clock runs; 1 is real time.
        allow_loopback_callbacks: Let callbacks and input URLs reach this machine,
            over http and on any port.
        start_after_s: The least time that a job is queued, sandbox seconds.
        settle_after_s: The time from a job's end to its charge, sandbox seconds.
        keep_days: How long outputs and uploads are kept, sandbox days.
        keep_gb: Gigabytes of outputs and uploads to keep; beyond that, the oldest
            ones are removed.
        sketch: Draw only the first frame of each shot, which takes a tenth of the time.
            Sizes, lengths, sound and charges are the same.
        delivery_timeout_s: How long a webhook receiver has to respond, real seconds.
        catalog: The functions that it serves; all declared ones by default.

    Raises:
        InputError: A number is out of range.
    """

    data_dir: str | Path
    host: str = "127.0.0.1"
    port: int = 0
    api_key: str | None = field(default=None, repr=False)
    balance_micro_usd: int = 100 * MICRO_PER_USD
    concurrency: int = 2
    queue_size: int = 50
    speed: float = 1.0
    allow_loopback_callbacks: bool = False
    start_after_s: float = 0.0
    settle_after_s: float = 1.5
    keep_days: float = math.inf
    keep_gb: float = 10.0
    sketch: bool = False
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
        if self.api_key is not None and not _is_header_text(self.api_key):
            raise InputError(
                "api_key", got="(not shown)", accepted="8 to 200 visible characters"
            )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a listening address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_header_text(key: str) -> bool:
    return 8 <= len(key) <= 200 and all("!" <= c <= "~" for c in key)
