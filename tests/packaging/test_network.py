"""The contacted hosts: the table in SECURITY.md, compared with real processes."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mediakit
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.offline import Offline
from tests.support.servers.serving import ROOT

SOURCE = Path(mediakit.__file__).parent
NETWORK = {"socket", "httpx", "httpcore", "aiohttp", "fsspec"}
NETWORK |= {"uvicorn", "distributed", "psycopg", "requests", "urllib3", "websockets"}
NETWORK |= {"http.client", "http.server", "urllib.request", "ftplib", "smtplib"}
ENGINE = "create_engine"
WORDS = {name.split(".")[0] for name in NETWORK} | {ENGINE}
# Reserved for documentation and tests (RFC 2606), and names of formats (SVG, XMP).
NOBODYS_HOST = re.compile(
    r"(?:[\w-]+\.)*(?:example(?:\.com)?|invalid|test)|localhost|127\.0\.0\.1"
    r"|www\.w3\.org|ns\.adobe\.com"
)
URL_HOST = re.compile(r"\b(?:https?|wss?)://([\w.-]+)")
SHIPPED = {".py", ".js", ".mjs", ".css", ".html"}

EVERYTHING = """
import mediakit as mk
client = mk.connect()
job = client.run("text-to-video", prompt="a kite", duration=3)
job.settle()
job.download()
client.run("video-upscale", video_url=job, upscale_factor="x2")
client.spend.monthly()
client.deliveries.list()
client.estimate("text-to-image", prompt="a kite")
print(mk.doctor())
client.close()
"""


def run(code: str, offline: Offline, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=offline.folder,
        env={**os.environ, **offline.variables, **more},
        capture_output=True,
        text=True,
        timeout=600,
    )


WAYS_OUT = """
import httpx, socket, traceback
for way in (
    lambda: socket.create_connection(("192.0.2.1", 443), 1),
    lambda: socket.getaddrinfo("names.example.com", 443),
    lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.2", 53)),
    lambda: httpx.get("https://api.example.com"),
):
    try:
        way()
    except Exception as error:
        print(error)
"""


def test_connections_without_a_network_are_refused_and_recorded(tmp_path: Path) -> None:
    offline = Offline(tmp_path)
    done = run(WAYS_OUT, offline)

    assert done.stdout.count("There is no network here") == 4, done.stdout
    assert offline.outside == {
        "192.0.2.1",
        "names.example.com",
        "192.0.2.2",
        "api.example.com",
    }


def test_a_client_contacts_only_the_bound_service(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    offline = Offline(tmp_path)
    done = run(
        EVERYTHING,
        offline,
        MEDIAKIT_BASE_URL=sandbox.base_url,
        MEDIAKIT_API_KEY=sandbox.api_key,
        MEDIAKIT_HOME=str(tmp_path / "home"),
    )
    port = sandbox.base_url.rpartition(":")[2]

    assert done.returncode == 0, done.stderr
    assert {pair for pair in offline.tried if pair[1] != "name"} == {
        ("127.0.0.1", port)
    }
    assert offline.outside == set()


def test_the_source_names_no_host() -> None:
    named = {
        (str(path.relative_to(SOURCE)), host)
        for path in SOURCE.rglob("*")
        if path.suffix in SHIPPED
        for host in URL_HOST.findall(path.read_text("utf-8"))
        if not NOBODYS_HOST.fullmatch(host)
    }

    assert named == set()


def test_every_place_that_can_open_a_connection_is_in_the_table() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    table = text.partition("| Host |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z_/]+)`", "".join(_last_cells(table))))

    assert named == {_room(path) for path in SOURCE.rglob("*.py") if _connects(path)}


def _last_cells(table: str) -> Iterator[str]:
    for line in table.splitlines():
        yield line.rstrip("| ").rpartition("|")[2]


def _room(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return "/".join(parts[:-1] or parts)


def _connects(path: Path) -> bool:
    """Tell whether a module imports something that opens or takes connections."""
    text = path.read_text("utf-8")
    # Most modules need no parsing.
    return any(word in text for word in WORDS) and any(
        name in NETWORK or name.split(".")[0] in NETWORK or name.endswith(ENGINE)
        for name in _imported(ast.parse(text))
    )


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from _imported(node)
