-- Where notifications are sent, and those on their way.

-- +goose Up

CREATE TABLE push_targets (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	kind        text NOT NULL,
	key_id      text NOT NULL, -- of a person; empty for a webhook
	project     text NOT NULL, -- of a webhook, or *; empty for a person's target
	name        text NOT NULL,
	url         text NOT NULL,
	topic       text NOT NULL,
	secret      text NOT NULL,
	public_key  bytea NOT NULL,
	auth_secret bytea NOT NULL,
	events      text[] NOT NULL,
	texts       boolean NOT NULL,
	created_at  timestamptz NOT NULL DEFAULT statement_timestamp(),
	created_by  text NOT NULL,
	disabled_at timestamptz,
	reason      text NOT NULL DEFAULT '',
	failures    int NOT NULL DEFAULT 0,
	last_error  text NOT NULL DEFAULT '',
	cursor      text NOT NULL
);
CREATE INDEX push_targets_key ON push_targets (key_id, id);
CREATE UNIQUE INDEX push_targets_browser ON push_targets (url) WHERE kind = 'browser';

CREATE TABLE push_deliveries (
	id          text PRIMARY KEY,
	target_id   bigint NOT NULL REFERENCES push_targets ON DELETE CASCADE,
	type        text NOT NULL,
	at          timestamptz NOT NULL,
	project     text NOT NULL,
	task_no     bigint NOT NULL, -- 0: a question without a task
	seq         bigint NOT NULL,
	question    bigint NOT NULL,
	attempt     int NOT NULL,
	from_status text NOT NULL,
	to_status   text NOT NULL,
	tries       int NOT NULL DEFAULT 0,
	next_at     timestamptz NOT NULL DEFAULT statement_timestamp(), -- or the end of its lease
	dead_at     timestamptz,
	error       text NOT NULL DEFAULT ''
);
CREATE INDEX push_deliveries_due ON push_deliveries (target_id, next_at) WHERE dead_at IS NULL;
CREATE INDEX push_deliveries_dead ON push_deliveries (target_id, dead_at) WHERE dead_at IS NOT NULL;

-- The key with which push services know this server.
CREATE TABLE push_keys (
	id    int PRIMARY KEY CHECK (id = 1),
	vapid bytea NOT NULL
);

-- A question without a task makes no event. This is the state that targets were told of.
ALTER TABLE questions ADD COLUMN pushed text NOT NULL DEFAULT '';
UPDATE questions SET pushed = state WHERE task_id IS NULL;
CREATE INDEX questions_unpushed ON questions (id) WHERE task_id IS NULL AND pushed <> state;

-- +goose Down

ALTER TABLE questions DROP COLUMN pushed;
DROP TABLE push_deliveries, push_targets, push_keys;
