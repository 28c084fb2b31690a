-- What the runs of a day cost. Unlike the time, the day of a run seldom changes, so that an index on
-- it costs next to nothing.

-- +goose Up

ALTER TABLE runs ADD COLUMN day date GENERATED ALWAYS AS ((at AT TIME ZONE 'UTC')::date) STORED;
CREATE INDEX runs_day ON runs (day, task_id);

-- +goose Down

DROP INDEX runs_day;
ALTER TABLE runs DROP COLUMN day;
