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

// FillQueue puts a queue of n ready tasks into an empty board. It is as new tasks are,
// not vacuumed, and remains so until VacuumQueue.
func FillQueue(ctx context.Context, dsn string, n int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range []string{
		`SET synchronous_commit = off`,
		fmt.Sprintf(`INSERT INTO projects (slug, name, policy, lease, skills, paused_by, archived)
			SELECT slug, '', 'trust', '0', '{other,%s}', '', false FROM unnest('{%s}'::text[]) WITH ORDINALITY p(slug, i) ORDER BY i`,
			strings.Join(QueueSkills, ","), strings.Join(QueueProjects, ",")),
		fmt.Sprintf(`INSERT INTO project_counters (project_id, next_no) SELECT id, %d FROM projects`, n+1),
		fmt.Sprintf(`INSERT INTO lanes (project_id, skills)
			SELECT p.id, l.skills::text[] FROM projects p, unnest(string_to_array('%s', ' ')) WITH ORDINALITY l(skills, i) ORDER BY p.id, l.i`,
			strings.Join(queueLanes(), " ")),
		`ALTER TABLE tasks SET (autovacuum_enabled = off)`,
		fmt.Sprintf(`INSERT INTO tasks (id, lane_id, skills, status, ready, hold, priority, queued_at, open_blockers, open_children, done_children,
			attempt, nonce, failures, max_failures, lease, spec_version, seq, areas, area_up, wants, title, created_by, created_at)
			SELECT (1 + i %% 3)::bigint << 40 | i, l.id, l.skills, 'pending', true, false, 2, timestamptz '2026-01-01' + i * interval '1 ms', 0, 0, 0,
				0, '', 0, 3, '0', 1, 1, ARRAY['src/d' || i %% 50], '{.,src}', '{}', 'a title of the usual length, task ' || i, 'ada', now()
			FROM generate_series(1, %[1]d) i
			JOIN lanes l ON l.id = 1 + (i %% 3) * 60 + CASE WHEN i <= %[1]d / 2 THEN 0 ELSE 30 END + (i / 3) %% 30`, n),
		`INSERT INTO task_docs (task_id, description, acceptance) SELECT id, repeat('what is to be done ', 10), '' FROM tasks`,
		`INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
			SELECT 1, id >> 40, id, 1, 'ada', 'created', '', 'pending', '{}' FROM tasks`,
		`ANALYZE`,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("pgtest: fill a queue: %.60s…: %w", statement, err)
		}
	}
	return nil
}

// VacuumQueue makes of a new queue one that has been there for a while.
func VacuumQueue(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range []string{`ALTER TABLE tasks RESET (autovacuum_enabled)`, `VACUUM (ANALYZE)`, `CHECKPOINT`} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("pgtest: %s: %w", statement, err)
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
