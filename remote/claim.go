package remote

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

// maxWait bounds how long a call may wait at the server.
const maxWait = 45 * time.Second

func (b *Board) Claims(ctx context.Context, f board.ClaimFilter) ([]board.Claim, error) {
	return claims.fetch(ctx, b, nil, f)
}

// claims lists the caller's own claims, or those of a project.
var claims = op(access.Claims, func(ctx context.Context, c *call, f board.ClaimFilter) ([]board.Claim, error) {
	if f.Owner != "" {
		f.Owner = c.owner(f.Owner)
	}
	switch {
	case f.Project != "":
		if err := c.may(f.Project); err != nil {
			return nil, err
		}
	case f.Owner == "":
		f.Principal = c.caller.Principal
	}
	return c.Claims(ctx, f)
})

func (b *Board) Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error) {
	w.Key = keyOr(w.Key)
	h, err := next.fetch(ctx, b, &a, w)
	if h != nil && !h.Claim.IsReview() {
		h.Dossier.Claim = &h.Claim // which it hides on the wire
	}
	return h, err
}

var next = op(access.Next, func(ctx context.Context, c *call, w board.Wish) (*board.Handout, error) {
	var err error
	if w.Projects, err = c.among(w.Projects); err != nil {
		return nil, err
	}
	var denied error
	w.Reviews = slices.DeleteFunc(w.Reviews, func(slug string) bool {
		err := c.caller.May(access.Review, slug)
		denied = cmp.Or(denied, err)
		return err != nil
	})
	if w.OnlyReviews && denied != nil && len(w.Reviews) == 0 {
		return nil, denied
	}
	w.Wait = min(w.Wait, maxWait)
	if w.Wait > 0 {
		defer c.wait()()
	}
	return c.Next(ctx, c.actor, w)
})

type ownerIn struct{ Owner string }

type renewIn struct {
	Owner  string
	Called bool
}

func (b *Board) Renew(ctx context.Context, owner string, called bool) ([]board.Claim, error) {
	return renew.fetch(ctx, b, nil, renewIn{owner, called})
}

var renew = op(access.Renew, func(ctx context.Context, c *call, in renewIn) ([]board.Claim, error) {
	return c.Renew(ctx, c.owner(in.Owner), in.Called)
})

func (b *Board) Leave(ctx context.Context, owner string) error {
	_, err := leave.fetch(ctx, b, nil, ownerIn{owner})
	return err
}

var leave = op(access.Leave, func(ctx context.Context, c *call, in ownerIn) (none, error) {
	return none{}, c.Leave(ctx, c.owner(in.Owner))
})

type giveBackIn struct {
	Claim  board.Handle
	Reason string `json:",omitzero"`
}

func (b *Board) GiveBack(ctx context.Context, a board.Actor, h board.Handle, reason string) error {
	_, err := giveBack.fetch(ctx, b, &a, giveBackIn{h, reason})
	return err
}

var giveBack = op(access.GiveBack, func(ctx context.Context, c *call, in giveBackIn) (none, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return none{}, err
	}
	return none{}, c.GiveBack(ctx, c.actor, in.Claim, in.Reason)
})

type progressIn struct {
	Claim board.Handle
	Note  board.Note
}

func (b *Board) Progress(ctx context.Context, a board.Actor, h board.Handle, n board.Note) (board.Notice, error) {
	return progress.fetch(ctx, b, &a, progressIn{h, n})
}

var progress = op(access.Progress, func(ctx context.Context, c *call, in progressIn) (board.Notice, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return board.Notice{}, err
	}
	return c.Progress(ctx, c.actor, in.Claim, in.Note)
})

type locateIn struct {
	Claim board.Handle
	Where board.Where
}

func (b *Board) Locate(ctx context.Context, a board.Actor, h board.Handle, w board.Where) error {
	_, err := locate.fetch(ctx, b, &a, locateIn{h, w})
	return err
}

var locate = op(access.Locate, func(ctx context.Context, c *call, in locateIn) (none, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return none{}, err
	}
	return none{}, c.Locate(ctx, c.actor, in.Claim, in.Where)
})

type checkedIn struct {
	Claim board.Handle
	Run   board.CheckRun
}

func (b *Board) Checked(ctx context.Context, a board.Actor, h board.Handle, r board.CheckRun) (board.CheckOutcome, error) {
	return checked.fetch(ctx, b, &a, checkedIn{h, r})
}

var checked = op(access.Checked, func(ctx context.Context, c *call, in checkedIn) (board.CheckOutcome, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return board.CheckOutcome{}, err
	}
	return c.Checked(ctx, c.actor, in.Claim, in.Run)
})

// An outcome is a board.Outcome with the fields that it omits from its own JSON.
type outcome struct {
	Outcome board.Outcome
	Again   bool
	Answers []board.Question
}

func outcomeOf(o outcome, err error) (board.Outcome, error) {
	o.Outcome.Again, o.Outcome.Answers = o.Again, o.Answers
	return o.Outcome, err
}

type doneIn struct {
	Claim  board.Handle
	Report board.Report
}

func (b *Board) Done(ctx context.Context, a board.Actor, h board.Handle, r board.Report) (board.Outcome, error) {
	return outcomeOf(done.fetch(ctx, b, &a, doneIn{h, r}))
}

var done = op(access.Done, func(ctx context.Context, c *call, in doneIn) (outcome, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return outcome{}, err
	}
	o, err := c.Done(ctx, c.actor, in.Claim, in.Report)
	return outcome{o, o.Again, o.Answers}, err
})

type failIn struct {
	Claim   board.Handle
	Failure board.Failure
}

func (b *Board) Fail(ctx context.Context, a board.Actor, h board.Handle, f board.Failure) (board.Outcome, error) {
	return outcomeOf(fail.fetch(ctx, b, &a, failIn{h, f}))
}

var fail = op(access.Fail, func(ctx context.Context, c *call, in failIn) (outcome, error) {
	if err := c.may(in.Claim.Task.Project); err != nil {
		return outcome{}, err
	}
	o, err := c.Fail(ctx, c.actor, in.Claim, in.Failure)
	return outcome{o, o.Again, o.Answers}, err
})
