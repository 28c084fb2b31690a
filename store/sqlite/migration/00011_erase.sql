-- The content of an event may be erased, and nothing else of it changed.

-- +goose Up

DROP TRIGGER events_update;
-- +goose StatementBegin
CREATE TRIGGER events_update BEFORE UPDATE ON events
WHEN NOT (NEW.id = OLD.id AND NEW.task_id = OLD.task_id AND NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.actor = OLD.actor
  AND NEW.kind = OLD.kind AND NEW.from_status = OLD.from_status AND NEW.to_status = OLD.to_status
  AND coalesce(NEW.detail ->> '$.Erased.By', '') <> '' AND coalesce(NEW.detail ->> '$.Erased.Reason', '') <> ''
  AND NEW.detail ->> '$.Erased.At' IS NOT NULL
  AND coalesce(NEW.detail ->> '$.Text', '[erased]') IN ('[erased]', CASE OLD.kind WHEN 'imported' THEN OLD.detail ->> '$.Text' ELSE '' END)
  AND NEW.detail -> '$.Where' IS NULL AND NEW.detail -> '$.Was' IS NULL AND NEW.detail -> '$.Prior' IS NULL AND NEW.detail -> '$.Run' IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'an event is never changed, except that its content is erased');
END;
-- +goose StatementEnd
