-- Whenever a principal asks a question, those of its questions that are open are
-- counted.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that nobody waits who asks or answers meanwhile. If that was
-- interrupted, an index is there that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS questions_asker;
CREATE INDEX CONCURRENTLY questions_asker ON questions (principal) WHERE state = 'open';

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS questions_asker;
