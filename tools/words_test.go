package tools_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// TestHandout_decisions: what was decided about a task reaches its next worker to the last word. What is too long for a
// hand-out ends with the call that has all of it.
func TestHandout_decisions(t *testing.T) {
	for name, c := range map[string]struct {
		words int // in each of the texts
		whole bool
	}{"whole": {300, true}, "too long": {500, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				person := web
				person.Policy = board.PolicyPerson
				s := newFixture(t, person, setup{}, mcp.LatestRevision)
				task, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One", Description: strings.Repeat("Describe. ", 2000)}, "")
				if err != nil {
					t.Fatal(err)
				}
				a := s.connect(setup{Piped: true, Project: "web"}, mcp.LatestRevision, nil)
				ask := func(tool string, args map[string]any) (string, map[string]any) {
					t.Helper()
					res, err := a.client.Call(t.Context(), tool, args, nil)
					if err != nil || res.IsError {
						t.Fatalf("%s: %v, %+v", tool, err, res)
					}
					if strings.HasPrefix(tool, "get_next") {
						return res.Content[0].Text, claimOf(t, res)
					}
					return res.Content[0].Text, nil
				}
				say := func(what string) string { return strings.Repeat(what+" word ", c.words/2) + "THE-END-OF-" + what }
				_, held := ask("get_next_task", nil)
				ask("report_task_done", map[string]any{"claim": held["claim"], "summary": "It works."})
				if err := s.b.Comment(t.Context(), ada, task.ID, []board.Comment{{File: "a.go", Line: 1, Text: say("comment")}}); err != nil {
					t.Fatal(err)
				}
				if _, err := s.b.Review(t.Context(), ada, task.ID, board.Decision{Verdict: board.Reject, Note: say("note")}); err != nil {
					t.Fatal(err)
				}
				_, held = ask("get_next_task", map[string]any{"worker": held["worker"]})
				for n := range 30 { // which hide no decision
					ask("report_progress", map[string]any{"claim": held["claim"], "note": fmt.Sprintf("step %d", n)})
				}
				ask("ask_question", map[string]any{"claim": held["claim"], "question": "Which?"})
				if _, err := s.b.Answer(t.Context(), ada, 1, say("answer")); err != nil {
					t.Fatal(err)
				}
				text, _ := ask("get_next_task", map[string]any{"worker": held["worker"]})
				full, _ := ask("get_task", map[string]any{"task": "web-1", "detail": "full"})
				for _, what := range []string{"comment", "note", "answer"} {
					if end := "THE-END-OF-" + what; strings.Contains(text, end) != c.whole || !strings.Contains(full, end) {
						t.Errorf("the hand-out has all of the %s: %t, get_task: %t", what, !c.whole, strings.Contains(full, end))
					}
				}
				if n := strings.Count(text, `[truncated; full text: get_`); c.whole && n != 1 || !c.whole && n < 3 { // the description is always
					t.Errorf("%d pointers:\n%s", n, text)
				}
				if len(text) > 14<<10 {
					t.Errorf("%d bytes", len(text))
				}
			})
		})
	}
}

// TestReview_unread: an agent does not accept work over a person's comment that it has not seen, or over an answer that the
// worker went on without.
func TestReview_unread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		review := web
		review.Policy = board.PolicyReview
		s := newFixture(t, review, setup{}, mcp.LatestRevision)
		task, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
		if err != nil {
			t.Fatal(err)
		}
		worker, reviewer := s.agent("a"), s.agent("b")
		res, err := worker.client.Call(t.Context(), "get_next_task", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		ask := map[string]any{"claim": claimOf(t, res)["claim"], "question": "Which?", "default": "this", "wait_seconds": 0}
		if _, err := worker.client.Call(t.Context(), "ask_question", ask, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := worker.client.Call(t.Context(), "report_task_done", map[string]any{"claim": claimOf(t, res)["claim"], "summary": "It works."}, nil); err != nil {
			t.Fatal(err)
		}
		comment := func(text string) {
			t.Helper()
			if err := s.b.Comment(t.Context(), ada, task.ID, []board.Comment{{File: "a.go", Line: 1, Text: text}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		comment("It has that one.")
		if res, err = reviewer.client.Call(t.Context(), "get_next_task", nil, nil); err != nil || !strings.Contains(res.Text(), "It has that one.") {
			t.Fatalf("get_next_task = %q, %v", res.Text(), err)
		}
		verdict := map[string]any{"task": "web-1", "claim": claimOf(t, res)["claim"], "verdict": "accept"}
		time.Sleep(time.Second)
		for _, text := range []string{"Not so.", "Nor so."} {
			comment(text)
			want := `Not reviewed. web-1 is still in review. You may not have seen this yet. "ada" (person) commented: "a.go:1: ` + text + `". Next: if the work is good all the same, repeat the call; otherwise reject it.`
			if res, err = reviewer.client.Call(t.Context(), "review_task", verdict, nil); err != nil || res.Text() != want {
				t.Errorf("review_task = %q, %v; want %q", res.Text(), err, want)
			}
		}
		if _, err := s.b.Answer(t.Context(), ada, 1, "that"); err != nil {
			t.Fatal(err)
		}
		want := `Not reviewed. web-1 is still in review. You may not have seen this yet. The worker had asked "Which?", and went on without the answer. q-1 was answered by "ada" (person): "that". Next: if the work is good all the same, repeat the call; otherwise reject it.`
		if res, err = reviewer.client.Call(t.Context(), "review_task", verdict, nil); err != nil || res.Text() != want {
			t.Errorf("review_task = %q, %v; want %q", res.Text(), err, want)
		}
		if res, err = reviewer.client.Call(t.Context(), "review_task", verdict, nil); err != nil || !strings.HasPrefix(res.Text(), "web-1 is done.") {
			t.Errorf("review_task = %q, %v", res.Text(), err)
		}
	})
}
