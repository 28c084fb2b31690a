-- What has left the board, and how long a project keeps what is finished. floor_epoch,
-- floor_xid and floor_id are the last event that was deleted: feeds begin after it.

-- +goose Up

ALTER TABLE projects ADD COLUMN keep interval NOT NULL DEFAULT '0';
ALTER TABLE meta
	ADD COLUMN floor_epoch int NOT NULL DEFAULT 0,
	ADD COLUMN floor_xid xid8 NOT NULL DEFAULT '0',
	ADD COLUMN floor_id bigint NOT NULL DEFAULT 0;

-- tasks is a list of row ids; first and last are the smallest and the largest.
CREATE TABLE archives (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project_id int NOT NULL,
	first      bigint NOT NULL,
	last       bigint NOT NULL,
	tasks      bigint[] NOT NULL,
	source     text NOT NULL,
	place      text NOT NULL,
	sha256     text NOT NULL,
	by         text NOT NULL,
	at         timestamptz NOT NULL
);
CREATE INDEX archives_tasks ON archives (project_id, last);

-- An event is deleted only after its task, which was archived.
-- +goose StatementBegin
CREATE FUNCTION events_archived() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	IF EXISTS (SELECT FROM (SELECT DISTINCT task_id FROM gone) g WHERE EXISTS (SELECT FROM tasks t WHERE t.id = g.task_id)
		OR NOT EXISTS (SELECT FROM archives a WHERE a.project_id = g.task_id >> 40 AND a.last >= g.task_id AND a.first <= g.task_id
			AND g.task_id = ANY(a.tasks))) THEN
		RAISE EXCEPTION 'events are never deleted, except with a task that was archived' USING ERRCODE = 'integrity_constraint_violation';
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
DROP TRIGGER events_stay ON events;
CREATE TRIGGER events_stay BEFORE UPDATE OR TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION events_stay();
CREATE TRIGGER events_archived AFTER DELETE ON events REFERENCING OLD TABLE AS gone
	FOR EACH STATEMENT EXECUTE FUNCTION events_archived();

-- +goose Down

DROP TRIGGER events_archived ON events;
DROP TRIGGER events_stay ON events;
CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION events_stay();
DROP FUNCTION events_archived;
DROP TABLE archives;
ALTER TABLE meta DROP COLUMN floor_epoch, DROP COLUMN floor_xid, DROP COLUMN floor_id;
ALTER TABLE projects DROP COLUMN keep;
