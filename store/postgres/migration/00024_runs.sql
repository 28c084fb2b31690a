-- What agents did at attempts, and what it cost: runs, and the newest parts of their logs.

-- +goose Up

CREATE TABLE runs (
	task_id       bigint NOT NULL,
	attempt       int NOT NULL,
	nonce         text NOT NULL,
	agent         text NOT NULL,
	model         text NOT NULL,
	session       text NOT NULL,
	tokens_in     bigint NOT NULL,
	tokens_out    bigint NOT NULL,
	tokens_cached bigint NOT NULL,
	cost          bigint, -- in millionths of a US dollar
	at            timestamptz NOT NULL,
	PRIMARY KEY (task_id, attempt)
) WITH (fillfactor = 70);

CREATE TABLE run_logs (
	task_id bigint NOT NULL,
	attempt int NOT NULL,
	no      bigint NOT NULL,
	size    int NOT NULL,
	text    text NOT NULL,
	PRIMARY KEY (task_id, attempt, no)
);

-- +goose Down

DROP TABLE run_logs, runs;
