package boardjson

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A Run is the work of an agent at an attempt. CostUSD is nil if the agent has told no cost.
type Run struct {
	Agent   string    `json:"agent"`
	Model   string    `json:"model,omitzero"`
	Session string    `json:"session,omitzero"`
	Tokens  Tokens    `json:"tokens"`
	CostUSD *float64  `json:"cost_usd,omitzero"`
	At      time.Time `json:"at"`
}

// Tokens are as in board.Tokens.
type Tokens struct {
	In     int64 `json:"in"`
	Out    int64 `json:"out"`
	Cached int64 `json:"cached"`
}

func FromRun(r board.Run) Run {
	out := Run{Agent: r.Agent, Model: r.Model, Session: r.Session, Tokens: Tokens(r.Tokens), At: r.At.UTC()}
	if r.Priced {
		out.CostUSD = new(float64(r.Cost) / 1e6)
	}
	return out
}
