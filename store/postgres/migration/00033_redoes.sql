-- Which task a task does again. Anybody can give a task the title of one that does, so of those before this column
-- only those count that a person has made from the other one, which has ended: their first event hands that over.

-- +goose NO TRANSACTION
-- +goose Up

ALTER TABLE tasks ADD COLUMN IF NOT EXISTS redoes bigint;

UPDATE tasks SET redoes = o.id
FROM tasks t
JOIN events e ON e.task_id = t.id AND e.seq = 1
JOIN projects p ON p.id = (t.id >> 40)::int
JOIN tasks o ON o.id = (t.id >> 40) << 40 | substring(t.title FROM '^Redo [a-z0-9]+-([1-9][0-9]{0,11}): ')::bigint
WHERE tasks.id = t.id AND tasks.redoes IS NULL AND t.title LIKE 'Redo %' AND e.kind = 'created' AND e.detail ->> 'By' = 'person' AND o.id < t.id
	AND starts_with(t.title, 'Redo ' || p.slug || '-' || (o.id & 1099511627775) || ': ')
	AND (strpos(e.detail ->> 'Prior', p.slug || '-' || (o.id & 1099511627775) || ' is done.') > 0
		OR strpos(e.detail ->> 'Prior', p.slug || '-' || (o.id & 1099511627775) || ' is cancelled.') > 0);

-- +goose Down

ALTER TABLE tasks DROP COLUMN redoes;
