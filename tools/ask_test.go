package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// elicitations are the ways in which a server can ask the person at the client.
var elicitations = map[string]struct {
	revision mcp.Revision
	tasks    bool
}{
	"session":     {mcp.R20250618, false},
	"session new": {mcp.R20251125, false},
	"rounds":      {mcp.LatestRevision, false},
	"task":        {mcp.LatestRevision, true},
}

// testAsk makes one call of ask_question as a worker that holds web-1, in each of the ways
// to elicit, and passes the answer and its time to test.
func testAsk(t *testing.T, o setup, elicit func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error), args map[string]any,
	test func(t *testing.T, s *fixture, a *agent, text string, took time.Duration),
) {
	for name, how := range elicitations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, o, how.revision)
				if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
					t.Fatal(err)
				}
				o := o
				o.Piped, o.Project = true, "web"
				a := s.connect(o, how.revision, &mcp.ClientOptions{Elicit: elicit, Tasks: how.tasks})
				res, err := a.client.Call(t.Context(), "get_next_task", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				full := map[string]any{"claim": claimOf(t, res)["claim"], "question": "Postgres or SQLite?"}
				for k, v := range args {
					full[k] = v
				}
				begun := time.Now()
				if res, err = a.client.Call(t.Context(), "ask_question", full, nil); err != nil {
					t.Fatal(err)
				}
				if res.IsError {
					t.Errorf("ask_question was refused: %s", res.Content[0].Text)
				}
				test(t, s, a, res.Content[0].Text, time.Since(begun))
				qs, err := s.b.Questions(t.Context(), board.QuestionFilter{Task: board.ID{Project: "web", No: 1}})
				if err != nil || len(qs) != 1 {
					t.Errorf("there are %d questions about web-1 (%v), want one", len(qs), err)
				}
			})
		})
	}
}

func TestAsk_personAnswers(t *testing.T) {
	var asked atomic.Int32
	elicit := func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if !strings.Contains(p.Message, "q-1 about web-1, asked by an agent:\n> Postgres or SQLite?") || !strings.Contains(string(p.RequestedSchema), `"enum":["Postgres","SQLite"]`) {
			t.Errorf("asked %q with %s", p.Message, p.RequestedSchema)
		}
		time.Sleep(10 * time.Second)
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"answer":"SQLite"}`)}, nil
	}
	testAsk(t, setup{Asked: func(board.Question) { asked.Add(1) }}, elicit,
		map[string]any{"options": []string{"Postgres", "SQLite"}, "human_only": true},
		func(t *testing.T, s *fixture, _ *agent, text string, _ time.Duration) {
			if !strings.HasPrefix(text, "q-1 was answered by the person at the client:\n> SQLite\nYou still hold web-1") {
				t.Errorf("ask_question = %q", text)
			}
			q, err := s.b.Question(t.Context(), 1)
			if err != nil || q.State != board.QuestionAnswered || q.Answer != "SQLite" {
				t.Errorf("Question(1) = %+v, %v", q, err)
			}
			if n := asked.Swap(0); n != 1 {
				t.Errorf("the inbox was notified %d times, want once", n)
			}
		})
}

// TestAsk_personIsSilent: the wait ends on time even if the person does not react, in the
// revisions in which the server does the waiting.
func TestAsk_personIsSilent(t *testing.T) {
	elicit := func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Minute):
		}
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	testAsk(t, setup{}, elicit, nil, func(t *testing.T, s *fixture, _ *agent, text string, took time.Duration) {
		if !strings.Contains(text, "no answer in 45 s. web-1 is parked") {
			t.Errorf("ask_question = %q", text)
		}
		if s.revision != mcp.LatestRevision && (took < 44*time.Second || took > 46*time.Second) {
			t.Errorf("it took %v", took)
		}
	})
}

// TestAsk_inboxIsQuicker: an answer from the inbox withdraws the form at the client.
func TestAsk_inboxIsQuicker(t *testing.T) {
	for name, how := range elicitations {
		if name == "rounds" {
			continue // here the client decides when to return
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, setup{Piped: true}, how.revision)
				if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
					t.Fatal(err)
				}
				a := s.connect(setup{Piped: true, Project: "web"}, how.revision, &mcp.ClientOptions{
					Tasks: how.tasks,
					Elicit: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						if _, err := s.b.Answer(t.Context(), ada, 1, "Neither"); err != nil {
							t.Error(err)
						}
						select {
						case <-ctx.Done():
						case <-time.After(5 * time.Minute):
						}
						return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"answer":"SQLite"}`)}, nil
					},
				})
				res, err := a.client.Call(t.Context(), "get_next_task", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err = a.client.Call(t.Context(), "ask_question", map[string]any{"claim": claimOf(t, res)["claim"], "question": "Which?"}, nil)
				if err != nil || !strings.HasPrefix(res.Content[0].Text, "q-1 was answered by \"ada\" (person):\n> Neither\nYou still hold web-1") {
					t.Errorf("ask_question = %+v, %v", res, err)
				}
			})
		})
	}
}

// TestAsk_declined: a decline is not an answer; after an instant decline, which comes from
// the client itself, the client is not asked again.
func TestAsk_declined(t *testing.T) {
	var times atomic.Int32
	elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		times.Add(1)
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	testAsk(t, setup{}, elicit, map[string]any{"blocking": false, "wait_seconds": 20},
		func(t *testing.T, _ *fixture, a *agent, text string, took time.Duration) {
			if !strings.Contains(text, "no answer in 20 s. Continue") || took < 19*time.Second {
				t.Errorf("ask_question = %q after %v", text, took)
			}
			_, err := a.client.Call(t.Context(), "ask_question", map[string]any{"question": "Postgres or SQLite?", "wait_seconds": 1}, nil)
			if err != nil {
				t.Error(err)
			}
			if n := times.Swap(0); n != 1 {
				t.Errorf("the client was asked %d times, want once", n)
			}
		})
}

// TestAsk_quiet: with Quiet, the client is never asked.
func TestAsk_quiet(t *testing.T) {
	elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		t.Error("the client was asked")
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	testAsk(t, setup{Quiet: true}, elicit, nil, func(t *testing.T, _ *fixture, _ *agent, text string, took time.Duration) {
		if !strings.Contains(text, "no answer yet. web-1 is parked") || took > 2*time.Second {
			t.Errorf("ask_question = %q after %v", text, took)
		}
	})
}

// TestAsk_oldRevision: a client is not asked in a revision without elicitation, even if it
// declares the capability.
func TestAsk_oldRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.R20250326)
		a := s.connect(setup{Piped: true, Project: "web"}, mcp.R20250326, &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				t.Error("the client was asked")
				return nil, errors.New("no")
			},
		})
		res, err := a.client.Call(t.Context(), "ask_question", map[string]any{"question": "Which?"}, nil)
		if err != nil || res.IsError || !strings.Contains(res.Content[0].Text, "no answer in 45 s. Continue") {
			t.Errorf("ask_question = %+v, %v", res, err)
		}
	})
}

// TestAsk_humanOnlyByKey: with an agent's key over HTTP, a human_only question is not shown
// at the client, because the server cannot know that a person is there.
func TestAsk_humanOnlyByKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		o := setup{Project: "web", Who: func(context.Context, mcp.Principal) (*access.Caller, error) {
			return &access.Caller{
				Actor: board.Actor{Principal: "key", Owner: "key-1"}, Role: auth.Lead, Roles: map[string]auth.Role{"web": auth.Lead},
			}, nil
		}}
		times := 0
		a := s.connect(o, mcp.LatestRevision, &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				times++
				return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"answer":"Yes"}`)}, nil
			},
		})
		for _, c := range []struct {
			human bool
			want  string
		}{{true, "no answer in 5 s"}, {false, "q-2 was answered in a form at the client, with an agent's key:\n> Yes"}} {
			res, err := a.client.Call(t.Context(), "ask_question", map[string]any{"question": "May I?", "human_only": c.human, "wait_seconds": 5}, nil)
			if err != nil || !strings.Contains(res.Content[0].Text, c.want) {
				t.Errorf("ask_question = %+v, %v; want %s", res, err, c.want)
			}
		}
		if times != 1 {
			t.Errorf("the client was asked %d times, want once", times)
		}
	})
}
