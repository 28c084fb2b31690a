-- The board. Rules are in package board; what is checked here is what no program
-- may get wrong.

-- +goose Up

-- One row. needs is the lowest schema number that a program must know to use this
-- database; a migration that takes something away raises it. The rest is the feed's:
-- see event.go.
CREATE TABLE meta (
	one        bool PRIMARY KEY DEFAULT true CHECK (one),
	needs      int NOT NULL DEFAULT 1,
	feed_epoch int NOT NULL DEFAULT 1,
	system_id  bigint NOT NULL DEFAULT 0,
	timeline   bigint NOT NULL DEFAULT 0
);

CREATE TABLE projects (
	id        int GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id BETWEEN 1 AND 8388607),
	slug      text COLLATE "C" NOT NULL UNIQUE,
	name      text NOT NULL,
	policy    text NOT NULL,
	lease     interval NOT NULL CHECK (lease >= '0'),
	skills    text[] NOT NULL,
	paused_by text NOT NULL,
	archived  bool NOT NULL
);

-- Apart from projects, because every new task writes it.
CREATE TABLE project_counters (
	project_id int PRIMARY KEY,
	next_no    bigint NOT NULL DEFAULT 1 CHECK (next_no BETWEEN 1 AND 1099511627776)
) WITH (fillfactor = 50);

-- A lane is the tasks of a project that want the same skills, sorted.
CREATE TABLE lanes (
	id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project_id int NOT NULL,
	skills     text[] NOT NULL,
	UNIQUE (project_id, skills)
);

-- id is project_id << 40 | no. ready is Task.Ready. area_up is the ancestors of
-- areas. skills are the lane's: whoever waited for a row's lock sees the new row, but
-- not a lane that is newer than its statement.
CREATE TABLE tasks (
	id            bigint PRIMARY KEY,
	lane_id       int NOT NULL,
	skills        text[] NOT NULL,
	status        text COLLATE "C" NOT NULL
	              CHECK (status IN ('pending', 'in_progress', 'waiting', 'review', 'done', 'failed', 'cancelled')),
	ready         bool NOT NULL,
	hold          bool NOT NULL,
	priority      smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
	queued_at     timestamptz NOT NULL,
	not_before    timestamptz,
	reserved_principal text,
	reserved_worker    text,
	open_blockers int NOT NULL CHECK (open_blockers >= 0),
	open_children int NOT NULL CHECK (open_children >= 0),
	done_children int NOT NULL CHECK (done_children >= 0),
	attempt       int NOT NULL CHECK (attempt >= 0),
	nonce         text NOT NULL,
	failures      int NOT NULL CHECK (failures >= 0),
	max_failures  int NOT NULL,
	lease         interval NOT NULL CHECK (lease >= '0'),
	spec_version  int NOT NULL,
	seq           bigint NOT NULL CHECK (seq >= 0),
	parent_id     bigint,
	areas         text[] NOT NULL,
	area_up       text[] NOT NULL,
	wants         text[] NOT NULL,
	title         text NOT NULL,
	created_by    text NOT NULL,
	created_at    timestamptz NOT NULL,
	ended_at      timestamptz,
	CONSTRAINT tasks_ready_means CHECK (ready =
		(status = 'pending' AND NOT hold AND open_blockers = 0 AND open_children = 0 AND not_before IS NULL)),
	CHECK ((reserved_principal IS NULL) = (reserved_worker IS NULL))
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05,
	autovacuum_vacuum_cost_delay = 0);
CREATE INDEX tasks_ready ON tasks (lane_id, priority, queued_at, id) WHERE ready;
CREATE INDEX tasks_due ON tasks (not_before) WHERE not_before IS NOT NULL AND status = 'pending';
CREATE INDEX tasks_reserved ON tasks (reserved_principal, reserved_worker)
	WHERE reserved_worker IS NOT NULL AND status = 'pending';
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
-- Lists of what is not over yet.
CREATE INDEX tasks_open ON tasks (id) WHERE status NOT IN ('done', 'cancelled');

CREATE TABLE task_docs (
	task_id     bigint PRIMARY KEY,
	description text NOT NULL,
	acceptance  text NOT NULL,
	result      json
);

CREATE TABLE links (
	task_id    bigint NOT NULL,
	blocker_id bigint NOT NULL,
	PRIMARY KEY (task_id, blocker_id),
	CHECK (task_id <> blocker_id AND task_id >> 40 = blocker_id >> 40)
);
CREATE INDEX links_blocker ON links (blocker_id);

CREATE TABLE claims (
	task_id     bigint PRIMARY KEY,
	attempt     int NOT NULL,
	nonce       text NOT NULL,
	principal   text NOT NULL,
	worker      text NOT NULL,
	owner       text NOT NULL,
	session     text NOT NULL,
	granted_at  timestamptz NOT NULL,
	lease_until timestamptz NOT NULL,
	lease       interval NOT NULL,
	deliveries  int NOT NULL,
	UNIQUE (principal, worker)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX claims_owner ON claims (owner);
CREATE INDEX claims_lease ON claims (lease_until);

-- Where live claims work: their areas (self) and the ancestors of these.
CREATE TABLE claim_areas (
	project_id int NOT NULL,
	path       text COLLATE "C" NOT NULL,
	self       bool NOT NULL,
	task_id    bigint NOT NULL,
	PRIMARY KEY (project_id, path, self, task_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX claim_areas_task ON claim_areas (task_id);

CREATE TABLE declines (
	principal text NOT NULL,
	worker    text NOT NULL,
	task_id   bigint NOT NULL,
	until     timestamptz NOT NULL,
	PRIMARY KEY (principal, worker, task_id)
);

CREATE TABLE attempts (
	task_id       bigint NOT NULL,
	attempt       int NOT NULL CHECK (attempt > 0),
	nonce         text NOT NULL,
	principal     text NOT NULL,
	worker        text NOT NULL,
	owner         text NOT NULL,
	granted_at    timestamptz NOT NULL,
	ended_at      timestamptz,
	cause         text NOT NULL,
	reason        text NOT NULL,
	do_not_repeat text NOT NULL,
	place         json NOT NULL,
	spec_version  int NOT NULL,
	created       int NOT NULL,
	report_hash   text NOT NULL,
	report_answer text NOT NULL,
	PRIMARY KEY (task_id, attempt)
) WITH (fillfactor = 85);

CREATE TABLE workers (
	principal  text NOT NULL,
	name       text NOT NULL,
	owner      text NOT NULL,
	last_seen  timestamptz NOT NULL,
	stopped_by text NOT NULL,
	PRIMARY KEY (principal, name)
) WITH (fillfactor = 70);

CREATE TABLE events (
	id          bigint GENERATED ALWAYS AS IDENTITY,
	epoch       int NOT NULL,
	xid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
	project_id  int NOT NULL,
	task_id     bigint NOT NULL,
	seq         bigint NOT NULL CHECK (seq > 0),
	at          timestamptz NOT NULL DEFAULT clock_timestamp(),
	actor       text NOT NULL,
	kind        text NOT NULL,
	from_status text NOT NULL,
	to_status   text NOT NULL,
	detail      json NOT NULL,
	PRIMARY KEY (task_id, seq)
);
CREATE INDEX events_feed ON events (epoch, xid, id);
CREATE INDEX events_project_feed ON events (project_id, epoch, xid, id);

-- +goose StatementBegin
CREATE FUNCTION events_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' AND current_setting('bossman.archive', true) = 'on' THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'events are never changed' USING ERRCODE = 'integrity_constraint_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION events_stay();

CREATE TABLE questions (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project_id  int NOT NULL,
	task_id     bigint,
	attempt     int NOT NULL,
	nonce       text NOT NULL,
	principal   text NOT NULL,
	worker      text NOT NULL,
	owner       text NOT NULL,
	chat_id     text NOT NULL,
	text        text NOT NULL,
	options     text[] NOT NULL,
	dflt        text NOT NULL,
	needed_by   timestamptz,
	blocking    bool NOT NULL,
	human_only  bool NOT NULL,
	state       text COLLATE "C" NOT NULL CHECK (state IN ('open', 'answered', 'withdrawn')),
	answer      text NOT NULL,
	answered_by text NOT NULL,
	asked_at    timestamptz NOT NULL,
	answered_at timestamptz
);
CREATE INDEX questions_task ON questions (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX questions_project ON questions (project_id, state, id);
CREATE INDEX questions_needed ON questions (needed_by) WHERE state = 'open' AND dflt <> '';

CREATE TABLE idempotency (
	principal text NOT NULL,
	key       text NOT NULL,
	op        text NOT NULL,
	hash      text NOT NULL,
	answer    text NOT NULL DEFAULT '',
	at        timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (principal, key)
) WITH (fillfactor = 70);
CREATE INDEX idempotency_at ON idempotency (at);

-- Managed services may refuse to say which server this is.
-- +goose StatementBegin
DO $$
BEGIN
	INSERT INTO meta (system_id, timeline)
		SELECT system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint
		FROM pg_control_system();
EXCEPTION WHEN insufficient_privilege OR undefined_function OR feature_not_supported THEN
	INSERT INTO meta DEFAULT VALUES;
END
$$;
-- +goose StatementEnd

-- +goose Down

DROP TABLE meta, projects, project_counters, lanes, tasks, task_docs, links, claims, claim_areas, declines,
	attempts, workers, events, questions, idempotency;
DROP FUNCTION events_stay;
