// Package agent starts the programs that work on tasks, and tells what they do.
//
//	Agent ── Start ──► Session ── Events ──► Activity … Ended
//
// Each adapter is a file. All processes of a session run under a minder of package proc.
package agent

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/proc"
)

// An Agent is a program that works on tasks.
type Agent interface {
	// Name is the agent's name, such as claude.
	Name() string
	// Tools reports whether it calls tools over MCP; otherwise it runs commands.
	Tools() bool
	// Prices reports whether it may tell what a session costs.
	Prices() bool
	// Start starts a session for one task. An error is the environment's fault: the program
	// is not there, or does not start.
	Start(Job) (Session, error)
}

// A Job is what a session needs.
type Job struct {
	// Dir is the worktree, and Root the directory that has the git directory of its repository: the
	// main worktree, or the directory of a bare repository's directory.
	Dir, Root string
	// Prompt is the hand-out, and Env the environment.
	Prompt string
	Env    []string
	// Session is one that was Started in Dir before, to go on with; empty begins a new one. An
	// agent that no longer has it begins a new one, or ends without a sign of work.
	Session string
	// Used is what Session has used.
	Used Usage
	// MaxCost is what the job may cost, in dollars; 0 is no limit. Some agents end themselves then.
	MaxCost float64
	// Mind starts a process under a minder.
	Mind func(*exec.Cmd) (*proc.Minded, error)
}

// A Session is an agent at work.
type Session interface {
	// Events tells what the agent does. It is closed after Ended.
	Events() <-chan Event
	// Tell tells the agent something more after a Turn, and reports whether it can be told.
	Tell(text string) bool
	// Finish lets the agent end after a Turn.
	Finish()
	// End ends the agent, and everything that it started.
	End()
}

// An Event is what an agent does, or how it ended.
type Event struct {
	Kind Kind
	// Text is what the agent said last, or why it ended; it is not escaped.
	Text string
	// Did has a text for each call of a tool that Activity tells of. It begins with a verb of ours, such as "calls", and what follows is not escaped.
	Did []string
	// Usage is what the session has used so far, nil if the event does not tell.
	Usage *Usage
	// Session and Model are what the agent calls them, with Started.
	Session, Model string
	// Permission is what the agent wants to be allowed, with Asks.
	Permission *Permission
	// Calling is set with Activity and Asks if a call of a tool is under way then, such as a build.
	// That is quiet until it ends.
	Calling bool
	// Fault is why a Turn came to nothing.
	Fault Fault
	// Refused is set if people refused something in a Turn, and the agent has not heard their
	// words yet: Tell passes them on.
	Refused bool
	// Until is when a limit of usage ends, with Limited, or when it asks again, with Waits; zero if that is not known.
	Until time.Time
	// Ending is how the process ended, with Ended.
	Ending proc.Ending
}

// Whole is what the agent said and did.
func (e Event) Whole() string {
	if e.Text == "" {
		return strings.Join(e.Did, "\n")
	}
	return strings.Join(append([]string{e.Text}, e.Did...), "\n")
}

// A Kind is the kind of an event.
type Kind string

const (
	// Started: the agent runs. That is no sign of work.
	Started Kind = "started"
	// Activity is a sign of work.
	Activity Kind = "activity"
	// Asks: the agent asks for permission, and waits for the answer.
	Asks Kind = "asks"
	// Waits: the agent waits until a time before it asks its model again, which said so.
	Waits Kind = "waits"
	// Turn: the agent has ended its turn, and waits.
	Turn Kind = "turn"
	// Ended is the last event: nothing of the agent runs any more.
	Ended Kind = "ended"
)

// Usage is what a session has used: tokens that the model has read, of these from its cache, and
// written. Cost is in US dollars, if Priced.
type Usage struct {
	In, Cached, Out int64
	Cost            float64
	Priced          bool
}

// Since is what was used since then.
func (u Usage) Since(then Usage) Usage {
	u.In, u.Cached, u.Out, u.Cost = max(0, u.In-then.In), max(0, u.Cached-then.Cached), max(0, u.Out-then.Out), max(0, u.Cost-then.Cost)
	return u
}

// A Fault is why an agent could not work, if that is not the task's.
type Fault string

const (
	// Limited: the limit of its account is reached.
	Limited Fault = "limited"
	// Unusable: there is no model, no key that is accepted, or the like.
	Unusable Fault = "unusable"
)

// A Permission is what an agent wants to be allowed.
type Permission struct {
	// Tool is what it wants to use, and Use for what: a command, or the arguments in JSON.
	Tool, Use string
	// Dir is the directory in which it would be done, if that is not the worktree.
	Dir string
	// Words are what the agent says about it: nothing of them is done.
	Words string
	// Vague is set if the agent does not tell what exactly it would do. Nobody can allow that more
	// than once.
	Vague bool
	// Rules are what else is allowed for the task with it, if it is allowed for the task.
	Rules []string
	// Answer answers it. A note is passed to the model.
	Answer func(d Decision, note string)
}

// What names the tool for a line, with the directory if that is not the worktree.
func (p *Permission) What() string {
	if p.Dir == "" {
		return p.Tool
	}
	return fmt.Sprintf("%s in %q", p.Tool, p.Dir)
}

// A Decision is the answer to a Permission.
type Decision string

const (
	No      Decision = "no"
	Once    Decision = "once"
	ForTask Decision = "for this task"
)
