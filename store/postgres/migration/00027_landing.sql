-- Where accepted work is landed, who lands it, and each move of a target, which is announced before it
-- is made. A program that does not know these would not land work: the first project that lands its
-- work raises meta.needs, and not this migration.

-- +goose Up

ALTER TABLE projects ADD COLUMN land text NOT NULL DEFAULT '';

-- Not valid, so that no row is looked at while the table is locked. All rows fit, because more values do.
ALTER TABLE tasks DROP CONSTRAINT tasks_status_check, ADD CONSTRAINT tasks_status_check
	CHECK (status IN ('pending', 'in_progress', 'waiting', 'review', 'landing', 'done', 'failed', 'cancelled')) NOT VALID;

CREATE TABLE landers (
	project_id  int NOT NULL,
	target      text COLLATE "C" NOT NULL,
	nonce       text NOT NULL,
	principal   text NOT NULL,
	owner       text NOT NULL,
	holder      text NOT NULL,
	lease_until timestamptz NOT NULL,
	note        jsonb,
	PRIMARY KEY (project_id, target)
) WITH (fillfactor = 50);
CREATE INDEX landers_owner ON landers (owner);

CREATE TABLE intents (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project_id int NOT NULL,
	target     text COLLATE "C" NOT NULL,
	old        text NOT NULL,
	new        text NOT NULL,
	state      text COLLATE "C" NOT NULL CHECK (state IN ('open', 'landed', 'dropped')),
	holder     text NOT NULL,
	nonce      text NOT NULL,
	by         text NOT NULL,
	at         timestamptz NOT NULL,
	ended_at   timestamptz
);
CREATE UNIQUE INDEX intents_open ON intents (project_id, target) WHERE state = 'open';
CREATE INDEX intents_project ON intents (project_id, id);

CREATE TABLE intent_items (
	intent_id bigint NOT NULL,
	task_id   bigint NOT NULL,
	attempt   int NOT NULL,
	tip       text NOT NULL,
	PRIMARY KEY (intent_id, task_id)
);
CREATE INDEX intent_items_task ON intent_items (task_id);

-- Excludes programs that do not know about landing, and reports whether that is new. The program's role may
-- not change meta.needs itself. Programs read it when they connect: those that do so now wait for the
-- lock. The path has pg_temp last, so that no temporary table is taken for meta.
-- +goose StatementBegin
DO $do$ BEGIN
	EXECUTE format($f$
CREATE FUNCTION require_landing() RETURNS bool LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, %I, pg_temp AS $$
BEGIN
	IF (SELECT needs FROM meta) >= 27 THEN
		RETURN false;
	END IF;
	LOCK TABLE meta IN ACCESS EXCLUSIVE MODE;
	UPDATE meta SET needs = 27 WHERE needs < 27;
	RETURN true;
END $$ $f$, current_schema());
END $do$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION require_landing() FROM PUBLIC;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION events_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF (NEW.id, NEW.epoch, NEW.xid, NEW.project_id, NEW.task_id, NEW.seq, NEW.at, NEW.actor, NEW.kind, NEW.from_status, NEW.to_status)
		= (OLD.id, OLD.epoch, OLD.xid, OLD.project_id, OLD.task_id, OLD.seq, OLD.at, OLD.actor, OLD.kind, OLD.from_status, OLD.to_status)
		AND coalesce(NEW.detail #>> '{Erased,By}', '') <> '' AND coalesce(NEW.detail #>> '{Erased,Reason}', '') <> ''
		AND NEW.detail #>> '{Erased,At}' IS NOT NULL
		AND coalesce(NEW.detail ->> 'Text', '[erased]') IN ('[erased]', CASE OLD.kind WHEN 'imported' THEN coalesce(OLD.detail ->> 'Text', '') ELSE '' END)
		AND NEW.detail -> 'Where' IS NULL AND NEW.detail -> 'Was' IS NULL AND NEW.detail -> 'Prior' IS NULL AND NEW.detail -> 'Run' IS NULL
		AND NEW.detail -> 'Returned' IS NULL THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION 'events are never changed, except that their content is erased' USING ERRCODE = 'integrity_constraint_violation';
END $$;
-- +goose StatementEnd

-- +goose Down

DROP FUNCTION require_landing;
DROP TABLE intent_items, intents, landers;
ALTER TABLE projects DROP COLUMN land;
