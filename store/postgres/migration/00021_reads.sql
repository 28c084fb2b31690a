-- The next tasks of a project to be ready, and the workers that were seen lately.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no hand-out waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS tasks_resting;
CREATE INDEX CONCURRENTLY tasks_resting ON tasks (((id >> 40)::int), not_before, id) WHERE not_before IS NOT NULL AND status = 'pending';
DROP INDEX CONCURRENTLY IF EXISTS workers_seen;
CREATE INDEX CONCURRENTLY workers_seen ON workers (seen_on);

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS workers_seen;
DROP INDEX CONCURRENTLY IF EXISTS tasks_resting;
