-- The board. Times are microseconds since 1970 in UTC; lists and structures are
-- JSON. A task's id is its project's id << 40 | its number. Within a major version
-- migrations only add: new columns have defaults, so that the program before goes
-- on reading and writing. One that does more sets meta.min_schema to its number.

-- +goose Up

-- min_schema is the lowest schema number that a program must know to use the file;
-- clock is the largest time that any process wrote.
CREATE TABLE meta (
  one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  min_schema INTEGER NOT NULL,
  clock      INTEGER NOT NULL
) STRICT;
INSERT INTO meta (one, min_schema, clock) VALUES (1, 1, 0);

CREATE TABLE projects (
  id        INTEGER NOT NULL PRIMARY KEY,
  slug      TEXT    NOT NULL UNIQUE,
  name      TEXT    NOT NULL,
  policy    TEXT    NOT NULL,
  lease     INTEGER NOT NULL,
  skills    TEXT    NOT NULL,
  paused_by TEXT    NOT NULL,
  archived  INTEGER NOT NULL,
  next_no   INTEGER NOT NULL DEFAULT 1
) STRICT;

-- A lane is the tasks of a project that want the same skills.
CREATE TABLE lanes (
  id         INTEGER NOT NULL PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  skills     TEXT    NOT NULL,
  UNIQUE (project_id, skills)
) STRICT;

CREATE TABLE tasks (
  id                 INTEGER NOT NULL PRIMARY KEY,
  lane_id            INTEGER NOT NULL,
  status             TEXT    NOT NULL,
  ready              INTEGER NOT NULL,
  priority           INTEGER NOT NULL,
  queued_at          INTEGER NOT NULL,
  hold               INTEGER NOT NULL,
  open_blockers      INTEGER NOT NULL CHECK (open_blockers >= 0),
  open_children      INTEGER NOT NULL CHECK (open_children >= 0),
  done_children      INTEGER NOT NULL,
  not_before         INTEGER,
  reserved_principal TEXT,
  reserved_name      TEXT,
  attempt            INTEGER NOT NULL,
  nonce              TEXT    NOT NULL,
  failures           INTEGER NOT NULL,
  max_failures       INTEGER NOT NULL,
  lease              INTEGER NOT NULL,
  spec_version       INTEGER NOT NULL,
  seq                INTEGER NOT NULL,
  parent_id          INTEGER REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  title              TEXT    NOT NULL,
  areas              TEXT    NOT NULL,
  wants              TEXT    NOT NULL,
  created_by         TEXT    NOT NULL,
  created_at         INTEGER NOT NULL,
  ended_at           INTEGER,
  CHECK (NOT ready OR (status = 'pending' AND NOT hold AND open_blockers = 0 AND open_children = 0 AND not_before IS NULL))
) STRICT;
CREATE INDEX tasks_ready ON tasks (lane_id, priority, queued_at, id) WHERE ready;
CREATE INDEX tasks_due ON tasks (not_before) WHERE not_before IS NOT NULL;
CREATE INDEX tasks_reserved ON tasks (reserved_principal, reserved_name) WHERE reserved_name IS NOT NULL;
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_state ON tasks (status, ready, hold, open_blockers, open_children);

CREATE TABLE task_docs (
  task_id     INTEGER NOT NULL PRIMARY KEY REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  description TEXT    NOT NULL,
  acceptance  TEXT    NOT NULL,
  result      TEXT
) STRICT;

CREATE TABLE links (
  task_id    INTEGER NOT NULL REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  blocker_id INTEGER NOT NULL REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  PRIMARY KEY (task_id, blocker_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_blocker ON links (blocker_id);

-- A live claim. A heartbeat writes here and not in tasks.
CREATE TABLE claims (
  task_id     INTEGER NOT NULL PRIMARY KEY REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  attempt     INTEGER NOT NULL,
  nonce       TEXT    NOT NULL,
  principal   TEXT    NOT NULL,
  worker      TEXT    NOT NULL,
  owner       TEXT    NOT NULL,
  session     TEXT    NOT NULL,
  granted_at  INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  lease       INTEGER NOT NULL,
  deliveries  INTEGER NOT NULL,
  areas       TEXT    NOT NULL,
  UNIQUE (principal, worker)
) STRICT;
CREATE INDEX claims_lease ON claims (lease_until);

CREATE TABLE attempts (
  task_id       INTEGER NOT NULL REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  attempt       INTEGER NOT NULL,
  nonce         TEXT    NOT NULL,
  principal     TEXT    NOT NULL,
  worker        TEXT    NOT NULL,
  owner         TEXT    NOT NULL,
  granted_at    INTEGER NOT NULL,
  ended_at      INTEGER,
  cause         TEXT    NOT NULL,
  reason        TEXT    NOT NULL,
  do_not_repeat TEXT    NOT NULL,
  place         TEXT    NOT NULL,
  spec_version  INTEGER NOT NULL,
  created       INTEGER NOT NULL,
  report_hash   TEXT    NOT NULL,
  report_answer TEXT    NOT NULL,
  PRIMARY KEY (task_id, attempt)
) STRICT, WITHOUT ROWID;

-- The id is commit order and the place in the feed; it is never used twice.
CREATE TABLE events (
  id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  task_id     INTEGER NOT NULL REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  seq         INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  actor       TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  from_status TEXT    NOT NULL,
  to_status   TEXT    NOT NULL,
  detail      TEXT    NOT NULL,
  UNIQUE (task_id, seq)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER events_update BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'an event is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER events_delete BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'an event is never deleted');
END;
-- +goose StatementEnd

CREATE TABLE questions (
  id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  project_id  INTEGER NOT NULL REFERENCES projects (id),
  task_id     INTEGER REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
  attempt     INTEGER NOT NULL,
  nonce       TEXT    NOT NULL,
  principal   TEXT    NOT NULL,
  worker      TEXT    NOT NULL,
  owner       TEXT    NOT NULL,
  chat_id     TEXT    NOT NULL,
  text        TEXT    NOT NULL,
  options     TEXT    NOT NULL,
  dflt        TEXT    NOT NULL,
  needed_by   INTEGER,
  blocking    INTEGER NOT NULL,
  human_only  INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  answer      TEXT    NOT NULL,
  answered_by TEXT    NOT NULL,
  asked_at    INTEGER NOT NULL,
  answered_at INTEGER
) STRICT;
CREATE INDEX questions_task ON questions (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX questions_open ON questions (id) WHERE state = 'open';
CREATE INDEX questions_needed ON questions (needed_by) WHERE state = 'open' AND needed_by IS NOT NULL;

CREATE TABLE workers (
  principal  TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  last_seen  INTEGER NOT NULL,
  stopped_by TEXT    NOT NULL,
  PRIMARY KEY (principal, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE declines (
  principal TEXT    NOT NULL,
  worker    TEXT    NOT NULL,
  task_id   INTEGER NOT NULL,
  until     INTEGER NOT NULL,
  PRIMARY KEY (principal, worker, task_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  principal TEXT    NOT NULL,
  key       TEXT    NOT NULL,
  op        TEXT    NOT NULL,
  hash      TEXT    NOT NULL,
  answer    TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (at);
