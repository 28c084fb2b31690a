-- How many tasks are ready, drafts, or rest: as many as there were at counted_at, at most. A
-- reader counts up to a thousand itself, and takes larger numbers from here. The day on which
-- a worker was last seen: unlike the time, it seldom changes, so that an index on it costs
-- next to nothing.

-- +goose Up

CREATE TABLE state_counts (
	project_id int NOT NULL,
	state      text COLLATE "C" NOT NULL,
	n          bigint NOT NULL,
	PRIMARY KEY (project_id, state)
) WITH (fillfactor = 50);
CREATE TABLE states_counted (
	one        bool PRIMARY KEY DEFAULT true CHECK (one),
	epoch      int NOT NULL,
	at         pg_snapshot NOT NULL,
	counted_at timestamptz NOT NULL
) WITH (fillfactor = 50);
INSERT INTO states_counted (epoch, at, counted_at) SELECT feed_epoch, pg_current_snapshot(), '-infinity' FROM meta;
ALTER TABLE workers ADD COLUMN seen_on date GENERATED ALWAYS AS ((last_seen AT TIME ZONE 'UTC')::date) STORED;

-- +goose Down

ALTER TABLE workers DROP COLUMN seen_on;
DROP TABLE states_counted, state_counts;
