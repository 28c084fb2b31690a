-- The tasks in review, which are few, for the hand-out of reviews.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no hand-out waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS tasks_review;
CREATE INDEX CONCURRENTLY tasks_review ON tasks (id) WHERE status = 'review';

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS tasks_review;
