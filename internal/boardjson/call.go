package boardjson

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Calls are those of other servers' tools that were made for a task: the newest, and how many there are by outcome.
type Calls struct {
	Last   []Call         `json:"last"`
	Counts map[string]int `json:"counts"`
	Reads  int64          `json:"reads"`
}

// A Call is one of them. Outcome is running, ok, tool_error, rpc_error, not_sent or unknown.
type Call struct {
	Attempt  int        `json:"attempt,omitzero"`
	Worker   string     `json:"worker,omitzero"`
	Upstream string     `json:"upstream"`
	Tool     string     `json:"tool"`
	Step     string     `json:"step,omitzero"`
	BeganAt  time.Time  `json:"began_at"`
	EndedAt  *time.Time `json:"ended_at,omitzero"`
	Outcome  string     `json:"outcome"`
	Error    string     `json:"error,omitzero"`
}

// FromCalls returns nil if there are none.
func FromCalls(c board.DossierCalls) *Calls {
	if len(c.Last) == 0 && c.Reads == 0 {
		return nil
	}
	outcome := func(o board.CallOutcome) string {
		if o == board.CallOpen {
			return "running"
		}
		return string(o)
	}
	out := &Calls{Last: []Call{}, Counts: map[string]int{}, Reads: c.Reads}
	for _, k := range c.Last {
		call := Call{Attempt: k.Attempt, Worker: k.Worker.Name, Upstream: k.Upstream, Tool: k.Tool, Step: k.Step, BeganAt: k.BeganAt.UTC(), Outcome: outcome(k.Outcome), Error: k.Error}
		if !k.EndedAt.IsZero() {
			call.EndedAt = new(k.EndedAt.UTC())
		}
		out.Last = append(out.Last, call)
	}
	for _, n := range c.Counts {
		out.Counts[outcome(n.Outcome)] += n.N
	}
	return out
}
