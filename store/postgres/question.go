package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// questionColumns are columns of projects p and questions q.
const questionColumns = `q.id, p.slug, q.task_id, q.attempt, q.nonce, q.principal, q.worker, q.owner, q.chat_id, q.text, q.options, q.dflt,
	q.needed_by, q.blocking, q.human_only, q.state, q.answer, q.answered_by, q.answered_as, q.asked_at, q.answered_at`

func scanQuestion(row pgx.CollectableRow) (board.Question, error) { return scanQuestionAnd(row) }

// scanQuestionAnd reads a question, and more columns after it.
func scanQuestionAnd(row pgx.CollectableRow, more ...any) (q board.Question, err error) {
	var key *int64
	err = row.Scan(append([]any{
		(*int64)(&q.ID), &q.Project, &key, &q.Claim.Attempt, &q.Claim.Nonce, &q.Asker.Principal, &q.Asker.Name, &q.Owner, &q.ChatID, &q.Text, &q.Options, &q.Default,
		stamp(&q.NeededBy), &q.Blocking, &q.HumanOnly, (*string)(&q.State), &q.Answer, &q.AnsweredBy, (*string)(&q.AnsweredAs), &q.AskedAt, stamp(&q.AnsweredAt),
	}, more...)...)
	if key != nil {
		q.Claim.Task = board.ID{Project: q.Project, No: number(*key)}
	}
	trim(&q.Options)
	return q, err
}

const taskQuestionsQuery = `SELECT ` + questionColumns + ` FROM questions q JOIN projects p ON p.slug = $1
WHERE q.task_id = ` + taskID + ` ORDER BY q.id`

const questionQuery = `SELECT ` + questionColumns + ` FROM questions q JOIN projects p ON p.id = q.project_id WHERE q.id = $1`

// Question reads a question.
func (r *reader) Question(id board.QuestionID) (board.Question, error) {
	q, err := one(r, scanQuestion, questionQuery, int64(id))
	return q, named(err, "question", id)
}

// Question reads a question.
func (t *tx) Question(id board.QuestionID) (board.Question, error) {
	if q := t.known.question; q != nil && q.ID == id {
		return *q, nil
	}
	return t.reader.Question(id)
}

// Questions lists questions.
func (t *tx) Questions(f board.QuestionFilter) ([]board.Question, error) {
	if h := t.known.held; h != nil && h.attempt.Task == f.Task && !h.asked {
		return nil, nil
	}
	return t.reader.Questions(f)
}

// Questions lists questions. Without a task or a chat it reads a page of each project; the
// open ones have an index.
func (r *reader) Questions(f board.QuestionFilter) ([]board.Question, error) {
	const (
		some    = `SELECT ` + questionColumns + ` FROM questions q JOIN projects p ON p.id = q.project_id WHERE true`
		pages   = `SELECT ` + questionColumns + ` FROM projects p CROSS JOIN LATERAL (SELECT * FROM questions q WHERE q.project_id = p.id`
		pageEnd = ` ORDER BY q.id LIMIT $1) q WHERE true`
		tail    = ` ORDER BY q.id LIMIT $1`

		projects = ` AND p.slug = ANY($%d)`
		open     = ` AND q.state = 'open'`
		state    = ` AND q.state = $%d`
		task     = ` AND q.task_id = (SELECT x.id::bigint << 40 | $%d::bigint FROM projects x WHERE x.slug = $%d)`
		chat     = ` AND q.chat_id = $%d AND q.chat_id <> ''`
		after    = ` AND q.id > $%d`
	)
	var query where
	args := []any{limitOf(f.Limit)}
	paged := f.Task.IsZero() && f.ChatID == ""
	if paged {
		query.add(&args, pages)
	} else {
		query.add(&args, some)
	}
	switch f.State {
	case "":
	case board.QuestionOpen:
		query.add(&args, open)
	default:
		query.add(&args, state, string(f.State))
	}
	if !f.Task.IsZero() {
		query.add(&args, task, no(f.Task), f.Task.Project)
	}
	if f.ChatID != "" {
		query.add(&args, chat, f.ChatID)
	}
	if f.After > 0 {
		query.add(&args, after, int64(f.After))
	}
	if paged {
		query.add(&args, pageEnd)
	}
	if f.Projects != nil {
		query.add(&args, projects, f.Projects)
	}
	query.add(&args, tail)
	return list(r, scanQuestion, query.String(), args...)
}

// Earlier returns what was asked before in the conversations of questions.
func (r *reader) Earlier(ids []board.QuestionID, n int) (map[board.QuestionID][]board.Question, error) {
	const query = `SELECT ` + questionColumns + `, o.id FROM questions o JOIN projects p ON p.id = o.project_id
CROSS JOIN LATERAL (SELECT * FROM questions q WHERE q.chat_id = o.chat_id AND q.chat_id <> '' AND q.id < o.id
	AND q.principal = o.principal AND q.project_id = o.project_id ORDER BY q.id DESC LIMIT $2) q
WHERE o.id = ANY($1::bigint[]) ORDER BY q.id`
	earlier := map[board.QuestionID][]board.Question{}
	_, err := list(r, func(row pgx.CollectableRow) (struct{}, error) {
		var of board.QuestionID
		q, err := scanQuestionAnd(row, (*int64)(&of))
		earlier[of] = append(earlier[of], q)
		return struct{}{}, err
	}, query, ids, n)
	return earlier, err
}

// InsertQuestion stores a question and returns its ID.
func (t *tx) InsertQuestion(q board.Question) (board.QuestionID, error) {
	const query = `
INSERT INTO questions (project_id, task_id, attempt, nonce, principal, worker, owner, chat_id, text, options, dflt,
	needed_by, blocking, human_only, state, answer, answered_by, answered_as, asked_at, answered_at)
SELECT p.id, p.id::bigint << 40 | nullif($2::bigint, 0), $3, $4, $5, $6, $7, $8, $9, $10, $11,
	$12, $13, $14, $15, $16, $17, $18, $19, $20
FROM projects p WHERE p.slug = $1 RETURNING id`
	if h := t.known.held; h != nil {
		h.asked = true
	}
	id, err := one(&t.reader, pgx.RowTo[int64], query,
		q.Project, no(q.Claim.Task), q.Claim.Attempt, q.Claim.Nonce, q.Asker.Principal, q.Asker.Name, q.Owner, q.ChatID, q.Text, orEmpty(q.Options), q.Default,
		*stamp(&q.NeededBy), q.Blocking, q.HumanOnly, string(q.State), q.Answer, q.AnsweredBy, string(q.AnsweredAs), q.AskedAt, *stamp(&q.AnsweredAt))
	return board.QuestionID(id), named(err, "project", q.Project)
}

// UpdateQuestion writes an open question; ErrConflict if it is not open.
func (t *tx) UpdateQuestion(q board.Question) error {
	const query = `
UPDATE questions SET chat_id = $2, text = $3, options = $4, dflt = $5, needed_by = $6, blocking = $7, human_only = $8,
	state = $9, answer = $10, answered_by = $11, answered_at = $12, answered_as = $13, owner = $14
WHERE id = $1 AND state = 'open'`
	conflict := fmt.Errorf("%w: question %v is not open", board.ErrConflict, q.ID)
	args := []any{
		int64(q.ID), q.ChatID, q.Text, orEmpty(q.Options), q.Default, *stamp(&q.NeededBy), q.Blocking, q.HumanOnly,
		string(q.State), q.Answer, q.AnsweredBy, *stamp(&q.AnsweredAt), string(q.AnsweredAs), q.Owner,
	}
	if old := t.known.question; old == nil || old.ID != q.ID {
		return t.write(conflict, query, args...) // the caller may have expected that it is not
	}
	t.known.question = nil
	t.must(conflict, mustBegin+query+mustEnd, args...)
	return nil
}

// Overdue returns open questions that have a default and whose deadline has passed.
func (t *tx) Overdue(limit int) ([]board.Question, error) {
	const query = `SELECT ` + questionColumns + ` FROM questions q JOIN projects p ON p.id = q.project_id
WHERE q.state = 'open' AND q.dflt <> '' AND q.needed_by <= statement_timestamp() ORDER BY q.needed_by, q.id LIMIT $1`
	return list(&t.reader, scanQuestion, query, limit)
}
