-- The drafts, which are counted one by one.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no hand-out waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS tasks_draft;
CREATE INDEX CONCURRENTLY tasks_draft ON tasks (id) WHERE hold AND status = 'pending';

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS tasks_draft;
