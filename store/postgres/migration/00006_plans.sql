-- What a plan file has created, so that reading it again creates nothing twice; and which
-- links a task has only because its parent has them.

-- +goose Up

CREATE TABLE plan_items (
	project_id int    NOT NULL,
	item       text   NOT NULL,
	task_id    bigint NOT NULL,
	PRIMARY KEY (project_id, item)
);

ALTER TABLE links ADD COLUMN inherited boolean NOT NULL DEFAULT false;

-- +goose Down

ALTER TABLE links DROP COLUMN inherited;
DROP TABLE plan_items;
