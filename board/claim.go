package board

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Handle names a claim: the task, the attempt and a nonce, written
// web-142/3.k7f2q. It is a name and not a key: whoever uses it must be the one
// that it was granted to. The nonce tells apart two grants of one attempt, which a
// database that lost its last transactions may make.
type Handle struct {
	Task    ID
	Attempt int
	Nonce   string
}

// nonceAlphabet has no letters that are mistaken for digits; 5 of 32 are 25 bits.
const (
	nonceAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"
	nonceLen      = 5
)

// NewNonce draws the nonce of a grant.
func NewNonce() string { return randomText(nonceLen) }

func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = nonceAlphabet[b[i]&31]
	}
	return string(b)
}

// ParseHandle reads a Handle as String writes it.
func ParseHandle(s string) (Handle, error) {
	task, rest, ok := strings.Cut(s, "/")
	digits, nonce, ok2 := strings.Cut(rest, ".")
	id, err := ParseID(task)
	attempt, err2 := strconv.Atoi(digits)
	if !ok || !ok2 || err != nil || err2 != nil || attempt < 1 || digits[0] == '0' || digits[0] == '+' ||
		len(nonce) != nonceLen || strings.Trim(nonce, nonceAlphabet) != "" {
		return Handle{}, fmt.Errorf("%w: %.60q is not a claim: one looks like web-142/3.k7f2q", ErrInvalid, s)
	}
	return Handle{Task: id, Attempt: attempt, Nonce: nonce}, nil
}

func (h Handle) String() string {
	return h.Task.String() + "/" + strconv.Itoa(h.Attempt) + "." + h.Nonce
}

// IsZero reports whether h names no claim.
func (h Handle) IsZero() bool { return h == Handle{} }

// A Claim is the right of one worker to work on a task now. It ends with a report,
// or when its lease does and nobody renewed it.
type Claim struct {
	Handle
	Worker WorkerID
	// Owner is the process or key that the worker belongs to.
	Owner     string
	GrantedAt time.Time
	// LeaseUntil is when it may be taken away, Lease what a renewal gives.
	LeaseUntil time.Time
	Lease      time.Duration
	// Deliveries counts how often it was handed out again without a sign of work
	// between.
	Deliveries int
	// Session is the client's own name for the conversation, where it has one.
	Session string
}

// A Cause says how an attempt ended.
type Cause string

const (
	CauseDone        Cause = "done"
	CauseFailed      Cause = "failed"
	CauseExpired     Cause = "expired"
	CauseReleased    Cause = "released"
	CauseNotNow      Cause = "not_now"
	CauseParked      Cause = "parked"
	CauseCancelled   Cause = "cancelled"
	CauseRestarts    Cause = "restarts"
	CauseUndelivered Cause = "undelivered"
	CauseStopped     Cause = "stopped"
)

// An Attempt is what is remembered of a claim, while it lives and after.
type Attempt struct {
	Handle
	Worker    WorkerID
	Owner     string
	GrantedAt time.Time
	EndedAt   time.Time // zero while it lives
	Cause     Cause
	// Reason is why, in the words of whoever ended it.
	Reason      string
	DoNotRepeat string
	// Where is the place of the work when it was last seen.
	Where Where
	// SpecVersion is the version of the task that the worker was last told.
	SpecVersion int
	// Created counts the tasks made under this claim.
	Created int
	// ReportHash and ReportAnswer make a repeated report give the same answer.
	ReportHash   string
	ReportAnswer string
}

// Where is the place of the work: what whoever takes over must know to find it.
type Where struct {
	Host        string
	Dir         string
	Branch      string
	Head        string
	Uncommitted int
}

// IsZero reports whether nothing is known.
func (w Where) IsZero() bool { return w == Where{} }
