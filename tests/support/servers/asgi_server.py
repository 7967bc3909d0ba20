"""An ASGI application behind a real server on loopback, in a thread."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, Literal

import uvicorn

PATIENCE_S = 60.0


@contextmanager
def serve(
    app: Any, *, lifespan: Literal["on", "off"] = "on", date_header: bool = True
) -> Iterator[str]:
    """Serve an application within the block; yields its URL.

    Without `date_header`, the application itself sets `Date`.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        lifespan=lifespan,
        log_config=None,
        ws="none",
        timeout_graceful_shutdown=1,
        date_header=date_header,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listening.close()
