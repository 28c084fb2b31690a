-- Where a key comes from. parent is the key that it was created from, and machine what a
-- login created it for. Keys of machines from before have no parent: they are known by their
-- name, and create no keys either.

-- +goose Up

ALTER TABLE api_keys
	ADD COLUMN parent text COLLATE "C" NOT NULL DEFAULT '',
	ADD COLUMN machine text NOT NULL DEFAULT '',
	ADD COLUMN created_by text NOT NULL DEFAULT '',
	ADD COLUMN revoked_by text NOT NULL DEFAULT '';
UPDATE api_keys SET machine = substr(name, length(owner) + 5)
	WHERE person AND left(name, length(owner) + 4) = owner || ' on ' AND length(name) > length(owner) + 4;
CREATE INDEX api_keys_parent ON api_keys (parent) WHERE parent <> '';

-- version is now also when a key was lowered.
CREATE INDEX api_keys_changed ON api_keys (version) WHERE version > 0;

-- +goose Down

DROP INDEX api_keys_changed, api_keys_parent;
ALTER TABLE api_keys DROP COLUMN parent, DROP COLUMN machine, DROP COLUMN created_by, DROP COLUMN revoked_by;
