-- Who else acted under a claim: nobody reviews their own work.

-- +goose Up

ALTER TABLE attempts ADD COLUMN actors text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE attempts DROP COLUMN actors;
