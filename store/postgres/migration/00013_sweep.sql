-- When the last sweep was. If that is long ago, nobody could be heard: the leases that were
-- live at gap_from are extended, in batches. credited is the end of the last gap that a lease
-- was extended for.

-- +goose Up

CREATE TABLE sweep (
	one       bool PRIMARY KEY DEFAULT true CHECK (one),
	swept     timestamptz NOT NULL DEFAULT clock_timestamp(),
	gap_from  timestamptz,
	gap_until timestamptz
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.01);
INSERT INTO sweep DEFAULT VALUES;
ALTER TABLE claims ADD COLUMN credited timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE reviews ADD COLUMN credited timestamptz NOT NULL DEFAULT '-infinity';

-- +goose Down

ALTER TABLE reviews DROP COLUMN credited;
ALTER TABLE claims DROP COLUMN credited;
DROP TABLE sweep;
