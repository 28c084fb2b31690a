-- What the runs of a day cost.

-- +goose Up

CREATE INDEX runs_at ON runs (at, cost) WHERE cost IS NOT NULL;
