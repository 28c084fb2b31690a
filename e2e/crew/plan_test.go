package crew

import (
	"strings"
	"sync"
)

// A kind is a kind of agent: Claude Code with one of two credentials, Codex, or a program.
type kind string

const (
	oauth   kind = "claude with a token"
	key     kind = "claude with a key"
	codex   kind = "codex"
	command kind = "command"
)

// A fault is what happens to a job.
type fault string

const (
	none           fault = "nothing"
	agentKilled    fault = "the agent is killed"
	launcherKilled fault = "what started the agent is killed"
	straysKilled   fault = "the agent is killed, and has processes that left its group and cleared their environment"
	unreported     fault = "it does not report, also when it is told to"
	limited        fault = "the limit of its account is reached"
	waits          fault = "its model tells it to wait"
	silent         fault = "its model does not answer"
	lingers        fault = "it does not exit after its last turn"
	allowed        fault = "it asks for a permission and gets it once"
	allowedForTask fault = "it asks for a permission and gets it for the task"
	refused        fault = "it asks for a permission and is refused"
	asks           fault = "it asks a question and waits for the answer"
	parks          fault = "it asks a question and does not wait for the answer"
)

// ends says what the board has about an attempt with a fault: its cause, and how its reason begins.
// Others end as done.
var ends = map[fault]struct{ cause, reason string }{
	agentKilled:    {"failed", "ended without a report, "},
	launcherKilled: {"failed", "ended without a report, by a signal (killed)"},
	straysKilled:   {"failed", "ended without a report, "},
	unreported:     {"failed", "ended without a report, exit status 0"},
	limited:        {"left", ""},
	silent:         {"failed", "was ended: it gave no sign of work for"},
	parks:          {"parked", "waiting for an answer"},
}

// What a person answers, and what the agents look for.
const (
	refusal = "Not before Friday."
	colour  = "Green, as the logo."
	fetched = "this was fetched"
)

var answers = map[fault]string{allowed: "yes", allowedForTask: "yes, for this task", refused: refusal, asks: colour, parks: colour}

// A plan has the faults that the jobs still to come have, and all jobs that have begun. The first
// attempts at tasks take the faults for their kind; later ones have none.
type plan struct {
	dealt chan struct{} // closed when no fault is left

	mu     sync.Mutex
	faults map[kind][]fault
	jobs   map[string]*job
}

func newPlan(faults map[kind][]fault) *plan {
	return &plan{faults: faults, jobs: map[string]*job{}, dealt: make(chan struct{})}
}

// job is the job with a claim, which begins if it has not.
func (p *plan) job(claim string, k kind) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j := p.jobs[claim]; j != nil {
		return j
	}
	task, attempt, _ := strings.Cut(claim, "/")
	attempt, _, _ = strings.Cut(attempt, ".")
	j := &job{claim: claim, task: task, attempt: attempt, kind: k, fault: none, base: -1, steps: map[int]step{}, dealt: p.dealt, parked: make(chan struct{})}
	if attempt == "2" {
		j.earlier = p.firstLocked(task).fault
	}
	if left := p.faults[k]; attempt == "1" && len(left) > 0 {
		j.fault = left[0]
		if p.faults[k] = left[1:]; len(left) == 1 {
			delete(p.faults, k)
		}
		if len(p.faults) == 0 {
			close(p.dealt)
		}
	}
	p.jobs[claim] = j
	return j
}

// first is the first job at a task.
func (p *plan) first(task string) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.firstLocked(task)
}

func (p *plan) firstLocked(task string) *job {
	for _, j := range p.jobs {
		if j.task == task && j.attempt == "1" {
			return j
		}
	}
	return &job{}
}
