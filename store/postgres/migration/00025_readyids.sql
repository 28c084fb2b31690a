-- The first ready tasks of a lane by their numbers.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no hand-out waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS tasks_ready_ids;
CREATE INDEX CONCURRENTLY tasks_ready_ids ON tasks (lane_id, id) WHERE ready;

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS tasks_ready_ids;
