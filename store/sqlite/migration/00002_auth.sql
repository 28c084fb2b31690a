-- Who may call. Of a key only a hash is here. Rules are in package auth.

-- +goose Up

-- One row. version rises with every revocation.
CREATE TABLE auth_meta (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
) STRICT;
INSERT INTO auth_meta (one, version) VALUES (1, 0);

-- version is when disabled_at changed.
CREATE TABLE people (
  name        TEXT    NOT NULL PRIMARY KEY,
  created_at  INTEGER NOT NULL,
  disabled_at INTEGER,
  version     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX people_disabled ON people (version) WHERE disabled_at IS NOT NULL;

-- version is when revoked_at was set.
CREATE TABLE api_keys (
  id         TEXT    NOT NULL PRIMARY KEY,
  hash       BLOB    NOT NULL CHECK (length(hash) = 32),
  name       TEXT    NOT NULL,
  owner      TEXT    NOT NULL REFERENCES people (name),
  person     INTEGER NOT NULL,
  project    TEXT    NOT NULL,
  role       INTEGER NOT NULL CHECK (role BETWEEN 1 AND 4),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  used_at    INTEGER,
  revoked_at INTEGER,
  version    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_owner ON api_keys (owner);
CREATE INDEX api_keys_revoked ON api_keys (version) WHERE revoked_at IS NOT NULL;
