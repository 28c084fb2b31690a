package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/faults/history"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/tools"
)

// A door is a way to the board, for one agent.
type door interface {
	next(ctx context.Context, worker string) (claim, name string, err error)
	done(ctx context.Context, claim, summary string) error
	fail(ctx context.Context, claim, reason string) error
	note(ctx context.Context, claim, text string) error
	create(ctx context.Context, title, key string) (task string, err error)
	close()
}

// connect is how a program gets to a replica with a key.
func connect(url string, key auth.Secret) func(context.Context) (*mcp.Client, error) {
	return func(ctx context.Context) (*mcp.Client, error) {
		header := http.Header{"Authorization": {"Bearer " + key.Reveal()}}
		return streamable.Connect(ctx, url, &streamable.ClientOptions{Header: header}, &mcp.ClientOptions{Revision: mcp.LatestRevision})
	}
}

// toolDoor is an agent's: the tools, over MCP.
type toolDoor struct {
	dial   func(context.Context) (*mcp.Client, error)
	client *mcp.Client
}

// A refusedError is a tool's answer that something was not done, or may not have been.
type refusedError struct{ code, text string }

func (e *refusedError) Error() string { return e.code + ": " + e.text }

var errNothing = errors.New("nothing to do")

func (d *toolDoor) call(ctx context.Context, tool string, args map[string]any) (map[string]any, error) {
	if d.client == nil {
		c, err := d.dial(ctx)
		if err != nil {
			return nil, err
		}
		d.client = c
	}
	res, err := d.client.Call(ctx, tool, args, nil)
	if err != nil {
		return nil, err
	}
	meta, _ := res.Meta[tools.ResultKey].(map[string]any)
	if res.IsError {
		code, _ := meta["error"].(string)
		return nil, &refusedError{code, res.Content[0].Text}
	}
	return meta, nil
}

func (d *toolDoor) next(ctx context.Context, worker string) (string, string, error) {
	args := map[string]any{}
	if worker != "" {
		args["worker"] = worker
	}
	out, err := d.call(ctx, "get_next_task", args)
	if err != nil {
		return "", "", err
	}
	claim, ok := out["claim"].(map[string]any)
	if !ok {
		return "", "", errNothing
	}
	return claim["claim"].(string), claim["worker"].(string), nil
}

func (d *toolDoor) done(ctx context.Context, claim, summary string) error {
	_, err := d.call(ctx, "report_task_done", map[string]any{"claim": claim, "summary": summary})
	return err
}

func (d *toolDoor) fail(ctx context.Context, claim, reason string) error {
	_, err := d.call(ctx, "report_task_failed", map[string]any{"claim": claim, "reason": reason, "kind": "other"})
	return err
}

func (d *toolDoor) note(ctx context.Context, claim, text string) error {
	_, err := d.call(ctx, "report_progress", map[string]any{"claim": claim, "note": text})
	return err
}

func (d *toolDoor) create(ctx context.Context, title, key string) (string, error) {
	out, err := d.call(ctx, "create_task", map[string]any{"title": title, "description": title, "idempotency_key": key, "project": project})
	if err != nil {
		return "", err
	}
	return out["id"].(string), nil
}

func (d *toolDoor) close() {
	if d.client != nil {
		d.client.Close()
	}
}

// boardDoor is a laptop's: the server's board, by package remote.
type boardDoor struct {
	b  *remote.Board
	me board.Actor
}

func newBoardDoor(url string, key auth.Secret, name string) *boardDoor {
	return &boardDoor{remote.New(connect(url, key)), board.Actor{Principal: "local", Owner: "p-" + name}}
}

func (d *boardDoor) next(ctx context.Context, worker string) (string, string, error) {
	h, err := d.b.Next(ctx, d.me, board.Wish{Worker: worker, Projects: []string{project}})
	if err != nil {
		return "", "", err
	}
	return h.Claim.Handle.String(), h.Claim.Worker.Name, nil
}

func (d *boardDoor) done(ctx context.Context, claim, summary string) error {
	h, err := board.ParseHandle(claim)
	if err == nil {
		_, err = d.b.Done(ctx, d.me, h, board.Report{Summary: summary})
	}
	return err
}

func (d *boardDoor) fail(ctx context.Context, claim, reason string) error {
	h, err := board.ParseHandle(claim)
	if err == nil {
		_, err = d.b.Fail(ctx, d.me, h, board.Failure{Reason: reason})
	}
	return err
}

func (d *boardDoor) note(ctx context.Context, claim, text string) error {
	h, err := board.ParseHandle(claim)
	if err == nil {
		_, err = d.b.Progress(ctx, d.me, h, board.Note{Text: text})
	}
	return err
}

func (d *boardDoor) create(ctx context.Context, title, key string) (string, error) {
	t, _, err := d.b.Create(ctx, d.me, board.NewTask{Project: project, Title: title, Priority: board.Normal, MaxFailures: 100}, key)
	return t.ID.String(), err
}

func (d *boardDoor) close() { d.b.Close() }

// A record is what all agents did and were told.
type record struct {
	mu  sync.Mutex
	ops []history.Op
	// strange are answers that nobody should get, whatever the database does.
	strange []string
	// told counts the answers other than success, by what they are.
	told map[string]int
}

// An agent works through a door.
type agent struct {
	name   string
	record *record
	door   door
	worker string
	no     int
}

// try makes a call, and puts it on record.
func (a *agent) try(ctx context.Context, op history.Op, call func(context.Context, *history.Op) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
	defer cancel()
	a.no++
	op.Client, op.No, op.Call = a.name, a.no, time.Now().UnixNano()
	err := call(ctx, &op)
	op.Return = time.Now().UnixNano()
	var word string
	op.Out, word = outcome(err)
	if err != nil {
		op.Why = err.Error()
	}
	r := a.record
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
	if word != "" {
		r.told[word]++
	}
	if word == "" && err != nil && !errors.Is(err, errNothing) {
		r.strange = append(r.strange, fmt.Sprintf("%v: %T", op, err))
	}
	return op.Out == history.OK
}

// outcome tells what an answer means, and a word for it. An error without a word is
// one that agents should not see.
func outcome(err error) (history.Outcome, string) {
	if err == nil {
		return history.OK, ""
	}
	if r, ok := errors.AsType[*refusedError](err); ok {
		switch r.code {
		case "unavailable":
			return history.Refused, "tool unavailable"
		case "unknown":
			return history.Unknown, "tool unknown"
		case "lease_lost":
			return history.Lost, "tool lease_lost"
		case "invalid":
			return history.Refused, noWorker
		}
		return history.Refused, ""
	}
	if s, ok := errors.AsType[*mcp.StatusError](err); ok {
		switch {
		case s.Code == http.StatusServiceUnavailable && http.Header(s.Header).Get("Retry-After") != "":
			return history.Refused, "503"
		case s.Code == http.StatusTooManyRequests:
			return history.Refused, "429"
		}
		return history.Refused, ""
	}
	_, isNothing := errors.AsType[*board.Nothing](err)
	switch {
	case errors.Is(err, errNothing), isNothing:
		return history.Nothing, "nothing"
	case errors.Is(err, board.ErrLeaseLost):
		return history.Lost, "board lease_lost"
	case errors.Is(err, board.ErrUnknown):
		return history.Unknown, "board unknown"
	case errors.Is(err, board.ErrUnavailable):
		return history.Refused, "board unavailable"
	case errors.Is(err, board.ErrInvalid):
		return history.Refused, noWorker
	case errors.Is(err, context.DeadlineExceeded):
		return history.Unknown, "late"
	}
	return history.Unknown, ""
}

// noWorker is what a worker is told whom the board does not know any more. Only a
// board that has lost something says so.
const noWorker = "no such worker"

// pace is how long an agent thinks.
const pace = 30 * time.Millisecond

// work takes tasks and ends them in different ways, until ctx ends.
func (a *agent) work(ctx context.Context) {
	defer a.door.close()
	for ctx.Err() == nil {
		a.rest(ctx, pace)
		claim := a.claim(ctx)
		if claim == "" {
			continue
		}
		switch rand.IntN(10) {
		case 0: // too slow: the lease runs out
			a.rest(ctx, lease+lease/4)
		case 1:
			a.try(ctx, history.Op{Kind: history.Fail, Claim: claim}, func(ctx context.Context, _ *history.Op) error {
				return a.door.fail(ctx, claim, "no luck")
			})
			continue
		case 2:
			text := fmt.Sprintf("note %s %d", a.name, a.no)
			a.try(ctx, history.Op{Kind: history.Note, Claim: claim, Key: text}, func(ctx context.Context, _ *history.Op) error {
				return a.door.note(ctx, claim, text)
			})
		case 3, 4, 5:
			a.rest(ctx, 2*pace)
		}
		a.done(ctx, claim)
	}
}

// done reports until there is an answer that decides.
func (a *agent) done(ctx context.Context, claim string) {
	for {
		var out history.Outcome
		a.try(ctx, history.Op{Kind: history.Done, Claim: claim}, func(ctx context.Context, _ *history.Op) error {
			err := a.door.done(ctx, claim, "done by "+a.name)
			out, _ = outcome(err)
			return err
		})
		if out == history.OK || out == history.Lost || ctx.Err() != nil {
			return
		}
		a.rest(ctx, pace)
	}
}

func (a *agent) claim(ctx context.Context) (claim string) {
	a.try(ctx, history.Op{Kind: history.Claim}, func(ctx context.Context, op *history.Op) error {
		c, name, err := a.door.next(ctx, a.worker)
		if err == nil {
			claim, a.worker, op.Claim = c, name, c
		}
		if _, word := outcome(err); word == noWorker {
			a.worker = ""
		}
		return err
	})
	return claim
}

// create makes a task; a call whose answer does not decide is made again with the same
// key.
func (a *agent) create(ctx context.Context, key string) bool {
	return a.try(ctx, history.Op{Kind: history.Create, Key: key}, func(ctx context.Context, op *history.Op) (err error) {
		op.Task, err = a.door.create(ctx, key, key)
		return err
	})
}

func (a *agent) rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
