package team

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
	"github.com/bossman-dev/bossman/mcp"
)

// Every tool does its work in every revision while each call goes to another replica
// than the one before. A tool that is new fails this until it is used here.
func TestTools(t *testing.T) {
	team := teamserver.Start(t, bossman, 3)
	for _, revision := range revisions {
		t.Run(revision.String(), func(t *testing.T) {
			d := newDesk(t, team, revision)
			d.work(t)
			d.everyTool(t)
			d.others(t)
			d.cancels(t)
			if revision >= mcp.R20250618 {
				d.elicits(t)
			}
			if revision.Stateless() {
				d.becomesTask(t)
			}
		})
	}
	if n := team.Refused(); n != 0 {
		t.Errorf("%d requests failed at the balancer, want none", n)
	}
	all := int64(0)
	for _, r := range team.Replicas {
		all += r.Served()
	}
	for i, r := range team.Replicas {
		if r.Served() < all/4 {
			t.Errorf("replica %d served %d of %d requests, want a third", i, r.Served(), all)
		}
	}
}

// A desk is where a revision is spoken: a project, and the clients of its people.
type desk struct {
	team     *teamserver.Team
	revision mcp.Revision
	project  string
	// Keys of a lead, a worker, and a person who is a lead.
	leads, works, person         string
	lead, worker, ada            *mcp.Client
	used                         map[string]bool // tools
	workerName, firstTask, pages string
}

func newDesk(t *testing.T, team *teamserver.Team, revision mcp.Revision) *desk {
	t.Helper()
	d := &desk{team: team, revision: revision, project: "r" + strings.ReplaceAll(revision.String(), "-", ""), used: map[string]bool{}}
	team.Operate(t, "project", "create", d.project)
	d.leads = team.Key(t, "--project", d.project, "--role", "lead", "--owner", "ada")
	d.works = team.Key(t, "--project", d.project, "--role", "worker", "--owner", "ada")
	d.person = team.Key(t, "--project", d.project, "--role", "lead", "--person", "ada")
	d.lead, d.worker, d.ada = d.connect(t, d.leads, nil), d.connect(t, d.works, nil), d.connect(t, d.person, nil)
	return d
}

// connect makes a client behind the balancer, in the desk's revision.
func (d *desk) connect(t *testing.T, key string, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	if o == nil {
		o = &mcp.ClientOptions{}
	}
	o.Revision = d.revision
	c := connect(t, d.team.MCP(), key, o)
	if c.Revision() != d.revision {
		t.Fatalf("revision %v is spoken, want %v", c.Revision(), d.revision)
	}
	return c
}

func (d *desk) call(t *testing.T, c *mcp.Client, tool string, a args) answer {
	t.Helper()
	d.used[tool] = true
	return call(t, c, tool, a)
}

// says fails the test if a text lacks one of the parts.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the answer does not say %q:\n%s", part, text)
		}
	}
}

// work lets two tasks go their way from the plan to the end.
func (d *desk) work(t *testing.T) {
	plan := args{"goal": "Let people in", "tasks": []args{
		{"key": "schema", "title": "Make the tables"},
		{"key": "page", "title": "Add a login page", "after": "schema"},
	}}
	plan["dry_run"] = true
	if dry := d.call(t, d.lead, "create_plan", plan); !dry.facts.DryRun {
		t.Errorf("create_plan = %+v, want a dry run", dry)
	}
	delete(plan, "dry_run")
	plan["idempotency_key"] = "the plan"
	first := d.call(t, d.lead, "create_plan", plan)
	if again := d.call(t, d.lead, "create_plan", plan); string(again.facts.Tasks) != string(first.facts.Tasks) || len(first.facts.Tasks) == 0 {
		t.Errorf("create_plan with the same key = %s, want %s", again.facts.Tasks, first.facts.Tasks)
	}
	third := args{"description": "Paint the door.", "idempotency_key": "the door"}
	door := d.call(t, d.worker, "create_task", third).facts.ID
	if again := d.call(t, d.worker, "create_task", third).facts.ID; again != door || door == "" {
		t.Errorf("create_task with the same key = %s, want %s", again, door)
	}
	d.call(t, d.lead, "update_task", args{"task": door, "title": "Paint the front door", "priority": "low"})
	says(t, d.call(t, d.lead, "list_tasks", args{"status": "open"}).text, "Make the tables", "Add a login page", "Paint the front door")

	given := d.call(t, d.worker, "get_next_task", nil)
	says(t, given.text, "Make the tables", "is yours", given.facts.Claim.Claim)
	c := given.facts.Claim
	if again := d.call(t, d.worker, "get_next_task", args{"worker": c.Worker}); again.facts.Outcome != "again" || again.facts.Claim != c {
		t.Errorf("get_next_task with the worker = %+v, want the same claim again", again.facts)
	}
	d.workerName, d.firstTask = c.Worker, c.Task
	d.call(t, d.worker, "report_progress", args{"claim": c.Claim, "note": "two of three tables", "percent": 60})
	says(t, d.call(t, d.lead, "get_task", args{"task": c.Task, "detail": "full"}).text, "two of three tables")
	says(t, d.call(t, d.lead, "list_workers", nil).text, c.Worker, c.Task)

	asked := d.call(t, d.worker, "ask_question", args{"claim": c.Claim, "question": "Which database?", "default": "SQLite"}).facts.ID
	says(t, d.call(t, d.ada, "list_questions", nil).text, asked, "Which database?")
	d.call(t, d.ada, "answer_question", args{"question": asked, "answer": "PostgreSQL"})
	says(t, d.call(t, d.worker, "get_answer", args{"question": asked}).text, "PostgreSQL")
	done := d.call(t, d.worker, "report_task_done", args{"claim": c.Claim, "summary": "three tables"})
	if done.facts.Status != "done" || len(done.facts.Freed) != 1 {
		t.Errorf("report_task_done = %+v, want done, and that it frees the page", done.facts)
	}
	if again := d.call(t, d.worker, "report_task_done", args{"claim": c.Claim, "summary": "three tables"}); !again.facts.Again {
		t.Errorf("report_task_done once more = %+v, want the first answer", again)
	}
	d.pages = done.facts.Freed[0]

	next := d.call(t, d.worker, "get_next_task", args{"worker": c.Worker}).facts.Claim
	d.call(t, d.worker, "report_task_failed", args{"claim": next.Claim, "kind": "wrong_spec", "reason": "There is no such page."})
	d.call(t, d.lead, "review_task", args{"task": next.Task, "verdict": "retry", "note": "It is the first page."})
	d.call(t, d.lead, "cancel_task", args{"task": door, "reason": "It was painted."})
	says(t, d.call(t, d.lead, "get_task", args{"task": door}).text, "cancelled")
}

// everyTool compares what was used with what there is.
func (d *desk) everyTool(t *testing.T) {
	var all []string
	for tool, err := range d.lead.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool.Name)
		if !d.used[tool.Name] {
			t.Errorf("tool %s is not tried here", tool.Name)
		}
	}
	for tool := range d.used {
		if !slices.Contains(all, tool) {
			t.Errorf("tool %s is not listed", tool)
		}
	}
}

// others uses what is not a tool.
func (d *desk) others(t *testing.T) {
	uri := "bossman://tasks/" + d.firstTask
	read, err := d.worker.Read(t.Context(), uri, nil)
	if err != nil || len(read.Contents) != 1 || !strings.Contains(read.Text(), "Make the tables") {
		t.Errorf("read %s = %+v, %v", uri, read, err)
	}
	if p, err := d.worker.Prompt(t.Context(), "work", nil, nil); err != nil || len(p.Messages) == 0 {
		t.Errorf("prompt work = %+v, %v", p, err)
	}
	if got, err := d.worker.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.CompleteRef{Type: "ref/resource", URI: "bossman://tasks/{id}"}, Argument: mcp.CompleteArgument{Name: "id", Value: d.project}}, nil); err != nil || !slices.Contains(got.Values, d.firstTask) {
		t.Errorf("complete %s = %+v, %v, want %s among them", d.project, got, err, d.firstTask)
	}
	// No tool reports its progress, but a client may ask for it.
	if _, err := try(t.Context(), d.worker, "get_task", args{"task": d.firstTask}, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) {}}); err != nil {
		t.Error(err)
	}
	if err := d.worker.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

const ended = `mcp_server_operation_duration_seconds_count{`

// waits counts the calls of get_next_task that have ended, however they did.
func (d *desk) waits(t *testing.T) (n float64) {
	t.Helper()
	for _, r := range d.team.Replicas {
		one, err := r.Metric(ended, `="get_next_task"`)
		if err != nil {
			t.Fatal(err)
		}
		n += one
	}
	return n
}

// cancels takes back a call that waits. In a session that is a message of its own,
// which comes to another replica than the call.
func (d *desk) cancels(t *testing.T) {
	d.call(t, d.lead, "cancel_task", args{"task": d.pages, "reason": "so that there is nothing to do"})
	before := d.waits(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := try(ctx, d.worker, "get_next_task", args{"worker": d.workerName, "wait_seconds": 45}, nil)
		over <- err
	}()
	until(t, "the call is under way", func() bool { return d.team.Calls() > 0 })
	cancel()
	if err := <-over; err == nil {
		t.Fatal("a call that was taken back was answered")
	}
	begun := time.Now()
	until(t, "the call has ended", func() bool { return d.waits(t) > before })
	t.Logf("a call that was taken back ended %v later", time.Since(begun).Round(time.Millisecond))
	// It takes nothing any more.
	made := d.call(t, d.lead, "create_task", args{"description": "For whoever is there."}).facts.ID
	given := d.call(t, d.worker, "get_next_task", args{"worker": d.workerName}).facts.Claim
	if given.Task != made || !strings.HasPrefix(given.Claim, made+"/1.") {
		t.Errorf("%s was given as %s, want its first attempt", made, given.Claim)
	}
	d.call(t, d.worker, "report_task_done", args{"claim": given.Claim, "summary": "done"})
}

// elicits asks a person at the client. The answer comes to another replica than the
// one that asks: in a session as a message of its own, else with the call, again.
func (d *desk) elicits(t *testing.T) {
	var asked atomic.Int32
	c := d.connect(t, d.works, &mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asked.Add(1)
		return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"answer":"green"}`)}, nil
	}})
	claim := d.holds(t, c)
	begun := time.Now()
	got := d.call(t, c, "ask_question", args{"claim": claim.Claim, "question": "Which colour?", "options": []string{"green", "blue"}, "wait_seconds": 45})
	says(t, got.text, "green", "You still hold "+claim.Task)
	if asked.Load() != 1 || got.facts.State != "answered" {
		t.Errorf("the person was asked %d times, and the question is %+v", asked.Load(), got.facts)
	}
	t.Logf("a person at the client was asked and answered in %v", time.Since(begun).Round(time.Millisecond))
	d.call(t, c, "report_task_done", args{"claim": claim.Claim, "summary": "green"})
}

// holds gives a client a task.
func (d *desk) holds(t *testing.T, c *mcp.Client) claim {
	t.Helper()
	made := d.call(t, d.lead, "create_task", args{"description": "Choose a colour."}).facts.ID
	return d.call(t, c, "get_next_task", args{"task": made}).facts.Claim
}

// becomesTask lets a call become a task of the protocol, which is followed at other
// replicas than the one where it waits.
func (d *desk) becomesTask(t *testing.T) {
	c := d.connect(t, d.works, &mcp.ClientOptions{Tasks: true})
	claim := d.holds(t, c)
	became := make(chan string, 1)
	over := make(chan answer, 1)
	go func() {
		got, err := try(t.Context(), c, "ask_question", args{"claim": claim.Claim, "question": "Which font?", "wait_seconds": 45},
			&mcp.CallOptions{OnTask: func(id string) { became <- id }})
		if err != nil {
			t.Error(err)
		}
		over <- got
	}()
	select {
	case <-became:
	case got := <-over:
		t.Fatalf("ask_question was answered at once: %+v", got)
	}
	var open answer
	until(t, "the question is there", func() bool {
		open = d.call(t, d.ada, "list_questions", nil)
		return strings.Contains(open.text, "Which font?")
	})
	id := open.text[strings.Index(open.text, "q-"):]
	id = id[:strings.IndexAny(id, " ,:.\n")]
	d.call(t, d.ada, "answer_question", args{"question": id, "answer": "Any."})
	if got := <-over; got.facts.Answer != "Any." {
		t.Errorf("ask_question as a task = %+v", got)
	}
	d.call(t, c, "report_task_done", args{"claim": claim.Claim, "summary": "any"})
}
