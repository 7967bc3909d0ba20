"""A server extension that reaches ports of its machine, like jupyter-server-proxy."""

from __future__ import annotations

from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado.httpclient import AsyncHTTPClient
from tornado.web import authenticated

PASSED = ("Content-Type", "Content-Range", "Accept-Ranges")


class PortProxyHandler(JupyterHandler):
    """Forwards a request to a port; without a cookie, redirects to the login page."""

    @authenticated
    async def get(self, port: str, path: str) -> None:
        await self._pass_on(port, path)

    @authenticated
    async def head(self, port: str, path: str) -> None:
        await self._pass_on(port, path)

    async def _pass_on(self, port: str, path: str) -> None:
        kept = {n: v for n, v in self.request.headers.items() if n == "Range"}
        response = await AsyncHTTPClient().fetch(
            f"http://127.0.0.1:{port}/{path}?{self.request.query}",
            method=str(self.request.method),
            headers=kept,
            raise_error=False,
        )
        self.set_status(response.code)
        for name in PASSED:
            if name in response.headers:
                self.set_header(name, response.headers[name])
        await self.finish(response.body or b"")


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    where = url_path_join(server.web_app.settings["base_url"], r"/proxy/(\d+)/(.*)")
    server.web_app.add_handlers(".*$", [(where, PortProxyHandler)])
