-- A live claim on the review of a task. It is apart from claims, because a program that
-- does not know it would count its expiry as a failure of the task.

-- +goose Up

CREATE TABLE reviews (
	task_id     bigint PRIMARY KEY,
	nonce       text NOT NULL,
	principal   text NOT NULL,
	worker      text NOT NULL,
	owner       text NOT NULL,
	session     text NOT NULL,
	granted_at  timestamptz NOT NULL,
	lease_until timestamptz NOT NULL,
	lease       interval NOT NULL,
	deliveries  int NOT NULL,
	UNIQUE (principal, worker)
);
CREATE INDEX reviews_lease ON reviews (lease_until);

-- +goose Down

DROP TABLE reviews;
