-- When the last sweep was. If that is long ago, nobody could be heard, and leases are
-- extended. credited is the end of a lease that was extended so, until it is renewed.

-- +goose Up

ALTER TABLE meta ADD COLUMN swept INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET swept = CAST(unixepoch('subsec') * 1000000 AS INTEGER);
ALTER TABLE claims ADD COLUMN credited INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reviews ADD COLUMN credited INTEGER NOT NULL DEFAULT 0;

-- The claims that a process may take back.
CREATE INDEX attempts_expired ON attempts (owner, ended_at) WHERE cause = 'expired';
