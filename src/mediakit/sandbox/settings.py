"""The settings of a sandbox."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from mediakit.catalog import Catalog
from mediakit.errors import InputError
from mediakit.money import MICRO_PER_USD

Natural = Annotated[int, Field(ge=0)]


def _header_text(key: str | None) -> str | None:
    if key is None or (8 <= len(key) <= 200 and all("!" <= c <= "~" for c in key)):
        return key
    raise ValueError("8 to 200 visible characters")


class Sandbox(BaseModel):
    """The settings of one sandbox.

    Args:
        data_dir: The directory of its database and files; created when missing.
        host: The address to listen on; loopback by default.
        port: The port; 0 takes the previous one of this data directory, or any.
        api_key: The organization's key; None keeps or creates one.
        balance_micro_usd: The opening balance of a new data directory, in micro-USD.
        concurrency: The number of jobs that run at once; 0 leaves every job queued.
        queue_size: The number of jobs that may wait; further ones are rejected.
        speed: How fast the sandbox's clock runs; 1 is real time.
        allow_loopback_callbacks: Let callbacks and input URLs reach this machine,
            over http and on any port.
        settle_after_s: The time from a job's end to its charge, in sandbox seconds.
        keep_gb: Gigabytes of outputs and uploads to keep; beyond that, the oldest
            ones are removed.
        sketch: Draw only the first frame of each shot, and scenery coarsely, which
            takes a tenth of the time. Sizes, lengths, sound and charges are the same.
        delivery_timeout_s: How long a webhook receiver has to respond, in real seconds.
        catalog: The functions that it serves; all declared ones by default.

    Raises:
        InputError: A number is out of range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    data_dir: Path
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    api_key: Annotated[str | None, AfterValidator(_header_text)] = Field(
        default=None, repr=False
    )
    balance_micro_usd: Natural = 100 * MICRO_PER_USD
    concurrency: Natural = 2
    queue_size: Natural = 50
    speed: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    allow_loopback_callbacks: bool = False
    settle_after_s: Annotated[float, Field(ge=0)] = 1.5
    keep_gb: Annotated[float, Field(gt=0)] = 10.0
    sketch: bool = False
    delivery_timeout_s: Annotated[float, Field(gt=0, le=20)] = 20.0
    catalog: Catalog = Field(default_factory=Catalog.default)

    def __init__(self, data_dir: str | Path, **settings: Any) -> None:
        try:
            super().__init__(data_dir=data_dir, **settings)
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            name = str(first["loc"][0])
            value = "(not shown)" if name == "api_key" else first["input"]
            accepted = first["msg"].removeprefix("Input should be ")
            accepted = accepted.removeprefix("Value error, ")
            if first["type"] == "extra_forbidden":
                accepted = "left out: there is no such setting"
            raise InputError(name, got=value, accepted=accepted) from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a listening address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
