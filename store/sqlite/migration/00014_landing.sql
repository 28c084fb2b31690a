-- Where accepted work is landed, who lands it, and each move of a target, which is announced before it
-- is made. A program that does not know these would not land work: the first project that lands its
-- work raises min_schema, and not this migration.

-- +goose Up

ALTER TABLE projects ADD COLUMN land TEXT NOT NULL DEFAULT '';

CREATE TABLE landers (
  project_id  INTEGER NOT NULL REFERENCES projects (id),
  target      TEXT    NOT NULL,
  nonce       TEXT    NOT NULL,
  principal   TEXT    NOT NULL,
  owner       TEXT    NOT NULL,
  holder      TEXT    NOT NULL,
  lease_until INTEGER NOT NULL,
  note        TEXT    NOT NULL,
  PRIMARY KEY (project_id, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX landers_owner ON landers (owner);

CREATE TABLE intents (
  id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  target     TEXT    NOT NULL,
  old        TEXT    NOT NULL,
  new        TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  holder     TEXT    NOT NULL,
  nonce      TEXT    NOT NULL,
  by         TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX intents_open ON intents (project_id, target) WHERE state = 'open';
CREATE INDEX intents_project ON intents (project_id, id);

CREATE TABLE intent_items (
  intent_id INTEGER NOT NULL REFERENCES intents (id) DEFERRABLE INITIALLY DEFERRED,
  task_id   INTEGER NOT NULL,
  attempt   INTEGER NOT NULL,
  tip       TEXT    NOT NULL,
  PRIMARY KEY (intent_id, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX intent_items_task ON intent_items (task_id);

DROP TRIGGER events_update;
-- +goose StatementBegin
CREATE TRIGGER events_update BEFORE UPDATE ON events
WHEN NOT (NEW.id = OLD.id AND NEW.task_id = OLD.task_id AND NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.actor = OLD.actor
  AND NEW.kind = OLD.kind AND NEW.from_status = OLD.from_status AND NEW.to_status = OLD.to_status
  AND coalesce(NEW.detail ->> '$.Erased.By', '') <> '' AND coalesce(NEW.detail ->> '$.Erased.Reason', '') <> ''
  AND NEW.detail ->> '$.Erased.At' IS NOT NULL
  AND coalesce(NEW.detail ->> '$.Text', '[erased]') IN ('[erased]', CASE OLD.kind WHEN 'imported' THEN OLD.detail ->> '$.Text' ELSE '' END)
  AND NEW.detail -> '$.Where' IS NULL AND NEW.detail -> '$.Was' IS NULL AND NEW.detail -> '$.Prior' IS NULL AND NEW.detail -> '$.Run' IS NULL
  AND NEW.detail -> '$.Returned' IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'an event is never changed, except that its content is erased');
END;
-- +goose StatementEnd
