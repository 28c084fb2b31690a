package board

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What is kept of a call: maxCallArgs bounds its arguments and maxCallError its error, in
// bytes. MaxCallResult bounds the result of a step; a larger one is kept as an artifact.
const (
	maxCallArgs   = 2 << 10
	maxCallError  = 300
	MaxCallResult = 64 << 10
)

// callTime is how long calls without a claim are kept. Others are kept as long as their task.
const callTime = 30 * 24 * time.Hour

// A CallID identifies a call in the journal.
type CallID int64

// A CallOutcome is how a call ended.
type CallOutcome string

const (
	// CallOpen: it has not ended.
	CallOpen CallOutcome = ""
	CallOK   CallOutcome = "ok"
	// CallToolError: the tool answered with an error, and CallRPCError: the server did.
	CallToolError CallOutcome = "tool_error"
	CallRPCError  CallOutcome = "rpc_error"
	// CallNotSent: it was admitted, and never reached the server.
	CallNotSent CallOutcome = "not_sent"
	// CallUnknown: it was sent, and nobody knows what became of it.
	CallUnknown CallOutcome = "unknown"
)

// Word is the outcome as a word within a sentence.
func (o CallOutcome) Word() string {
	switch o {
	case CallOpen:
		return "running"
	case CallOK:
		return "ok"
	case CallToolError:
		return "failed"
	case CallRPCError:
		return "refused"
	case CallNotSent:
		return "not sent"
	case CallUnknown:
		return "unknown"
	}
	return "ended otherwise"
}

// A Call is a call of another server's tool, as the journal has it.
type Call struct {
	ID CallID
	// Task and Attempt are those of the claim that it was made under; zero if it was made
	// without one.
	Task    ID
	Attempt int
	Worker  WorkerID
	// Upstream is the server, and Class the class of the tool. If a worker's laptop made the
	// call, Upstream is LaptopPrefix and the laptop's name for the server: all that is recorded
	// of the call is the worker's word then.
	Upstream, Tool, Class string
	// Step is the key under which it is made once for the task, or empty.
	Step string
	// ArgsHash is a keyed hash of the arguments. Args are the arguments, where the operator
	// wants them to be kept.
	ArgsHash []byte
	Args     string
	BeganAt  time.Time
	// Deadline is when it is cancelled. One that is open after that has an unknown outcome.
	Deadline time.Time
	EndedAt  time.Time
	Outcome  CallOutcome
	Error    string
	// Bytes is the size of the result. Result is the result of a step that is ok, or
	// Artifact is where it is.
	Bytes    int64
	Result   string
	Artifact ArtifactID
	// Follow is the upstream's own task that the call became, or empty.
	Follow string
}

// LaptopPrefix is in front of the names of laptops' own servers, at a board that a team shares. So
// no record of a laptop is taken for one of the team's servers, whatever their names are.
const LaptopPrefix = "laptop/"

// FromLaptop reports whether a worker's laptop made the call, and recorded how it ended.
func (c *Call) FromLaptop() bool { return strings.HasPrefix(c.Upstream, LaptopPrefix) }

// At returns how the call stands at a point in time.
func (c *Call) At(now time.Time) CallOutcome {
	if c.Outcome == CallOpen && !c.Deadline.After(now) {
		return CallUnknown
	}
	return c.Outcome
}

// String is a line about the call, for the next worker.
func (c *Call) String() string {
	line := fmt.Sprintf("%s %s__%s ", c.BeganAt.UTC().Format("15:04"), strings.TrimPrefix(c.Upstream, LaptopPrefix), c.Tool)
	switch c.Outcome {
	case CallOpen:
		line += "running"
	case CallUnknown:
		line += "OUTCOME UNKNOWN: check its effect before you repeat it"
	case CallToolError, CallRPCError:
		line += "failed"
	case CallNotSent:
		line += "not sent"
	default:
		line += string(c.Outcome)
	}
	if c.Step != "" {
		line += fmt.Sprintf(" (step %q)", c.Step)
	}
	return line
}

// A CallFilter selects calls: those of a task, or all of some projects.
type CallFilter struct {
	Task ID
	// Before is the first call that is not wanted any more; calls are listed newest first.
	Before CallID
	// Limit is the size of a page (default 1,000).
	Limit int
}

// A CallCount is how many calls of a task ended in a way.
type CallCount struct {
	Outcome CallOutcome
	N       int
}

// MaxDossierCalls bounds the calls of a Dossier.
const MaxDossierCalls = 10

// DossierCalls are the calls that were made for a task.
type DossierCalls struct {
	// Last are the newest, at most 10, oldest first. Of one whose deadline has passed, Outcome
	// is CallUnknown. They come without arguments and results.
	Last []Call
	// Counts are of all calls, and Reads is how often tools that only read were called.
	Counts []CallCount
	Reads  int64
}

// InAll counts the calls by outcome, in words, if there are others than Last; else it is empty.
func (c *DossierCalls) InAll(word func(CallOutcome) string) string {
	total := 0
	var counts []string
	for _, n := range c.Counts {
		total += n.N
		counts = append(counts, fmt.Sprintf("%d %s", n.N, word(n.Outcome)))
	}
	if c.Reads > 0 {
		counts = append(counts, fmt.Sprintf("%d that only read", c.Reads))
	}
	if total <= len(c.Last) && c.Reads == 0 {
		return ""
	}
	return strings.Join(counts, ", ")
}

// Tidy puts Last, which a store has read newest first, into order, and sets the outcomes that
// are unknown at a point in time.
func (c *DossierCalls) Tidy(now time.Time) {
	slices.Reverse(c.Last)
	for i := range c.Last {
		c.Last[i].Outcome = c.Last[i].At(now)
	}
}

// Calls lists calls, newest first.
func (b *Board) Calls(ctx context.Context, f CallFilter) (list []Call, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		list, err = r.Calls(f)
		return err
	})
	return list, err
}

// The classes of tools. Workers need a claim for a tool without a class, and leads do not.
const (
	ClassRead  = "read"  // no claim is needed
	ClassClaim = "claim" // everybody needs a claim
)

// A NewCall is a call that is about to be sent.
type NewCall struct {
	// Claim is what it is made under. A call without one is recorded, and always admitted.
	Claim                 Handle
	Upstream, Tool, Class string
	// Step makes the call once for the task, whatever attempt it is made at; empty for a call
	// that may be repeated.
	Step string
	// Digest is the SHA-256 hash of the arguments in canonical form (RFC 8785).
	Digest []byte
	// Args are kept if they are set, shortened.
	Args string
	// Limit is how long the call may take, from now on.
	Limit time.Duration
	// Again is a call that was admitted before under this claim and goes on: nothing but its
	// deadline changes, and Follow, if that is set.
	Again  CallID
	Follow string
}

var (
	upstreamName = regexp.MustCompile(`^(?:` + LaptopPrefix + `)?[a-z][a-z0-9]{0,15}$`)
	toolName     = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)
	stepName     = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)
)

// checkCall validates a call. The names are shown to models as they are.
func checkCall(n *NewCall) error {
	switch {
	case !upstreamName.MatchString(n.Upstream):
		return invalid("invalid upstream %.40q: want a lower-case letter, then at most 15 lower-case letters and digits", n.Upstream)
	case !toolName.MatchString(n.Tool):
		return invalid("invalid tool %.80q: want letters, digits, hyphens, dots and underscores", n.Tool)
	case n.Class != "" && n.Class != ClassRead && n.Class != ClassClaim:
		return invalid("invalid class %.20q: want %s, %s or none", n.Class, ClassRead, ClassClaim)
	case n.Step != "" && !stepName.MatchString(n.Step):
		return invalid("invalid step %.80q: want at most 64 letters, digits and - _ . : /", n.Step)
	case n.Step != "" && n.Claim.IsZero():
		return invalid("a step belongs to a task: the call has no claim")
	case len(n.Digest) != sha256.Size:
		return invalid("invalid digest of the arguments: want %d bytes", sha256.Size)
	case n.Limit <= 0:
		return invalid("invalid time limit %v", n.Limit)
	case n.Claim.IsReview() && !n.Claim.IsZero():
		return invalid("%v is the claim on a review: no calls are made under it", n.Claim)
	}
	n.Args = clip(n.Args, maxCallArgs)
	return checkTexts(text{"upstream's task", n.Follow, 1000})
}

// clip shortens a text to at most n bytes, and removes what a store cannot keep.
func clip(s string, n int) string {
	s = strings.ReplaceAll(s, "\x00", "")
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

// argsHash returns the keyed hash of the arguments of a call.
func (b *Board) argsHash(ctx context.Context, digest []byte) ([]byte, error) {
	key := b.callKey.Load()
	if key == nil {
		err := b.store.Read(ctx, func(r Reader) error {
			k, err := r.CallKey()
			key = &k
			return err
		})
		if err != nil {
			return nil, err
		}
		if *key != "" {
			b.callKey.Store(key)
		}
	}
	h := hmac.New(sha256.New, []byte(*key))
	h.Write(digest)
	return h.Sum(nil), nil
}

// An EndedCall says how a call ended.
type EndedCall struct {
	ID CallID
	// Principal is who made the call.
	Principal string
	Outcome   CallOutcome
	Error     string
	Bytes     int64
	// Ago is how long ago it ended; a Journal sets it.
	Ago time.Duration
	// Result is the result of a call with a step that is ok, of at most MaxCallResult, or
	// Artifact is where it is. A result that is not kept leaves both empty.
	Result   string
	Artifact ArtifactID
	// Laptop says that a laptop ended it: then it ends only a call that a laptop made.
	Laptop bool `json:"-"`
}

// EndCalls records how calls ended. The first end of a call stays. An error frees the step of
// a call; one that is ok or unknown keeps it. The end of a call with a step must be recorded
// before its answer is sent.
func (b *Board) EndCalls(ctx context.Context, ends []EndedCall) error {
	for i := range ends {
		e := &ends[i]
		switch e.Outcome {
		case CallOK, CallToolError, CallRPCError, CallNotSent, CallUnknown:
		default:
			return invalid("invalid outcome %.20q of a call", e.Outcome)
		}
		e.Error, e.Ago = clip(e.Error, maxCallError), max(e.Ago, 0)
		if e.Outcome != CallOK || len(e.Result) > MaxCallResult || clip(e.Result, MaxCallResult) != e.Result {
			e.Result = ""
		}
	}
	if len(ends) == 0 {
		return nil
	}
	return b.store.Write(ctx, func(tx Tx) error {
		for _, e := range ends {
			if e.Laptop {
				call, err := tx.Call(e.ID)
				if errors.Is(err, ErrNotFound) || err == nil && !call.FromLaptop() {
					continue
				}
				if err != nil {
					return err
				}
			}
			if err := tx.EndCall(e, e.Outcome != CallOK && e.Outcome != CallUnknown); err != nil {
				return err
			}
		}
		return nil
	})
}
