-- What the work of attempts changed.

-- +goose Up

CREATE TABLE diffs (
	task_id bigint NOT NULL,
	attempt int NOT NULL,
	body    text NOT NULL, -- JSON
	PRIMARY KEY (task_id, attempt)
);

-- +goose Down

DROP TABLE diffs;
