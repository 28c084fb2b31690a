-- Where a key comes from. parent is the key that it was created from, and machine what a
-- login created it for. Keys of machines from before have no parent: they are known by their
-- name, and create no keys either.

-- +goose Up

ALTER TABLE api_keys ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN revoked_by TEXT NOT NULL DEFAULT '';
UPDATE api_keys SET machine = substr(name, length(owner) + 5)
  WHERE person AND substr(name, 1, length(owner) + 4) = owner || ' on ' AND length(name) > length(owner) + 4;
CREATE INDEX api_keys_parent ON api_keys (parent) WHERE parent <> '';

-- version is now also when a key was lowered.
CREATE INDEX api_keys_changed ON api_keys (version) WHERE version > 0;
