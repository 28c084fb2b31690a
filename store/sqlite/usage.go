package sqlite

import "github.com/bossman-dev/bossman/board"

// Usage reads all open questions through the index questions_open. A board in a file has
// few of them.
func (r *reader) Usage(principal string) (u board.Usage, err error) {
	const (
		claims    = `SELECT count(*) FROM claims WHERE principal = ?`
		questions = `SELECT count(*) FROM questions WHERE state = 'open' AND principal = ?`
	)
	if err := r.get(claims, []any{principal}, &u.Claims); err != nil {
		return u, err
	}
	err = r.get(questions, []any{principal}, &u.OpenQuestions)
	return u, err
}
