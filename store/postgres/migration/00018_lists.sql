-- Lists of tasks by status and skill, of tasks that wait for others, of open questions, and
-- the workers of a process: what these read does not grow with what is over.

-- +goose NO TRANSACTION
-- +goose Up

-- Concurrently, so that no hand-out waits for it. If that was interrupted, an index is there
-- that is not valid, and is made again.
DROP INDEX CONCURRENTLY IF EXISTS tasks_lane;
CREATE INDEX CONCURRENTLY tasks_lane ON tasks (lane_id, status, id);
DROP INDEX CONCURRENTLY IF EXISTS tasks_blocked;
CREATE INDEX CONCURRENTLY tasks_blocked ON tasks (id) WHERE open_blockers > 0 AND status = 'pending';
DROP INDEX CONCURRENTLY IF EXISTS workers_owner;
CREATE INDEX CONCURRENTLY workers_owner ON workers (owner) WHERE owner <> '';
DROP INDEX CONCURRENTLY IF EXISTS questions_open;
CREATE INDEX CONCURRENTLY questions_open ON questions (project_id, id) WHERE state = 'open';

-- +goose Down

DROP INDEX CONCURRENTLY IF EXISTS questions_open;
DROP INDEX CONCURRENTLY IF EXISTS workers_owner;
DROP INDEX CONCURRENTLY IF EXISTS tasks_blocked;
DROP INDEX CONCURRENTLY IF EXISTS tasks_lane;
