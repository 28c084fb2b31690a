package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/store/postgres"
)

// A long queue: tasks of three projects, 60 lanes in each. Half of the lanes want a
// skill that those who ask do not have, and the older half of the tasks is in these.
var (
	QueueProjects = []string{"p1", "p2", "p3"}
	QueueSkills   = []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}
)

// queueLanes gives the skills of a project's lanes as arrays, first those that do not
// fit.
func queueLanes() []string {
	sets := []string{""}
	for i, a := range QueueSkills {
		sets = append(sets, a)
		for _, b := range QueueSkills[i+1:] {
			sets = append(sets, a+","+b)
		}
	}
	sets = sets[:30]
	var lanes []string
	for _, s := range sets {
		lanes = append(lanes, "{"+strings.TrimSuffix("other,"+s, ",")+"}")
	}
	for _, s := range sets {
		lanes = append(lanes, "{"+s+"}")
	}
	return lanes
}

// FillQueue puts a queue of n ready tasks into a board without its projects. It is as new
// tasks are, not vacuumed, and remains so until VacuumQueue.
func FillQueue(ctx context.Context, dsn string, n int) error {
	return execAll(ctx, dsn, "fill a queue", []string{
		`SET synchronous_commit = off`,
		fmt.Sprintf(`INSERT INTO projects (slug, name, policy, lease, skills, paused_by, archived)
			SELECT slug, '', 'trust', '0', '{other,%s}', '', false FROM unnest('{%s}'::text[]) WITH ORDINALITY p(slug, i) ORDER BY i`,
			strings.Join(QueueSkills, ","), strings.Join(QueueProjects, ",")),
		fmt.Sprintf(`CREATE TEMP TABLE queue AS SELECT id FROM projects WHERE slug = ANY('{%s}')`, strings.Join(QueueProjects, ",")),
		fmt.Sprintf(`INSERT INTO project_counters (project_id, next_no) SELECT id, %d FROM queue`, n+1),
		fmt.Sprintf(`INSERT INTO lanes (project_id, skills)
			SELECT p.id, l.skills::text[] FROM queue p, unnest(string_to_array('%s', ' ')) WITH ORDINALITY l(skills, i) ORDER BY p.id, l.i`,
			strings.Join(queueLanes(), " ")),
		`ALTER TABLE tasks SET (autovacuum_enabled = off)`,
		fmt.Sprintf(`INSERT INTO tasks (id, lane_id, skills, status, ready, hold, priority, queued_at, open_blockers, open_children, done_children,
			attempt, nonce, failures, max_failures, lease, spec_version, seq, areas, area_up, wants, title, created_by, created_at)
			SELECT ((SELECT min(id) FROM queue) + i %% 3)::bigint << 40 | i, l.id, l.skills, 'pending', true, false, 2, timestamptz '2026-01-01' + i * interval '1 ms', 0, 0, 0,
				0, '', 0, 3, '0', 1, 1, ARRAY['src/d' || i %% 50], '{.,src}', '{}', 'a title of the usual length, task ' || i, 'ada', now()
			FROM generate_series(1, %[1]d) i
			JOIN lanes l ON l.id = (SELECT min(l.id) FROM lanes l JOIN queue q ON q.id = l.project_id) + (i %% 3) * 60 + CASE WHEN i <= %[1]d / 2 THEN 0 ELSE 30 END + (i / 3) %% 30`, n),
		`INSERT INTO task_docs (task_id, description, acceptance) SELECT id, repeat('what is to be done ', 10), '' FROM tasks WHERE id >> 40 IN (SELECT id FROM queue)`,
		`INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
			SELECT feed_epoch, id >> 40, id, 1, 'ada', 'created', '', 'pending', '{}' FROM tasks, meta WHERE id >> 40 IN (SELECT id FROM queue)`,
		`DROP TABLE queue`,
		`ANALYZE`,
	})
}

// HoldQueue lets n workers hold the oldest tasks of a queue, which others are not offered,
// for ten days.
func HoldQueue(ctx context.Context, dsn string, n int) error {
	return execAll(ctx, dsn, "hold a queue", []string{
		`SET synchronous_commit = off`,
		fmt.Sprintf(`CREATE TEMP TABLE held AS SELECT t.id, t.areas, t.area_up, row_number() OVER (ORDER BY t.queued_at) AS i FROM tasks t
			WHERE t.ready AND t.skills @> '{other}' AND t.id >> 40 IN (SELECT id FROM projects WHERE slug = ANY('{%s}')) ORDER BY t.queued_at LIMIT %d`,
			strings.Join(QueueProjects, ","), n),
		`UPDATE tasks t SET status = 'in_progress', ready = false, attempt = 1, nonce = 'k7f2q', seq = 2 FROM held h WHERE h.id = t.id`,
		`INSERT INTO workers (principal, name, owner, last_seen, stopped_by) SELECT 'h' || i % 1000, 'holder-' || i, 'holder-' || i, now(), '' FROM held`,
		`INSERT INTO attempts (task_id, attempt, nonce, principal, worker, owner, granted_at, cause, reason, do_not_repeat, place, spec_version, created, report_hash, report_answer)
			SELECT id, 1, 'k7f2q', 'h' || i % 1000, 'holder-' || i, 'holder-' || i, now(), '', '', '', '{}', 1, 0, '', '' FROM held`,
		`INSERT INTO claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
			SELECT id, 1, 'k7f2q', 'h' || i % 1000, 'holder-' || i, 'holder-' || i, 's', now(), now() + interval '10 days', '10 days', 1 FROM held`,
		`INSERT INTO claim_areas (project_id, path, self, task_id) SELECT id >> 40, a, true, id FROM held, unnest(areas) a
			UNION SELECT id >> 40, a, false, id FROM held, unnest(area_up) a`,
		`INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
			SELECT feed_epoch, id >> 40, id, 2, 'holder-' || i, 'claimed', 'pending', 'in_progress', '{"Attempt":1,"Nonce":"k7f2q"}' FROM held, meta`,
	})
}

// VacuumQueue makes of a new queue one that has been there for a while.
func VacuumQueue(ctx context.Context, dsn string) error {
	return execAll(ctx, dsn, "vacuum a queue", []string{`ALTER TABLE tasks RESET (autovacuum_enabled)`, `VACUUM (ANALYZE)`, `CHECKPOINT`})
}

// execAll runs statements one after the other on one connection.
func execAll(ctx context.Context, dsn, what string, statements []string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("pgtest: %s: %.60s…: %w", what, statement, err)
		}
	}
	return nil
}

// QueuePages gives how many pages one claim from the queue touches, the middle of
// several.
func QueuePages(ctx context.Context, dsn string) (int, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	const prepare = `SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off; PREPARE claim AS `
	if _, err := conn.Exec(ctx, prepare+postgres.HandOut); err != nil {
		return 0, err
	}
	var pages []int
	for range 15 {
		query := fmt.Sprintf(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE claim(
			'{%s}', '{%s}', '{p}', '{%[3]s}', '{o}', '{s}', '{%[3]s}', '{"{}"}', ARRAY['{"Nonce":"x"}'], '{t}', '10 min')`,
			strings.Join(QueueProjects, ","), strings.Join(QueueSkills, ","), rand.Text())
		var text []byte
		if err := conn.QueryRow(ctx, query).Scan(&text); err != nil {
			return 0, err
		}
		var plan []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		if err := json.Unmarshal(text, &plan); err != nil {
			return 0, err
		}
		pages = append(pages, plan[0].Plan.Hit+plan[0].Plan.Read)
	}
	slices.Sort(pages)
	return pages[len(pages)/2], nil
}
