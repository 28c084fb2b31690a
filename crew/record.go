package crew

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// recordEvery is how often the board is told what an agent did.
	recordEvery = 5 * time.Second
	// maxEntry bounds what the log has of one thing that an agent said or did, and maxPending
	// what waits to be told.
	maxEntry   = 2 << 10
	maxPending = board.MaxLogPart
)

// A record is what the board is told about the run of a job.
type record struct {
	j *job

	mu      sync.Mutex
	run     board.Run
	pending string        // the end of the log, in whole lines, that is still to be told
	last    string        // the last entry
	sent    board.LogPart // the last part that was told, or is being told
	parts   int64         // how many the board has
	changed bool
	failed  bool // the board could not be told
}

func newRecord(j *job) *record {
	return &record{j: j, run: board.Run{Claim: j.h.Claim.Handle, Agent: j.agent.Name()}, changed: true}
}

// take notes an event of the agent.
func (r *record) take(e agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case agent.Started:
		if board.ValidSession(e.Session) {
			r.run.Session = e.Session
		}
		r.run.Model, r.changed = cut(e.Model, 200), true
	case agent.Activity:
		if e.Text != "" {
			r.entry(said, e.Text)
		}
		for _, text := range e.Did {
			r.entry(told, text)
		}
	case agent.Asks:
		r.entry(told, "asks for permission to use "+visible.Line(e.Permission.What())+": "+e.Permission.Use)
		r.listen(e.Permission)
	case agent.Ended:
		return
	}
	if u := e.Usage; u != nil {
		r.run.Tokens = board.Tokens{In: max(0, u.In), Out: max(0, u.Out), Cached: max(0, u.Cached)}
		if u.Priced && u.Cost >= 0 && u.Cost < 1e9 {
			r.run.Cost, r.run.Priced = int64(math.Round(u.Cost*1e6)), true
		}
		r.changed = true
	}
}

// listen notes the answer to a permission, too.
func (r *record) listen(p *agent.Permission) {
	answer := p.Answer
	p.Answer = func(d agent.Decision, note string) {
		text := "may use " + toolName(p.Tool)
		switch d {
		case agent.ForTask:
			text += " for this task"
		case agent.No:
			text = "may not use " + toolName(p.Tool) + ": " + note
		}
		r.mu.Lock()
		r.entry(told, text)
		r.mu.Unlock()
		answer(d, note)
	}
}

// toolName is the name of a tool, in quotation marks if it is not a plain word: what comes after it is ours.
func toolName(tool string) string {
	if tool != "" && strings.Trim(tool, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/") == "" {
		return tool
	}
	return fmt.Sprintf("%.200q", tool)
}

// What begins the first line of an entry after its time: nothing if our own words do, and a margin if all of it is the agent's. Further lines
// are always behind the margin. So no line of an agent looks like one of ours.
const (
	told = ""
	said = margin

	margin = "| "
)

// entry adds to the log, unless it is there already. Some agents tell when they begin a thing,
// and when they have ended it.
func (r *record) entry(begin, text string) {
	text = strings.TrimSpace(cut(text, maxEntry))
	if text == "" {
		return
	}
	text = begin + strings.Join(visible.Lines(text), "\n  "+margin)
	if text == r.last {
		return
	}
	r.last, r.changed = text, true
	r.pending += time.Now().UTC().Format(time.RFC3339) + " " + text + "\n"
	for len(r.pending) > maxPending { // the newest lines are kept
		_, r.pending, _ = strings.Cut(r.pending, "\n")
	}
}

// cut returns the beginning of a text, as valid text.
func cut(s string, n int) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), n)], ""), "\x00", "")
}

// keep tells the board at once that there is a run, and every few seconds what is new, until ctx ends.
func (r *record) keep(ctx context.Context) {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for r.tell(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.tell(ctx)
		}
	}
}

// finish tells the board what is left, also if the runner ends: what the last call of tell was
// about, if that was broken off, and what came after it.
func (r *record) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	r.tell(ctx)
	r.tell(ctx)
}

// tell tells the board what is new. If that fails, the same is told again the next time: the
// board may have heard it.
func (r *record) tell(ctx context.Context) {
	r.mu.Lock()
	run, changed := r.run, r.changed
	var log []board.LogPart
	if r.sent.No == r.parts && r.pending != "" {
		r.sent, r.pending = board.LogPart{No: r.parts + 1, Text: r.pending}, ""
	}
	if r.sent.No > r.parts {
		log = append(log, r.sent)
	}
	r.changed = false
	r.mu.Unlock()
	if !changed || r.j.isReview() { // the board keeps the runs of attempts only
		return
	}
	err := r.j.r.o.Board.Record(ctx, r.j.actor(), run, log...)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.changed = true
		if !r.failed && ctx.Err() == nil {
			r.failed = true
			r.j.tell(Trouble, fmt.Sprintf("the board could not be told what the agent does: %v", err))
		}
		return
	}
	r.parts = r.sent.No
	r.changed = r.changed || r.pending != ""
}
