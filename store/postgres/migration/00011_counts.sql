-- How many tasks of each status there are: task_counts has those of the snapshot counted.at,
-- and the events that it does not show have the rest. So nothing is counted on the way of a
-- write, and no reader counts the tasks that are over.

-- +goose Up

CREATE TABLE task_counts (
	project_id int NOT NULL,
	status     text COLLATE "C" NOT NULL,
	n          bigint NOT NULL,
	PRIMARY KEY (project_id, status)
) WITH (fillfactor = 50);
CREATE TABLE counted (
	one   bool PRIMARY KEY DEFAULT true CHECK (one),
	epoch int NOT NULL,
	at    pg_snapshot NOT NULL
) WITH (fillfactor = 50);
-- One statement, so that both have the same snapshot.
WITH n AS (
	INSERT INTO task_counts (project_id, status, n)
	SELECT (id >> 40)::int, status, count(*) FROM tasks GROUP BY 1, 2)
INSERT INTO counted (epoch, at) SELECT feed_epoch, pg_current_snapshot() FROM meta;

-- +goose Down

DROP TABLE counted, task_counts;
