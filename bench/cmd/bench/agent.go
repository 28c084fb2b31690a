package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// An agent takes one task from its claim to its end.
type agent interface {
	claim(ctx context.Context) error
	note(ctx context.Context, text string) error
	// present is for one whose process renews its leases. For others their notes are
	// the sign of life.
	present() bool
	renew(ctx context.Context) error
	finish(ctx context.Context) error
}

const summary = "The change is on branch work, with a test that failed before and passes now; the documentation says so too."

// A toolAgent calls tools over HTTP, as an agent without a Bossman of its own does.
type toolAgent struct {
	fleet  *fleet
	key    auth.Secret
	handle string
}

func (a *toolAgent) tool(name, arguments string) ([]byte, error) {
	return a.fleet.call(a.key, "tools/call", name, []byte(`{"name":"`+name+`","arguments":`+arguments))
}

func (a *toolAgent) claim(context.Context) error {
	body, err := a.tool("get_next_task", `{"skills":["`+strings.Join(pgtest.QueueSkills, `","`)+`"]}`)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(body), `"claim":{"claim":"`)
	handle, _, ok := strings.Cut(rest, `"`)
	if !ok {
		return fmt.Errorf("%w: %.200s", errDrained, body)
	}
	a.handle = handle
	return nil
}

func (a *toolAgent) note(_ context.Context, text string) error {
	_, err := a.tool("report_progress", `{"claim":"`+a.handle+`","note":"`+text+`","percent":50}`)
	return err
}

func (a *toolAgent) present() bool               { return false }
func (a *toolAgent) renew(context.Context) error { return nil }

func (a *toolAgent) finish(context.Context) error {
	_, err := a.tool("report_task_done", `{"claim":"`+a.handle+`","summary":"`+summary+`"}`)
	return err
}

// A laptop is a `bossman mcp` on a person's machine: it asks the server for the board's
// own operations.
type laptop struct {
	fleet  *fleet
	key    auth.Secret
	owner  string
	handle jsontext.Value
}

func (a *laptop) operation(name, args string) ([]byte, error) {
	return a.fleet.call(a.key, "bossman/"+name, "", []byte(`{"as":{"owner":"`+a.owner+`"},"args":`+args))
}

func (a *laptop) claim(context.Context) error {
	body, err := a.operation("next", `{"Projects":["`+strings.Join(pgtest.QueueProjects, `","`)+`"],"Skills":["`+
		strings.Join(pgtest.QueueSkills, `","`)+`"],"Key":"`+rand.Text()+`"}`)
	if err != nil {
		return err
	}
	var answer struct {
		Result struct {
			Value struct {
				Claim struct {
					Task    string
					Attempt int
					Nonce   string
				}
			} `json:"value"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Result.Value.Claim.Task == "" {
		return fmt.Errorf("no claim in %.300s", body)
	}
	a.handle, err = json.Marshal(answer.Result.Value.Claim)
	return err
}

func (a *laptop) note(_ context.Context, text string) error {
	_, err := a.operation("progress", `{"Claim":`+string(a.handle)+`,"Note":{"Text":"`+text+`","Percent":50}}`)
	return err
}

func (a *laptop) present() bool { return true }

func (a *laptop) renew(context.Context) error {
	_, err := a.operation("renew", `{"Owner":"`+a.owner+`"}`)
	return err
}

func (a *laptop) finish(context.Context) error {
	_, err := a.operation("done", `{"Claim":`+string(a.handle)+`,"Report":{"Summary":"`+summary+`"}}`)
	return err
}

// A direct agent calls the board in this process: what is left of the cost without
// HTTP, JSON and keys.
type direct struct {
	board  *board.Board
	actor  board.Actor
	in     []string // projects
	skills []string
	laptop bool
	handle board.Handle
}

func (a *direct) claim(ctx context.Context) error {
	w := board.Wish{Projects: a.in, Skills: a.skills, Absent: !a.laptop}
	if a.laptop {
		w.Key = rand.Text()
	}
	h, err := a.board.Next(ctx, a.actor, w)
	if _, ok := errors.AsType[*board.Nothing](err); ok {
		return errDrained
	}
	if err != nil {
		return err
	}
	a.handle = h.Claim.Handle
	return nil
}

func (a *direct) note(ctx context.Context, text string) error {
	_, err := a.board.Progress(ctx, a.actor, a.handle, board.Note{Text: text, Percent: 50})
	return err
}

func (a *direct) present() bool { return a.laptop }

func (a *direct) renew(ctx context.Context) error {
	_, err := a.board.Renew(ctx, a.actor.Owner, false)
	return err
}

func (a *direct) finish(ctx context.Context) error {
	_, err := a.board.Done(ctx, a.actor, a.handle, board.Report{Summary: summary})
	return err
}
