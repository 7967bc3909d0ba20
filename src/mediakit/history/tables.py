"""The current tables of the history; `migrations` has older versions."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Enum,
    Index,
    Insert,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    exists,
)
from sqlalchemy.dialects import postgresql, sqlite

from mediakit.api_models import BillingState, JobStatus
from mediakit.clock import to_instant, to_us
from mediakit.history.entry import EntryState


class Instant(TypeDecorator[datetime]):
    """An aware instant, stored as microseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> object:
        """Write an instant."""
        return None if value is None else to_us(value)

    def process_result_value(
        self, value: int | None, dialect: Dialect
    ) -> datetime | None:
        """Read an instant, in UTC."""
        return None if value is None else to_instant(value)


def storable(text: str) -> str:
    """Replace NUL and lone surrogates, which a database cannot store."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class Words(TypeDecorator[str]):
    """Untrusted text, in which unstorable characters are replaced."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Write text."""
        return None if value is None else storable(value)


def choice_of(kind: type[StrEnum]) -> Enum:
    """Return the column type of an enumeration, which is stored as text."""
    values = [each.value for each in kind]
    return Enum(kind, native_enum=False, length=20, values_callable=lambda _: values)


metadata = MetaData()
_number = BigInteger().with_variant(Integer, "sqlite")  # SQLite's row id

schema_version = Table(
    "mediakit_version", metadata, Column("version", Integer, nullable=False)
)

entries = Table(
    "mediakit_entries",
    metadata,
    Column("number", _number, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False, unique=True),
    Column("draw_key", String, nullable=False),
    Column("asked_key", String, nullable=False),
    Column("service", String, nullable=False),
    Column("account", String, nullable=False),
    Column("function", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("prompt", Words),
    Column("webhook_url", Words),
    Column("take", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("estimate_kind", String, nullable=False),
    Column("estimate_low_micro_usd", BigInteger),
    Column("estimate_high_micro_usd", BigInteger),
    Column("reserved_micro_usd", BigInteger, nullable=False),
    Column("project", Words),
    Column("budget", Words),
    Column("sweep", Words),
    Column("state", choice_of(EntryState), nullable=False),
    Column("job_id", Words),
    Column("status", choice_of(JobStatus)),
    Column("error_code", Words),
    Column("error_message", Words),
    Column("billing_state", choice_of(BillingState)),
    Column("charge_micro_usd", BigInteger),
    Column("restated_charge_micro_usd", BigInteger),
    Column("output_url", Words),
    Column("content_type", Words),
    Column("media_type", Words),
    Column("created_at", Instant, nullable=False),
    Column("submitted_at", Instant),
    Column("finished_at", Instant),
    Column("settled_at", Instant),
    Column("deleted_at", Instant),
    Column("gone_at", Instant),
    Column("search", Words, nullable=False, server_default=""),  # the searched text
    Index("ix_mediakit_draw", "draw_key", "take"),
    # A request is sent once, even if two URLs of one medium give it two keys.
    Index("ix_mediakit_asked", "asked_key", "take", "attempt", unique=True),
    # Unsettled entries come first; sums of recent charges need the index alone.
    Index(
        "ix_mediakit_charges", "service", "settled_at", "account", "charge_micro_usd"
    ),
    Index("ix_mediakit_kind", "kind", "number"),
    Index("ix_mediakit_function", "service", "function"),
)

# Each job has one entry, so that its charge counts once. A new entry has no job yet.
Index(
    "ix_mediakit_job",
    entries.c.job_id,
    unique=True,
    sqlite_where=entries.c.job_id.is_not(None),
    postgresql_where=entries.c.job_id.is_not(None),
)

# Most entries have no sweep.
Index(
    "ix_mediakit_sweep",
    entries.c.sweep,
    sqlite_where=entries.c.sweep.is_not(None),
    postgresql_where=entries.c.sweep.is_not(None),
)

# The sums of an account's, a budget's or a sweep's entries, so that a claim takes as
# long in a budget of 100,000 jobs as in an empty one; and the limit of the last claim,
# for clients that retry without knowing the limit.
totals = Table(
    "mediakit_totals",
    metadata,
    Column("name", Words, primary_key=True),
    Column("spent_micro_usd", BigInteger, nullable=False),
    Column("reserved_micro_usd", BigInteger, nullable=False),
    Column("limit_micro_usd", BigInteger),
)

uploads = Table(
    "mediakit_uploads",
    metadata,
    Column("service", String, primary_key=True),
    Column("sha256", String, primary_key=True),
    Column("content_type", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
)

# By content: all takes and attempts of a request have the same parents.
parents = Table(
    "mediakit_parents",
    metadata,
    Column("draw_key", String, primary_key=True),
    Column("field", Words, primary_key=True),
    Column("job_id", Words, nullable=False),
    Index("ix_mediakit_parents", "job_id"),
)

judgements = Table(
    "mediakit_judgements",
    metadata,
    Column("service", String, primary_key=True),
    Column("account", String, primary_key=True),
    Column("job_id", Words, primary_key=True),
    Column("rating", SmallInteger),
    Column("keep", Boolean, nullable=False),
    Column("tags", Words, nullable=False),  # a JSON list of strings
    Column("note", Words, nullable=False),
    Column("rater", Words, nullable=False),
    Column("rated_at", Instant, nullable=False),
)

preferences = Table(
    "mediakit_preferences",
    metadata,
    Column("service", String, nullable=False),
    Column("account", String, nullable=False),
    Column("winner", Words, nullable=False),
    Column("loser", Words, nullable=False),
    Column("tie", Boolean, nullable=False),
    Column("rater", Words, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_mediakit_preferences", "service", "account", "at"),
)

# The sweeps that were run, so that results can be found by the ID of the sweep.
sweeps = Table(
    "mediakit_sweeps",
    metadata,
    Column("id", String, primary_key=True),
    Column("service", String, nullable=False),
    Column("function", String, nullable=False),
    Column("axes", Words, nullable=False),  # a JSON list of strings
    Column("prompt", Words),
    Column("code", Words, nullable=False),
    Column("begun_at", Instant, nullable=False),
)

sweep_cells = Table(
    "mediakit_sweep_cells",
    metadata,
    Column("sweep", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("asked_key", String, nullable=False),
    Column("take", Integer, nullable=False),
    Column("point", Words, nullable=False),  # a JSON object
)

scores = Table(
    "mediakit_scores",
    metadata,
    Column("seen", String, primary_key=True),  # hash of the output and the row
    Column("scorer", Words, primary_key=True),
    Column("version", Words, primary_key=True),
    Column("score", Text, nullable=False),  # a JSON object of numbers and strings
    Column("scored_at", Instant, nullable=False),
)

# The jobs of a score; several jobs with the same output share a score.
job_scores = Table(
    "mediakit_job_scores",
    metadata,
    Column("service", String, primary_key=True),
    Column("account", String, primary_key=True),
    Column("job_id", Words, primary_key=True),
    Column("scorer", Words, primary_key=True),
    Column("version", Words, primary_key=True),
    Column("seen", String, primary_key=True),
    Column("cost_micro_usd", BigInteger),
    Column("used_at", Instant, nullable=False),
)

hashes = Table(
    "mediakit_hashes",
    metadata,
    Column("service", String, primary_key=True),
    Column("account", String, primary_key=True),
    Column("job_id", Words, primary_key=True),
    Column("sha256", String, nullable=False),
)

# The forms that requested an entry; an entry can have several.
origins = Table(
    "mediakit_origins",
    metadata,
    Column("origin", Words, primary_key=True),
    Column("key", String, primary_key=True),
    Index("ix_mediakit_origins", "key"),
)

# The last values of forms, including unsent values.
drafts = Table(
    "mediakit_drafts",
    metadata,
    Column("origin", Words, primary_key=True),
    Column("content", Text, nullable=False),  # a JSON object
    Column("saved_at", Instant, nullable=False),
)


def has_later_attempt() -> ColumnElement[bool]:
    """Return the condition that an entry is not the last attempt at its take."""
    later = entries.alias("later")
    return exists().where(
        later.c.asked_key == entries.c.asked_key,
        later.c.take == entries.c.take,
        later.c.attempt > entries.c.attempt,
    )


def upsert(
    db: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    update: Collection[str] = (),
) -> None:
    """Insert rows; in existing rows, update only the given columns."""
    if rows:
        db.execute(upserting(db.dialect.name, table, tuple(update)), rows)


@cache
def upserting(dialect: str, table: Table, update: tuple[str, ...] = ()) -> Insert:
    """Return the statement of `upsert`."""
    new = insert_into(dialect, table)
    if not update:
        return new.on_conflict_do_nothing()
    changes = {name: new.excluded[name] for name in update}
    key = list(table.primary_key)
    return new.on_conflict_do_update(index_elements=key, set_=changes)


def insert_into(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that supports ON CONFLICT."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
