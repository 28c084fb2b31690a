-- Whoever answers a question sees what was asked before in the same conversation, and
-- whether the process that asked has ended.

-- +goose Up

CREATE INDEX questions_chat ON questions (chat_id, id) WHERE chat_id <> '';
CREATE INDEX questions_owner ON questions (owner) WHERE state = 'open';
