"""Migrates a sandbox's database of an older version, step by step."""

import logging
import sqlite3
from contextlib import suppress
from pathlib import Path

from mediakit.errors import ServiceError
from mediakit.migration_steps import UPGRADE_COMMAND, Migrations, copy_beside

logger = logging.getLogger(__name__)

MIGRATIONS: Migrations[sqlite3.Connection] = Migrations(first=5, steps=[])
"""The steps of the sandbox. `database.TABLES` is their result."""


def version_in(connection: sqlite3.Connection) -> int:
    """Return the version of a database; 0 if it is new."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Migrate a database to this version, after copying the file.

    Raises:
        ServiceError: Its version is newer, or too old; or the disk is full, or
            the file cannot be written. The database was not changed.
    """
    version = old_version = version_in(connection)
    copy = None
    # A step may rebuild a table that others refer to.
    connection.execute("PRAGMA foreign_keys = OFF")
    while MIGRATIONS.step_from(version) is not None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            if version_in(connection) == version:
                copy = copy or copy_beside(path, version)
                _take_step(connection, version)
            connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            _roll_back(connection)
            raise ServiceError(
                f"The sandbox's data in {path} has version {version} and could not be "
                f"migrated to version {version + 1} ({error}). It was not changed. "
                "Free disk space twice the size of the file, and check that the file "
                "and its folder can be written, then start again."
            ) from error
        except BaseException:
            _roll_back(connection)
            raise
        version = version_in(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    if version != MIGRATIONS.version:
        raise _of_another_version(path, version)
    if copy is not None:
        logger.warning(
            "The sandbox's data in %s was migrated from version %d to %d. A copy of "
            "the old database is in %s.",
            path,
            old_version,
            version,
            copy,
        )


def _take_step(connection: sqlite3.Connection, version: int) -> None:
    step = MIGRATIONS.step_from(version)
    assert step is not None
    step(connection)
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise sqlite3.IntegrityError(f"broken references in {broken[0][0]}")
    connection.execute(f"PRAGMA user_version = {version + 1}")


def _roll_back(connection: sqlite3.Connection) -> None:
    # A full disk may have ended the transaction already.
    with suppress(sqlite3.OperationalError):
        connection.execute("ROLLBACK")


def _of_another_version(path: Path, version: int) -> ServiceError:
    advice = (
        f"Upgrade mediakit ({UPGRADE_COMMAND}) and restart the kernel, or use"
        if version > MIGRATIONS.version
        else "Use"
    )
    return ServiceError(
        f"The sandbox's data in {path} {MIGRATIONS.problem(version)}. It was not "
        f"changed. {advice} another data directory."
    )
