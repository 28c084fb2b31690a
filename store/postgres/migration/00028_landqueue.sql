-- The landing queue.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no hand-out waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS tasks_landing;
CREATE INDEX CONCURRENTLY tasks_landing ON tasks (id) WHERE status = 'landing';
ALTER TABLE tasks VALIDATE CONSTRAINT tasks_status_check;

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS tasks_landing;
