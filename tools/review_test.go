package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// testReview calls review_task with the verdict accept on a task that waits for a person's
// review, in each of the ways to elicit, and passes the result to test.
func testReview(t *testing.T, o setup, elicit func(context.Context, *board.Board) (*mcp.ElicitResult, error), test func(t *testing.T, text string, refused bool, d board.Dossier, forms int)) {
	for name, how := range elicitations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				person := web
				person.Policy = board.PolicyPerson
				s := newFixture(t, person, o, how.revision)
				task, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One", Acceptance: "It runs."}, "")
				if err != nil {
					t.Fatal(err)
				}
				forms := 0
				o := o
				o.Piped, o.Project = true, "web"
				a := s.connect(o, how.revision, &mcp.ClientOptions{Tasks: how.tasks, Elicit: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					forms++
					for _, want := range []string{`Review web-1: "One"`, "Done when:\n> It runs.", "Reported by its worker:\n> It works.", `tests (claimed by its worker) "12 pass"`} {
						if !strings.Contains(p.Message, want) {
							t.Errorf("the form %q lacks %q", p.Message, want)
						}
					}
					time.Sleep(5 * time.Second)
					return elicit(ctx, s.b)
				}})
				res, err := a.client.Call(t.Context(), "get_next_task", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := a.client.Call(t.Context(), "report_task_done", map[string]any{
					"claim": claimOf(t, res)["claim"], "summary": "It works.", "evidence": []any{map[string]any{"kind": "tests", "ref": "12 pass"}},
				}, nil); err != nil {
					t.Fatal(err)
				}
				if res, err = a.client.Call(t.Context(), "review_task", map[string]any{"task": "web-1", "verdict": "accept", "note": "fine"}, nil); err != nil {
					t.Fatal(err)
				}
				d, err := s.b.Get(t.Context(), task.ID, 50)
				if err != nil {
					t.Fatal(err)
				}
				test(t, res.Content[0].Text, res.IsError, d, forms)
			})
		})
	}
}

// TestReview_personDecides: what the person fills in decides, and not the arguments.
func TestReview_personDecides(t *testing.T) {
	testReview(t, setup{}, func(context.Context, *board.Board) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"verdict":"reject","note":"No tests."}`)}, nil
	}, func(t *testing.T, text string, refused bool, d board.Dossier, forms int) {
		if refused || !strings.HasPrefix(text, "The person at the client decided. web-1 is rejected and pending again; the next worker will see their note") {
			t.Errorf("review_task = %q", text)
		}
		last := d.Events[len(d.Events)-1]
		if d.Task.Status != board.Pending || last.Actor != "the person at the client" || last.Detail.Text != "No tests." {
			t.Errorf("web-1 is %s, the last event %+v", d.Task.Status, last)
		}
	})
	testReview(t, setup{}, func(context.Context, *board.Board) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"verdict":"accept"}`)}, nil
	}, func(t *testing.T, text string, refused bool, d board.Dossier, forms int) {
		if refused || text != "The person at the client decided. web-1 is done." || d.Task.Status != board.Done || forms != 1 {
			t.Errorf("review_task = %q after %d forms; web-1 is %s", text, forms, d.Task.Status)
		}
	})
}

// TestReview_personDoesNot: without the person's answer nothing is decided.
func TestReview_personDoesNot(t *testing.T) {
	for name, elicit := range map[string]func(context.Context, *board.Board) (*mcp.ElicitResult, error){
		"declined": func(context.Context, *board.Board) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		"no note": func(context.Context, *board.Board) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"verdict":"reject"}`)}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			testReview(t, setup{}, elicit, func(t *testing.T, text string, refused bool, d board.Dossier, forms int) {
				if !refused || !strings.HasPrefix(text, "Not reviewed.") || d.Task.Status != board.InReview {
					t.Errorf("review_task = %q; web-1 is %s", text, d.Task.Status)
				}
			})
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		testReview(t, setup{Quiet: true}, nil, func(t *testing.T, text string, refused bool, d board.Dossier, forms int) {
			if !refused || forms != 0 || d.Task.Status != board.InReview || !strings.Contains(text, "bossman task review web-1") {
				t.Errorf("review_task = %q after %d forms; web-1 is %s", text, forms, d.Task.Status)
			}
		})
	})
}

// TestReview_othersDecide: the form of a task that somebody else has decided about is
// without effect.
func TestReview_othersDecide(t *testing.T) {
	testReview(t, setup{}, func(ctx context.Context, b *board.Board) (*mcp.ElicitResult, error) {
		if _, err := b.Review(context.WithoutCancel(ctx), ada, board.ID{Project: "web", No: 1}, board.Decision{Verdict: board.Reject, Note: "Not so."}); err != nil {
			t.Error(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"verdict":"accept"}`)}, nil
	}, func(t *testing.T, text string, refused bool, d board.Dossier, forms int) {
		if d.Task.Status != board.Pending || !strings.Contains(text, "web-1 is pending") {
			t.Errorf("review_task = %q; web-1 is %s", text, d.Task.Status)
		}
	})
}
