-- The tables as version 1 made them.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE org (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  balance_micro_usd INTEGER NOT NULL CHECK (balance_micro_usd >= 0),
  held_micro_usd INTEGER NOT NULL DEFAULT 0,
  concurrency INTEGER NOT NULL,
  queue_size INTEGER NOT NULL,
  queued_n INTEGER NOT NULL DEFAULT 0 CHECK (queued_n >= 0),
  running_n INTEGER NOT NULL DEFAULT 0 CHECK (running_n >= 0),
  CHECK (held_micro_usd BETWEEN 0 AND balance_micro_usd)
) STRICT;

CREATE TABLE api_key (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL REFERENCES org (id),
  sha256 BLOB NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('active', 'inactive')),
  created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE job (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  org TEXT NOT NULL REFERENCES org (id),
  api_key TEXT NOT NULL REFERENCES api_key (id),
  function TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('queued', 'running', 'completed', 'failed')),
  body TEXT,
  webhook_url TEXT,
  hold_micro_usd INTEGER NOT NULL CHECK (hold_micro_usd >= 0),
  run_no INTEGER NOT NULL DEFAULT 0,
  file TEXT NOT NULL UNIQUE,
  media_type TEXT,
  content_type TEXT,
  error_code TEXT,
  error_message TEXT,
  usage TEXT,
  runtime_ms INTEGER,
  created_us INTEGER NOT NULL,
  start_due_us INTEGER NOT NULL,
  started_us INTEGER,
  ended_us INTEGER,
  deleted_us INTEGER
) STRICT;
CREATE INDEX job_queued ON job (org, seq) WHERE status = 'queued';
CREATE INDEX job_running ON job (org) WHERE status = 'running';
CREATE INDEX job_erased ON job (deleted_us) WHERE deleted_us IS NOT NULL;

CREATE TABLE idempotency (
  org TEXT NOT NULL REFERENCES org (id),
  key TEXT NOT NULL,
  request_sha256 BLOB NOT NULL,
  job TEXT NOT NULL REFERENCES job (id),
  PRIMARY KEY (org, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE charge (
  job TEXT PRIMARY KEY REFERENCES job (id),
  org TEXT NOT NULL REFERENCES org (id),
  api_key TEXT NOT NULL REFERENCES api_key (id),
  function TEXT NOT NULL,
  completed INTEGER NOT NULL CHECK (completed IN (0, 1)),
  charge_micro_usd INTEGER NOT NULL CHECK (charge_micro_usd >= 0),
  hold_micro_usd INTEGER NOT NULL CHECK (hold_micro_usd >= charge_micro_usd),
  state TEXT NOT NULL CHECK (state IN ('pending', 'settled')),
  due_us INTEGER NOT NULL,
  settled_us INTEGER,
  CHECK ((state = 'settled') = (settled_us IS NOT NULL)),
  CHECK (completed = 1 OR charge_micro_usd = 0)
) STRICT;
CREATE INDEX charge_due ON charge (due_us) WHERE state = 'pending';
CREATE INDEX charge_settled ON charge (org, settled_us) WHERE state = 'settled';

CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  org TEXT NOT NULL REFERENCES org (id),
  job TEXT REFERENCES job (id),
  kind TEXT NOT NULL CHECK (kind IN ('opening', 'charge')),
  amount_micro_usd INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  UNIQUE (job, kind)
) STRICT;
CREATE TRIGGER ledger_keeps BEFORE UPDATE ON ledger
  BEGIN SELECT RAISE (ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_stays BEFORE DELETE ON ledger
  BEGIN SELECT RAISE (ABORT, 'the ledger is append-only'); END;

CREATE TABLE upload (
  file TEXT PRIMARY KEY,
  org TEXT NOT NULL REFERENCES org (id),
  api_key TEXT NOT NULL REFERENCES api_key (id),
  content_type TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  expires_us INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  stored_us INTEGER
) STRICT;
