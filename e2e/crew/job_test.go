package crew

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// A job is an attempt at a task, as its model sees it.
type job struct {
	claim, task, attempt string
	kind                 kind
	fault, earlier       fault           // earlier is that of the first attempt, for the second
	dealt                <-chan struct{} // of the plan
	parked               chan struct{}   // closed when the job was told that its task is parked

	mu       sync.Mutex
	base     int // results of earlier attempts, in a session that goes on
	steps    map[int]step
	reported bool
	wrote    bool // it has changed its worktree
	seen     bool // it was shown what a person answered, or what was allowed
	charged  int  // answers
}

// A step is what a model does when it has been shown so many results: it calls a tool, or says that
// it has finished.
type step struct {
	tool  string
	input any
	// hold: it does not answer. kill: and the agent is killed meanwhile. limit: the account has
	// reached its limit. wait: the agent has to ask again later.
	hold, kill, limit, wait bool
	// until is what the model waits for first, if for anything, and think how long it then takes.
	until <-chan struct{}
	think time.Duration
}

// pause waits for as long as a model takes for a step, or until ctx ends.
func (s step) pause(ctx context.Context) {
	if s.until != nil {
		select {
		case <-s.until:
		case <-ctx.Done():
		}
	}
	select {
	case <-time.After(s.think):
	case <-ctx.Done():
	}
}

// next is the next step. The same results lead to the same step again: an agent that is reminded to
// report gets the same answer.
func (j *job) next(q model.Request, o *office) step {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.base < 0 {
		j.base = len(q.Results)
	}
	n := len(q.Results) - j.base
	s, ok := j.steps[n]
	if !ok || s.wait {
		s = o.decide(j, n, q)
		j.steps[n] = s
	}
	return s
}

// decideLocked decides about step n: the job writes a file, meets its fault, and reports.
func (j *job) decideLocked(n int, q model.Request, o *office) step {
	if n == 0 {
		if j.fault == lingers {
			_ = os.WriteFile(filepath.Join(o.lingering, j.task), nil, 0o600)
		}
		return j.write()
	}
	j.wrote = true
	last := q.Results[len(q.Results)-1]
	switch {
	case j.reported, j.fault == unreported:
		return step{}
	case j.fault == agentKilled, j.fault == launcherKilled, j.fault == straysKilled && n == 2:
		return step{hold: true, kill: true}
	case j.fault == straysKilled:
		return j.run("setsid env -i tail -f " + o.stray + " > /dev/null 2>&1 &")
	case j.fault == limited:
		return step{limit: true}
	case j.fault == waits && !j.steps[n].wait:
		return step{wait: true}
	case j.fault == silent:
		return step{hold: true}
	case (j.fault == asks || j.fault == parks) && n == 1:
		return j.ask()
	case j.fault == parks && n == 2:
		close(j.parked)
		return step{}
	case j.fault == asks:
		j.seen = strings.Contains(last, colour)
	case j.earlier == parks:
		j.seen = strings.Contains(string(q.Raw), colour)
	case (j.fault == allowed || j.fault == refused) && n == 1, j.fault == allowedForTask && n <= 2:
		return j.fetch(o.url)
	case j.fault == allowed, j.fault == allowedForTask:
		j.seen = strings.Contains(last, fetched)
	case j.fault == refused:
		j.seen = strings.Contains(string(q.Raw), refusal)
	case j.attempt == "1" && j.fault == none:
		// It does not take the tasks away from those whose faults are still to come.
		select {
		case <-j.dealt:
		case <-time.After(time.Second):
			return j.note()
		}
	}
	j.reported = true
	return j.report()
}

// file is the file that the job writes.
func (j *job) file() string { return j.task + "-" + j.attempt + ".txt" }

func (j *job) write() step {
	if j.kind == oauth || j.kind == key {
		return step{tool: "Write", input: map[string]any{"file_path": j.file(), "content": j.claim}}
	}
	return j.run("echo " + j.claim + " > " + j.file())
}

// run runs a command that the agent may run without asking.
func (j *job) run(command string) step {
	switch j.kind {
	case oauth, key:
		return step{tool: "Bash", input: map[string]any{"command": command, "description": "work"}}
	case codex:
		return step{tool: "exec_command", input: map[string]any{"cmd": command}}
	default:
		return step{tool: execute, input: map[string]any{"command": command}}
	}
}

// fetch runs a command that people have to allow.
func (j *job) fetch(url string) step {
	s := j.run("curl -s " + url + "/fetched/" + j.task)
	if j.kind == codex {
		s.input = map[string]any{"cmd": "curl -s " + url + "/fetched/" + j.task, "sandbox_permissions": "require_escalated", "justification": "to fetch it"}
	}
	return s
}

// maxWait is the longest wait for an answer, in seconds.
const maxWait = 45

func (j *job) ask() step {
	wait := 0
	if j.fault == asks {
		wait = maxWait
	}
	if j.kind == command {
		return j.run(fmt.Sprintf("bossman ask 'Which colour?' --wait %d", wait))
	}
	return j.call("ask_question", map[string]any{"question": "Which colour?", "wait_seconds": wait})
}

func (j *job) note() step {
	if j.kind == command {
		return j.run("bossman note 'It goes on.'")
	}
	return j.call("report_progress", map[string]any{"note": "It goes on."})
}

func (j *job) report() step {
	if j.kind == command {
		return j.run("bossman done -m 'It is done.'")
	}
	return j.call("report_task_done", map[string]any{"summary": "It is done."})
}

// call calls a tool of the board.
func (j *job) call(tool string, input map[string]any) step {
	input["claim"] = j.claim
	return step{tool: tool, input: input}
}
