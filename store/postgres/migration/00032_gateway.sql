-- Calls of other servers' tools through the gateway, what they returned, what the servers list, and which
-- definitions may be used.

-- +goose Up

-- No foreign key: an admission locks the claim and nothing else.
CREATE TABLE gateway_calls (
	id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	task_id   bigint, -- NULL: a call without a claim
	attempt   int NOT NULL,
	principal text NOT NULL,
	worker    text NOT NULL,
	upstream  text NOT NULL,
	tool      text NOT NULL,
	class     text NOT NULL,
	step      text,
	args_hash bytea NOT NULL,
	args      text NOT NULL,
	began_at  timestamptz NOT NULL,
	deadline  timestamptz NOT NULL,
	ended_at  timestamptz,
	outcome   text NOT NULL DEFAULT '', -- empty: not ended
	error     text NOT NULL DEFAULT '',
	bytes     bigint NOT NULL DEFAULT 0,
	result    text NOT NULL DEFAULT '',
	artifact  bigint,
	follow    text NOT NULL DEFAULT '' -- the upstream's own task that the call became
) WITH (fillfactor = 80);
CREATE INDEX gateway_calls_task ON gateway_calls (task_id, id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX gateway_calls_step ON gateway_calls (task_id, step) WHERE step IS NOT NULL;
CREATE INDEX gateway_calls_old ON gateway_calls (began_at) WHERE task_id IS NULL;

CREATE TABLE gateway_reads (
	task_id  bigint NOT NULL,
	attempt  int NOT NULL,
	upstream text NOT NULL,
	tool     text NOT NULL,
	n        bigint NOT NULL,
	errors   bigint NOT NULL,
	last_at  timestamptz NOT NULL,
	PRIMARY KEY (task_id, attempt, upstream, tool)
);

CREATE TABLE gateway_artifacts (
	id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	task_id   bigint, -- NULL: of a call without a claim
	principal text NOT NULL,
	name      text NOT NULL,
	size      bigint NOT NULL,
	stored    int NOT NULL, -- less than size if it was cut
	body      bytea NOT NULL,
	at        timestamptz NOT NULL
);
CREATE INDEX gateway_artifacts_task ON gateway_artifacts (task_id) INCLUDE (stored) WHERE task_id IS NOT NULL;
CREATE INDEX gateway_artifacts_principal ON gateway_artifacts (principal) INCLUDE (stored) WHERE task_id IS NULL;
CREATE INDEX gateway_artifacts_at ON gateway_artifacts (at);

CREATE TABLE gateway_catalogues (
	upstream text PRIMARY KEY,
	body     text NOT NULL
);

CREATE TABLE gateway_pins (
	upstream text NOT NULL,
	kind     text NOT NULL,
	name     text NOT NULL,
	hash     text NOT NULL,
	body     text NOT NULL,
	by       text NOT NULL, -- empty: accepted as the first of its name
	at       timestamptz NOT NULL,
	PRIMARY KEY (upstream, kind, name, hash)
);

-- With this key the arguments of calls are hashed, since a plain hash of short ones can be guessed.
ALTER TABLE meta ADD COLUMN call_key text NOT NULL DEFAULT '';
UPDATE meta SET call_key = gen_random_uuid()::text || gen_random_uuid()::text;

-- +goose Down

ALTER TABLE meta DROP COLUMN call_key;
DROP TABLE gateway_calls, gateway_reads, gateway_artifacts, gateway_catalogues, gateway_pins;
