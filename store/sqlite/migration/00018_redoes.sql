-- Which task a task does again. Anybody can give a task the title of one that does, so of those before this column
-- only those count that a person has made from the other one, which has ended: their first event hands that over.

-- +goose Up

ALTER TABLE tasks ADD COLUMN redoes INTEGER;

UPDATE tasks SET redoes = o.id
  FROM (SELECT t.id, t.id >> 40 AS project_id, substr(t.title, 6, instr(t.title, ': ') - 6) AS name, e.detail
          FROM tasks t JOIN events e ON e.task_id = t.id AND e.seq = 1
         WHERE t.title GLOB 'Redo *-*: *' AND e.kind = 'created' AND e.detail ->> '$.By' = 'person') r
  JOIN projects p ON p.id = r.project_id
  JOIN tasks o ON o.id = p.id << 40 | CAST(substr(r.name, instr(r.name, '-') + 1) AS INTEGER)
 WHERE tasks.id = r.id AND r.name = p.slug || '-' || (o.id & 1099511627775) AND o.id < r.id
   AND (instr(r.detail ->> '$.Prior', r.name || ' is done.') > 0 OR instr(r.detail ->> '$.Prior', r.name || ' is cancelled.') > 0);
