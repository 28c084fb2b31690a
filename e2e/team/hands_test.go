package team

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
)

// A refusedError is a decision of the server.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// fails are the tries of a call that have failed.
type fails struct {
	mu    sync.Mutex
	first time.Time
	n     int
}

func (f *fails) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first, f.n = time.Time{}, 0
}

func (f *fails) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n == 1 {
		f.first = time.Now()
	}
}

// since is when the first was, and how many there are.
func (f *fails) since() (time.Time, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first, f.n
}

// counted counts the tries of a worker that fail.
type counted struct {
	http.RoundTripper
	w *worker
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.RoundTripper.RoundTrip(r)
	if r.Method == http.MethodPost && (err != nil || res.StatusCode >= 500) {
		c.w.fails.add()
	}
	return res, err
}

func (w *worker) transport(t *testing.T) http.RoundTripper {
	own := &http.Transport{MaxIdleConnsPerHost: 4}
	t.Cleanup(own.CloseIdleConnections)
	return counted{own, w}
}

// An agent calls tools over HTTP.
type agent struct {
	c      *mcp.Client
	worker string
}

func newAgent(t *testing.T, team *teamserver.Team, key string, revision mcp.Revision, w *worker) *agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := streamable.Connect(ctx, team.MCP(),
		&streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}, Transport: w.transport(t)},
		&mcp.ClientOptions{Revision: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &agent{c: c}
}

func (a *agent) lasting() bool { return false }

func (a *agent) next(ctx context.Context) (string, error) {
	in := args{}
	if a.worker != "" {
		in["worker"] = a.worker
	}
	got, err := a.call(ctx, "get_next_task", in)
	if err != nil || got.facts.Outcome == "none" {
		return "", err
	}
	a.worker = got.facts.Claim.Worker
	return got.facts.Claim.Claim, nil
}

func (a *agent) done(ctx context.Context, claim string) error {
	got, err := a.call(ctx, "report_task_done", args{"claim": claim, "summary": "done by " + a.worker})
	if err == nil && got.facts.Status != "done" {
		return &refusedError{got.text}
	}
	return err
}

func (a *agent) call(ctx context.Context, tool string, in args) (answer, error) {
	got, err := try(ctx, a.c, tool, in, nil)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if status, ok := errors.AsType[*mcp.StatusError](err); !ok || status.Code < 429 {
			return got, &refusedError{e.Error()}
		}
	}
	if got.refused {
		return got, &refusedError{got.text}
	}
	return got, err
}

// A machine is a laptop with an agent on it, as bossman mcp connects it.
type machine struct {
	b     *remote.Board
	actor board.Actor
}

func newLaptop(t *testing.T, team *teamserver.Team, key string, w *worker) *machine {
	t.Helper()
	transport := w.transport(t)
	b := remote.New(func(ctx context.Context) (*mcp.Client, error) {
		return streamable.Connect(ctx, team.MCP(),
			&streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}, Transport: transport},
			&mcp.ClientOptions{Revision: mcp.LatestRevision})
	})
	t.Cleanup(func() { _ = b.Close() })
	me, err := b.Whoami(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &machine{b, board.Actor{Principal: me.ID, Owner: fmt.Sprintf("p-%s", rand.Text()[:12])}}
}

func (m *machine) lasting() bool { return true }

func (m *machine) next(ctx context.Context) (string, error) {
	h, err := m.b.Next(ctx, m.actor, board.Wish{Worker: m.actor.Worker, Projects: []string{teamserver.Project}})
	if _, nothing := errors.AsType[*board.Nothing](err); nothing {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	m.actor.Worker = h.Claim.Worker.Name
	return h.Claim.Handle.String(), nil
}

func (m *machine) done(ctx context.Context, claim string) error {
	h, err := board.ParseHandle(claim)
	if err != nil {
		return err
	}
	_, err = m.b.Done(ctx, m.actor, h, board.Report{Summary: "done by " + m.actor.Worker})
	return err
}
