package sqlite

import "github.com/bossman-dev/bossman/board"

// Expired returns the tasks in the order in which their leases expired.
func (t *tx) Expired(limit int) ([]board.Task, error) {
	const query = taskColumns + ` FROM claims c CROSS JOIN tasks t ON t.id = c.task_id CROSS JOIN lanes l ON l.id = t.lane_id
		CROSS JOIN projects p ON p.id = l.project_id WHERE c.lease_until <= ? ORDER BY c.lease_until, t.id LIMIT ?`
	return t.tasks(query, t.now(), limitOr(limit, pageSize))
}

// abandoned is a condition: the task is reserved for a worker that is not connected.
const abandoned = `reserved_principal > '' AND reserved_name IS NOT NULL AND status = 'pending' AND NOT EXISTS (SELECT 1 FROM workers w
	WHERE w.principal = reserved_principal AND w.name = reserved_name AND w.owner <> '' AND w.stopped_by = '')`

// Due returns the tasks in the order of NotBefore.
func (t *tx) Due(limit int) ([]board.Task, error) {
	const query = taskColumns + taskTables + ` WHERE t.id IN (
			SELECT id FROM tasks INDEXED BY tasks_due WHERE not_before <= ? AND status = 'pending'
			UNION ALL SELECT id FROM tasks INDEXED BY tasks_reserved WHERE ` + abandoned + `)
		ORDER BY t.not_before, t.id LIMIT ?`
	return t.tasks(query, t.now(), limitOr(limit, pageSize))
}

// Overdue returns the questions in the order of their deadlines.
func (t *tx) Overdue(limit int) ([]board.Question, error) {
	const query = questionColumns + ` WHERE q.state = 'open' AND q.needed_by <= ? AND q.dflt <> '' ORDER BY q.needed_by, q.id LIMIT ?`
	return t.questions(query, t.now(), limitOr(limit, pageSize))
}

// Stale reports whether one of the three above or ExpiredReviews would return something.
func (r *reader) Stale() (bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM claims WHERE lease_until <= ?1)
		OR EXISTS (SELECT 1 FROM reviews r WHERE r.lease_until <= ?1
			OR EXISTS (SELECT 1 FROM claims c WHERE c.principal = r.principal AND c.worker = r.worker))
		OR EXISTS (SELECT 1 FROM tasks WHERE not_before <= ?1 AND status = 'pending')
		OR EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_reserved WHERE ` + abandoned + `)
		OR EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND needed_by <= ?1 AND dflt <> '')`
	var stale bool
	err := r.get(query, []any{r.now()}, &stale)
	return stale, err
}
