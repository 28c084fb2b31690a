-- The claims that a process may take back after they have expired.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no report waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS attempts_expired;
CREATE INDEX CONCURRENTLY attempts_expired ON attempts (owner, ended_at) WHERE cause = 'expired';

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS attempts_expired;
