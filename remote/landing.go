package remote

import (
	"context"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

func (b *Board) Line(ctx context.Context, slug string) (board.Line, error) {
	return line.fetch(ctx, b, nil, slugIn{slug})
}

var line = op(access.Line, func(ctx context.Context, c *call, in slugIn) (board.Line, error) {
	if err := c.may(in.Slug); err != nil {
		return board.Line{}, err
	}
	l, err := c.Line(ctx, in.Slug)
	l.Lander.Owner = c.process(l.Lander.Owner)
	return l, err
})

func (b *Board) Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error) {
	return intents.fetch(ctx, b, nil, f)
}

// intents lists those of one project, which a task names as well.
var intents = op(access.Intents, func(ctx context.Context, c *call, f board.IntentFilter) ([]board.Intent, error) {
	if f.Project == "" {
		f.Project = f.Task.Project
	}
	if err := c.may(f.Project); err != nil {
		return nil, err
	}
	return c.Intents(ctx, f)
})

func (b *Board) Lead(ctx context.Context, a board.Actor, l board.Lease) (board.Lease, error) {
	return lead.fetch(ctx, b, &a, l)
}

var lead = op(access.TakeLead, func(ctx context.Context, c *call, l board.Lease) (board.Lease, error) {
	if err := c.may(l.Project); err != nil {
		return board.Lease{}, err
	}
	return c.Lead(ctx, c.actor, l)
})

func (b *Board) StepDown(ctx context.Context, a board.Actor, l board.Lease) error {
	_, err := stepDown.fetch(ctx, b, &a, l)
	return err
}

var stepDown = op(access.StepDown, func(ctx context.Context, c *call, l board.Lease) (none, error) {
	if err := c.may(l.Project); err != nil {
		return none{}, err
	}
	return none{}, c.StepDown(ctx, c.actor, l)
})

type beginLandIn struct {
	Lease    board.Lease
	From, To string
	Items    []board.Item
}

func (b *Board) BeginLand(ctx context.Context, a board.Actor, l board.Lease, from, to string, items []board.Item) (board.Intent, error) {
	return beginLand.fetch(ctx, b, &a, beginLandIn{l, from, to, items})
}

var beginLand = op(access.BeginLand, func(ctx context.Context, c *call, in beginLandIn) (board.Intent, error) {
	if err := c.may(in.Lease.Project); err != nil {
		return board.Intent{}, err
	}
	return c.BeginLand(ctx, c.actor, in.Lease, in.From, in.To, in.Items)
})

type intentIn struct {
	Lease  board.Lease
	Intent board.IntentID
}

type landedIn struct {
	Lease   board.Lease
	Intent  board.IntentID
	Commits []commitOf
}

// A commitOf is the commit of the target with the work of a task.
type commitOf struct {
	Task   board.ID
	Commit string
}

func (b *Board) Landed(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID, commits map[board.ID]string) ([]board.Outcome, error) {
	in := landedIn{Lease: l, Intent: id}
	for task, commit := range commits {
		in.Commits = append(in.Commits, commitOf{task, commit})
	}
	out, err := landed.fetch(ctx, b, &a, in)
	var list []board.Outcome
	for _, o := range out {
		one, _ := outcomeOf(o, nil)
		list = append(list, one)
	}
	return list, err
}

var landed = op(access.Landed, func(ctx context.Context, c *call, in landedIn) (list []outcome, err error) {
	if err := c.may(in.Lease.Project); err != nil {
		return nil, err
	}
	commits := map[board.ID]string{}
	for _, x := range in.Commits {
		commits[x.Task] = x.Commit
	}
	all, err := c.Landed(ctx, c.actor, in.Lease, in.Intent, commits)
	for _, o := range all {
		list = append(list, outcome{o, o.Again, o.Answers})
	}
	return list, err
})

func (b *Board) Dropped(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID) error {
	_, err := dropped.fetch(ctx, b, &a, intentIn{l, id})
	return err
}

var dropped = op(access.Dropped, func(ctx context.Context, c *call, in intentIn) (none, error) {
	if err := c.may(in.Lease.Project); err != nil {
		return none{}, err
	}
	return none{}, c.Dropped(ctx, c.actor, in.Lease, in.Intent)
})

type returnIn struct {
	ID     board.ID
	Return board.Return
}

func (b *Board) Return(ctx context.Context, a board.Actor, id board.ID, r board.Return) (board.Outcome, error) {
	return outcomeOf(giveReturn.fetch(ctx, b, &a, returnIn{id, r}))
}

// A lander returns what it could not land; what could be landed, only a lead or a person does.
var giveReturn = op(access.Return, func(ctx context.Context, c *call, in returnIn) (outcome, error) {
	if err := c.may(in.ID.Project); err != nil {
		return outcome{}, err
	}
	if in.Return.Kind == board.ReturnAsked && !c.isLead(in.ID.Project) && !c.actor.Person {
		return outcome{}, board.ErrDenied
	}
	o, err := c.Return(ctx, c.actor, in.ID, in.Return)
	return outcome{o, o.Again, o.Answers}, err
})

type setLandIn struct{ Slug, Target string }

func (b *Board) SetLand(ctx context.Context, a board.Actor, slug, target string) error {
	_, err := setLand.fetch(ctx, b, &a, setLandIn{slug, target})
	return err
}

var setLand = op(access.SetLand, func(ctx context.Context, c *call, in setLandIn) (none, error) {
	if err := c.may(in.Slug); err != nil {
		return none{}, err
	}
	return none{}, c.SetLand(ctx, c.actor, in.Slug, in.Target)
})

func (b *Board) Untold(ctx context.Context, slug string) ([]board.Issue, error) {
	return untold.fetch(ctx, b, nil, slugIn{slug})
}

var untold = op(access.Untold, func(ctx context.Context, c *call, in slugIn) ([]board.Issue, error) {
	if err := c.may(in.Slug); err != nil {
		return nil, err
	}
	return c.Untold(ctx, in.Slug)
})

func (b *Board) Told(ctx context.Context, a board.Actor, i board.Issue) error {
	_, err := told.fetch(ctx, b, &a, i)
	return err
}

var told = op(access.Told, func(ctx context.Context, c *call, i board.Issue) (none, error) {
	if err := c.may(i.Task.Project); err != nil {
		return none{}, err
	}
	return none{}, c.Told(ctx, c.actor, i)
})
