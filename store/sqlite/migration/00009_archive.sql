-- What has left the board, and how long a project keeps what is finished.

-- +goose Up

ALTER TABLE projects ADD COLUMN keep INTEGER NOT NULL DEFAULT 0;

-- The last event that was deleted: feeds begin after it.
ALTER TABLE meta ADD COLUMN feed_floor INTEGER NOT NULL DEFAULT 0;

-- tasks is a list of row ids; first and last are the smallest and the largest.
CREATE TABLE archives (
  id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  first      INTEGER NOT NULL,
  last       INTEGER NOT NULL,
  tasks      TEXT    NOT NULL,
  source     TEXT    NOT NULL,
  place      TEXT    NOT NULL,
  sha256     TEXT    NOT NULL,
  by         TEXT    NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX archives_tasks ON archives (project_id, last);
CREATE INDEX tasks_ended ON tasks (ended_at, id) WHERE ended_at IS NOT NULL;

-- An event is deleted only after its task, which was archived.
DROP TRIGGER events_delete;
-- +goose StatementBegin
CREATE TRIGGER events_delete BEFORE DELETE ON events
WHEN EXISTS (SELECT 1 FROM tasks WHERE id = OLD.task_id)
  OR NOT EXISTS (SELECT 1 FROM archives a, json_each(a.tasks) j
    WHERE a.project_id = OLD.task_id >> 40 AND OLD.task_id BETWEEN a.first AND a.last AND j.value = OLD.task_id)
BEGIN
  SELECT RAISE(ABORT, 'an event is never deleted, except with a task that was archived');
END;
-- +goose StatementEnd
