-- Who may call. Of a key only a hash is here. Rules are in package auth.

-- +goose Up

-- One row. Whoever revokes or disables raises version first and holds the row until
-- the commit, so versions are seen in their order.
CREATE TABLE auth_meta (
	one     bool PRIMARY KEY DEFAULT true CHECK (one),
	version bigint NOT NULL DEFAULT 0
);
INSERT INTO auth_meta DEFAULT VALUES;

-- version is when disabled_at changed.
CREATE TABLE people (
	name        text COLLATE "C" PRIMARY KEY,
	created_at  timestamptz NOT NULL,
	disabled_at timestamptz,
	version     bigint NOT NULL DEFAULT 0
);
CREATE INDEX people_disabled ON people (version) WHERE disabled_at IS NOT NULL;

-- version is when revoked_at was set.
CREATE TABLE api_keys (
	id         text COLLATE "C" PRIMARY KEY,
	hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
	name       text NOT NULL,
	owner      text COLLATE "C" NOT NULL REFERENCES people (name),
	person     bool NOT NULL,
	project    text COLLATE "C" NOT NULL,
	role       smallint NOT NULL CHECK (role BETWEEN 1 AND 4),
	created_at timestamptz NOT NULL,
	expires_at timestamptz,
	used_at    timestamptz,
	revoked_at timestamptz,
	version    bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX api_keys_owner ON api_keys (owner);
CREATE INDEX api_keys_revoked ON api_keys (version) WHERE revoked_at IS NOT NULL;

-- +goose Down

DROP TABLE api_keys, people, auth_meta;
