package invariant

import "github.com/bossman-dev/bossman/board"

// calls checks G1 and G2 of a task's calls.
func (c *checker) calls(d board.Dossier) error {
	if len(d.Calls.Last) == 0 {
		return nil
	}
	attempts := map[int]board.Attempt{}
	for _, a := range d.Attempts {
		attempts[a.Attempt] = a
	}
	for before := board.CallID(0); ; {
		var page []board.Call
		err := c.store.Read(c.ctx, func(r board.Reader) (err error) {
			page, err = r.Calls(board.CallFilter{Task: d.Task.ID, Before: before})
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, call := range page {
			before = call.ID
			a, ok := attempts[call.Attempt]
			if !ok {
				c.failf(d.Task.ID, "G1", "call %d was made at attempt %d, which never was", call.ID, call.Attempt)
				continue
			}
			if a.EndedAt.IsZero() {
				continue
			}
			if !call.BeganAt.Before(a.EndedAt) {
				c.failf(d.Task.ID, "G1", "call %d began %v after the end of attempt %d", call.ID, call.BeganAt.Sub(a.EndedAt), a.Attempt)
			}
			open := call.EndedAt.IsZero() || call.EndedAt.After(a.EndedAt)
			if open && a.Cause == board.CauseExpired && a.Reason != board.Killed && call.Deadline.After(a.EndedAt) {
				c.failf(d.Task.ID, "G2", "attempt %d expired %v before the deadline of call %d", a.Attempt, call.Deadline.Sub(a.EndedAt), call.ID)
			}
		}
	}
}
