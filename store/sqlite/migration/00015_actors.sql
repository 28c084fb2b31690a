-- Who else acted under a claim: nobody reviews their own work.

-- +goose Up

ALTER TABLE attempts ADD COLUMN actors TEXT NOT NULL DEFAULT '';
