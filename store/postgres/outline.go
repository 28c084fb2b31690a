package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// Outlines reads the outlines of tasks in one statement.
func (r *reader) Outlines(ids []board.ID) (map[board.ID]board.Outline, error) {
	const query = `
SELECT ` + eventColumns + `, t.slug, t.id, a.ended_at, coalesce(a.reason, ''), coalesce((SELECT d.result->>'Summary' FROM task_docs d WHERE d.task_id = t.id), ''),
	coalesce((SELECT c.worker FROM reviews c WHERE c.task_id = t.id), ''), coalesce(b.id, 0), coalesce(b.status, '')
FROM unnest($1::text[], $2::bigint[]) v(slug, no) JOIN projects p ON p.slug = v.slug
CROSS JOIN LATERAL (SELECT p.slug, t.id FROM tasks t WHERE t.id = p.id::bigint << 40 | v.no OFFSET 0) t
LEFT JOIN LATERAL (SELECT a.ended_at, a.reason FROM attempts a WHERE a.task_id = t.id ORDER BY a.attempt DESC LIMIT 1) a ON true
LEFT JOIN LATERAL (SELECT k.blocker_id AS id, x.status FROM links k
	CROSS JOIN LATERAL (SELECT x.status FROM tasks x WHERE x.id = k.blocker_id AND x.status IN ('failed', 'cancelled') OFFSET 0) x
	WHERE k.task_id = t.id ORDER BY k.blocker_id LIMIT 1) b ON true
CROSS JOIN LATERAL (SELECT e.* FROM events e WHERE e.task_id = t.id AND e.seq <= 2 ORDER BY e.kind = 'created' DESC, e.seq LIMIT 1) e`
	slugs, nos := split(ids)
	outlines := make(map[board.ID]board.Outline, len(ids))
	_, err := list(r, func(row pgx.CollectableRow) (struct{}, error) {
		var o board.Outline
		var id board.ID
		var key, blocker int64
		e, err := scanEventAnd(row, &id.Project, &key, stamp(&o.EndedAt), &o.Reason, &o.Summary, &o.Reviewer, &blocker, (*string)(&o.DeadBlockerStatus))
		id.No = number(key)
		if blocker != 0 {
			o.DeadBlocker = board.ID{Project: id.Project, No: number(blocker)}
		}
		if e.Kind == board.EventCreated {
			o.Created = e
		}
		outlines[id] = o
		return struct{}{}, err
	}, query, slugs, nos)
	return outlines, err
}

// split returns the projects and the numbers of tasks.
func split(ids []board.ID) ([]string, []int64) {
	slugs, nos := make([]string, len(ids)), make([]int64, len(ids))
	for i, id := range ids {
		slugs[i], nos[i] = id.Project, no(id)
	}
	return slugs, nos
}
