// Package history records what clients of a board did and were told, and finds out
// whether one board, with its rules, can have told them that.
package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
)

// A Kind is what a client did.
type Kind string

const (
	Claim  Kind = "claim"
	Done   Kind = "done"
	Fail   Kind = "fail"
	Note   Kind = "note"
	Create Kind = "create"
)

// An Outcome is what it was told.
type Outcome string

const (
	OK      Outcome = "ok"
	Lost    Outcome = "lost"    // the claim is over
	Nothing Outcome = "nothing" // no task to claim
	Refused Outcome = "refused" // anything else that certainly did not happen
	Unknown Outcome = "unknown" // nobody knows, or the client died before it heard
)

// An Op is one call: a line when it begins, and the same again when it ends.
type Op struct {
	Client string  `json:"client"`
	No     int     `json:"no"`
	Kind   Kind    `json:"kind"`
	Claim  string  `json:"claim,omitempty"` // the handle named, or granted
	Key    string  `json:"key,omitempty"`   // of a create
	Task   string  `json:"task,omitempty"`  // that a create made
	Call   int64   `json:"call"`
	Return int64   `json:"return,omitempty"`
	Out    Outcome `json:"out,omitempty"`
	Why    string  `json:"why,omitempty"`
}

func (o Op) String() string {
	return fmt.Sprintf("%s #%d %s %s%s → %s %s", o.Client, o.No, o.Kind, o.Claim, o.Task, o.Out, o.Why)
}

func (o Op) id() string { return fmt.Sprint(o.Client, "#", o.No) }

// Read reads what a client wrote. A call without an end is of unknown outcome.
func Read(r io.Reader) ([]Op, error) {
	var ops []Op
	at := map[string]int{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var op Op
		if err := json.Unmarshal(s.Bytes(), &op); err != nil {
			return nil, fmt.Errorf("a line of the history is %q: %w", s.Text(), err)
		}
		if op.Out == "" {
			op.Out, op.Return = Unknown, math.MaxInt64
			at[op.id()] = len(ops)
			ops = append(ops, op)
			continue
		}
		ops[at[op.id()]] = op
	}
	return ops, s.Err()
}

// Check finds what cannot be: ops is all that clients did, events all that the
// board says has happened. lease is the length of every claim.
func Check(ops []Op, events []board.Event, lease time.Duration) []error {
	var errs []error
	errs = append(errs, checkKept(ops, events)...)
	errs = append(errs, checkKeys(ops)...)
	errs = append(errs, checkGrants(ops)...)
	errs = append(errs, checkHeard(ops, events)...)
	return append(errs, checkClaims(ops, events, lease)...)
}

// checkKept compares answers with the log: what was acknowledged is there, what was
// refused is not.
func checkKept(ops []Op, events []board.Event) []error {
	var errs []error
	logged := map[Kind]map[string]int{Claim: {}, Done: {}, Fail: {}, Note: {}, Create: {}}
	for _, e := range events {
		h := board.Handle{Task: e.Task, Attempt: e.Detail.Attempt, Nonce: e.Detail.Nonce}.String()
		switch e.Kind {
		case board.EventClaimed:
			logged[Claim][h]++
		case board.EventDone:
			logged[Done][h]++
		case board.EventFailed:
			logged[Fail][h]++
		case board.EventNote:
			if !e.Detail.Late {
				logged[Note][h+e.Detail.Text]++
			}
		case board.EventCreated:
			logged[Create][e.Task.String()]++
		}
	}
	for kind, seen := range logged {
		for name, n := range seen {
			if n > 1 {
				errs = append(errs, fmt.Errorf("the log has %d times %s %s", n, kind, name))
			}
		}
	}
	for _, op := range ops {
		name := op.Claim
		switch op.Kind {
		case Create:
			name = op.Task
		case Note:
			name += op.Key
		}
		there := logged[op.Kind][name] > 0
		switch {
		case op.Out == OK && !there:
			errs = append(errs, fmt.Errorf("acknowledged, and not in the log: %v", op))
		case (op.Out == Lost || op.Out == Refused) && there && op.Kind != Create && !acknowledged(ops, op):
			errs = append(errs, fmt.Errorf("refused, and in the log: %v", op))
		}
	}
	return errs
}

// acknowledged reports whether another try of the same call may have done it.
func acknowledged(ops []Op, refused Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool {
		return op.Kind == refused.Kind && op.Claim == refused.Claim && op.Key == refused.Key && (op.Out == OK || op.Out == Unknown)
	})
}

// checkKeys demands one task for each idempotency key.
func checkKeys(ops []Op) []error {
	var errs []error
	made := map[string]string{}
	for _, op := range ops {
		if op.Kind != Create || op.Out != OK {
			continue
		}
		if first, ok := made[op.Key]; ok && first != op.Task {
			errs = append(errs, fmt.Errorf("the key %s made %s and %s", op.Key, first, op.Task))
		}
		made[op.Key] = op.Task
	}
	return errs
}

// checkGrants demands that each attempt was granted once.
func checkGrants(ops []Op) []error {
	var errs []error
	type attempt struct {
		task board.ID
		no   int
	}
	granted := map[attempt]string{}
	for _, op := range ops {
		h, err := board.ParseHandle(op.Claim)
		if op.Kind != Claim || op.Out != OK || err != nil {
			continue
		}
		a := attempt{h.Task, h.Attempt}
		if first, ok := granted[a]; ok && first != op.Claim {
			errs = append(errs, fmt.Errorf("attempt %d of %v was granted twice, as %s and as %s", a.no, a.task, first, op.Claim))
			continue
		}
		granted[a] = op.Claim
	}
	return errs
}

// checkHeard demands that nobody was told that nothing has happened when a task was
// granted: a grant that no client has heard of belongs to a call that was told that
// its outcome is unknown.
func checkHeard(ops []Op, events []board.Event) []error {
	var errs []error
	heard := map[string]bool{}
	for _, op := range ops {
		if op.Kind == Claim && op.Out == OK {
			heard[op.Claim] = true
		}
	}
	for _, e := range events {
		claim := board.Handle{Task: e.Task, Attempt: e.Detail.Attempt, Nonce: e.Detail.Nonce}.String()
		if e.Kind != board.EventClaimed || heard[claim] {
			continue
		}
		at := e.At.UnixNano()
		asked := slices.ContainsFunc(ops, func(op Op) bool {
			return op.Kind == Claim && op.Out == Unknown && op.Call-int64(slack) <= at && (op.Return == math.MaxInt64 || at <= op.Return+int64(slack))
		})
		if !asked {
			errs = append(errs, fmt.Errorf("%s was granted to %s, who has not heard of it, and nobody was told that an outcome is unknown", claim, e.Detail.Worker))
		}
	}
	return errs
}

// checkClaims looks for an order in which all that was answered about claims makes
// sense, and for claims that were taken away before their time. The clients share a
// machine, and so a clock; slack is what it may be off.
func checkClaims(ops []Op, events []board.Event, lease time.Duration) []error {
	var errs []error
	h := boardtest.NewHistory()
	seen := map[string]bool{}
	for _, op := range ops {
		if op.Kind != Claim && op.Kind != Done && op.Kind != Fail || op.Claim == "" {
			continue
		}
		claim, err := board.ParseHandle(op.Claim)
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", op, err))
			continue
		}
		if op.Out == OK {
			name := string(op.Kind) + op.Claim
			if seen[name] {
				continue // a claim given again, or a report repeated
			}
			seen[name] = true
		}
		h.Add(boardtest.Op{
			Kind: boardtest.OpKind(op.Kind), Claim: claim, Lease: lease - slack, Answer: answers[op.Out],
			Call: op.Call, Back: op.Return,
		})
	}
	h.Logged(events)
	errs = append(errs, h.Linearizable()...)
	return append(errs, h.Early()...)
}

const slack = 20 * time.Millisecond

var answers = map[Outcome]boardtest.Answer{
	OK: boardtest.Accepted, Lost: boardtest.Lost, Refused: boardtest.Refused, Unknown: boardtest.Unknown,
}
