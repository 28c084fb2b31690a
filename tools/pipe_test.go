package tools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

// A pipe is the client's end of a `bossman mcp`. It sends lines without waiting for answers.
type pipe struct {
	t    *testing.T
	to   *io.PipeWriter
	done chan struct{}

	mu      sync.Mutex
	answers map[int]string // by id: the text of a tool's result, or the result or error as JSON
}

// pipe starts a process for a client.
func (s *fixture) pipe(o setup) *pipe {
	s.t.Helper()
	o.Piped = true
	o.Project = s.o.Project
	server := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
	ts := register(server, s.b, o)
	in, to := io.Pipe()
	from, out := io.Pipe()
	p := &pipe{t: s.t, to: to, done: make(chan struct{}), answers: map[int]string{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := ts.Run(ctx); !errors.Is(err, context.Canceled) {
			s.t.Errorf("Run = %v", err)
		}
	})
	wg.Go(func() {
		defer cancel()
		if err := server.Serve(ctx, jsonrpc.Lines(in, out, jsonrpc.Limits{})); err != nil {
			s.t.Errorf("Serve = %v", err)
		}
		out.Close()
	})
	wg.Go(func() { p.read(from) })
	go func() {
		defer close(p.done)
		wg.Wait()
		server.Close()
	}()
	s.t.Cleanup(p.hangUp)
	return p
}

func (p *pipe) read(from io.Reader) {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			p.t.Errorf("%v in %s", err, line)
			return
		}
		text := string(m.Result) + string(m.Error)
		var res struct {
			Content []struct{ Text string }
		}
		if json.Unmarshal(m.Result, &res) == nil && len(res.Content) > 0 {
			text = ""
			for _, c := range res.Content {
				text += c.Text + "\n"
			}
		}
		p.mu.Lock()
		p.answers[m.ID] = text
		p.mu.Unlock()
	}
}

// say sends requests in one write.
func (p *pipe) say(requests ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.to, strings.Join(requests, "\n")+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// answered lets d pass, and checks which requests have been answered by then.
func (p *pipe) answered(d time.Duration, want ...int) map[int]string {
	p.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := slices.Sorted(maps.Keys(p.answers)); !slices.Equal(got, want) {
		p.t.Fatalf("answered after %v: %v, want %v; %v", d, got, want, p.answers)
	}
	return maps.Clone(p.answers)
}

// hangUp closes the pipe and waits for the process to end.
func (p *pipe) hangUp() {
	p.to.Close()
	<-p.done
}

// tool is a call of a tool that needs no handshake.
func tool(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}},"name":%q,"arguments":%s}}`, id, name, arguments)
}

func method(id int, name, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, name, params)
}

// A call without a worker that waits for a task is the only one that does, and it holds up
// no other call.
func TestPipe_waitingForTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t, web, setup{}, mcp.LatestRevision).pipe(setup{})
		wait := `{"wait_seconds":40}`
		p.say(tool(1, "get_next_task", wait), tool(2, "get_next_task", wait), tool(3, "get_next_task", `{}`), method(4, "getNextTask", `{}`))
		got := p.answered(time.Second, 2, 3, 4)
		for id := 2; id <= 3; id++ {
			if !strings.Contains(got[id], "is waiting for a task") || !strings.Contains(got[id], `get_next_task {"worker":"new"}`) {
				t.Errorf("get_next_task {} while another waits: %s", got[id])
			}
		}
		if got[4] != "null" {
			t.Errorf("getNextTask while get_next_task {} waits = %s, want null", got[4])
		}
		p.say(tool(5, "create_task", `{"title":"One","description":"x"}`), tool(6, "create_task", `{"title":"Two","description":"x"}`))
		got = p.answered(5*time.Second, 1, 2, 3, 4, 5, 6)
		if !strings.Contains(got[1], "web-1 is yours") {
			t.Errorf("the call that waited got: %s", got[1])
		}
		p.say(tool(7, "get_next_task", wait), method(8, "getNextTask", `{}`))
		got = p.answered(time.Second, 1, 2, 3, 4, 5, 6, 7, 8)
		if !strings.Contains(got[7], "this connection holds web-1") || !strings.Contains(got[8], `"web-1"`) {
			t.Errorf("with a claim on the connection:\n%s\n%s", got[7], got[8])
		}
	})
}

// A wait that was cancelled is over: the next call may wait.
func TestPipe_cancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t, web, setup{}, mcp.LatestRevision).pipe(setup{})
		p.say(tool(1, "get_next_task", `{"wait_seconds":40}`))
		p.answered(time.Second)
		p.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		p.answered(time.Second)
		p.say(tool(2, "get_next_task", `{"wait_seconds":10}`))
		p.answered(time.Second)
		if got := p.answered(10*time.Second, 2); !strings.Contains(got[2], "There are no tasks yet") {
			t.Errorf("the second call got: %s", got[2])
		}
	})
}

// A question that waits for its answer holds up nothing.
func TestPipe_waitingForAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		p := s.pipe(setup{})
		p.say(tool(1, "create_task", `{"title":"One","description":"x"}`), method(2, "askQuestion", `{"question":"Why?"}`),
			tool(3, "ask_question", `{"question":"How?"}`), method(4, "getNextTask", `{}`), tool(5, "create_task", `{"title":"Two","description":"x"}`))
		if got := p.answered(time.Second, 1, 4, 5); !strings.Contains(got[4], `"web-1"`) {
			t.Errorf("getNextTask = %s", got[4])
		}
		qs, err := s.b.Questions(t.Context(), board.QuestionFilter{})
		if err != nil || len(qs) != 2 || qs[0].Text != "Why?" || qs[1].Text != "How?" {
			t.Errorf("the questions are %+v, %v", qs, err)
		}
	})
}

// slowCheck is an Inspector whose check takes its time.
type slowCheck struct{ takes time.Duration }

func (slowCheck) Begin(context.Context, board.Work) error                { return nil }
func (slowCheck) Noted(board.Work) bool                                  { return true }
func (slowCheck) End(context.Context, board.Work, []board.Evidence)      {}
func (slowCheck) Resolve(context.Context, board.Work, []board.Evidence)  {}
func (slowCheck) Leftover(context.Context, []board.Work) (int, int)      { return -1, 0 }
func (slowCheck) Unresolved(context.Context, board.Work) []string        { return nil }
func (slowCheck) Denied(context.Context, board.Work) (board.Where, bool) { return board.Where{}, false }
func (slowCheck) OffTarget(context.Context, board.Work) error            { return nil }
func (slowCheck) OnBranch(context.Context, board.Work) error             { return nil }

func (slowCheck) BranchOf(context.Context, board.Work, []board.Evidence) string { return "" }

func (slowCheck) Strays(context.Context, board.Work, time.Time, func(board.Where) bool) []board.Where {
	return nil
}

func (slowCheck) Elsewhere(context.Context, board.Work, func(board.Where, board.Idle) bool) ([]board.Where, board.Idle, error) {
	return nil, board.NotIdle, nil
}

func (slowCheck) Apart(at board.Where, branch string) board.Room {
	return board.Room{Branch: branch, Dir: at.Dir + ".worktrees/" + branch}
}

func (slowCheck) Store(context.Context, board.Work, string, string, string) (string, board.Loose, error) {
	return "", board.Loose{}, nil
}

func (slowCheck) Fetch(context.Context, board.Attempt, string, string) (board.Sight, bool) {
	return board.Sight{}, false
}

func (slowCheck) Lying(context.Context, board.Work) (board.Loose, error) {
	return board.Loose{}, nil
}

func (slowCheck) Has(context.Context, string) bool { return true }

func (slowCheck) Forgone(context.Context, board.Work, func(board.Where) bool) ([]board.Forgone, bool, error) {
	return nil, false, nil
}

func (slowCheck) Dropped(context.Context, board.Work, board.Tip) (board.Dropped, error) {
	return board.Dropped{}, nil
}

func (slowCheck) Includes(context.Context, board.Work, board.Tip, func(context.Context, board.ID, int) (board.Dossier, error)) ([]board.Included, error) {
	return nil, nil
}

func (slowCheck) Share(context.Context, board.Handle, string, string) error { return nil }

func (slowCheck) Tip(context.Context, board.Work, string, string) (board.Tip, bool, error) {
	return board.Tip{}, false, nil
}

func (slowCheck) Diff(context.Context, board.Work, board.Tip) (board.Diff, error) {
	return board.Diff{}, nil
}
func (slowCheck) Moved(board.Where) bool         { return false }
func (slowCheck) Command() (command, why string) { return "", "" }

func (slowCheck) Look(context.Context, board.Attempt) (board.Sight, bool) {
	return board.Sight{}, false
}

func (slowCheck) Place(context.Context, board.Work, string) (board.Where, error) {
	return board.Where{}, nil
}

func (slowCheck) Verify(context.Context, board.Work, []board.Evidence) ([]board.Evidence, []string, error) {
	return nil, nil, nil
}

func (c slowCheck) Check(ctx context.Context, _ board.Work, d time.Duration, waiting func(time.Duration, string) bool) (tools.CheckResult, error) {
	if c.takes == 0 {
		return tools.CheckResult{State: tools.CheckNone}, nil
	}
	waiting(0, "")
	time.Sleep(min(d, c.takes))
	return tools.CheckResult{State: tools.CheckGreen, Evidence: board.Evidence{Kind: board.EvidenceTests, Ref: "make test"}}, nil
}

// A report that waits for its check holds up nothing; one without a check keeps its place.
func TestPipe_waitingForCheck(t *testing.T) {
	for _, takes := range []time.Duration{0, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newFixture(t, web, setup{}, mcp.LatestRevision)
			p := s.pipe(setup{Inspector: slowCheck{takes}})
			p.say(tool(1, "create_task", `{"title":"One","description":"x"}`), method(2, "getNextTask", `{}`),
				method(3, "reportTaskDone", `{"taskId":"web-1"}`), tool(4, "create_task", `{"title":"Two","description":"x"}`), method(5, "getNextTask", `{}`))
			want := []int{1, 2, 3, 4, 5}
			second := `"web-2"` // the report was there first
			if takes > 0 {
				want = []int{1, 2, 4, 5}
				second = `"web-1"`
			}
			if got := p.answered(time.Second, want...); !strings.Contains(got[5], second) {
				t.Errorf("after a report whose check takes %v, getNextTask = %s, want %s", takes, got[5], second)
			}
			if got := p.answered(40*time.Second, 1, 2, 3, 4, 5); got[3] != `{"success":true}` {
				t.Errorf("reportTaskDone = %s", got[3])
			}
		})
	}
}

// queuedCheck is an Inspector whose check waits for another one.
type queuedCheck struct{ slowCheck }

func (queuedCheck) Check(context.Context, board.Work, time.Duration, func(time.Duration, string) bool) (tools.CheckResult, error) {
	return tools.CheckResult{State: tools.CheckRunning, Behind: "it waits for another check on this machine", Command: "make test"}, nil
}

// A report whose check has not begun is told what it waits for.
func TestPipe_queuedCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		p := s.pipe(setup{Inspector: queuedCheck{}})
		p.say(tool(1, "create_task", `{"title":"One","description":"x"}`), method(2, "getNextTask", `{}`), method(3, "reportTaskDone", `{"taskId":"web-1"}`))
		const want = "The check has not begun: it waits for another check on this machine"
		if got := p.answered(time.Second, 1, 2, 3); !strings.Contains(got[3], want) {
			t.Errorf("reportTaskDone = %s, want %s", got[3], want)
		}
	})
}

// in is where a process works.
func in(dir string) setup {
	return setup{Where: func(context.Context) board.Where { return board.Where{Host: "h", Dir: dir} }}
}

// A program that is started for each call gets a task in one run and reports it in another.
func TestPipe_oneCallAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		id, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, "")
		if err != nil {
			t.Fatal(err)
		}
		task := func(want string) {
			t.Helper()
			d, err := s.b.Get(t.Context(), id.ID, 1)
			got := fmt.Sprintf("%s, attempt %d, %d failures", d.Task.Status, d.Task.Attempt, d.Task.Failures)
			if err != nil || got != want {
				t.Errorf("web-1: %s, %v, want %s", got, err, want)
			}
		}
		run := func(o setup, want string, requests ...string) {
			t.Helper()
			p := s.pipe(o)
			p.say(requests...)
			synctest.Wait()
			p.hangUp()
			if got := p.answers[len(requests)]; !strings.Contains(got, want) {
				t.Errorf("%s = %s, want %s", requests[len(requests)-1], got, want)
			}
		}
		report := method(1, "reportTaskDone", `{"taskId":"web-1","result":"did it"}`)
		const foreign = "was not handed out to this process, nor to an earlier one in this directory"
		run(in("/a"), foreign, report)
		run(in("/a"), `"web-1"`, method(1, "getNextTask", `{}`), method(2, "getNextTask", `{}`))
		task("pending, attempt 1, 0 failures")
		run(in("/b"), foreign, report)
		run(setup{}, foreign, report)

		// Somebody else has it: the first run's report is refused, and so is that of another
		// process for a task in live hands.
		other := s.pipe(in("/a"))
		other.say(method(1, "getNextTask", `{}`))
		synctest.Wait()
		task("in_progress, attempt 2, 0 failures")
		run(in("/a"), foreign, report)
		// A claim with a further call is kept for two minutes. A report is accepted meanwhile.
		other.say(method(2, "askQuestion", `{"question":"Why?"}`))
		synctest.Wait()
		other.hangUp()
		task("in_progress, attempt 2, 0 failures")
		run(in("/a"), `{"success":true}`, report)
		task("done, attempt 2, 0 failures")
		run(in("/a"), `{"success":true}`, report)
	})
}

// A task that was given back is reported by a later run while nobody else has it.
func TestPipe_reportAfterGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		first := s.pipe(in("/a"))
		first.say(method(1, "getNextTask", `{}`))
		synctest.Wait()
		first.hangUp()
		time.Sleep(3 * time.Hour)
		second := s.pipe(in("/a"))
		second.say(method(1, "reportTaskDone", `{"taskId":"web-1"}`))
		if got := second.answered(time.Second, 1); got[1] != `{"success":true}` {
			t.Errorf("reportTaskDone = %s", got[1])
		}
	})
}

// Whoever answers sees what was asked before in the same conversation, and that the asker
// has left.
func TestPipe_conversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		lead := s.pipe(setup{})
		list := func(id int, want string) {
			t.Helper()
			lead.say(tool(id, "list_questions", `{}`))
			synctest.Wait()
			if got := strings.TrimSpace(lead.answers[id]); !strings.HasPrefix(got, want) {
				t.Errorf("list_questions:\n%s\nwant\n%s", got, want)
			}
		}
		asker := s.pipe(in("/a"))
		asker.say(method(1, "askQuestion", `{"question":"Which database?","chatId":"c-1"}`))
		time.Sleep(time.Second)
		if _, err := s.b.Answer(t.Context(), ada, 1, "SQLite"); err != nil {
			t.Fatal(err)
		}
		asker.answered(2*time.Second, 1)
		asker.say(method(2, "askQuestion", `{"question":"Which version?","chatId":"c-1"}`), method(3, "askQuestion", `{"question":"Anything else?"}`))
		asker.answered(time.Second, 1)
		const rows = `q-2 open, asked by an agent 1 s ago: "Which version?"
    earlier, q-1: "Which database?" was answered by "ada" (person): "SQLite"
q-3 open, asked by an agent 1 s ago: "Anything else?"
Answer with`
		list(1, rows)
		asker.hangUp()
		const left = "its asker has left, so nobody waits for the answer, "
		list(2, strings.NewReplacer("asked by an agent 1", left+"asked by an agent 6").Replace(rows))
		// The same question from a later process is the same question.
		later := s.pipe(in("/a"))
		later.say(method(1, "askQuestion", `{"question":"Which version?","chatId":"c-1"}`))
		later.answered(time.Second)
		list(3, `q-2 open, asked`)
		if _, err := s.b.Answer(t.Context(), ada, 2, "3.51"); err != nil {
			t.Fatal(err)
		}
		if got := later.answered(2*time.Second, 1); got[1] != `{"answer":"3.51","answeredBy":"ada","answeredAs":"person","chatId":"c-1"}` {
			t.Errorf("askQuestion = %s", got[1])
		}
	})
}

// A report that is the last thing on its pipe waits for its check, which may take longer than a
// call does.
func TestPipe_reportIsTheLastCall(t *testing.T) {
	for _, takes := range []time.Duration{8 * time.Second, 10 * time.Minute} {
		for _, direct := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, web, setup{}, mcp.LatestRevision)
				o := in("/a")
				o.Inspector = &longCheck{slowCheck: slowCheck{takes}, state: tools.CheckGreen}
				p := s.pipe(o)
				p.say(tool(1, "create_task", `{"title":"One","description":"x"}`), method(2, "getNextTask", `{}`))
				p.answered(time.Second, 1, 2)
				held, err := s.b.Claims(t.Context(), board.ClaimFilter{})
				if err != nil || len(held) != 1 {
					t.Fatalf("claims: %+v, %v", held, err)
				}
				report, want := tool(3, "report_task_done", fmt.Sprintf(`{"claim":%q,"summary":"did it"}`, held[0].Handle)), "web-1 is done"
				if direct {
					report, want = method(3, "reportTaskDone", `{"taskId":"web-1"}`), `{"success":true}`
				}
				p.say(report)
				began := time.Now()
				p.hangUp()
				if got := p.answers[3]; !strings.Contains(got, want) {
					t.Errorf("the answer after a check of %v: %s, want %s", takes, got, want)
				}
				if took := time.Since(began); took < takes || took > takes+10*time.Second {
					t.Errorf("the process ended after %v; its check takes %v", took, takes)
				}
			})
		}
	}
}

// What an agent took over MCP is not reported by other processes of its directory, neither
// while its lease lasts nor after that.
func TestPipe_reportOfAnothersTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		program := s.pipe(in("/a"))
		program.say(method(1, "getNextTask", `{}`))
		synctest.Wait()
		program.hangUp()
		agent := s.pipe(in("/a"))
		agent.say(tool(1, "get_next_task", `{}`))
		synctest.Wait()
		if got := agent.answers[1]; !strings.Contains(got, "Claim web-1/2.") {
			t.Fatalf("get_next_task = %s", got)
		}
		agent.hangUp()
		for _, after := range []time.Duration{time.Second, time.Hour} {
			time.Sleep(after)
			later := s.pipe(in("/a"))
			later.say(method(1, "reportTaskDone", `{"taskId":"web-1"}`))
			if got := later.answered(time.Second, 1); !strings.Contains(got[1], "web-1 was not handed out to this process") {
				t.Errorf("reportTaskDone %v later = %s", after, got[1])
			}
			later.hangUp()
		}
	})
}
