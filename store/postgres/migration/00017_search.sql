-- The titles and descriptions of tasks in lower case, for searching: see search.go. The
-- triggers are off until there can be an index.

-- +goose Up

CREATE TABLE search (
	task_id bigint PRIMARY KEY,
	txt     text NOT NULL
);

-- +goose StatementBegin
CREATE FUNCTION search_doc() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO search (task_id, txt) SELECT t.id, lower(t.title || ' ' || NEW.description) FROM tasks t WHERE t.id = NEW.task_id
	ON CONFLICT (task_id) DO UPDATE SET txt = excluded.txt;
	RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION search_title() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO search (task_id, txt) SELECT d.task_id, lower(NEW.title || ' ' || d.description) FROM task_docs d WHERE d.task_id = NEW.id
	ON CONFLICT (task_id) DO UPDATE SET txt = excluded.txt;
	RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER search_new AFTER INSERT ON task_docs
	FOR EACH ROW EXECUTE FUNCTION search_doc();
CREATE TRIGGER search_doc AFTER UPDATE OF description ON task_docs
	FOR EACH ROW WHEN (OLD.description IS DISTINCT FROM NEW.description) EXECUTE FUNCTION search_doc();
CREATE TRIGGER search_title AFTER UPDATE OF title ON tasks
	FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title) EXECUTE FUNCTION search_title();
ALTER TABLE task_docs DISABLE TRIGGER search_new, DISABLE TRIGGER search_doc;
ALTER TABLE tasks DISABLE TRIGGER search_title;

-- +goose Down

DROP TRIGGER search_title ON tasks;
DROP TRIGGER search_doc ON task_docs;
DROP TRIGGER search_new ON task_docs;
DROP FUNCTION search_doc, search_title;
DROP TABLE search;
