package crew

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// prove shows that all is done, that the board has what happened, and that nothing is left.
func (o *office) prove(t *testing.T) {
	t.Helper()
	for n := range o.tasks {
		o.proveTask(t, fmt.Sprintf("web-%d", n+1))
	}
	if len(o.plan.faults) > 0 {
		t.Errorf("these faults met no job: %v", o.plan.faults)
	}
	if len(o.strays) > 0 {
		t.Errorf("the model was asked for %v, want only requests of jobs", o.strays)
	}
	for _, p := range processes() {
		if p.mentions(o.home) {
			t.Errorf("process %d still runs: %q", p.pid, p.words)
		}
	}
	want := []string{o.dir}
	for n := range slots {
		want = append(want, fmt.Sprintf("%s.worktrees/slot-%d", o.dir, n+1))
	}
	var got []string
	for line := range strings.Lines(harness.Git(t, o.dir, "worktree", "list", "--porcelain")) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "worktree "); ok {
			got = append(got, dir)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("worktrees: %q, want %q", got, want)
	}
	inside, err := filepath.Glob(o.dir + ".worktrees/*")
	if err != nil || !slices.Equal(inside, want[1:]) {
		t.Errorf("beside the repository are %q, want %q: %v", inside, want[1:], err)
	}
	for _, dir := range got {
		if changed := harness.Git(t, dir, "status", "--porcelain", "--ignored"); changed != "" {
			t.Errorf("%s is not clean:\n%s", dir, changed)
		}
	}
}

// proveTask shows that a task is done, and that each attempt at it ended as its fault says.
func (o *office) proveTask(t *testing.T, id string) {
	t.Helper()
	var task struct {
		Status   string
		Attempts []struct {
			Claim, Cause, Reason string
			Attempt              int
			Run                  struct {
				Agent  string
				Tokens struct{ In, Out int }
				Cost   *float64 `json:"cost_usd"`
			}
		}
	}
	if err := json.Unmarshal([]byte(o.cli(t, "task", "show", id, "--json")), &task); err != nil {
		t.Fatal(err)
	}
	if task.Status != "done" {
		t.Errorf("%s is %s, want done", id, task.Status)
	}
	for _, a := range task.Attempts {
		j := o.plan.jobs[a.Claim]
		if j == nil {
			t.Errorf("the model knows nothing of %s, which ended as %s: %s", a.Claim, a.Cause, a.Reason)
			continue
		}
		want, early := ends[j.fault]
		if !early {
			want.cause = "done"
		}
		if a.Cause != want.cause || !strings.HasPrefix(a.Reason, want.reason) {
			t.Errorf("%s, %s, where %s: it ended as %s, %q, want %s, %q", a.Claim, j.kind, j.fault, a.Cause, a.Reason, want.cause, want.reason)
		}
		if _, asked := answers[j.fault]; (asked && j.fault != parks || j.earlier == parks) && !j.seen {
			t.Errorf("%s, %s, where %s: the model was not shown what came of it", a.Claim, j.kind, j.fault)
		}
		if in, out := j.charged*model.TokensIn, j.charged*model.TokensOut; j.kind != command && (a.Run.Tokens.In != in || a.Run.Tokens.Out != out) {
			t.Errorf("%s, %s, where %s: the board has %d tokens in and %d out, want %d and %d", a.Claim, j.kind, j.fault, a.Run.Tokens.In, a.Run.Tokens.Out, in, out)
		}
		o.proveCost(t, j, a.Run.Cost)
		if j.wrote {
			if got := harness.Git(t, o.dir, "show", fmt.Sprintf("refs/bossman/%s/%d:%s", id, a.Attempt, j.file())); got != j.claim {
				t.Errorf("the state of %s has %q, want %q", a.Claim, got, j.claim)
			}
		}
	}
	want := map[fault]int{allowed: 1, allowedForTask: 2}[o.plan.first(id).fault]
	if got := o.fetches[id]; got != want {
		t.Errorf("%s fetched %d times, want %d", id, got, want)
	}
}

// prices are what Claude Code, as it is pinned, reckons for a token in and out with the models that
// it takes for a subscription and for a key, in dollars.
var prices = map[kind]struct{ in, out float64 }{oauth: {2e-6, 10e-6}, key: {4e-6, 20e-6}}

// proveCost shows that the board has the cost of a job that Claude Code has ended itself, and only
// that: the others tell none.
func (o *office) proveCost(t *testing.T, j *job, cost *float64) {
	t.Helper()
	price, told := prices[j.kind]
	if !told {
		if cost != nil {
			t.Errorf("%s, %s: the board has a cost of $%v, want none", j.claim, j.kind, *cost)
		}
		return
	}
	want := float64(j.charged) * (model.TokensIn*price.in + model.TokensOut*price.out)
	_, early := ends[j.fault]
	if cost == nil && !early || cost != nil && math.Abs(*cost-want) > 1e-6 {
		t.Errorf("%s, where %s: the board has a cost of $%v, want $%v for %d answers", j.claim, j.fault, dollars(cost), want, j.charged)
	}
}

func dollars(cost *float64) any {
	if cost == nil {
		return "nothing"
	}
	return *cost
}
