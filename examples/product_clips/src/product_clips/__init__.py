"""Clips of the products of a shop, made under a budget and announced by webhook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import mediakit as mk

PROMPT = "{name} turning slowly on a plain pale background"
SECONDS = 3
ACCEPTED, REFUSED = 204, 401


@dataclass(frozen=True)
class Product:
    """One product of the shop."""

    sku: str
    name: str


@dataclass
class Clips:
    """The clips of a run: their files by SKU, and why others are missing."""

    files: dict[str, Path] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def make_clips(client: mk.Client, products: Iterable[Product], folder: Path) -> Clips:
    """Make one clip of each product, within the client's budget.

    A second run costs nothing: it reuses the jobs of the first one.
    """
    clips = Clips()
    jobs: dict[str, mk.Job] = {}
    for product in products:
        try:
            jobs[product.sku] = order_clip(client, product)
        except mk.BudgetError as error:
            clips.missing[product.sku] = str(error)
    for sku, job in jobs.items():
        try:
            clips.files[sku] = job.wait().download(folder / f"{sku}.mp4")
        except mk.JobFailedError as error:
            clips.missing[sku] = str(error)
    return clips


def order_clip(
    client: mk.Client, product: Product, webhook_url: str | None = None
) -> mk.Job:
    """Submit the clip of a product, without waiting for it."""
    prompt = PROMPT.format(name=product.name)
    return client.submit(
        "text-to-video", prompt=prompt, duration=SECONDS, webhook_url=webhook_url
    )


@dataclass
class Announced:
    """The URLs of finished clips by job id, as announced by webhooks."""

    secret: str = field(repr=False)
    urls: dict[str, str] = field(default_factory=dict)

    def take_webhook(self, body: bytes, headers: Mapping[str, str]) -> int:
        """Record the URL of a clip; return the HTTP status to respond with."""
        try:
            event = mk.verify_webhook(body, headers, self.secret)
        except mk.SignatureError:
            return REFUSED
        output = None if event.job is None else event.job.output
        if event.job is not None and output is not None and output.file is not None:
            self.urls[event.job.id] = output.file.url
        return ACCEPTED
