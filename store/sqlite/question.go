package sqlite

import (
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

const questionColumns = `SELECT q.id, p.slug, q.task_id, q.attempt, q.nonce, q.principal, q.worker, q.owner, q.chat_id, q.text, q.options, q.dflt,
	q.needed_by, q.blocking, q.human_only, q.state, q.answer, q.answered_by, q.answered_as, q.asked_at, q.answered_at
	FROM questions q CROSS JOIN projects p ON p.id = q.project_id`

func scanQuestion(scan scan) (board.Question, error) {
	var q board.Question
	var task, neededBy, answered *int64
	var asked int64
	var options string
	if err := scan(&q.ID, &q.Project, &task, &q.Claim.Attempt, &q.Claim.Nonce, &q.Asker.Principal, &q.Asker.Name, &q.Owner, &q.ChatID, &q.Text,
		&options, &q.Default, &neededBy, &q.Blocking, &q.HumanOnly, &q.State, &q.Answer, &q.AnsweredBy, &q.AnsweredAs, &asked, &answered); err != nil {
		return q, err
	}
	if task != nil {
		q.Claim.Task = unpack(q.Project, *task)
	}
	q.NeededBy, q.AskedAt, q.AnsweredAt = fromNullTime(neededBy), fromMicros(asked), fromNullTime(answered)
	var err error
	q.Options, err = listFromJSON[string](options)
	return q, err
}

// questions runs a constant query that begins with questionColumns.
func (r *reader) questions(query string, args ...any) ([]board.Question, error) {
	var list []board.Question
	err := r.each(query, args, func(scan scan) error {
		q, err := scanQuestion(scan)
		list = append(list, q)
		return err
	})
	return list, err
}

func (r *reader) Question(id board.QuestionID) (board.Question, error) {
	const query = questionColumns + ` WHERE q.id = ?`
	list, err := r.questions(query, int64(id))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: question %v", board.ErrNotFound, id)
	}
	if err != nil {
		return board.Question{}, err
	}
	return list[0], nil
}

func (r *reader) Questions(f board.QuestionFilter) ([]board.Question, error) {
	q := newQuery(questionColumns)
	if f.Projects != nil {
		ids, err := r.projectIDs(f.Projects)
		if err != nil {
			return nil, err
		}
		anyOf(q, `q.project_id = ?`, ids, func(id int64) []any { return []any{id} })
	}
	if f.State == board.QuestionOpen {
		q.and(`q.state = 'open'`) // literally, so that the partial index is used
	} else if f.State != "" {
		q.and(`q.state = ?`, f.State)
	}
	if !f.Task.IsZero() {
		task, err := r.pack(f.Task)
		if errors.Is(err, board.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		q.and(`q.task_id = ?`, task)
	}
	if f.ChatID != "" {
		q.and(`q.chat_id = ? AND q.chat_id <> ''`, f.ChatID) // so that the partial index is used
	}
	q.and(`q.id > ?`, int64(f.After))
	q.end(`ORDER BY q.id LIMIT ?`, limitOr(f.Limit, pageSize))
	var list []board.Question
	err := r.eachOf(q, func(scan scan) error {
		question, err := scanQuestion(scan)
		list = append(list, question)
		return err
	})
	return list, err
}

func (t *tx) InsertQuestion(q board.Question) (board.QuestionID, error) {
	const query = `INSERT INTO questions (project_id, task_id, attempt, nonce, principal, worker, owner, chat_id, text, options, dflt, needed_by,
		blocking, human_only, state, answer, answered_by, answered_as, asked_at, answered_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	values, err := t.questionValues(q)
	if err != nil {
		return 0, err
	}
	var id int64
	err = t.get(query, values, &id)
	return board.QuestionID(id), err
}

func (t *tx) UpdateQuestion(q board.Question) error {
	const query = `UPDATE questions SET project_id = ?, task_id = ?, attempt = ?, nonce = ?, principal = ?, worker = ?, owner = ?, chat_id = ?,
		text = ?, options = ?, dflt = ?, needed_by = ?, blocking = ?, human_only = ?, state = ?, answer = ?, answered_by = ?, answered_as = ?, asked_at = ?,
		answered_at = ? WHERE id = ? AND state = 'open'`
	values, err := t.questionValues(q)
	if err != nil {
		return err
	}
	n, err := t.exec(query, append(values, int64(q.ID))...)
	if err != nil || n == 1 {
		return err
	}
	now, err := t.Question(q.ID)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: question %v is %s", board.ErrConflict, q.ID, now.State)
}

// questionValues returns the values in the order of both statements. The project defaults
// to that of the task.
func (t *tx) questionValues(q board.Question) ([]any, error) {
	slug := q.Project
	if slug == "" {
		slug = q.Claim.Task.Project
	}
	project, err := t.projectID(slug)
	if err != nil {
		return nil, err
	}
	task, err := t.packOrNull(q.Claim.Task)
	if err != nil {
		return nil, err
	}
	options, err := listJSON(q.Options)
	if err != nil {
		return nil, err
	}
	return []any{
		project, task, q.Claim.Attempt, q.Claim.Nonce, q.Asker.Principal, q.Asker.Name, q.Owner, q.ChatID, q.Text, options, q.Default,
		nullTime(q.NeededBy), q.Blocking, q.HumanOnly, q.State, q.Answer, q.AnsweredBy, q.AnsweredAs, q.AskedAt.UnixMicro(), nullTime(q.AnsweredAt),
	}, nil
}
