-- What the work of attempts changed.

-- +goose Up

CREATE TABLE diffs (
  task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  body    TEXT    NOT NULL, -- JSON
  PRIMARY KEY (task_id, attempt)
) STRICT;
