"""How a database becomes a history of this version, new or older."""

from collections.abc import Callable

from sqlalchemy import (
    Connection,
    Engine,
    Integer,
    Text,
    bindparam,
    column,
    delete,
    func,
    insert,
    select,
    table,
    text,
    update,
)

from mediakit.errors import InputError
from mediakit.history.storage.locks import lock
from mediakit.history.storage.places import UNTOUCHED
from mediakit.history.storage.search_text import SEARCHED, searchable
from mediakit.history.storage.tables import metadata, schema_version

_VERSION_2 = (
    "ALTER TABLE mediakit_entries ADD COLUMN budget VARCHAR",
    "ALTER TABLE mediakit_entries ADD COLUMN search TEXT DEFAULT '' NOT NULL",
    "ALTER TABLE mediakit_entries ADD COLUMN revision INTEGER DEFAULT '0' NOT NULL",
    "DROP INDEX ix_mediakit_state",
    "CREATE INDEX ix_mediakit_state ON mediakit_entries "
    "(service, account, state, charge_micro_usd)",
    "CREATE INDEX ix_mediakit_runs ON mediakit_entries "
    "(service, function, status, number)",
    "CREATE INDEX ix_mediakit_budget ON mediakit_entries "
    "(budget, state, charge_micro_usd) WHERE budget IS NOT NULL",
)
_VERSION_3 = (
    "DROP INDEX ix_mediakit_job",
    "DROP INDEX ix_mediakit_draw",
    "DROP INDEX ix_mediakit_state",
    "DROP INDEX ix_mediakit_runs",
    "DROP INDEX ix_mediakit_budget",
    "CREATE INDEX ix_mediakit_job ON mediakit_entries (job_id) "
    "WHERE job_id IS NOT NULL",
    "CREATE INDEX ix_mediakit_draw ON mediakit_entries (draw_key, take, attempt)",
    "CREATE INDEX ix_mediakit_charges ON mediakit_entries "
    "(service, account, settled_at, charge_micro_usd)",
    "CREATE TABLE mediakit_totals (name VARCHAR NOT NULL, "
    "spent_micro_usd BIGINT NOT NULL, reserved_micro_usd BIGINT NOT NULL, "
    "PRIMARY KEY (name))",
    "INSERT INTO mediakit_totals SELECT 'account ' || service || ' ' || account, "
    "{sums} FROM mediakit_entries GROUP BY service, account",
    "INSERT INTO mediakit_totals SELECT 'budget ' || budget, "
    "{sums} FROM mediakit_entries WHERE budget IS NOT NULL GROUP BY budget",
)
_VERSION_4 = (
    "ALTER TABLE mediakit_entries ADD COLUMN sweep VARCHAR",
    "CREATE INDEX ix_mediakit_sweep ON mediakit_entries (sweep) "
    "WHERE sweep IS NOT NULL",
    "CREATE INDEX ix_mediakit_function ON mediakit_entries "
    "(service, account, function)",
    "CREATE TABLE mediakit_parents (draw_key VARCHAR NOT NULL, "
    "field VARCHAR NOT NULL, job_id VARCHAR NOT NULL, url TEXT NOT NULL, "
    "PRIMARY KEY (draw_key, field))",
    "CREATE INDEX ix_mediakit_parents ON mediakit_parents (job_id)",
    "CREATE TABLE mediakit_judgements (service VARCHAR NOT NULL, "
    "account VARCHAR NOT NULL, job_id VARCHAR NOT NULL, rating SMALLINT, "
    "keep BOOLEAN NOT NULL, tags TEXT NOT NULL, note TEXT NOT NULL, "
    "rater VARCHAR NOT NULL, rated_at BIGINT NOT NULL, "
    "PRIMARY KEY (service, account, job_id))",
    "CREATE TABLE mediakit_preferences (service VARCHAR NOT NULL, "
    "account VARCHAR NOT NULL, winner VARCHAR NOT NULL, loser VARCHAR NOT NULL, "
    "tie BOOLEAN NOT NULL, rater VARCHAR NOT NULL, at BIGINT NOT NULL)",
    "CREATE INDEX ix_mediakit_preferences ON mediakit_preferences "
    "(service, account, at)",
    "CREATE TABLE mediakit_scores (sha256 VARCHAR NOT NULL, "
    "scorer VARCHAR NOT NULL, version VARCHAR NOT NULL, numbers TEXT, error TEXT, "
    "scored_at BIGINT NOT NULL, PRIMARY KEY (sha256, scorer, version))",
    "CREATE TABLE mediakit_hashes (service VARCHAR NOT NULL, "
    "account VARCHAR NOT NULL, job_id VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, "
    "PRIMARY KEY (service, account, job_id))",
)
_VERSION_5 = (
    "CREATE TABLE mediakit_origins (origin TEXT NOT NULL, key VARCHAR NOT NULL, "
    "PRIMARY KEY (origin, key))",
    "CREATE INDEX ix_mediakit_origins ON mediakit_origins (key)",
    "CREATE TABLE mediakit_drafts (origin TEXT NOT NULL, content TEXT NOT NULL, "
    "saved_at BIGINT NOT NULL, PRIMARY KEY (origin))",
)
_SUMS_3 = (
    "COALESCE(SUM(charge_micro_usd), 0), COALESCE(SUM(CASE "
    "WHEN state IN ('intent', 'submitted', 'terminal') AND gone_at IS NULL "
    "AND (status IS NULL OR status <> 'failed') THEN reserved_micro_usd END), 0)"
)
_BATCH = 1_000


def _to_version_2(connection: Connection) -> None:
    """Add budgets, the search and the count of changes."""
    for statement in _VERSION_2:
        connection.execute(text(statement))
    _fill_search(connection)


def _to_version_3(connection: Connection) -> None:
    """Keep totals, and write fewer pages for each change of an entry."""
    for statement in _VERSION_3:
        connection.execute(text(statement.format(sums=_SUMS_3)))


def _to_version_4(connection: Connection) -> None:
    """Add what sweeps need."""
    for statement in _VERSION_4:
        connection.execute(text(statement))


def _to_version_5(connection: Connection) -> None:
    """Add what forms hold, and which of them asked for a request."""
    for statement in _VERSION_5:
        connection.execute(text(statement))


def _fill_search(connection: Connection) -> None:
    names = ("number", "search", *SEARCHED)
    entries = table("mediakit_entries", *(column(name) for name in names))
    texts = (entries.c[name] for name in SEARCHED)
    query = select(entries.c.number, *texts).order_by(entries.c.number).limit(_BATCH)
    fill = (
        update(entries)
        .where(entries.c.number == bindparam("its", type_=Integer))
        .values(search=bindparam("words", type_=Text))
    )
    done = 0
    while rows := connection.execute(query.where(entries.c.number > done)).all():
        words = [{"its": row.number, "words": searchable(row[1:])} for row in rows]
        connection.execute(fill, words)
        done = rows[-1].number


# The nth step takes a database of version n to version n + 1. Steps of released
# versions never change: a new version is a new step.
MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    _to_version_2,
    _to_version_3,
    _to_version_4,
    _to_version_5,
)


def newest_version() -> int:
    """Return the version that this mediakit writes."""
    return len(MIGRATIONS) + 1


def migrate(reader: Engine, writer: Engine, *, name: str) -> None:
    """Bring a database to this version; of several processes one does it.

    Args:
        reader: The database.
        writer: The same, its transactions taking the write lock first.
        name: What to call it in errors.

    Raises:
        InputError: A newer mediakit wrote it.
    """
    with reader.begin() as connection:
        found = _version(connection, name)
    if found == newest_version():
        return  # the usual case, which takes no lock
    with writer.begin() as connection:
        lock(connection, "schema")
        _move_up(connection, _version(connection, name))


def _move_up(connection: Connection, found: int) -> None:
    if found == newest_version():
        return  # another process was faster
    if found == 0:
        metadata.create_all(connection)
    else:
        for step in MIGRATIONS[found - 1 :]:
            step(connection)
    connection.execute(delete(schema_version))
    connection.execute(insert(schema_version).values(version=newest_version()))


def _version(connection: Connection, name: str) -> int:
    if not connection.dialect.has_table(connection, schema_version.name):
        return 0
    found = connection.execute(select(func.max(schema_version.c.version))).scalar() or 0
    if found > newest_version():
        raise InputError(
            "history",
            got=f"format version {found} in {name}",
            accepted=f"version {newest_version()} or older; a newer mediakit wrote it",
            sent=f"{UNTOUCHED} Upgrade mediakit, or set MEDIAKIT_HISTORY to another.",
        )
    return int(found)
