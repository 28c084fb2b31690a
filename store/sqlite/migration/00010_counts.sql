-- How many tasks of each status there are: task_counts has those up to the event
-- meta.counted, and the events after it have the rest. So programs that do not know it need
-- not count. The indexes are for lists of what is not over, and for the workers of a process.

-- +goose Up

CREATE TABLE task_counts (
  project_id INTEGER NOT NULL,
  status     TEXT    NOT NULL,
  n          INTEGER NOT NULL,
  PRIMARY KEY (project_id, status)
) STRICT, WITHOUT ROWID;
INSERT INTO task_counts (project_id, status, n) SELECT id >> 40, status, count(*) FROM tasks GROUP BY 1, 2;
ALTER TABLE meta ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET counted = coalesce((SELECT max(id) FROM events), 0);

CREATE INDEX tasks_open ON tasks (id) WHERE status NOT IN ('done', 'cancelled');
CREATE INDEX workers_owner ON workers (owner) WHERE owner <> '';
