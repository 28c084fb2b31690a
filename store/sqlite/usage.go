package sqlite

import "github.com/bossman-dev/bossman/board"

// Usage looks at all open questions, by the index questions_open; those of a board in a
// file are few.
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
