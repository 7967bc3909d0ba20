"""What the shop relies on, tried against the service on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import mediakit as mk
from mediakit.testing import RunningSandbox
from product_clips import Announced, Product, make_clips, order_clip

KITE = Product("K-1", "a red kite")
LAMP = Product("L-7", "a brass lamp")
BUSY = 503


def test_the_budget_is_never_exceeded(
    mediakit_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with mk.Client(budget="$0.30") as client:
        clips = make_clips(client, [KITE, LAMP], tmp_path)

    assert clips.files["K-1"].stat().st_size > 0
    assert "$0.30" in clips.missing["L-7"]


def test_a_second_run_costs_nothing(mediakit_client: mk.Client, tmp_path: Path) -> None:
    make_clips(mediakit_client, [KITE], tmp_path)
    make_clips(mediakit_client, [KITE], tmp_path)

    assert len(mediakit_client.history.frame()) == 1


def test_a_render_that_fails_costs_nothing(
    mediakit_sandbox: RunningSandbox, mediakit_client: mk.Client, tmp_path: Path
) -> None:
    before = mediakit_client.balance()
    mediakit_sandbox.fault("fail_render", message="the light went out")
    clips = make_clips(mediakit_client, [KITE], tmp_path)

    assert "the light went out" in clips.missing["K-1"]
    assert mediakit_client.balance() == before


@pytest.mark.mediakit_sandbox(balance_micro_usd=100_000)
def test_a_small_balance_is_not_overdrawn(mediakit_client: mk.Client) -> None:
    with pytest.raises(mk.BalanceError):
        order_clip(mediakit_client, KITE)


def test_a_budget_is_an_amount(mediakit_sandbox: RunningSandbox) -> None:
    # A type checker sees it, too: in strict mode an idle "ignore" is an error.
    with pytest.raises(mk.InputError, match="budget"):
        mk.Client(budget=[KITE])  # type: ignore[arg-type]


def test_a_webhook_that_was_missed_arrives_an_hour_later(
    mediakit_sandbox: RunningSandbox, mediakit_client: mk.Client
) -> None:
    secret = mediakit_client.deliveries.secret().reveal()
    with shop(Announced(secret)) as server:
        server.is_busy = True
        job = order_clip(mediakit_client, KITE, server.url).wait()
        mediakit_sandbox.advance(seconds=1)
        assert server.announced.urls == {}

        server.is_busy = False
        mediakit_sandbox.advance(hours=1)
        assert job.id in server.announced.urls


def test_a_forged_webhook_is_refused() -> None:
    signed = {
        "webhook-id": "msg_1",
        "webhook-timestamp": "1",
        "webhook-signature": "v1",
    }

    assert Announced("whsec_c2VjcmV0").take_webhook(b"{}", signed) == 401


class Shop(ThreadingHTTPServer):
    """The shop's web server: one path, which takes webhooks."""

    announced: Announced
    is_busy = False

    @property
    def url(self) -> str:
        """Return where webhooks go."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    """Hands what is posted to the shop."""

    server: Shop

    def do_POST(self) -> None:
        """Take a webhook, or be too busy."""
        body = self.rfile.read(int(self.headers["content-length"]))
        taken = BUSY
        if not self.server.is_busy:
            taken = self.server.announced.take_webhook(body, dict(self.headers))
        self.send_response(taken)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def shop(announced: Announced) -> Iterator[Shop]:
    """Serve the shop while the block lasts."""
    with Shop(("127.0.0.1", 0), Handler) as server:
        server.announced = announced
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
