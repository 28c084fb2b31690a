-- Calls of other servers' tools through the gateway, what they returned, what the servers list, and which
-- definitions may be used.

-- +goose Up

CREATE TABLE gateway_calls (
  id        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  task_id   INTEGER REFERENCES tasks (id) ON DELETE CASCADE, -- NULL: a call without a claim
  attempt   INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  worker    TEXT    NOT NULL,
  upstream  TEXT    NOT NULL,
  tool      TEXT    NOT NULL,
  class     TEXT    NOT NULL,
  step      TEXT,
  args_hash BLOB    NOT NULL,
  args      TEXT    NOT NULL,
  began_at  INTEGER NOT NULL,
  deadline  INTEGER NOT NULL,
  ended_at  INTEGER,
  outcome   TEXT    NOT NULL DEFAULT '', -- empty: not ended
  error     TEXT    NOT NULL DEFAULT '',
  bytes     INTEGER NOT NULL DEFAULT 0,
  result    TEXT    NOT NULL DEFAULT '',
  artifact  INTEGER,
  follow    TEXT    NOT NULL DEFAULT '' -- the upstream's own task that the call became
) STRICT;
CREATE INDEX gateway_calls_task ON gateway_calls (task_id, id);
CREATE UNIQUE INDEX gateway_calls_step ON gateway_calls (task_id, step) WHERE step IS NOT NULL;
CREATE INDEX gateway_calls_old ON gateway_calls (began_at) WHERE task_id IS NULL;

CREATE TABLE gateway_reads (
  task_id  INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  attempt  INTEGER NOT NULL,
  upstream TEXT    NOT NULL,
  tool     TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  errors   INTEGER NOT NULL,
  last_at  INTEGER NOT NULL,
  PRIMARY KEY (task_id, attempt, upstream, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE gateway_artifacts (
  id        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  task_id   INTEGER REFERENCES tasks (id) ON DELETE CASCADE, -- NULL: of a call without a claim
  principal TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  size      INTEGER NOT NULL,
  stored    INTEGER NOT NULL, -- less than size if it was cut
  at        INTEGER NOT NULL,
  body      BLOB    NOT NULL
) STRICT;
CREATE INDEX gateway_artifacts_task ON gateway_artifacts (task_id, stored);
CREATE INDEX gateway_artifacts_principal ON gateway_artifacts (principal, stored) WHERE task_id IS NULL;
CREATE INDEX gateway_artifacts_at ON gateway_artifacts (at);

CREATE TABLE gateway_catalogues (
  upstream TEXT NOT NULL PRIMARY KEY,
  body     TEXT NOT NULL
) STRICT;

CREATE TABLE gateway_pins (
  upstream TEXT    NOT NULL,
  kind     TEXT    NOT NULL,
  name     TEXT    NOT NULL,
  hash     TEXT    NOT NULL,
  body     TEXT    NOT NULL,
  by       TEXT    NOT NULL, -- empty: accepted as the first of its name
  at       INTEGER NOT NULL,
  PRIMARY KEY (upstream, kind, name, hash)
) STRICT;

-- With this key the arguments of calls are hashed, since a plain hash of short ones can be guessed.
ALTER TABLE meta ADD COLUMN call_key TEXT NOT NULL DEFAULT '';
UPDATE meta SET call_key = hex(randomblob(32));
