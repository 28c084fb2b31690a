-- The content of an event may be erased, and nothing else of it changed.

-- +goose Up

-- +goose StatementBegin
CREATE FUNCTION events_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF (NEW.id, NEW.epoch, NEW.xid, NEW.project_id, NEW.task_id, NEW.seq, NEW.at, NEW.actor, NEW.kind, NEW.from_status, NEW.to_status)
		= (OLD.id, OLD.epoch, OLD.xid, OLD.project_id, OLD.task_id, OLD.seq, OLD.at, OLD.actor, OLD.kind, OLD.from_status, OLD.to_status)
		AND coalesce(NEW.detail #>> '{Erased,By}', '') <> '' AND coalesce(NEW.detail #>> '{Erased,Reason}', '') <> ''
		AND NEW.detail #>> '{Erased,At}' IS NOT NULL
		AND coalesce(NEW.detail ->> 'Text', '[erased]') IN ('[erased]', CASE OLD.kind WHEN 'imported' THEN coalesce(OLD.detail ->> 'Text', '') ELSE '' END)
		AND NEW.detail -> 'Where' IS NULL AND NEW.detail -> 'Was' IS NULL AND NEW.detail -> 'Prior' IS NULL AND NEW.detail -> 'Run' IS NULL THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION 'events are never changed, except that their content is erased' USING ERRCODE = 'integrity_constraint_violation';
END $$;
-- +goose StatementEnd
DROP TRIGGER events_stay ON events;
CREATE TRIGGER events_stay BEFORE TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION events_stay();
CREATE TRIGGER events_erased BEFORE UPDATE ON events
	FOR EACH ROW EXECUTE FUNCTION events_erased();

-- +goose Down

DROP TRIGGER events_erased ON events;
DROP TRIGGER events_stay ON events;
CREATE TRIGGER events_stay BEFORE UPDATE OR TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION events_stay();
DROP FUNCTION events_erased;
