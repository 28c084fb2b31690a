-- What agents did at attempts, and what it cost: runs, and the newest parts of their logs.

-- +goose Up

CREATE TABLE runs (
  task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  nonce   TEXT    NOT NULL,
  agent   TEXT    NOT NULL,
  model   TEXT    NOT NULL,
  session TEXT    NOT NULL,
  tokens_in     INTEGER NOT NULL,
  tokens_out    INTEGER NOT NULL,
  tokens_cached INTEGER NOT NULL,
  cost    INTEGER, -- in millionths of a US dollar
  at      INTEGER NOT NULL,
  PRIMARY KEY (task_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_logs (
  task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  no      INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  text    TEXT    NOT NULL,
  PRIMARY KEY (task_id, attempt, no)
) STRICT;
