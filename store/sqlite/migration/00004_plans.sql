-- What a plan file has created, so that reading it again creates nothing twice; and which
-- links a task has only because its parent has them.

-- +goose Up

CREATE TABLE plan_items (
  project_id INTEGER NOT NULL REFERENCES projects (id),
  item       TEXT    NOT NULL,
  task_id    INTEGER NOT NULL,
  PRIMARY KEY (project_id, item)
) STRICT, WITHOUT ROWID;

ALTER TABLE links ADD COLUMN inherited INTEGER NOT NULL DEFAULT 0;
