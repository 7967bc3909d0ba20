"""An ASGI application behind a real server on loopback, in a thread."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, Literal

import uvicorn

from tests.support.waiting import until


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
        until(lambda: server.started or not thread.is_alive())
        assert server.started
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
