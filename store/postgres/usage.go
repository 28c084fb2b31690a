package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// usageQuery counts by the indexes claims_principal_worker_key and questions_asker.
const usageQuery = `SELECT (SELECT count(*) FROM claims WHERE principal = $1),
	(SELECT count(*) FROM questions WHERE state = 'open' AND principal = $1)`

// Usage counts a principal's live claims and open questions.
func (r *reader) Usage(principal string) (board.Usage, error) {
	return one(r, func(row pgx.CollectableRow) (u board.Usage, err error) {
		err = row.Scan(&u.Claims, &u.OpenQuestions)
		return u, err
	}, usageQuery, principal)
}
