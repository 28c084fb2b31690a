-- Who is responsible for a webhook: it ends with that person's rights. Of older ones that is not known.

-- +goose Up

ALTER TABLE push_targets ADD COLUMN IF NOT EXISTS owner text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE push_targets DROP COLUMN owner;
