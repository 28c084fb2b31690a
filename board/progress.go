package board

import (
	"cmp"
	"context"
)

// A Note is a worker's progress.
type Note struct {
	Text    string
	Percent int // 0: unknown
	Where   Where
}

// Progress records a worker's progress and renews its claim. If the claim has ended, the
// error is a *LostError, and the note is kept.
func (b *Board) Progress(ctx context.Context, a Actor, h Handle, n Note) (Notice, error) {
	if n.Text == "" {
		return Notice{}, invalid("a note needs a text")
	}
	if n.Percent < 0 || n.Percent > 100 {
		return Notice{}, invalid("invalid percent %d: want 0 to 100", n.Percent)
	}
	if err := cmp.Or(checkTexts(text{"note", n.Text, maxText}), checkWhere(&n.Where)); err != nil {
		return Notice{}, err
	}
	var notice Notice
	err := b.change(ctx, a, func(c *change) error {
		if err := c.lockHeld(h); err != nil {
			return err
		}
		held, err := c.holder(h)
		if err != nil {
			return c.keepNote(h, err, n.Text)
		}
		t := held.task
		c.saw(held, n.Where)
		held.attempt.Where.Worked = true
		c.event(t, EventNote, t.Status, Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: held.attempt.Worker.Name, Text: n.Text,
			Percent: n.Percent, Where: n.Where,
		})
		if notice, err = c.notice(held); err != nil {
			return err
		}
		w, err := c.tx.Worker(held.claim.Worker)
		if err != nil {
			return err
		}
		notice.Stopped = w.StoppedBy
		return c.tx.UpdateAttempt(held.attempt)
	})
	return notice, err
}
