package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

// TestLookAlikes puts look-alikes of our headings where people and agents write, and reads
// every tool, resource and prompt. The board's own words are the same as with plain words.
func TestLookAlikes(t *testing.T) {
	const fields = 10
	all := tools.LookAlikes()
	if n := len(slices.Compact(slices.Sorted(slices.Values(all)))); n != 200 {
		t.Fatalf("%d look-alikes, want 200", n)
	}
	plain := make([]string, fields)
	for i := range plain {
		plain[i] = fmt.Sprint("word", i)
	}
	var want []string
	synctest.Test(t, func(t *testing.T) { want = readAll(t, plain) })
	if text := strings.Join(want, "\n"); !strings.Contains(text, "/x word3") || !strings.Contains(text, "x word1") {
		t.Errorf("nobody reads where the work is:\n%s", text)
	}
	for i := 0; i < len(all); i += fields {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := readAll(t, all[i:i+fields])
				for n, text := range got {
					if n >= len(want) || tools.Skeleton(text) != tools.Skeleton(want[n]) {
						t.Errorf("our words depend on those of others:\n%s\nwant, but for what is quoted\n%s", text, want[min(n, len(want)-1)])
					}
					if text != visible.Text(text) {
						t.Errorf("hidden characters in %q", text)
					}
				}
			})
		})
	}
}

// readAll lets people and agents write texts in all fields, and returns what models read.
func readAll(t *testing.T, texts []string) (read []string) {
	t.Helper()
	at := 0
	next := func() string { at++; return "x " + texts[at%len(texts)] }
	line := func() string { return strings.Join(strings.Fields(next()), " ") }
	word := func() string { // short enough for a skill
		s := []rune(strings.ToLower(strings.Join(strings.Fields(texts[at%len(texts)]), "")))
		return string(s[:min(len(s), 9)])
	}
	p := board.Project{Slug: "web", Policy: board.PolicyReview, Skills: []string{word()}}
	o := setup{Piped: true}
	o.Where = func(context.Context) board.Where { // any client's word
		return board.Where{Host: "x " + texts[1], Clone: "x " + texts[2], Dir: "/x " + texts[3], Client: "x " + texts[4], Head: "3f2c1ab99"}
	}
	s := newFixture(t, p, o, mcp.LatestRevision)
	keep := func(text string) {
		read = append(read, handle.ReplaceAllString(text, "CLAIM"))
	}
	var claim string
	call := func(agent, tool string, args map[string]any) {
		t.Helper()
		if args == nil {
			args = map[string]any{}
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.agent(agent).client.Call(t.Context(), tool, json.RawMessage(raw), nil)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		for _, c := range res.Content {
			if tool == "list_workers" { // by their names, which are random
				lines := strings.Split(c.Text, "\n")
				slices.SortFunc(lines, func(a, b string) int { return strings.Compare(tools.Skeleton(a), tools.Skeleton(b)) })
				c.Text = strings.Join(lines, "\n")
			}
			keep(c.Text)
		}
		if h := handle.FindString(res.Content[0].Text); h != "" && tool == "get_next_task" {
			claim = h
		}
	}
	person := board.Actor{Principal: "ada", Name: line(), Person: true}
	if _, _, err := s.b.Create(t.Context(), person, board.NewTask{
		Project: "web", Title: line(), Description: next() + "\n" + next(), Acceptance: next(), Priority: board.Normal,
		Areas: []string{line()}, Skills: p.Skills,
	}, ""); err != nil {
		t.Fatal(err)
	}
	call("a", "create_task", map[string]any{"title": line(), "description": next(), "depends_on": []any{"web-1"}, "skills": []any{"x" + word() + "x"}})
	call("a", "create_plan", map[string]any{"tasks": []any{map[string]any{"key": line(), "title": line(), "after": "web-2"}}, line(): 1})
	call("a", "get_next_task", nil)
	call("a", "get_task", nil)
	call("a", "report_progress", map[string]any{"claim": claim, "note": next(), "branch": line()})
	call("a", "ask_question", map[string]any{"claim": claim, "question": next(), "options": []any{line(), line() + "!"}, "default": next()})
	call("b", "list_questions", nil)
	if _, err := s.b.Answer(t.Context(), person, 1, next()); err != nil {
		t.Fatal(err)
	}
	call("a", "get_answer", map[string]any{"question": "q-1"})
	call("a", "report_task_failed", map[string]any{"claim": claim, "reason": next(), "do_not_repeat": next()})
	call("b", "get_next_task", nil)
	call("b", "get_task", map[string]any{"task": "web-1", "detail": "full"})
	call("b", "list_questions", map[string]any{"state": "all"})
	call("b", "list_tasks", nil)
	if _, err := s.b.Update(t.Context(), person, board.ID{Project: "web", No: 1}, board.Edit{Description: new(next() + "\nmore")}); err != nil {
		t.Fatal(err)
	}
	done := map[string]any{
		"claim": claim, "summary": next() + "\n" + next(), "artifacts": []any{line()}, "branch": line(), "follow_ups": []any{line()},
		"evidence": []any{map[string]any{"kind": "pr", "ref": line(), "detail": next()}, map[string]any{"kind": "other", "ref": line()}},
	}
	call("b", "report_task_done", done) // by the old text
	call("b", "report_task_done", done)
	call("c", "get_next_task", nil)
	call("c", "review_task", map[string]any{"task": "web-1", "verdict": "reject", "note": next()})
	call("b", "get_next_task", nil)
	done["claim"] = claim
	call("b", "report_task_done", done)
	if _, err := s.b.Review(t.Context(), person, board.ID{Project: "web", No: 1}, board.Decision{Verdict: board.Accept, Note: next()}); err != nil {
		t.Fatal(err)
	}
	call("a", "get_task", map[string]any{"task": "web-1", "detail": "full"})
	call("c", "get_next_task", nil) // it builds on web-1
	if err := s.b.Pause(t.Context(), person, "web"); err != nil {
		t.Fatal(err)
	}
	call("a", "get_next_task", nil)
	call("a", "get_task", map[string]any{"task": "web-3"})
	call("a", "list_workers", nil)
	call("a", "cancel_task", map[string]any{"task": "web-2", "reason": next()})
	call("c", "report_progress", map[string]any{"claim": claim, "note": next()})
	call("a", "get_task", map[string]any{"task": next()})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.b.SetLand(t.Context(), person, "web", "main"))
	must(s.b.Resume(t.Context(), person, "web"))
	queued, _, err := s.b.Create(t.Context(), person, board.NewTask{Project: "web", Title: "queued"}, "")
	must(err)
	worker := board.Actor{Principal: "key:w", Owner: "p-w"}
	h, err := s.b.Next(t.Context(), worker, board.Wish{Projects: []string{"web"}, Task: queued.ID})
	must(err)
	_, err = s.b.Done(t.Context(), worker, h.Claim.Handle, board.Report{Summary: "done", Tip: board.Tip{Commit: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40)}})
	must(err)
	_, err = s.b.Review(t.Context(), person, queued.ID, board.Decision{Verdict: board.Accept})
	must(err)
	lander := board.Actor{Principal: "key:l", Owner: "p-l", Name: line()}
	lease, err := s.b.Lead(t.Context(), lander, board.Lease{Project: "web", Target: "main", Holder: line()})
	must(err)
	lease.Note = &board.LandNote{Doing: line(), Stopped: next(), Moved: next(), Waits: []board.LandWait{{Task: queued.ID, Why: next(), ForPeople: true}}}
	_, err = s.b.Lead(t.Context(), lander, lease)
	must(err)
	call("a", "get_task", map[string]any{"task": queued.ID.String(), "detail": "full"})
	if text := read[len(read)-1]; !strings.Contains(text, "says the lander of ") {
		t.Errorf("nobody reads what the lander tells:\n%s", text)
	}
	for _, uri := range []string{"bossman://board", "bossman://questions", "bossman://tasks/web-1", "bossman://tasks/web-2"} {
		res, err := s.agent("a").client.Read(t.Context(), uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		keep(res.Text())
	}
	for _, p := range [][2]string{{"plan", "goal"}, {"work", "task"}, {"review", "task"}} {
		res, err := s.agent("a").client.Prompt(t.Context(), p[0], map[string]string{p[1]: next()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		keep(res.Messages[0].Content.Text)
	}
	return read
}
