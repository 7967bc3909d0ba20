"""An HTTP service of media jobs whose responses a test defines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.support.servers.job_server import SETTLED
from tests.support.servers.loopback import Asked, LoopbackServer, Said

BALANCE = {"balance_micro_usd": 100_000_000}
VIDEO = {
    "media_type": "video",
    "video": {"url": "http://media.test/kite.mp4", "content_type": "video/mp4"},
}


@dataclass
class Answers:
    """The responses; replace a field to change them.

    Args:
        balance: The body of the balance.
        job: The fields of every completed job, beside its id and status.
        more: Responses by the end of a GET's path, which take precedence.
        prefix: The prefix of every job id.
    """

    balance: object = field(default_factory=lambda: BALANCE)
    job: dict[str, Any] = field(
        default_factory=lambda: {"output": VIDEO, "billing": SETTLED}
    )
    more: dict[str, Callable[[], Said]] = field(default_factory=dict)
    prefix: str = "media_"


class AnsweringServer(LoopbackServer):
    """Accepts every submission and completes it at once, while the block lasts."""

    def __init__(self, answers: Answers | None = None) -> None:
        super().__init__()
        self.answers = answers or Answers()
        self._ids: dict[str, str] = {}
        self.seen: list[str] = []

    def answer(self, asked: Asked) -> Said:
        with self.lock:
            self.seen.append(f"{asked.method} {asked.path}")
            if asked.method == "POST":
                return self._taken(asked.headers["Idempotency-Key"])
        return self._read(asked.path)

    def _taken(self, key: str) -> Said:
        """Accept a submission; a repeated key gets the same job."""
        number = len(self._ids) + 1
        job_id = self._ids.setdefault(key, f"{self.answers.prefix}{number:06d}")
        return Said({"id": job_id, "status": "queued", "billing": None})

    def _read(self, path: str) -> Said:
        for end, say in self.answers.more.items():
            if path.partition("?")[0].endswith(end):
                return say()
        if path.startswith("/billing/balance"):
            return Said(self.answers.balance)
        job_id = unquote(path.rsplit("/", 1)[-1])
        if job_id not in self._ids.values():
            return Said({"message": "no such job"}, status=404)
        return Said({"id": job_id, "status": "completed", **self.answers.job})
