"""The sandbox as a company might host it: behind a prefix, with files on another host.

Its names, paths and reports are invented; charges and media are the sandbox's.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.support.servers.asgi_server import serve

HOST, FILES_HOST, PREFIX = "media.acme.test", "files.acme.test", "/media-api"
BASE_URL, FILES_URL = f"https://{HOST}{PREFIX}", f"https://{FILES_HOST}"
MODEL = "acme/dream-2"
METHODS = ["GET", "POST", "PUT", "DELETE"]
SKIPPED = ("content-length", "content-encoding", "transfer-encoding", "connection")


@dataclass
class HostedService:
    """Requests at the service: hosts that got the key, and paths outside the API."""

    sandbox_url: str
    key_hosts: set[str] = field(default_factory=set)
    strays: list[str] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        """Answer one request, by the host that it names."""
        host, path = request.headers["host"].partition(":")[0], request.url.path
        if "x-api-key" in request.headers:
            self.key_hosts.add(host)
        if host == HOST and not path.startswith(f"{PREFIX}/"):
            self.strays.append(path)
            return HTMLResponse("<h1>404 Not Found</h1>", status_code=404)
        path = path.removeprefix(PREFIX).replace(MODEL, "sandbox/text-to-video")
        body = (await request.body()).replace(FILES_URL.encode(), self._sandbox)
        names = ("host", "content-length")
        headers = {k: v for k, v in request.headers.items() if k not in names}
        async with httpx.AsyncClient(base_url=self.sandbox_url, timeout=None) as client:
            response = await client.request(
                request.method,
                path,
                params=request.query_params,
                content=body,
                headers=headers,
            )
        kept = {k: v for k, v in response.headers.items() if k not in SKIPPED}
        return Response(self._own(path, response), response.status_code, kept)

    @property
    def _sandbox(self) -> bytes:
        return self.sandbox_url.encode()

    def _own(self, path: str, response: httpx.Response) -> bytes:
        """Return a body with the names and in the shapes of this service."""
        if response.headers.get("content-type", "").startswith(("video", "image")):
            return response.content
        if "/billing/monthly/" in path and path.endswith("/csv"):
            return own_csv(response.text).encode()
        content = response.content.replace(self._sandbox, FILES_URL.encode())
        if "/billing/spend" in path or "/billing/monthly" in path:
            return json.dumps(own_report(json.loads(content))).encode()
        return content


def own_report(report: Any) -> Any:
    """Return a report that names the model alone, and its charges as dollars."""
    if not isinstance(report, dict):
        return report
    text = CHARGE_IN_JSON.sub(
        lambda match: f'"{OWN_CHARGE}": {in_usd(match[1])}',
        json.dumps(report).replace(*OWN_NAME),
    )
    return json.loads(text)


def own_csv(text: str) -> str:
    """Return a CSV with names of its own for the sum and for charges, as dollars."""
    rows = list(csv.reader(io.StringIO(text.replace(*OWN_NAME))))
    rows[-1] = [cell if cell.isdigit() else "" for cell in rows[-1]]
    rows[-1][0] = "Summe"
    place = rows[0].index(CHARGE)
    for row in rows[1:]:
        row[place] = in_usd(row[place])
    rows[0][place] = OWN_CHARGE
    target = io.StringIO()
    csv.writer(target).writerows(rows)
    return target.getvalue()


def in_usd(micro_usd: str) -> str:
    """Write an amount in US dollars, as decimals."""
    return str(Decimal(micro_usd) / 1_000_000)


CHARGE, OWN_CHARGE = "charge_micro_usd", "spend"
CHARGE_IN_JSON = re.compile(rf'"{CHARGE}": (\d+)')
OWN_NAME = ("sandbox/text-to-video/text-to-video", MODEL)


@contextmanager
def hosted(sandbox_url: str) -> Iterator[tuple[HostedService, int]]:
    """Serve it over plain HTTP within the block; yields it and its port."""
    service = HostedService(sandbox_url)
    app = Starlette(routes=[Route("/{path:path}", service.answer, methods=METHODS)])
    with serve(app, date_header=False) as url:
        yield service, int(url.rpartition(":")[2])
