package invariant

import (
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// A life is the state of a task according to its events, replayed one after the other.
type life struct {
	c  *checker
	id board.ID

	status  board.Status
	attempt int
	nonce   string
	// live is set between a grant and its end; cause is how the last grant ended.
	live  bool
	cause board.Cause
	// nonces are those of all grants.
	nonces []string

	// conflicts is set after a conflict at its landing about which a person is asked.
	conflicts bool

	// imported is set if an import brought the task, with told attempts.
	imported bool
	told     int

	failures  int
	rebudget  bool // an edit changed the budget
	summary   string
	reported  bool
	answers   map[board.QuestionID]int
	withdrawn map[board.QuestionID]int
}

func (l *life) failf(invariant string, e board.Event, format string, args ...any) {
	l.c.failf(l.id, invariant, "event %d (%s): %s", e.Seq, e.Kind, fmt.Sprintf(format, args...))
}

// next applies one event.
func (l *life) next(i int, e board.Event) {
	if e.Seq != int64(i)+1 {
		l.failf("I7", e, "want Seq %d", i+1)
	}
	switch {
	case i == 0 && e.Kind == board.EventImported:
		l.imported, l.status = true, e.To
		return
	case l.imported && e.Detail.By == board.ByImport:
		l.tell(e)
		return
	}
	if e.From != l.status {
		l.failf("I8", e, "From is %q, but the previous event left the task %q", e.From, l.status)
	}
	if e.From.Terminal() && e.To != e.From {
		l.failf("I8", e, "it changes a task that is %s to %s", e.From, e.To)
	}
	l.status = e.To
	switch e.Kind {
	case board.EventClaimed:
		l.granted(e)
	case board.EventRevived:
		l.revived(e)
	case board.EventDelivered:
		l.held(e)
	case board.EventNote:
		if !e.Detail.Late {
			l.held(e)
		}
	case board.EventAsked:
		// A failure of kind blocked parks the task before it asks, and so does a conflict at its landing.
		if l.cause != board.CauseParked && !l.conflicts || e.Detail.Attempt != l.attempt || e.Detail.Nonce != l.nonce {
			l.held(e)
		}
	case board.EventDone, board.EventReview, board.EventLanding:
		l.done(e)
	case board.EventLanded:
		l.landed(e)
	case board.EventReturned:
		l.returned(e)
	case board.EventFailed, board.EventExpired:
		l.held(e)
		l.failed(e)
		l.end(e.Detail.Cause)
	case board.EventRejected:
		l.failed(e)
	case board.EventParked:
		l.held(e)
		l.end(board.CauseParked)
	case board.EventReleased:
		if e.From == board.InProgress {
			l.held(e)
			l.end(e.Detail.Cause)
		}
	case board.EventClosed:
		if e.From == board.InProgress {
			l.held(e)
		}
		if e.From != board.InReview && e.From != board.Landing { // else what was reported stays the result
			l.reported = false
		}
		l.end(board.CauseClosed)
	case board.EventCancelled:
		l.end(board.CauseCancelled)
	case board.EventRetried:
		l.failures, l.rebudget = 0, false
	case board.EventEdited:
		for _, f := range e.Detail.Fields {
			l.rebudget = l.rebudget || f == "max_failures"
		}
	case board.EventAnswered:
		if l.answers[e.Detail.Question]++; l.answers[e.Detail.Question] > 1 || l.withdrawn[e.Detail.Question] > 0 {
			l.failf("I11", e, "%v was closed before", e.Detail.Question)
		}
	case board.EventWithdrawn:
		if l.withdrawn[e.Detail.Question]++; l.withdrawn[e.Detail.Question] > 1 || l.answers[e.Detail.Question] > 0 {
			l.failf("I11", e, "%v was closed before", e.Detail.Question)
		}
	}
	if l.live != (l.status == board.InProgress) {
		l.failf("I1", e, "the task is %s, and a grant is in force: %v", l.status, l.live)
		l.live = l.status == board.InProgress
	}
}

// tell applies what an import says has happened elsewhere. The task came as it was after it.
func (l *life) tell(e board.Event) {
	switch e.Kind {
	case board.EventClaimed:
		l.attempt, l.nonce, l.told = e.Detail.Attempt, e.Detail.Nonce, e.Detail.Attempt
	case board.EventAnswered:
		l.answers[e.Detail.Question]++
	case board.EventWithdrawn:
		l.withdrawn[e.Detail.Question]++
	}
}

// granted checks I1 and I2.
func (l *life) granted(e board.Event) {
	if l.live {
		l.failf("I1", e, "attempt %d was still in force", l.attempt)
	}
	if e.Detail.Attempt != l.attempt+1 {
		l.failf("I2", e, "attempt %d follows attempt %d", e.Detail.Attempt, l.attempt)
	}
	if e.From != board.Pending {
		l.failf("I1", e, "a task that is %s was handed out", e.From)
	}
	l.conflicts = false
	l.live, l.attempt, l.nonce, l.cause, l.reported = true, e.Detail.Attempt, e.Detail.Nonce, "", false
	l.nonces = append(l.nonces, e.Detail.Nonce)
}

// held checks I3 for an event that only the holder, or a sweep, may cause.
func (l *life) held(e board.Event) {
	if e.Detail.Attempt != l.attempt || e.Detail.Nonce != l.nonce {
		l.failf("I3", e, "by attempt %d.%s, and the newest grant is %d.%s", e.Detail.Attempt, e.Detail.Nonce, l.attempt, l.nonce)
		return
	}
	if !l.live {
		l.failf("I3", e, "by attempt %d, which had ended: %s", e.Detail.Attempt, l.cause)
	}
}

// revived takes back the end of the newest grant, if that had expired.
func (l *life) revived(e board.Event) {
	if !l.live && l.cause == board.CauseExpired && e.From != board.InProgress {
		l.live, l.cause, l.failures = true, "", max(0, l.failures-1)
	}
	l.held(e)
}

func (l *life) done(e board.Event) {
	switch {
	case e.Detail.Attempt == 0: // done because its children are
		if l.live {
			l.failf("I3", e, "done because of its children while attempt %d was in force", l.attempt)
		}
	case e.Detail.Late:
		if e.Detail.Attempt != l.attempt || e.Detail.Nonce != l.nonce {
			l.failf("I3", e, "late by attempt %d.%s, and the newest grant is %d.%s", e.Detail.Attempt, e.Detail.Nonce, l.attempt, l.nonce)
		} else if l.live || l.cause != board.CauseExpired && l.cause != board.CauseLeft {
			l.failf("I3", e, "late by attempt %d, which did not expire but ended with cause %q", e.Detail.Attempt, l.cause)
		}
		if l.cause == board.CauseExpired {
			l.failures = max(0, l.failures-1) // that of its expiry
		}
	default:
		l.held(e)
	}
	l.summary, l.reported = e.Detail.Text, true
	l.end(board.CauseDone)
}

// landed checks L2 for an event of a task whose work was landed.
func (l *life) landed(e board.Event) {
	if e.From != board.Landing || e.Detail.Attempt != l.attempt || e.Detail.Nonce != l.nonce {
		l.failf("L2", e, "attempt %d.%s of a task that is %s, and the newest grant is %d.%s", e.Detail.Attempt, e.Detail.Nonce, e.From, l.attempt, l.nonce)
	}
	l.c.landings = append(l.c.landings, landing{task: l.id, attempt: e.Detail.Attempt, commit: e.Detail.Commit})
}

// returned applies that a task was taken out of the landing queue.
func (l *life) returned(e board.Event) {
	if e.From != board.Landing || e.Detail.Attempt != l.attempt {
		l.failf("L2", e, "attempt %d of a task that is %s, and the newest grant is %d", e.Detail.Attempt, e.From, l.attempt)
	}
	l.conflicts = e.To == board.Waiting
	if r := e.Detail.Returned; r != nil && r.Kind == board.ReturnRed {
		l.failed(e)
	}
}

func (l *life) end(c board.Cause) {
	if l.live || c == board.CauseDone {
		l.live, l.cause = false, c
	}
}

// failed counts a failure, for I9.
func (l *life) failed(e board.Event) {
	l.failures++
	if e.Detail.Cause == "" && e.Detail.Text == "" {
		l.failf("I9", e, "a failure without a cause")
	}
}

// compare checks that the stored task is what its events say.
func (l *life) compare(d board.Dossier) {
	t := d.Task
	bad := func(invariant, format string, args ...any) { l.c.failf(l.id, invariant, format, args...) }
	if n := l.c.seen[l.id]; t.Seq != n {
		bad("I7", "seq is %d, and it has %d events", t.Seq, n)
	}
	if t.Status != l.status {
		bad("I8", "it is %s, and its events say %s", t.Status, l.status)
	}
	if t.Attempt != l.attempt || t.Nonce != l.nonce {
		bad("I2", "it is at attempt %d.%s, and its events say %d.%s", t.Attempt, t.Nonce, l.attempt, l.nonce)
	}
	if t.Failures != l.failures && !l.imported {
		bad("I9", "failures is %d, and its events have %d since the last retry", t.Failures, l.failures)
	}
	if t.Failures > t.MaxFailures && !l.rebudget {
		bad("I9", "failures is %d of at most %d", t.Failures, t.MaxFailures)
	}
	if l.live != (d.Claim != nil) {
		bad("I1", "a grant in force: %v, a claim: %v", l.live, d.Claim != nil)
	}
	if t.Status == board.Done && l.reported && (d.Doc.Result == nil || d.Doc.Result.Summary != l.summary) {
		bad("I8", "its result is %+v, and the report said %q", d.Doc.Result, l.summary)
	}
	l.attempts(d.Attempts)
	for _, q := range d.Questions {
		want := [2]int{0, 0}
		switch q.State {
		case board.QuestionAnswered:
			want[0] = 1
		case board.QuestionWithdrawn:
			want[1] = 1
		}
		if got := [2]int{l.answers[q.ID], l.withdrawn[q.ID]}; got != want {
			bad("I11", "%v is %s, and its events have %d answers and %d withdrawals", q.ID, q.State, got[0], got[1])
		}
	}
}

// attempts compares the attempts with the grants, and checks I1 by their times.
func (l *life) attempts(as []board.Attempt) {
	as = slices.DeleteFunc(slices.Clone(as), func(a board.Attempt) bool { return a.Attempt <= l.told })
	if len(as) != len(l.nonces) {
		l.c.failf(l.id, "I2", "%d attempts are kept, and its events have %d grants", len(as), len(l.nonces))
		return
	}
	for i, a := range as {
		last := i == len(as)-1
		if a.Attempt != l.told+i+1 || a.Nonce != l.nonces[i] {
			l.c.failf(l.id, "I2", "attempt %d is kept as %v", l.told+i+1, a.Handle)
		}
		if ended := !a.EndedAt.IsZero(); ended != (a.Cause != "") || ended == (last && l.live) {
			l.c.failf(l.id, "I1", "attempt %d ended %v with cause %q, and is in force: %v", a.Attempt, a.EndedAt, a.Cause, last && l.live)
		}
		if !last && a.EndedAt.After(as[i+1].GrantedAt) {
			l.c.failf(l.id, "I1", "attempt %d ended %v, after the next was granted at %v", a.Attempt, a.EndedAt, as[i+1].GrantedAt)
		}
	}
}
