package sqlite

import (
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// Dossier reads all of it from one snapshot.
func (r *reader) Dossier(id board.ID, n int) (board.Dossier, error) {
	const (
		blockers = taskColumns + ` FROM links k CROSS JOIN tasks t ON t.id = k.blocker_id CROSS JOIN lanes l ON l.id = t.lane_id
			CROSS JOIN projects p ON p.id = l.project_id WHERE k.task_id = ? ORDER BY t.id`
		dependents = taskColumns + ` FROM links k CROSS JOIN tasks t ON t.id = k.task_id CROSS JOIN lanes l ON l.id = t.lane_id
			CROSS JOIN projects p ON p.id = l.project_id WHERE k.blocker_id = ? ORDER BY t.id`
		children  = taskColumns + taskTables + ` WHERE t.parent_id = ? ORDER BY t.id`
		questions = questionColumns + ` WHERE q.task_id = ? ORDER BY q.id`
	)
	var d board.Dossier
	packed, err := r.pack(id)
	if err != nil {
		return d, err
	}
	if d.Task, err = r.task(packed, id); err != nil {
		return d, err
	}
	if d.Doc, err = r.doc(packed, id); err != nil {
		return d, err
	}
	claims, err := r.claims(claimByTask, packed)
	if err != nil {
		return d, err
	}
	if len(claims) > 0 {
		d.Claim = &claims[0]
	}
	reviews, err := r.claims(reviewColumns+` WHERE c.task_id = ?`, packed)
	if err != nil {
		return d, err
	}
	if len(reviews) > 0 {
		d.Review = &reviews[0]
	}
	if d.Attempts, err = r.attempts(attemptColumns+` WHERE a.task_id = ? ORDER BY a.attempt`, packed); err != nil {
		return d, err
	}
	if d.Blockers, err = r.tasks(blockers, packed); err != nil {
		return d, err
	}
	if d.Results, err = r.results(id.Project, packed); err != nil {
		return d, err
	}
	if d.Dependents, err = r.tasks(dependents, packed); err != nil {
		return d, err
	}
	if d.Children, err = r.tasks(children, packed); err != nil {
		return d, err
	}
	if d.Questions, err = r.questions(questions, packed); err != nil {
		return d, err
	}
	if d.Events, err = r.lastEvents(packed, n); err != nil {
		return d, err
	}
	if d.Now, err = r.Now(); err != nil {
		return d, err
	}
	return d, r.dossierCalls(packed, &d)
}

// results returns the results of a task's blockers.
func (r *reader) results(slug string, packed int64) (map[board.ID]board.Result, error) {
	const query = `SELECT d.task_id, d.result FROM links k CROSS JOIN task_docs d ON d.task_id = k.blocker_id
		WHERE k.task_id = ? AND d.result IS NOT NULL`
	results := map[board.ID]board.Result{}
	err := r.each(query, []any{packed}, func(scan scan) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		var result board.Result
		err := fromJSON(text, &result)
		results[unpack(slug, id)] = result
		return err
	})
	return results, err
}

// lastEvents returns the newest n events of a task, oldest first.
func (r *reader) lastEvents(packed int64, n int) ([]board.Event, error) {
	const query = eventColumns + ` WHERE e.task_id = ? ORDER BY e.seq DESC LIMIT ?`
	if n <= 0 {
		return nil, nil
	}
	events, err := r.events(query, packed, n)
	slices.Reverse(events)
	return events, err
}
