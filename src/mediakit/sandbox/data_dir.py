"""The data directory of a sandbox, with its account and address."""

import fcntl
import json
import os
import secrets
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mediakit.errors import ServiceError

PRIVATE_FILES = (
    "lock",
    "account.json",
    "server.json",
    "sandbox.sqlite3",
    "sandbox.sqlite3-wal",
    "sandbox.sqlite3-shm",
)
PRIVATE_FOLDERS = ("files", "scratch")


@dataclass(frozen=True)
class Account:
    """The account, which stays the same for the lifetime of a data directory."""

    identity: str
    api_key: str = field(repr=False)


class DataDir:
    """A data directory, and its small files besides the database."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().resolve()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / "lock").touch(mode=0o600)
            self._make_private()
        except OSError as problem:
            raise ServiceError(
                f"The sandbox cannot store data in {self.path}: {problem.strerror}. "
                "Choose another folder, with MEDIAKIT_HOME or --data-dir."
            ) from None

    def _make_private(self) -> None:
        """Let only the owner read the contents, even if others can read the folder."""
        # SQLite creates its WAL files with the permissions of the database.
        self.database.touch(mode=0o600)
        for name in PRIVATE_FILES:
            with suppress(FileNotFoundError):
                (self.path / name).chmod(0o600)
        for name in PRIVATE_FOLDERS:
            (self.path / name).mkdir(mode=0o700, exist_ok=True)
            (self.path / name).chmod(0o700)

    @property
    def database(self) -> Path:
        """Return the path of the database."""
        return self.path / "sandbox.sqlite3"

    def try_lock(self) -> int | None:
        """Return the descriptor of the lock; None if another server has it.

        The lock ends when it is closed or the process ends, however that happens.
        """
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as problem:
            os.close(descriptor)
            raise ServiceError(
                f"The sandbox cannot lock {self.path}: {problem.strerror}. A network "
                "drive may have no locks: choose a folder on a local disk, with "
                "MEDIAKIT_HOME or --data-dir."
            ) from None
        return descriptor

    def account(self) -> Account | None:
        """Read the account; None until a server creates it."""
        fields = self._read("account.json")
        return None if fields is None else Account(**fields)

    def open_account(self, api_key: str | None) -> Account:
        """Read or create the account."""
        old = self.account()
        account = Account(
            old.identity if old else f"sandbox:{uuid.uuid4()}",
            api_key or (old.api_key if old else f"mk_{secrets.token_urlsafe(24)}"),
        )
        if account != old:
            self._write("account.json", vars(account))
        return account

    def base_url(self) -> str | None:
        """Read the latest URL of the server; None if there was none."""
        base_url: str | None = self._server().get("base_url")
        return base_url

    def server_pid(self) -> int | None:
        """Read the process ID of the server, or None if there is none.

        A killed server leaves its ID behind.
        """
        pid: int | None = self._server().get("pid")
        return pid

    def _server(self) -> dict[str, Any]:
        return self._read("server.json") or {}

    def announce(self, base_url: str, pid: int | None) -> None:
        """Write the URL of the server."""
        self._write("server.json", {"base_url": base_url, "pid": pid})

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            fields: dict[str, Any] = json.loads((self.path / name).read_text("utf-8"))
        except FileNotFoundError:
            return None
        return fields

    def _write(self, name: str, fields: dict[str, str | int | None]) -> None:
        part = self.path / f"{name}.part"
        part.touch(mode=0o600)
        part.write_text(json.dumps(fields), "utf-8")
        part.replace(self.path / name)
