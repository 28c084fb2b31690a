package remote

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

// keyOr returns the caller's idempotency key, or a new one: a call whose answer was
// lost is repeated and must not be carried out twice.
func keyOr(key string) string {
	if key != "" {
		return key
	}
	return rand.Text()
}

func (b *Board) List(ctx context.Context, f board.TaskFilter) ([]board.Task, error) {
	return list.fetch(ctx, b, nil, f)
}

var list = op(access.List, func(ctx context.Context, c *call, f board.TaskFilter) (_ []board.Task, err error) {
	if f.Projects, err = c.among(f.Projects); err != nil {
		return nil, err
	}
	if !f.After.IsZero() && !slices.Contains(f.Projects, f.After.Project) {
		return nil, board.ErrNotFound // its position would tell what others have
	}
	f.Limit = boundedRows(f.Limit)
	return c.List(ctx, f)
})

type getIn struct {
	ID     board.ID
	Events int
}

func (b *Board) Get(ctx context.Context, id board.ID, n int) (board.Dossier, error) {
	return get.fetch(ctx, b, nil, getIn{id, n})
}

var get = op(access.Get, func(ctx context.Context, c *call, in getIn) (board.Dossier, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Dossier{}, err
	}
	want := min(max(in.Events, 0), maxRows)
	d, err := c.Get(ctx, in.ID, min(want, firstRows))
	if err != nil || len(d.Events) < firstRows || want == firstRows {
		return d, err
	}
	d.Events, err = c.earlier(ctx, d.Events, want)
	return d, err
})

// earlier adds the events of a task before the last ones that were read, up to a number of events and of bytes.
func (c *call) earlier(ctx context.Context, last []board.Event, want int) ([]board.Event, error) {
	size := 0
	for part := last; ; {
		more, err := bytesOf(part)
		if err != nil {
			return nil, err
		}
		size += more
		first := last[0]
		n := min(mostRows, want-len(last), int(first.Seq)-1)
		if n <= 0 || size >= maxAnswer {
			return last, nil
		}
		if part, err = c.Events(ctx, first.Task, first.Seq-1-int64(n), n); err != nil {
			return nil, err
		}
		if len(part) == 0 || part[len(part)-1].Seq >= first.Seq {
			return last, nil
		}
		last = append(part[:len(part):len(part)], last...)
	}
}

type whyOut struct {
	Dossier board.Dossier
	Reasons []board.Reason
}

func (b *Board) Why(ctx context.Context, id board.ID) (board.Dossier, []board.Reason, error) {
	out, err := why.fetch(ctx, b, nil, getIn{ID: id})
	return out.Dossier, out.Reasons, err
}

var why = op(access.Why, func(ctx context.Context, c *call, in getIn) (out whyOut, err error) {
	if err := c.may(in.ID.Project); err != nil {
		return out, err
	}
	out.Dossier, out.Reasons, err = c.Why(ctx, in.ID)
	return out, err
})

type eventsIn struct {
	ID    board.ID
	After int64
	Limit int
}

func (b *Board) Events(ctx context.Context, id board.ID, after int64, limit int) ([]board.Event, error) {
	return fetchRows(ctx, b, events, limit, func(last *board.Event, n int) eventsIn {
		if last != nil {
			after = last.Seq
		}
		return eventsIn{id, after, n}
	})
}

var events = op(access.Events, func(ctx context.Context, c *call, in eventsIn) ([]board.Event, error) {
	if err := c.may(in.ID.Project); err != nil {
		return nil, err
	}
	return rows(c, in.Limit, func(last *board.Event, n int) ([]board.Event, error) {
		if last != nil {
			in.After = last.Seq
		}
		return c.Events(ctx, in.ID, in.After, n)
	})
})

type createIn struct {
	Claim board.Handle
	Task  board.NewTask
	Key   string
}

type createOut struct {
	Task board.Task
	Doc  board.Doc
}

func (b *Board) Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error) {
	out, err := create.fetch(ctx, b, &a, createIn{Task: n, Key: keyOr(key)})
	return out.Task, out.Doc, err
}

// An agent that works on a task creates others under its claim, where they are held
// and bounded; only leads are exempt.
var create = op(access.Create, func(ctx context.Context, c *call, in createIn) (out createOut, err error) {
	if err := c.may(in.Task.Project); err != nil {
		return out, err
	}
	if !c.isLead(in.Task.Project) && !c.actor.Person {
		held, err := c.Claims(ctx, board.ClaimFilter{Project: in.Task.Project, Owner: c.actor.Owner})
		if err != nil {
			return out, err
		}
		if len(held) > 0 {
			return out, board.ErrDenied
		}
	}
	out.Task, out.Doc, err = c.Create(ctx, c.actor, in.Task, in.Key)
	return out, err
})

func (b *Board) CreateUnder(ctx context.Context, a board.Actor, h board.Handle, n board.NewTask, key string) (board.Task, board.Doc, error) {
	out, err := createUnder.fetch(ctx, b, &a, createIn{h, n, keyOr(key)})
	return out.Task, out.Doc, err
}

var createUnder = op(access.CreateUnder, func(ctx context.Context, c *call, in createIn) (out createOut, err error) {
	if err := c.may(in.Task.Project); err != nil {
		return out, err
	}
	if err := c.may(in.Claim.Task.Project); err != nil {
		return out, err
	}
	out.Task, out.Doc, err = c.CreateUnder(ctx, c.actor, in.Claim, in.Task, in.Key)
	return out, err
})

func (b *Board) CreatePlan(ctx context.Context, a board.Actor, p board.Plan) (board.Planned, error) {
	if !p.DryRun {
		p.Key = keyOr(p.Key)
	}
	return createPlan.fetch(ctx, b, &a, p)
}

var createPlan = op(access.CreatePlan, func(ctx context.Context, c *call, p board.Plan) (board.Planned, error) {
	if err := c.may(p.Project); err != nil {
		return board.Planned{}, err
	}
	return c.CreatePlan(ctx, c.actor, p)
})

type updateIn struct {
	ID   board.ID
	Edit board.Edit
}

func (b *Board) Update(ctx context.Context, a board.Actor, id board.ID, e board.Edit) (board.Task, error) {
	return update.fetch(ctx, b, &a, updateIn{id, e})
}

var update = op(access.Update, func(ctx context.Context, c *call, in updateIn) (board.Task, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Task{}, err
	}
	return c.Update(ctx, c.actor, in.ID, in.Edit)
})

type cancelIn struct {
	ID         board.ID
	Reason     string
	Dependents board.Dependents
}

func (b *Board) Cancel(ctx context.Context, a board.Actor, id board.ID, reason string, deps board.Dependents) ([]board.ID, error) {
	return cancel.fetch(ctx, b, &a, cancelIn{id, reason, deps})
}

var cancel = op(access.Cancel, func(ctx context.Context, c *call, in cancelIn) ([]board.ID, error) {
	if err := c.may(in.ID.Project); err != nil {
		return nil, err
	}
	return c.Cancel(ctx, c.actor, in.ID, in.Reason, in.Dependents)
})

type reviewIn struct {
	ID      board.ID
	Verdict board.Verdict
	Note    string
	Claim   board.Handle
	Attempt int `json:",omitzero"`

	Comments []board.Comment `json:",omitzero"`
}

func (b *Board) Review(ctx context.Context, a board.Actor, id board.ID, d board.Decision) (board.Outcome, error) {
	return outcomeOf(review.fetch(ctx, b, &a, reviewIn{id, d.Verdict, d.Note, d.Claim, d.Attempt, d.Comments}))
}

var review = op(access.Review, func(ctx context.Context, c *call, in reviewIn) (outcome, error) {
	if err := c.may(in.ID.Project); err != nil {
		return outcome{}, err
	}
	o, err := c.Review(ctx, c.actor, in.ID, board.Decision{Verdict: in.Verdict, Note: in.Note, Claim: in.Claim, Attempt: in.Attempt, Comments: in.Comments})
	return outcome{o, o.Again, o.Answers}, err
})

type commentIn struct {
	ID   board.ID
	List []board.Comment
}

func (b *Board) Comment(ctx context.Context, a board.Actor, id board.ID, list []board.Comment) error {
	_, err := comment.fetch(ctx, b, &a, commentIn{id, list})
	return err
}

var comment = op(access.Comment, func(ctx context.Context, c *call, in commentIn) (none, error) {
	if err := c.may(in.ID.Project); err != nil {
		return none{}, err
	}
	return none{}, c.Comment(ctx, c.actor, in.ID, in.List)
})

type markDoneIn struct {
	ID     board.ID
	Note   string
	Review bool
}

func (b *Board) MarkDone(ctx context.Context, a board.Actor, id board.ID, note string, review bool) (board.Outcome, error) {
	return outcomeOf(markDone.fetch(ctx, b, &a, markDoneIn{id, note, review}))
}

var markDone = op(access.MarkDone, func(ctx context.Context, c *call, in markDoneIn) (outcome, error) {
	if err := c.may(in.ID.Project); err != nil {
		return outcome{}, err
	}
	o, err := c.MarkDone(ctx, c.actor, in.ID, in.Note, in.Review)
	return outcome{o, o.Again, o.Answers}, err
})

type reopenIn struct {
	ID    board.ID
	Note  string
	After []board.ID
}

func (b *Board) Reopen(ctx context.Context, a board.Actor, id board.ID, note string, after ...board.ID) (board.Task, error) {
	return reopen.fetch(ctx, b, &a, reopenIn{id, note, after})
}

var reopen = op(access.Reopen, func(ctx context.Context, c *call, in reopenIn) (board.Task, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Task{}, err
	}
	return c.Reopen(ctx, c.actor, in.ID, in.Note, in.After...)
})

func (b *Board) Release(ctx context.Context, a board.Actor, id board.ID, reason string) (board.Task, error) {
	return release.fetch(ctx, b, &a, cancelIn{ID: id, Reason: reason})
}

var release = op(access.Release, func(ctx context.Context, c *call, in cancelIn) (board.Task, error) {
	if err := c.may(in.ID.Project); err != nil {
		return board.Task{}, err
	}
	return c.Release(ctx, c.actor, in.ID, in.Reason)
})
