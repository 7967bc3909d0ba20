"""A team's history on a Postgres over TCP, with a password."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

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


def url(port: int, password: str = QUOTED) -> str:
    return f"postgresql://team:{password}@localhost:{port}/kites"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = free_port()
    more = {"listen_addresses": "127.0.0.1", "port": str(port)}
    with postgres({"pg_hba.conf": ALLOWED}, **more) as socket_dir:
        place = f"host={socket_dir} port={port} user={USER}"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("SET password_encryption = 'scram-sha-256'")
            connection.execute(f"CREATE USER team PASSWORD '{PASSWORD}'".encode())
            connection.execute("CREATE DATABASE kites OWNER team")
        yield port


def test_a_history_opens_with_a_password(port: int) -> None:
    with History(url(port)) as history:
        assert len(history.frame()) == 0
        assert PASSWORD not in repr(history)
        assert QUOTED not in repr(history)


@pytest.mark.parametrize("wrong", ["sesame-9", ""])
def test_a_wrong_password_is_a_sentence_without_it(port: int, wrong: str) -> None:
    with pytest.raises(MediakitError) as refused:
        History(url(port, wrong)).frame()

    assert "localhost" in str(refused.value)
    assert "sesame-9" not in str(refused.value)
