"""A team's history on a Postgres over TCP, with a password and TLS.

The Postgres of the tests is built without TLS, so a proxy in front of it ends it.
"""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import trustme

from mediakit.errors import MediakitError
from mediakit.history import History
from tests.support.servers.postgres import USER, postgres
from tests.support.servers.serving import free_port

pytestmark = pytest.mark.soak

PASSWORD = "p@ss:w/rd-of-the-team"
QUOTED = "p%40ss%3Aw%2Frd-of-the-team"
ALLOWED = b"""local all postgres trust
host all all 127.0.0.1/32 scram-sha-256
"""
SSL_REQUEST_BYTES = 8


class TLSProxy(socketserver.ThreadingTCPServer):
    """Answers a client's request for TLS, and passes on what it says inside.

    Args:
        context: With the server's certificate.
        port: Of the server behind it, on this machine.
    """

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.context, self.behind = context, ("127.0.0.1", port)


class _Connection(socketserver.BaseRequestHandler):
    server: TLSProxy

    def handle(self) -> None:
        self.request.recv(SSL_REQUEST_BYTES, socket.MSG_WAITALL)
        self.request.sendall(b"S")
        # A client that refuses the certificate goes away in the handshake.
        with suppress(OSError):
            inside = self.server.context.wrap_socket(self.request, server_side=True)
            with inside, socket.create_connection(self.server.behind) as behind:
                back = threading.Thread(target=_pump, args=(behind, inside))
                back.start()
                _pump(inside, behind)
                back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Team:
    """A server over TCP.

    Args:
        port: Where it listens.
        authority: The file with the certificate that signed the server's.
        stranger: One that did not.
    """

    port: int
    authority: Path
    stranger: Path

    def url(self, password: str = QUOTED, authority: Path | None = None) -> str:
        trusted = authority or self.authority
        return (
            f"postgresql://team:{password}@localhost:{self.port}/kites"
            f"?sslmode=verify-full&sslrootcert={trusted}"
        )


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder, port = tmp_path_factory.mktemp("certificates"), free_port()
    authority, stranger = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    stranger.cert_pem.write_to_path(folder / "stranger.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    more = {"listen_addresses": "127.0.0.1", "port": str(port)}
    with (
        postgres({"pg_hba.conf": ALLOWED}, **more) as socket_dir,
        TLSProxy(context, port) as proxy,
    ):
        place = f"host={socket_dir} port={port} user={USER}"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("SET password_encryption = 'scram-sha-256'")
            connection.execute(f"CREATE USER team PASSWORD '{PASSWORD}'".encode())
            connection.execute("CREATE DATABASE kites OWNER team")
        threading.Thread(target=proxy.serve_forever).start()
        at = proxy.server_address[1]
        yield Team(at, folder / "authority.pem", folder / "stranger.pem")
        proxy.shutdown()


def test_a_history_opens_with_a_password_over_tls(team: Team) -> None:
    with History(team.url()) as history:
        assert len(history.frame()) == 0
        assert PASSWORD not in repr(history)
        assert QUOTED not in repr(history)


@pytest.mark.parametrize("wrong", ["sesame-9", ""])
def test_a_wrong_password_is_a_sentence_without_it(team: Team, wrong: str) -> None:
    with pytest.raises(MediakitError) as refused:
        History(team.url(wrong)).frame()

    assert "localhost" in str(refused.value)
    assert "sesame-9" not in str(refused.value)


def test_a_server_that_nobody_vouches_for_is_refused(team: Team) -> None:
    with pytest.raises(MediakitError) as refused:
        History(team.url(authority=team.stranger)).frame()

    assert "certificate" in str(refused.value)
    assert PASSWORD not in str(refused.value)
    assert QUOTED not in str(refused.value)
