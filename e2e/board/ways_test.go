package board

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// A lead puts tasks on the board and answers questions.
type lead interface {
	create(t *testing.T, title string)
	// answer waits for the next question and answers it.
	answer(t *testing.T, text string)
}

// A worker takes tasks and reports on them. note and fail tell whether there is a
// way to do that.
type worker interface {
	next(t *testing.T) string
	note(t *testing.T, text string) bool
	ask(question string) (string, error)
	done(t *testing.T, summary string)
	fail(t *testing.T, reason string) bool
}

// The same day of work ends in the same history, whichever way people and agents
// have of telling it.
func TestWays(t *testing.T) {
	leads := map[string]func(*testing.T, *site) lead{"tools": newToolLead, "command line": newPerson}
	workers := map[string]func(*testing.T, *site) worker{"tools": newToolWorker, "direct methods": newProgram}
	for by, newLead := range leads {
		for with, newWorker := range workers {
			t.Run(by+" and "+with, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				lead := newLead(t, s)
				lead.create(t, "One")
				lead.create(t, "Two")

				w := newWorker(t, s)
				if id := w.next(t); id != "web-1" {
					t.Fatalf("the first task is %s, want web-1", id)
				}
				noted := w.note(t, "half of it")
				answered := make(chan error, 1)
				go func() {
					got, err := w.ask("Which colour?")
					if err == nil && got != "Green." {
						err = fmt.Errorf("the answer is %q, want Green", got)
					}
					answered <- err
				}()
				lead.answer(t, "Green.")
				if err := <-answered; err != nil {
					t.Fatal(err)
				}
				w.done(t, "it is there")
				if id := w.next(t); id != "web-2" {
					t.Fatalf("the second task is %s, want web-2", id)
				}
				failed := w.fail(t, "no network")

				want := []string{
					"web-1: created →pending",
					"web-1: claimed pending→in_progress",
					"web-1: note in_progress→in_progress",
					"web-1: asked in_progress→in_progress",
					"web-1: answered in_progress→in_progress",
					"web-1: done in_progress→done",
					"web-2: created →pending",
					"web-2: claimed pending→in_progress",
					"web-2: failed in_progress→pending",
				}
				want = slices.DeleteFunc(want, func(e string) bool {
					return !noted && strings.Contains(e, "note") || !failed && strings.Contains(e, "failed")
				})
				var got []string
				for _, e := range s.events(t) {
					got = append(got, e.String())
				}
				if !slices.Equal(got, want) {
					t.Errorf("history:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}

// A toolLead is an agent that leads.
type toolLead struct{ *pipe }

func newToolLead(t *testing.T, s *site) lead { return toolLead{s.pipe(t, s.dir)} }

func (l toolLead) create(t *testing.T, title string) {
	t.Helper()
	l.call(t, "create_task", args{"title": title, "description": "What it is about."})
	l.watch(t, "bossman://questions")
}

func (l toolLead) answer(t *testing.T, text string) {
	t.Helper()
	var id string
	l.until(t, "a question is open", func() bool {
		var list struct {
			Meta struct {
				Facts struct{ Items []struct{ ID string } } `json:"dev.bossman/result"`
			} `json:"_meta"`
		}
		b, err := l.request("tools/call", args{"name": "list_questions", "arguments": args{}})
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list.Meta.Facts.Items {
			id = q.ID
		}
		return id != ""
	})
	l.call(t, "answer_question", args{"question": id, "answer": text})
}

// A person has the command line.
type person struct{ *site }

func newPerson(_ *testing.T, s *site) lead { return person{s} }

func (p person) create(t *testing.T, title string) {
	t.Helper()
	p.cli(t, "task", "add", title, "-d", "What it is about.")
}

func (p person) answer(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := harness.Command(ctx, p.home, programs.Path(harness.Bossman), "inbox", "--watch", "--json")
	cmd.Dir = p.dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	var e struct{ Kind, ID string }
	if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Kind != "question" {
		t.Fatalf("the inbox shows %q, want a question: %v", lines.Text(), err)
	}
	p.cli(t, "answer", e.ID, text)
}

// A toolWorker is an agent that works.
type toolWorker struct {
	*pipe
	claim, worker string
}

func newToolWorker(t *testing.T, s *site) worker {
	return &toolWorker{pipe: s.pipe(t, s.dir, "--role", "worker")}
}

func (w *toolWorker) next(t *testing.T) string {
	t.Helper()
	a := args{}
	if w.worker != "" {
		a["worker"] = w.worker
	}
	given := w.call(t, "get_next_task", a).facts.Claim
	w.claim, w.worker = given.Claim, given.Worker
	return given.Task
}

func (w *toolWorker) note(t *testing.T, text string) bool {
	t.Helper()
	w.call(t, "report_progress", args{"claim": w.claim, "note": text})
	return true
}

func (w *toolWorker) ask(question string) (string, error) {
	a, err := w.try("ask_question", args{"claim": w.claim, "question": question})
	if err == nil && a.refused {
		err = fmt.Errorf("ask_question was refused: %s", a.text)
	}
	if err == nil && !strings.Contains(a.text, a.facts.Answer) {
		err = fmt.Errorf("the answer %q is not in %q", a.facts.Answer, a.text)
	}
	return a.facts.Answer, err
}

func (w *toolWorker) done(t *testing.T, summary string) {
	t.Helper()
	w.call(t, "report_task_done", args{"claim": w.claim, "summary": summary})
}

func (w *toolWorker) fail(t *testing.T, reason string) bool {
	t.Helper()
	w.call(t, "report_task_failed", args{"claim": w.claim, "reason": reason})
	return true
}

// A program knows three methods, and no handshake.
type program struct {
	*pipe
	task string
}

func newProgram(t *testing.T, s *site) worker { return &program{pipe: s.raw(t, s.dir)} }

func (p *program) direct(t *testing.T, method string, params args, result any) {
	t.Helper()
	b, err := p.request(method, params)
	if err == nil {
		err = json.Unmarshal(b, result)
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func (p *program) next(t *testing.T) string {
	t.Helper()
	var task struct{ ID, Title, Description, Status string }
	p.direct(t, "getNextTask", args{}, &task)
	if task.Title == "" || task.Description != "What it is about." {
		t.Errorf("getNextTask = %+v, want a title and the description", task)
	}
	p.task = task.ID
	return task.ID
}

func (p *program) ask(question string) (string, error) {
	b, err := p.request("askQuestion", args{"question": question, "chatId": "chat-1"})
	if err != nil {
		return "", err
	}
	var got struct{ Answer, ChatID string }
	if err := json.Unmarshal(b, &got); err != nil || got.ChatID != "chat-1" {
		return "", fmt.Errorf("askQuestion = %s: %w", b, err)
	}
	return got.Answer, nil
}

func (p *program) done(t *testing.T, summary string) {
	t.Helper()
	var got struct{ Success bool }
	p.direct(t, "reportTaskDone", args{"taskId": p.task, "result": summary}, &got)
	if !got.Success {
		t.Error("reportTaskDone: no success")
	}
}

func (*program) note(*testing.T, string) bool { return false }
func (*program) fail(*testing.T, string) bool { return false }
