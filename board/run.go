package board

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MaxLog bounds the log of an attempt: the newest parts are kept. MaxLogPart bounds a part,
// and a part counts as minLogPart at least. maxParts is how many are added at once.
const (
	MaxLog     = 256 << 10
	MaxLogPart = 32 << 10
	minLogPart = 256
	maxParts   = 16
)

// recordTime is how long after the end of an attempt more may be told about its run: the cost
// of an agent is known when it has ended.
const recordTime = time.Hour

// A Run is the work of an agent at an attempt, as the program that runs the agent tells it.
type Run struct {
	// Claim is that of the attempt.
	Claim Handle
	// Agent is the agent's name, such as claude. Model and Session are what the agent calls
	// them; Session is empty or a ValidSession.
	Agent, Model, Session string
	Tokens                Tokens
	// Cost is in millionths of a US dollar. Priced is set if the agent has told a cost.
	Cost   int64
	Priced bool
	// At is when something was told about it last.
	At time.Time
	// Log is what is kept of its log. It is set in a Record only.
	Log string
}

// resumes are the commands with which agents go on with a session.
var resumes = map[string]string{"claude": "claude --resume", "codex": "codex resume"}

// ResumeWith is the command with which a person goes on with the session of a run in the directory of its
// attempt, before the name of the session; empty if there is none. Session and directory are the word of the
// agent: if it has another key than the principal's, it does not decide what people run, and where.
func (r *Run) ResumeWith(a *Attempt, principal string) string {
	if !a.Own(principal) || !ValidSession(r.Session) || a.Where.Dir == "" || strings.HasPrefix(a.Where.Dir, "-") {
		return ""
	}
	return resumes[r.Agent]
}

// Tokens are how many tokens a model has read and written, and how many of those that it has
// read came from its cache.
type Tokens struct{ In, Out, Cached int64 }

// Dollars is an amount of millionths of a US dollar, in cents, and as exactly as it is known below one
// cent: $0.84, $0.0003.
func Dollars(micros int64) string {
	if micros > 0 && micros < 10_000 {
		return "$" + strings.TrimRight(fmt.Sprintf("0.%06d", micros), "0")
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// A LogPart is a piece of the log of a run: whole lines. No is 1 for the first one.
type LogPart struct {
	No   int64
	Text string
}

// Size is what a part takes of MaxLog.
func (p LogPart) Size() int { return max(len(p.Text), minLogPart) }

// Record keeps what is known about the run of an attempt, and adds to its log. A part that
// the log has is not added again. It may still be called for an hour after the attempt.
func (b *Board) Record(ctx context.Context, a Actor, r Run, log ...LogPart) error {
	if err := checkRun(&r, log); err != nil {
		return err
	}
	return b.store.Write(ctx, func(tx Tx) error {
		if _, err := tx.Lock(r.Claim.Task); err != nil {
			return err
		}
		attempt, err := tx.Attempt(r.Claim.Task, r.Claim.Attempt)
		if errors.Is(err, ErrNotFound) || err == nil && attempt.Handle != r.Claim {
			return conflict("there was no claim %v", r.Claim)
		}
		if err != nil {
			return err
		}
		if attempt.Worker.Principal != a.Principal {
			return denied("%v is not an attempt of %s", r.Claim, a.Principal)
		}
		if r.At, err = tx.Now(); err != nil {
			return err
		}
		if !attempt.EndedAt.IsZero() && r.At.Sub(attempt.EndedAt) > recordTime {
			return conflict("%v ended more than an hour ago", r.Claim)
		}
		return putRun(tx, r, log)
	})
}

func putRun(tx Tx, r Run, log []LogPart) error {
	if err := tx.PutRun(r); err != nil {
		return err
	}
	for _, part := range log {
		if err := tx.PutLog(r.Claim.Task, r.Claim.Attempt, part); err != nil {
			return err
		}
	}
	return nil
}

// maxSession bounds the name of a session.
const maxSession = 200

// ValidSession reports whether a text can be the name of a session: a word that stands in commands for
// people, and is no option there.
func ValidSession(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("-_.:", rune(c))) {
			return false
		}
	}
	return name != "" && len(name) <= maxSession
}

// maxCost and maxTokens bound what a run has cost and used. Who tells more is not believed, and what
// else it tells is kept.
const (
	maxCost   = 10_000 * 1_000_000
	maxTokens = 1_000_000_000_000
)

// checkRun validates a run and parts of its log.
func checkRun(r *Run, log []LogPart) error {
	if err := checkTexts(text{"agent", r.Agent, 60}, text{"model", r.Model, 200}); err != nil {
		return err
	}
	if r.Agent == "" {
		return invalid("a run has an agent")
	}
	if r.Session != "" && !ValidSession(r.Session) {
		return invalid("invalid session %.80q: want at most %d letters, digits, hyphens and the like, the first one a letter or digit", r.Session, maxSession)
	}
	if min(r.Tokens.In, r.Tokens.Out, r.Tokens.Cached, r.Cost) < 0 {
		return invalid("a run has negative tokens or a negative cost")
	}
	r.Cost = min(r.Cost, maxCost)
	r.Tokens = Tokens{In: min(r.Tokens.In, maxTokens), Out: min(r.Tokens.Out, maxTokens), Cached: min(r.Tokens.Cached, maxTokens)}
	if len(log) > maxParts {
		return invalid("%d parts of a log are too many at once: want at most %d", len(log), maxParts)
	}
	for _, part := range log {
		if err := checkTexts(text{"part of a log", part.Text, MaxLogPart}); err != nil {
			return err
		}
		if part.No < 1 || part.Text == "" {
			return invalid("a part of a log has a number from 1 on, and a text")
		}
	}
	return nil
}

// logParts divides a log into parts.
func logParts(log string) (parts []LogPart) {
	for len(log) > 0 {
		n := min(len(log), MaxLogPart)
		for n < len(log) && log[n]&0xC0 == 0x80 { // not within a character
			n--
		}
		parts = append(parts, LogPart{No: int64(len(parts)) + 1, Text: log[:n]})
		log = log[n:]
	}
	return parts
}

// Runs lists the runs of a task, oldest first.
func (b *Board) Runs(ctx context.Context, id ID) (list []Run, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		if _, err := r.Task(id); err != nil {
			return archived(r, err, id)
		}
		list, err = r.Runs(id)
		return err
	})
	return list, err
}

// A Spending is what the runs of a project cost on a day in UTC: those about which something was
// told last on that day. What was imported was spent elsewhere.
type Spending struct {
	// Cost is in millionths of a US dollar.
	Cost int64
	// Most is what the dearest run cost, and Task and Attempt say which one that is; zero if none
	// has told a cost.
	Most    int64
	Task    ID
	Attempt int
	// Now is the time at the board, and Ends when the day ends.
	Now, Ends time.Time
}

// Spent returns what the runs of a project have cost today.
func (b *Board) Spent(ctx context.Context, slug string) (s Spending, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		now, err := r.Now()
		if err != nil {
			return err
		}
		day := now.UTC().Truncate(24 * time.Hour)
		s, err = r.Spent(slug, day)
		s.Now, s.Ends = now, day.AddDate(0, 0, 1)
		return err
	})
	return s, err
}

// Log lists what is kept of the log of an attempt: the parts after one.
func (b *Board) Log(ctx context.Context, id ID, attempt int, after int64) (list []LogPart, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		list, err = r.Log(id, attempt, after)
		return err
	})
	return list, err
}
