package remote

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

func (b *Board) Calls(ctx context.Context, f board.CallFilter) ([]board.Call, error) {
	return calls.fetch(ctx, b, nil, f)
}

// calls lists the calls of a task.
var calls = op(access.Calls, func(ctx context.Context, c *call, f board.CallFilter) ([]board.Call, error) {
	if err := c.may(f.Task.Project); err != nil {
		return nil, err
	}
	if f.Task.IsZero() {
		return nil, fmt.Errorf("%w: name a task", board.ErrInvalid)
	}
	f.Limit = boundedRows(f.Limit)
	return c.Calls(ctx, f)
})

func (b *Board) Admit(ctx context.Context, a board.Actor, n board.NewCall) (board.Admitted, error) {
	return admit.fetch(ctx, b, &a, n)
}

// admit records a call of one of a laptop's own servers, and says so: a worker's key must not record what
// the team's servers do. Those are called through this server, which records it itself.
var admit = op(access.Admit, func(ctx context.Context, c *call, n board.NewCall) (board.Admitted, error) {
	n.Upstream = board.LaptopPrefix + n.Upstream
	if !n.Claim.IsZero() {
		if err := c.may(n.Claim.Task.Project); err != nil {
			return board.Admitted{}, err
		}
	}
	return c.Admit(ctx, c.actor, n)
})

type endCallsIn struct{ Ends []board.EndedCall }

// EndCalls records ends in as many calls as they take. One that is recorded twice stays as it was the first time.
func (b *Board) EndCalls(ctx context.Context, ends []board.EndedCall) error {
	for len(ends) > 0 {
		n, size := 0, 0
		for n < min(len(ends), maxEnds) && (n == 0 || size+len(ends[n].Result) <= maxSent/2) { // escaped, it may be longer
			size += len(ends[n].Result)
			n++
		}
		if _, err := endCalls.fetch(ctx, b, nil, endCallsIn{ends[:n]}); err != nil {
			return err
		}
		ends = ends[n:]
	}
	return nil
}

// maxEnds is how many calls are ended at once: each is looked at in one transaction, while others wait for the database.
const maxEnds = 100

// endCalls ends calls of the caller that a laptop made.
var endCalls = op(access.EndCalls, func(ctx context.Context, c *call, in endCallsIn) (none, error) {
	if len(in.Ends) > maxEnds {
		return none{}, fmt.Errorf("%w: %d calls are too many to be ended at once, want at most %d", board.ErrInvalid, len(in.Ends), maxEnds)
	}
	for i := range in.Ends {
		in.Ends[i].Principal, in.Ends[i].Laptop = c.caller.Principal, true
	}
	return none{}, c.EndCalls(ctx, in.Ends)
})

type touchIn struct{ Touched []board.Touched }

func (b *Board) Touch(ctx context.Context, list []board.Touched) error {
	_, err := touch.fetch(ctx, b, nil, touchIn{list})
	return err
}

// touch renews claims of the caller. What it read was read from a laptop's own servers, as with admit.
var touch = op(access.Touch, func(ctx context.Context, c *call, in touchIn) (none, error) {
	for i := range in.Touched {
		if err := c.may(in.Touched[i].Claim.Task.Project); err != nil {
			return none{}, err
		}
		in.Touched[i].Principal = c.caller.Principal
		for j := range in.Touched[i].Reads {
			r := &in.Touched[i].Reads[j]
			r.Upstream = board.LaptopPrefix + r.Upstream
		}
	}
	return none{}, c.Touch(ctx, in.Touched)
})

// maxSent is how much of an artifact fits into a message.
const maxSent = 700 << 10

func (b *Board) PutArtifact(ctx context.Context, a board.Actor, n board.NewArtifact) (board.Artifact, error) {
	n.Size = max(n.Size, int64(len(n.Body)))
	n.Body = n.Body[:min(len(n.Body), maxSent)]
	return putArtifact.fetch(ctx, b, &a, n)
}

// putArtifact keeps a result of one of a laptop's own servers, and says so, as with admit.
var putArtifact = op(access.PutArtifact, func(ctx context.Context, c *call, n board.NewArtifact) (board.Artifact, error) {
	n.Name = board.LaptopPrefix + n.Name
	if !n.Claim.IsZero() {
		if err := c.may(n.Claim.Task.Project); err != nil {
			return board.Artifact{}, err
		}
	}
	return c.PutArtifact(ctx, c.actor, n)
})

type artifactIn struct {
	Artifact board.ArtifactID
	Page     board.ArtifactPage
}

func (b *Board) Artifact(ctx context.Context, a board.Actor, id board.ArtifactID, p board.ArtifactPage) (board.ArtifactLines, error) {
	return artifact.fetch(ctx, b, &a, artifactIn{id, p})
}

// artifact reads an artifact of a task in the caller's projects, or one of the caller's own.
var artifact = op(access.Artifact, func(ctx context.Context, c *call, in artifactIn) (board.ArtifactLines, error) {
	out, err := c.Artifact(ctx, c.actor, in.Artifact, in.Page)
	if err == nil && !out.Artifact.Task.IsZero() && c.may(out.Artifact.Task.Project) != nil {
		err = fmt.Errorf("%w: artifact %d", board.ErrNotFound, in.Artifact)
	}
	if err != nil {
		return board.ArtifactLines{}, err
	}
	return out, nil
})
