-- What replicas of a server keep and share beside the board. Nothing here is part of
-- a task's story; a row that has had its time is swept.

-- +goose Up

-- Tool calls that go on without their client: see durablecall.go.
CREATE TABLE durable_calls (
	id           text COLLATE "C" PRIMARY KEY,
	owner        text NOT NULL,
	status       text COLLATE "C" NOT NULL
	             CHECK (status IN ('working', 'input_required', 'completed', 'failed', 'cancelled')),
	message      text NOT NULL,
	created_at   timestamptz NOT NULL,
	updated_at   timestamptz NOT NULL,
	life         interval NOT NULL,
	until        timestamptz NOT NULL,
	result       json,
	error        json,
	requests     json,
	answers      json,
	cancel       bool NOT NULL,
	runner_until timestamptz NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX durable_calls_until ON durable_calls (until);

-- What clients have set in their sessions: see session.go.
CREATE TABLE session_states (
	session  text COLLATE "C" PRIMARY KEY,
	ended    bool NOT NULL DEFAULT false,
	level    smallint NOT NULL DEFAULT 0,
	watching text[] NOT NULL DEFAULT '{}',
	until    timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX session_states_until ON session_states (until);

-- Messages between replicas that are too long for NOTIFY: see relay.go. They may be
-- lost, so they are not in the log.
CREATE UNLOGGED TABLE relay (
	id   text COLLATE "C" PRIMARY KEY,
	body bytea NOT NULL,
	at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX relay_at ON relay (at);

-- What seals what clients carry for us: see sealkey.go.
CREATE TABLE seal_keys (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	secret      bytea NOT NULL CHECK (octet_length(secret) >= 32),
	created     timestamptz NOT NULL,
	seals_from  timestamptz NOT NULL,
	opens_until timestamptz NOT NULL DEFAULT 'infinity'
);

-- The roles that Grant was called for: a migration grants again.
CREATE TABLE app_roles (
	role text PRIMARY KEY
);

-- +goose Down

DROP TABLE durable_calls, session_states, relay, seal_keys, app_roles;
