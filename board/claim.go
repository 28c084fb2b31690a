package board

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Handle identifies a claim: the task, the attempt and a nonce, written web-142/3.k7f2q.
// The handle of a review has no attempt, and is written web-142/review.k7f2q.
// It is a name and not a credential: the principal is checked as well. The nonce
// distinguishes two grants with the same attempt number, which can happen if a failover
// loses the last transactions of the database.
type Handle struct {
	Task    ID
	Attempt int
	Nonce   string
}

// reviewWord stands in place of the attempt in the handle of a review.
const reviewWord = "review"

// nonceAlphabet has no letters that look like digits. 5 of its 32 letters have 25 bits.
const (
	nonceAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"
	nonceLen      = 5
)

// NewNonce returns a random nonce for a grant.
func NewNonce() string { return randomText(nonceLen) }

func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = nonceAlphabet[b[i]&31]
	}
	return string(b)
}

// ParseHandle parses a Handle in the form that String writes, in any letter case.
func ParseHandle(s string) (Handle, error) {
	task, rest, ok := strings.Cut(strings.ToLower(s), "/")
	digits, nonce, ok2 := strings.Cut(rest, ".")
	id, err := ParseID(task)
	attempt, err2 := strconv.Atoi(digits)
	review := digits == reviewWord
	if !ok || !ok2 || err != nil || !review && (err2 != nil || attempt < 1 || digits[0] == '0' || digits[0] == '+') ||
		len(nonce) != nonceLen || strings.Trim(nonce, nonceAlphabet) != "" {
		return Handle{}, fmt.Errorf("%w: invalid claim %.60q: want one like web-142/3.k7f2q", ErrInvalid, s)
	}
	return Handle{Task: id, Attempt: attempt, Nonce: nonce}, nil
}

func (h Handle) String() string {
	if h.IsReview() {
		return h.Task.String() + "/" + reviewWord + "." + h.Nonce
	}
	return h.Task.String() + "/" + strconv.Itoa(h.Attempt) + "." + h.Nonce
}

// Ref is the git ref under which the work is stored that was reported under the claim.
func (h Handle) Ref() string {
	return "refs/bossman/" + h.Task.String() + "/" + strconv.Itoa(h.Attempt)
}

// SharedRef is the git ref under which the work is at a remote repository, which several boards may share.
func (h Handle) SharedRef(commit string) string { return h.Ref() + "-" + commit[:min(len(commit), 12)] }

// Check checks that a handle from elsewhere can be written: its nonce is a word, and no more.
func (h Handle) Check() error {
	return decodeWord(&h.Nonce, []byte(h.Nonce))
}

// IsZero reports whether h is the zero Handle.
func (h Handle) IsZero() bool { return h == Handle{} }

// A Claim is the exclusive right of one worker to work on a task. It ends with a report,
// or when its lease expires.
type Claim struct {
	Handle
	Worker WorkerID
	// Owner is the process or key that the worker belongs to.
	Owner     string
	GrantedAt time.Time
	// LeaseUntil is when it expires, Lease how long a renewal lasts.
	LeaseUntil time.Time
	Lease      time.Duration
	// Deliveries is how often it was delivered again without a sign of work in between.
	Deliveries int
	// Session is the client's own id of the conversation, if it has one.
	Session string
	// Where is the last known place of the work. It is stored with the attempt.
	Where Where
	// LastCall is when the worker last called, give or take seenEvery. It is stored with
	// the worker.
	LastCall time.Time
	// Left is set if the worker's process has disconnected: unless the worker comes back,
	// the claim expires. Killed is set, by Summary and Why, if the process was killed: the
	// next sweep ends the claim.
	Left, Killed bool
}

// silentAfter is how long a worker may work without a call before people are told. Agents
// work for minutes with their own tools alone.
const silentAfter = 5 * time.Minute

// Silent returns how long the worker has not called, or 0 if that is nothing unusual.
func (c Claim) Silent(now time.Time) time.Duration {
	if d := now.Sub(c.LastCall); d >= silentAfter && !c.LastCall.IsZero() {
		return d
	}
	return 0
}

// Alive reports whether the worker may be at work: its lease lasts, and its process is not
// known to have ended.
func (c Claim) Alive(now time.Time) bool { return c.LeaseUntil.After(now) && !c.Left && !c.Killed }

// DirPrefix begins the owner of the agents that run commands in one directory. Its claims
// outlive each process.
const DirPrefix = "d-"

// ProcessPrefix begins the owner of a process that works for one client.
const ProcessPrefix = "p-"

// InDir reports whether the claim belongs to a directory, and to no process.
func (c Claim) InDir() bool { return inDir(c.Owner) }

func inDir(owner string) bool { return ownerHas(owner, DirPrefix) }

func ownerHas(owner, prefix string) bool {
	return strings.HasPrefix(owner[strings.LastIndexByte(owner, '/')+1:], prefix) // a server adds the key
}

// A Cause is how an attempt ended.
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
	CauseClosed      Cause = "closed" // a person marked the task done
	CauseLeft        Cause = "left"   // given back by a program that ended; see GiveBack
)

// An Attempt is the record of a claim. It stays after the claim has ended.
type Attempt struct {
	Handle
	Worker WorkerID
	Owner  string
	// Actors are other owners that acted under the claim, or had it before Owner; see acted.
	Actors    string `json:"-"`
	GrantedAt time.Time
	EndedAt   time.Time // zero while the claim is live
	Cause     Cause
	// Reason is why it ended, in the words of its worker or of the person who ended it. Of one that was reported done it
	// is why its work came back; empty if it has not.
	Reason      string
	DoNotRepeat string
	// Where is the last known place of the work.
	Where Where
	// SpecVersion is the version of the spec that the worker last got.
	SpecVersion int
	// Created is the number of tasks created under this claim.
	Created int
	// ReportHash and ReportAnswer are a hash of the report and its answer, for repeated
	// reports.
	ReportHash   string
	ReportAnswer string
}

// CameBack reports whether its work was reported done, and was rejected or returned from the landing queue since then.
func (a *Attempt) CameBack() bool { return a.Cause == CauseDone && a.Reason != "" }

// maxActors bounds the length of Attempt.Actors.
const maxActors = 4000

// acted adds an owner to Actors, in which each has a line of its own, and reports whether that is
// new. Whoever acted under a claim worked on its task, as its holder did. Of very many owners the
// oldest are forgotten.
func (a *Attempt) acted(owner string) bool {
	if owner == "" || owner == a.Owner || strings.Contains(a.Actors, "\n"+owner+"\n") {
		return false
	}
	if len(a.Actors) > maxActors {
		a.Actors = a.Actors[strings.IndexByte(a.Actors[maxActors/2:], '\n')+maxActors/2:]
	}
	a.Actors = cmp.Or(a.Actors, "\n") + owner + "\n"
	return true
}

// own makes an owner that of the attempt. The one before worked on its task, too.
func (a *Attempt) own(owner string) {
	before := a.Owner
	a.Owner = owner
	a.acted(before)
}

// Own reports whether the claim was granted to the key of a principal, or, on a board without keys, on
// the same machine. What another key says about its place is its word alone: it decides neither what
// is looked at, nor where anybody goes on.
func (c Claim) Own(principal string) bool { return own(c.Owner, c.Worker, principal) }

// Own reports the same of the claim of an attempt.
func (a Attempt) Own(principal string) bool { return own(a.Owner, a.Worker, principal) }

func own(owner string, w WorkerID, principal string) bool {
	return owner != AnotherOwner && w.Principal == principal
}

// AnotherOwner is what a server says in place of the owner of what is another key's.
const AnotherOwner = "another"

// Where is the place of the work, for people and for the next worker.
type Where struct {
	Host string
	// Clone identifies the clone of a repository that Dir is in, whatever Host and Dir are
	// called; empty outside git, and from programs that do not tell.
	Clone string
	// Dir is the top directory of the worktree; outside git, the directory of the work.
	Dir         string
	Branch      string
	Head        string
	Uncommitted int
	// Named is set if the worker named Branch, which was not what was checked out where it
	// took the task: the work is on that branch until the worker names another.
	Named bool
	// Ordered is the branch that the worker was told to work on, because another one works
	// in Dir, or because an earlier attempt left its work there; empty if it was told
	// nothing.
	Ordered string
	// Worked is set once work was seen: a note, or a place in another state than at the
	// hand-out.
	Worked bool
	// Direct is set if a program took the task that does not speak MCP, and that a later process
	// may go on for.
	Direct bool
	// Client is the program that the worker runs in, as it names itself.
	Client string
}

// IsZero reports whether the place is unknown.
func (w Where) IsZero() bool { return w == Where{} }

// SameClone reports whether two places are in one clone, or outside git on one machine. If one
// of them does not tell its clone, the names of the machines count.
func (w Where) SameClone(o Where) bool {
	if w.Clone != "" && o.Clone != "" {
		return w.Clone == o.Clone
	}
	return w.Host == o.Host
}

// Away reports whether the worker was told to work elsewhere than in Dir, and has not been
// seen there yet.
func (w Where) Away() bool { return w.Ordered != "" && !w.Named && w.Branch != w.Ordered }
