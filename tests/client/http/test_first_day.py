"""A customer's first day: only the README, behind a company's proxy and certificates.

The service has a private certificate authority, a prefix in its base URL, files on
another host and renamed report columns; the proxy requires a password.
"""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.servers.hosted_service import (
    BASE_URL,
    FILES_HOST,
    HOST,
    MODEL,
    OWN_CHARGE,
    hosted,
)
from tests.support.servers.proxies import HTTPProxy, Relay
from tests.support.servers.serving import apart

LIMIT_S = 240
BINDINGS = f"""[functions]
"text-to-video" = "{MODEL}/text-to-video"
"image-upscale" = "sandbox/image-upscale/image-upscale"

[reports]
charge_usd = "{OWN_CHARGE}"
"""
DAY = """
import socket
import warnings
from contextlib import asynccontextmanager
from queue import SimpleQueue
from threading import Thread

import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.routing import Route

import mediakit as mk

warnings.simplefilter("error", mk.IncompleteDataWarning)
client = mk.connect()

# The README's eight lines.
kite = {"prompt": "a kite over dunes", "duration": 5}
assert client.estimate("text-to-video", **kite).text == "$0.34"
job = client.submit("text-to-video", **kite)
job.wait()
assert job.settle().charge_micro_usd == 340_000
assert job.download("kite.mp4").stat().st_size > 10_000
assert client.submit("text-to-video", **kite).id == job.id

# A sweep under a budget, and a file of one's own.
plan = client.sweep("text-to-video", prompt=["a gull", "a heron"], duration=3)
assert plan.estimate().high == 408_000
results = plan.run(budget="$0.50").wait()
assert results.frame()["charge_micro_usd"].sum() == 408_000
Image.new("RGB", (64, 48), "teal").save("tile.png")
tile = client.run("image-upscale", image_url="tile.png")
with Image.open(tile.download("large.png")) as large:
    assert large.size == (128, 96)

# A webhook, as the how-to has it.
ended = SimpleQueue()
secret = client.deliveries.secret().reveal()


async def on_event(event):
    if event.job is not None:
        ended.put(event.job.id)


hook = mk.webhooks.receiver(secret, on_event, inbox="webhooks.db")


@asynccontextmanager
async def lifespan(app):
    await hook.start()
    yield
    await hook.stop()


app = Starlette(routes=[Route("/hook", hook)], lifespan=lifespan)
listening = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(app, ws="none", log_config=None))
serving = Thread(target=server.run, kwargs={"sockets": [listening]})
serving.start()
url = f"http://127.0.0.1:{listening.getsockname()[1]}/hook"
notified = client.run("text-to-video", prompt="a tern", duration=3, webhook_url=url)
assert ended.get() == notified.id
server.should_exit = True
serving.join()

# The month, explained.
for each in (tile, notified):
    each.settle()
charges = client.spend.charges()
assert charges["charge_micro_usd"].sum() == 340_000 + 408_000 + 126_000 + 204_000
monthly = client.spend.monthly()
assert monthly["charge_micro_usd"].sum() == 1_078_000, monthly.to_string()
assert client.spend.monthly_csv()["charge_micro_usd"].sum() == 1_078_000
print(client.spend.reconcile())
page = client.spend.report(None, "month.html").read_text("utf-8")
assert "$1.078" in page and "could not be read" not in page
hook.inbox.close()
client.close()
"""


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Serve a sandbox whose spend of this month is this test's alone."""
    settings = {"sketch": True, "allow_loopback_callbacks": True}
    running = start(Sandbox(tmp_path / "sandbox", speed=20, **settings))
    yield running
    running.stop()


@pytest.mark.soak
def test_the_readme_is_enough_for_a_first_day_in_a_company_network(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    authority.issue_cert(HOST, FILES_HOST).configure_cert(tls)
    (tmp_path / "mediakit.toml").write_text(BINDINGS, "utf-8")
    (tmp_path / "day.py").write_text(DAY, "utf-8")
    with (
        hosted(sandbox.base_url) as (service, port),
        Relay(port, tls=tls) as secure,
        HTTPProxy(secure.port, credentials="ann:s@cret") as proxy,
    ):
        variables = apart(
            tmp_path,
            HTTPS_PROXY=proxy.url("ann:s%40cret"),
            SSL_CERT_FILE=str(tmp_path / "authority.pem"),
            MEDIAKIT_BASE_URL=BASE_URL,
            MEDIAKIT_API_KEY=sandbox.api_key,
        )
        day = subprocess.run(
            [sys.executable, "day.py"],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )

    assert day.returncode == 0, day.stderr[-3_000:]
    assert "$1.078 charged" in day.stdout
    assert "all of it is explained" in day.stdout
    assert service.key_hosts == {HOST}
    assert service.strays == []
    assert {each.target for each in proxy.seen} == {f"{HOST}:443", f"{FILES_HOST}:443"}
