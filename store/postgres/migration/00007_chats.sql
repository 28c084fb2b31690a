-- Whoever answers a question sees what was asked before in the same conversation, and
-- whether the process that asked has ended.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that nobody waits who asks or answers meanwhile. If that was
-- interrupted, an index is there that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS questions_chat;
CREATE INDEX CONCURRENTLY questions_chat ON questions (chat_id, id) WHERE chat_id <> '';
DROP INDEX CONCURRENTLY IF EXISTS questions_owner;
CREATE INDEX CONCURRENTLY questions_owner ON questions (owner) WHERE state = 'open';

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS questions_owner;
DROP INDEX CONCURRENTLY IF EXISTS questions_chat;
