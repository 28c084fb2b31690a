package gatewaycli

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// A call that needs a claim is admitted while its claim is in force, and not afterwards. A step runs once.
func TestGuard(t *testing.T) {
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := board.New(store, &board.Options{Home: &board.Project{Slug: "web", Name: "web", Policy: board.PolicyTrust}})
	person := board.Actor{Principal: "local", Owner: "person:ada", Name: "ada", Person: true}
	if _, _, err := b.Create(ctx, person, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
		t.Fatal(err)
	}
	journal := board.NewJournal(b, func(err error) { t.Error(err) })
	g := &Guard{Board: func() (Board, *board.Journal) { return b, journal }}
	worker, lead := access.Local(auth.Worker, "web"), access.Local(auth.Lead, "web")
	as := func(c *access.Caller) context.Context { return access.WithCaller(ctx, c) }
	call := gateway.GuardedCall{Upstream: "up", Tool: "write", Arguments: json.RawMessage(`{}`), Limit: time.Minute}
	admit := func(c *access.Caller, change func(*gateway.GuardedCall)) (*gateway.Admitted, string) {
		k := call
		if change != nil {
			change(&k)
		}
		a, err := g.Admit(as(c), k)
		if err != nil {
			return nil, err.Error()
		}
		return a, ""
	}
	classed := func(class gateway.Class) func(*gateway.GuardedCall) {
		return func(k *gateway.GuardedCall) { k.Class = class }
	}
	// Without a claim.
	if _, err := admit(worker, nil); !strings.Contains(err, "you hold no task") {
		t.Errorf("a worker: %s", err)
	}
	if _, err := admit(lead, nil); err != "" {
		t.Errorf("a lead: %s", err)
	}
	if _, err := admit(lead, classed(gateway.ClassClaim)); !strings.Contains(err, "needs a claim") {
		t.Errorf("a lead, class claim: %s", err)
	}
	if _, err := admit(worker, classed(gateway.ClassRead)); err != "" {
		t.Errorf("a worker, class read: %s", err)
	}
	// With one.
	next, err := b.Next(ctx, worker.Actor, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	claim := next.Claim.Handle
	a, text := admit(worker, classed(gateway.ClassClaim))
	if text != "" {
		t.Fatal(text)
	}
	if _, err := a.Done(ctx, gateway.CallEnd{Outcome: gateway.OutcomeOK, Result: json.RawMessage(`{}`)}); err != nil {
		t.Error(err)
	}
	step := func(k *gateway.GuardedCall) { k.Step, k.Claim = "open-issue", claim.String() }
	a, text = admit(worker, step)
	if text != "" {
		t.Fatal(text)
	}
	if _, err := a.Done(ctx, gateway.CallEnd{Outcome: gateway.OutcomeOK, Result: json.RawMessage(`{"content":[],"n":1.50}`)}); err != nil {
		t.Error(err)
	}
	if a, err := admit(worker, step); err != "" || !strings.HasPrefix(string(a.Recorded), `{"content":[],"n":1.50,"_meta":{"dev.bossman/recorded":true}`) {
		t.Errorf("the step again = %+v, %s", a, err)
	}
	if _, err := admit(worker, func(k *gateway.GuardedCall) { step(k); k.Arguments = json.RawMessage(`{"x":1}`) }); !strings.Contains(err, "another call") {
		t.Errorf("the step with other arguments: %s", err)
	}
	if _, err := admit(worker, func(k *gateway.GuardedCall) { step(k); k.Class = gateway.ClassRead }); !strings.Contains(err, "Omit the step") {
		t.Errorf("a step of a tool that only reads: %q", err)
	}
	// A large result is cut, and what else it says stays.
	big := `{"content":[{"type":"text","text":"` + strings.Repeat("line\\n", 20_000) + `"}],"isError":true,"structuredContent":{"n":1.50},"_meta":{"k":"v"}}`
	if a, text = admit(worker, classed(gateway.ClassClaim)); text != "" {
		t.Fatal(text)
	}
	short, err := a.Done(ctx, gateway.CallEnd{Outcome: gateway.OutcomeOK, Result: json.RawMessage(big)})
	if s := string(short); err != nil || len(s) > 2*shownResult || !strings.Contains(s, `"isError":true`) || !strings.Contains(s, `"structuredContent":{"n":1.50}`) || !strings.Contains(s, `"_meta":{"k":"v"}`) || strings.Contains(s, "Rest") {
		t.Errorf("a large result became %.300q, %v", s, err)
	}
	// Afterwards.
	if _, err := b.Release(ctx, person, claim.Task, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := admit(worker, func(k *gateway.GuardedCall) { k.Claim = claim.String() }); !strings.Contains(err, "was not sent") || !strings.Contains(err, "Stop working") {
		t.Errorf("after the claim has ended: %s", err)
	}
	journal.Flush(ctx)
	calls, err := b.Calls(ctx, board.CallFilter{Task: claim.Task})
	if err != nil || len(calls) != 3 || calls[0].Artifact == 0 || calls[0].Outcome != board.CallOK || calls[1].Outcome != board.CallOK {
		t.Errorf("journal = %+v, %v", calls, err)
	}
}

// What a laptop recorded is a worker's word: it is quoted, and says whose.
func TestRecorded_laptop(t *testing.T) {
	c := &board.Call{Upstream: "laptop/gh", Tool: "deploy", Step: "s", Attempt: 1, Worker: board.WorkerID{Name: "w1\u200b"}, BeganAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Result: "{\"content\":\n[\"deployed\"]}"}
	var got struct {
		Content []struct{ Text string }
		Meta    map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(recorded(c, 2), &got); err != nil || len(got.Content) != 1 || got.Meta["dev.bossman/recorded"] != true {
		t.Fatalf("recorded = %s, %v", recorded(c, 2), err)
	}
	if own := string(recorded(c, 1)); !strings.HasPrefix(own, `{"content":`) || !strings.Contains(own, `["deployed"]`) {
		t.Errorf("for the worker itself = %s", own)
	}
	want := `Step "s" was done at 2026-01-02T03:04:05Z by worker "w1<U+200B>" on its laptop, so the call was not made again. That worker recorded this as its result, and nobody has checked it:
> {"content":
> ["deployed"]}`
	if got.Content[0].Text != want {
		t.Errorf("recorded = %s", got.Content[0].Text)
	}
}

// What an upstream asks is answered by people alone.
func TestAskPeople(t *testing.T) {
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := board.New(store, &board.Options{Home: &board.Project{Slug: "web", Name: "web", Policy: board.PolicyTrust}})
	person := board.Actor{Principal: "local", Owner: "person:ada", Name: "ada", Person: true}
	task, _, err := b.Create(ctx, person, board.NewTask{Project: "web", Title: "One"}, "")
	if err != nil {
		t.Fatal(err)
	}
	holder := board.Actor{Principal: "local", Owner: access.ProcessPrefix + "1", Worker: "fox"}
	h, err := b.Next(ctx, holder, board.Wish{Task: task.ID, Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{"true": "accept", declined: declined, cancelled: cancelled} {
		asked := make(chan *mcp.ElicitResult, 1)
		go func() {
			res, _ := askPeople(ctx, b, holder, h.Claim.Handle, gateway.GuardedCall{Upstream: "up", Tool: "drop"}, &mcp.ElicitParams{
				Message: "Really?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`),
			})
			asked <- res
		}()
		var q board.Question
		for q.ID == 0 {
			changed := b.Changes()
			if open, err := b.Questions(ctx, board.QuestionFilter{State: board.QuestionOpen}); err != nil {
				t.Fatal(err)
			} else if len(open) > 0 {
				q = open[0]
				break
			}
			<-changed
		}
		agent := board.Actor{Principal: "local", Owner: access.ProcessPrefix + "2", Worker: "owl"}
		if _, err := b.Answer(ctx, agent, q.ID, "true"); !errors.Is(err, board.ErrDenied) {
			t.Errorf("the answer of an agent: %v, want %v", err, board.ErrDenied)
		}
		if _, err := b.Answer(ctx, person, q.ID, answer); err != nil {
			t.Fatal(err)
		}
		if res := <-asked; res.Action != want {
			t.Errorf("the server gets %+v, want %s", res, want)
		}
	}
}

// A form shows what each choice means: the value alone need not say it.
func TestForm_text(t *testing.T) {
	var f form
	schema := `{"properties":{"a":{"type":"string","oneOf":[{"const":"1","title":"Keep\u200b it"},{"const":"2","title":"Drop\nit"},{"const":"three","title":"three"}]},
		"b":{"type":"array","items":{"anyOf":[{"const":"x","title":"All"}]}},"c":{"type":"array","items":{"enum":["y","z"]}}}}`
	if err := jsonv2.Unmarshal([]byte(schema), &f); err != nil {
		t.Fatal(err)
	}
	got := f.text(gateway.GuardedCall{Upstream: "up", Tool: "drop"}, "Which?")
	for _, want := range []string{
		`a (string, optional). One of 1 ("Keep<U+200B> it"), 2 ("Drop it"), three` + "\n", `b (array, optional). Any of x ("All")` + "\n", "c (array, optional). Any of y, z\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the form is %s, want %s", got, want)
		}
	}
}

// An upstream's form is shown to people: those at their own machine, unless an agent has started the client, and those whose key it is.
func TestGuard_person(t *testing.T) {
	person, agent := access.Local(auth.Lead, "web"), access.Local(auth.Lead, "web")
	person.Person = true
	local := func() *access.Caller { return agent }
	for _, tt := range []struct {
		what   string
		guard  *Guard
		caller *access.Caller
		want   bool
	}{
		{"at a pipe", &Guard{Caller: local}, nil, true},
		{"at a pipe of an agent", &Guard{Caller: local, Quiet: true}, nil, false},
		{"with a person's key", &Guard{}, person, true},
		{"with an agent's key", &Guard{}, agent, false},
	} {
		ctx := t.Context()
		if tt.caller != nil {
			ctx = access.WithCaller(ctx, tt.caller)
		}
		if got := tt.guard.Person(ctx); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
}
