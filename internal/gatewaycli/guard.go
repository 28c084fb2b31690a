package gatewaycli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// A Board admits calls, and has the journal of them.
type Board interface {
	board.Ledger
	Admit(ctx context.Context, a board.Actor, n board.NewCall) (board.Admitted, error)
	Ask(ctx context.Context, a board.Actor, n board.NewQuestion) (board.Question, error)
	Question(ctx context.Context, id board.QuestionID) (board.Question, error)
	PutArtifact(ctx context.Context, a board.Actor, n board.NewArtifact) (board.Artifact, error)
	Artifact(ctx context.Context, a board.Actor, id board.ArtifactID, p board.ArtifactPage) (board.ArtifactLines, error)
	Claims(ctx context.Context, f board.ClaimFilter) ([]board.Claim, error)
}

// A Guard binds calls of other servers' tools to claims on a board.
type Guard struct {
	// Board returns the board, nil if there is none in this process: then calls that need a claim are
	// refused.
	Board func() (Board, *board.Journal)
	// Caller is who makes all calls; nil: who the context says.
	Caller func() *access.Caller
	// Bound is the only claim that calls are made under, if it is set. Another program renews it.
	Bound board.Handle
	// ReadOnly refuses calls of tools that are not classed read.
	ReadOnly bool
	// Quiet: no person sits at the client of Caller.
	Quiet bool

	watch watch
}

var _ gateway.Guard = (*Guard)(nil)

// Admit implements gateway.Guard.
func (g *Guard) Admit(ctx context.Context, c gateway.GuardedCall) (*gateway.Admitted, error) {
	caller, ok := g.caller(ctx)
	if !ok {
		return nil, mcp.Errorf("the call was not sent: nobody knows who makes it")
	}
	if g.ReadOnly && c.Class != gateway.ClassRead {
		return nil, mcp.Errorf("the call was not sent: a reviewer may only call tools that are classed read. Judge by what you can read")
	}
	needs := c.Class == gateway.ClassClaim || c.Class == gateway.ClassUnset && caller.Role < auth.Lead
	b, journal := g.Board()
	if b == nil {
		if needs || c.Step != "" {
			return nil, mcp.Errorf("the call was not sent: %s__%s needs a claim, and this process has no board of its own to check it. Ask a person to run the tool, or to class it read", c.Upstream, c.Tool)
		}
		return &gateway.Admitted{}, nil
	}
	if c.Class == gateway.ClassRead && c.Step != "" {
		return nil, mcp.Errorf("the call was not sent: %s__%s only reads, and such a tool has no steps: it may be called again at any time. Omit the step", c.Upstream, c.Tool)
	}
	claim, err := g.claim(ctx, b, caller, c, needs)
	if err != nil {
		return nil, err
	}
	if c.Relayed {
		if claim.IsZero() {
			return &gateway.Admitted{}, nil
		}
		return &gateway.Admitted{Claim: claim.String()}, nil
	}
	if c.Class == gateway.ClassRead {
		return &gateway.Admitted{Done: func(ctx context.Context, end gateway.CallEnd) (json.RawMessage, error) {
			if !claim.IsZero() {
				journal.Touch(claim, caller.Principal, g.isBound(), c.Upstream, c.Tool, end.Outcome != gateway.OutcomeOK)
			}
			short, _ := shorten(ctx, b, caller.Actor, claim, c.Upstream+"__"+c.Tool, end.Result)
			return short, nil
		}}, nil
	}
	digest := sha256.Sum256(c.Arguments)
	n := board.NewCall{Claim: claim, Upstream: c.Upstream, Tool: c.Tool, Class: string(c.Class), Step: c.Step, Digest: digest[:], Limit: c.Limit}
	if c.Keep {
		n.Args = string(c.Arguments)
	}
	admitted, err := b.Admit(ctx, caller.Actor, n)
	if err != nil {
		return nil, refused(c, err)
	}
	if admitted.Recorded != nil {
		return &gateway.Admitted{Recorded: recorded(admitted.Recorded, claim.Attempt)}, nil
	}
	if !claim.IsZero() {
		journal.Touch(claim, caller.Principal, g.isBound(), "", "", false)
	}
	n.Again = admitted.ID
	out := &gateway.Admitted{Limit: admitted.Limit, Follow: func(ctx context.Context) error {
		return g.follow(ctx, b, caller.Actor, n, admitted.Limit)
	}}
	if !claim.IsZero() {
		out.Ask = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return askPeople(ctx, b, caller.Actor, claim, c, p)
		}
	}
	out.Done = func(ctx context.Context, end gateway.CallEnd) (json.RawMessage, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		e := board.EndedCall{ID: admitted.ID, Principal: caller.Principal, Outcome: board.CallOutcome(end.Outcome), Bytes: int64(len(end.Result))}
		if end.Err != nil {
			e.Error = end.Err.Error()
		}
		var short json.RawMessage
		short, e.Artifact = shorten(ctx, b, caller.Actor, claim, c.Upstream+"__"+c.Tool, end.Result)
		if c.Step == "" {
			journal.End(e)
			return short, nil
		}
		if e.Result = string(end.Result); short != nil {
			e.Result = string(short)
		}
		if err := b.EndCalls(ctx, []board.EndedCall{e}); err != nil {
			return nil, mcp.Errorf("%s__%s answered, and the board could not record it: %v. The outcome of step %q is unknown: check its effect before you go on", c.Upstream, c.Tool, err, c.Step)
		}
		return short, nil
	}
	return out, nil
}

// follow admits a call again as long as it runs. It returns an error if its claim has ended.
func (g *Guard) follow(ctx context.Context, b Board, a board.Actor, n board.NewCall, limit time.Duration) error {
	ended := make(chan bool, 1)
	if !n.Claim.IsZero() {
		go func() { ended <- g.watch.wait(ctx, b, n.Claim) }()
	}
	again := time.NewTicker(max(limit/2, 100*time.Millisecond))
	defer again.Stop()
	for {
		lost := false
		select {
		case <-ctx.Done():
			return nil
		case lost = <-ended:
		case <-again.C:
			_, err := b.Admit(ctx, a, n)
			_, lost = errors.AsType[*board.LostError](err)
		}
		if lost {
			return fmt.Errorf("your claim %v has ended. Stop working on that task: another worker may have it", n.Claim)
		}
	}
}

func (g *Guard) isBound() bool { return !g.Bound.IsZero() }

// caller returns who makes a call.
func (g *Guard) caller(ctx context.Context) (*access.Caller, bool) {
	if g.Caller != nil {
		if own := g.Caller(); own != nil {
			return own, true
		}
	}
	return access.CallerFrom(ctx)
}

// Person implements gateway.Guard. On a person's own machine a person sits at the client, unless an agent has started that. Over HTTP the
// credential says so.
func (g *Guard) Person(ctx context.Context) bool {
	if g.Caller != nil {
		return !g.Quiet
	}
	caller, ok := access.CallerFrom(ctx)
	return ok && caller.Person
}

// claim returns what a call is made under: the claim that it names, or the only one of the caller's.
func (g *Guard) claim(ctx context.Context, b Board, caller *access.Caller, c gateway.GuardedCall, needs bool) (board.Handle, error) {
	if c.Claim != "" {
		h, err := board.ParseHandle(c.Claim)
		if err != nil {
			return board.Handle{}, mcp.Errorf("the call was not sent: %v. Use the claim that get_next_task returned", err)
		}
		if g.isBound() && h != g.Bound {
			return board.Handle{}, mcp.Errorf("the call was not sent: you work under the claim %v. Omit the claim, or use that one", g.Bound)
		}
		return h, nil
	}
	if g.isBound() {
		return g.Bound, nil
	}
	f := board.ClaimFilter{Principal: caller.Principal}
	if strings.HasPrefix(caller.Owner, access.ProcessPrefix) {
		f.Owner = caller.Owner // of this connection
	}
	claims, err := b.Claims(ctx, f)
	if err != nil {
		return board.Handle{}, mcp.Errorf("the call was not sent: the board cannot be read: %v. Call again", err)
	}
	var own []board.Claim
	for _, k := range claims {
		if !k.IsReview() {
			own = append(own, k)
		}
	}
	switch {
	case len(own) == 1:
		return own[0].Handle, nil
	case !needs && c.Step == "":
		return board.Handle{}, nil
	case len(own) == 0:
		return board.Handle{}, mcp.Errorf("the call was not sent: %s__%s needs a claim, and you hold no task. Take one with get_next_task, then call again", c.Upstream, c.Tool)
	}
	var names []string
	for _, k := range own {
		names = append(names, k.Handle.String())
	}
	return board.Handle{}, mcp.Errorf("the call was not sent: you hold several tasks. Say which one it is for: the claims are %s", strings.Join(names, ", "))
}

// refused returns the error for the model.
func refused(c gateway.GuardedCall, err error) error {
	next := "Call again"
	if _, ok := errors.AsType[*board.LostError](err); ok {
		next = "Stop working on that task: another worker may have it. Take other work with get_next_task"
	} else if _, ok := errors.AsType[*board.StepError](err); ok {
		next = "Read what the task's history says about the step"
	} else if errors.Is(err, board.ErrInvalid) {
		next = "Correct that and call again"
	}
	return mcp.Errorf("the call of %s__%s was not sent: %v. %s", c.Upstream, c.Tool, err, next)
}

// recorded returns the result of an earlier call for a worker at an attempt, marked as such. What another attempt's laptop
// recorded is that worker's word.
func recorded(c *board.Call, attempt int) json.RawMessage {
	if c.FromLaptop() && c.Attempt != attempt {
		return recordedText(laptopRecord(c))
	}
	if len(c.Result) > 1 && c.Result[0] == '{' {
		if text, err := gateway.MarkRecorded(json.RawMessage(c.Result)); err == nil {
			return text
		}
	}
	return recordedText(fmt.Sprintf("Step %q was done at %s, and its result was not kept.", c.Step, c.BeganAt.UTC().Format(time.RFC3339)))
}

// laptopRecord returns what a worker's laptop recorded as the result of a call. The laptop may have recorded anything,
// so it is quoted, and says whose word it is.
func laptopRecord(c *board.Call) string {
	text := fmt.Sprintf("Step %q was done at %s by worker \"%s\" on its laptop, so the call was not made again. ", c.Step, c.BeganAt.UTC().Format(time.RFC3339), visible.Line(c.Worker.Name))
	if c.Result == "" {
		return text + "Its result was not kept."
	}
	return text + "That worker recorded this as its result, and nobody has checked it:\n" + visible.Quote(c.Result)
}

// recordedText is a text as the result of an earlier call.
func recordedText(text string) json.RawMessage {
	raw, err := jsonv2.Marshal(&mcp.ToolResult{Content: []mcp.Content{mcp.Text(text)}})
	if err == nil {
		raw, err = gateway.MarkRecorded(raw)
	}
	if err != nil {
		panic(err) // it was just written
	}
	return raw
}
