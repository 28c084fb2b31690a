package sqlite

import (
	"errors"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	runColumns = `SELECT p.slug, r.task_id, r.attempt, r.nonce, r.agent, r.model, r.session, r.tokens_in, r.tokens_out, r.tokens_cached, r.cost, r.at`
	runTables  = ` FROM runs r CROSS JOIN projects p ON p.id = r.task_id >> 40`
)

// runs runs a constant query that selects runColumns and a log.
func (r *reader) runs(query string, args ...any) ([]board.Run, error) {
	var list []board.Run
	err := r.each(query, args, func(scan scan) error {
		var run board.Run
		var id, at int64
		var cost *int64
		var log *string
		if err := scan(&run.Claim.Task.Project, &id, &run.Claim.Attempt, &run.Claim.Nonce, &run.Agent, &run.Model, &run.Session,
			&run.Tokens.In, &run.Tokens.Out, &run.Tokens.Cached, &cost, &at, &log); err != nil {
			return err
		}
		run.Claim.Task, run.At = unpack(run.Claim.Task.Project, id), fromMicros(at)
		if cost != nil {
			run.Cost, run.Priced = *cost, true
		}
		if log != nil {
			run.Log = *log
		}
		list = append(list, run)
		return nil
	})
	return list, err
}

func (r *reader) Runs(id board.ID) ([]board.Run, error) {
	const query = runColumns + `, NULL` + runTables + ` WHERE r.task_id = ? ORDER BY r.attempt`
	packed, err := r.pack(id)
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.runs(query, packed)
}

func (r *reader) Spent(slug string, day time.Time) (s board.Spending, err error) {
	// Beside max, the other columns are of the row that has it.
	const query = `SELECT CAST(total(r.cost) AS INTEGER), max(r.cost), r.task_id, r.attempt
		FROM runs r CROSS JOIN attempts a ON a.task_id = r.task_id AND a.attempt = r.attempt
		WHERE r.cost IS NOT NULL AND r.at >= ? AND r.at < ? AND r.task_id >> 40 = ? AND a.principal NOT LIKE ?`
	project, err := r.projectID(slug)
	if errors.Is(err, board.ErrNotFound) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var most, id *int64
	var attempt *int
	err = r.get(query, []any{day.UnixMicro(), day.AddDate(0, 0, 1).UnixMicro(), project, board.ImportBy + "%"}, &s.Cost, &most, &id, &attempt)
	if most != nil {
		s.Most, s.Task, s.Attempt = *most, unpack(slug, *id), *attempt
	}
	return s, err
}

func (r *reader) Log(id board.ID, attempt int, after int64) ([]board.LogPart, error) {
	const query = `SELECT no, text FROM run_logs WHERE task_id = ? AND attempt = ? AND no > ? ORDER BY no`
	packed, err := r.pack(id)
	if errors.Is(err, board.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []board.LogPart
	err = r.each(query, []any{packed, attempt, after}, func(scan scan) error {
		var p board.LogPart
		err := scan(&p.No, &p.Text)
		list = append(list, p)
		return err
	})
	return list, err
}

func (t *tx) PutRun(r board.Run) error {
	const query = `INSERT INTO runs (task_id, attempt, nonce, agent, model, session, tokens_in, tokens_out, tokens_cached, cost, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET nonce = excluded.nonce, agent = excluded.agent, model = excluded.model,
		session = excluded.session, tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, tokens_cached = excluded.tokens_cached,
		cost = excluded.cost, at = excluded.at`
	id, err := t.pack(r.Claim.Task)
	if err != nil {
		return err
	}
	var cost *int64
	if r.Priced {
		cost = &r.Cost
	}
	_, err = t.exec(query, id, r.Claim.Attempt, r.Claim.Nonce, r.Agent, r.Model, r.Session, r.Tokens.In, r.Tokens.Out, r.Tokens.Cached, cost, r.At.UnixMicro())
	return err
}

func (t *tx) PutLog(id board.ID, attempt int, p board.LogPart) error {
	const add = `INSERT INTO run_logs (task_id, attempt, no, size, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	const trim = `DELETE FROM run_logs WHERE task_id = ?1 AND attempt = ?2 AND no <= (SELECT max(no) FROM
		(SELECT no, sum(size) OVER (ORDER BY no DESC) AS newer FROM run_logs WHERE task_id = ?1 AND attempt = ?2) WHERE newer > ?3)`
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	if _, err := t.exec(add, packed, attempt, p.No, p.Size(), p.Text); err != nil {
		return err
	}
	_, err = t.exec(trim, packed, attempt, board.MaxLog)
	return err
}

func (t *tx) EraseRuns(id board.ID) error {
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM run_logs WHERE task_id = ?`, packed); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM diffs WHERE task_id = ?`, packed); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE runs SET session = '' WHERE task_id = ?`, packed)
	return err
}
