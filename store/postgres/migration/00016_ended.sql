-- The tasks that are over, by when they ended, for archiving; and who declined a task.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no report waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS tasks_ended;
CREATE INDEX CONCURRENTLY tasks_ended ON tasks (ended_at, id) WHERE status IN ('done', 'cancelled');
DROP INDEX CONCURRENTLY IF EXISTS declines_task;
CREATE INDEX CONCURRENTLY declines_task ON declines (task_id);

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS declines_task;
DROP INDEX CONCURRENTLY IF EXISTS tasks_ended;
