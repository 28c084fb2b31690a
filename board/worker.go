package board

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A WorkerID identifies a running agent: its credential, and a name that is unique for that
// credential.
type WorkerID struct {
	Principal string
	Name      string
}

// IsZero reports whether w is the zero WorkerID.
func (w WorkerID) IsZero() bool { return w == WorkerID{} }

// connection returns the name under which the store knows a connection, beside the workers
// that use it: its owner, if that is a process. An owner that is a credential may have many
// agents that know nothing of each other; for it the result is zero.
func connection(principal, owner string) WorkerID {
	if owner == "" || owner == principal {
		return WorkerID{}
	}
	return WorkerID{Principal: principal, Name: owner}
}

// checkConnection returns a *StoppedError if a worker on the caller's connection was
// stopped.
func checkConnection(r Reader, a Actor) error {
	conn := connection(a.Principal, a.Owner)
	if conn.IsZero() {
		return nil
	}
	w, err := r.Worker(conn)
	if err == nil && w.StoppedBy != "" {
		w.Name = "this connection"
		err = &StoppedError{Worker: w}
	}
	return err
}

func (b *Board) checkConnection(ctx context.Context, a Actor) error {
	if connection(a.Principal, a.Owner).IsZero() {
		return nil
	}
	return b.store.Read(ctx, func(r Reader) error { return checkConnection(r, a) })
}

// A Worker is a running agent. It holds at most one claim.
type Worker struct {
	WorkerID
	// Owner is the process or key that uses the name; empty if it has ended and the name
	// is free.
	Owner    string
	LastSeen time.Time
	// StoppedBy is who stopped it, or empty. A stopped worker gets no more work.
	StoppedBy string
}

// An Actor is the authenticated caller of a method. Authorization depends on it, and never
// on text that the caller sent.
type Actor struct {
	// Principal is the credential; "local" on a board in a file.
	Principal string
	// Owner is the process or key behind the call, to which its workers belong.
	Owner string
	// Worker is the agent's name, if known.
	Worker string
	// Name is the display name.
	Name string
	// Person is set if the credential is a person's own.
	Person bool
	// Shell is set if the process was started in an agent's shell, so that it may be the
	// agent of any process of the principal.
	Shell bool
	// OneWorker is set if all workers of the principal count as one where work is judged.
	// The key of a program at a server is such a one: that a process of it is another one
	// is only what the program says.
	OneWorker bool
	// Ended, if not nil, is closed when the credential has lost rights, all or some of them. The actor is then given nothing any more: what a
	// call that began before was just granted is taken back, since Dismiss may have come before that.
	Ended <-chan struct{}
}

// hasEnded reports whether the credential has lost rights since the call began.
func (a Actor) hasEnded() bool {
	select {
	case <-a.Ended:
		return true
	default:
		return false
	}
}

// errEnded refuses a call whose credential has lost rights since it began.
var errEnded = fmt.Errorf("%w: this key or token was revoked or lowered, or has expired, while the call went on: call again if it still has rights", ErrDenied)

// localPrincipal is the principal of everybody on a board in a file.
const localPrincipal = "local"

// An ActorKind says whether a person or an agent did something. It is empty where that is
// not known, as in what older programs wrote.
type ActorKind string

const (
	ByPerson ActorKind = "person"
	ByAgent  ActorKind = "agent"
	// ByImport is what an imported file says that somebody did. The name then begins with
	// who imported it.
	ByImport ActorKind = "import"
)

// Kind returns ByPerson if the actor is a person, else ByAgent.
func (a Actor) Kind() ActorKind {
	if a.Person {
		return ByPerson
	}
	return ByAgent
}

// Named returns a name with the kind, such as "ada (person)".
func (k ActorKind) Named(name string) string {
	if k == "" || k == ByImport {
		return name
	}
	return name + " (" + string(k) + ")"
}

// String returns how the history shows the actor: the worker's name for an agent, else
// the display name, else the principal.
func (a Actor) String() string {
	switch {
	case a.Worker != "" && !a.Person:
		return a.Worker
	case a.Name != "":
		return a.Name
	}
	return a.Principal
}

// Workers lists the workers that were seen within the given time, and returns the store's
// time.
func (b *Board) Workers(ctx context.Context, since time.Duration) (ws []Worker, now time.Time, err error) {
	err = b.store.Read(ctx, func(r Reader) (err error) {
		if now, err = r.Now(); err != nil || since <= 0 {
			return err // only the time is asked for
		}
		ws, err = r.Workers(now.Add(-since))
		return err
	})
	return ws, now, err
}

// Stop stops a worker: it releases the worker's task or review, which it returns, and the worker
// gets no more work. Neither does its connection, whatever name it takes next; other
// workers on that connection may finish what they hold.
func (b *Board) Stop(ctx context.Context, a Actor, w WorkerID) (ID, error) {
	var task ID
	err := b.change(ctx, a, func(c *change) error {
		task = ID{}
		st, err := c.tx.Standing(w)
		if err != nil {
			return err
		}
		if st.Worker.IsZero() {
			return ErrNotFound
		}
		if held := st.Held(); held != nil {
			task = held.Task
			if err := c.lock(task); err != nil {
				return err
			}
			if held.IsReview() {
				if _, err := c.endReview(*held, CauseStopped, "stopped by "+a.String()); err != nil {
					return err
				}
			} else if t := c.tasks[task]; t.Status == InProgress && t.handle() == held.Handle {
				if err := c.release(t, CauseStopped, "stopped by "+a.String()); err != nil {
					return err
				}
			}
		}
		st.Worker.StoppedBy = a.String()
		if conn := connection(w.Principal, st.Worker.Owner); !conn.IsZero() {
			// It was never seen, so nobody lists it among the workers.
			if err := c.tx.PutWorker(Worker{WorkerID: conn, StoppedBy: a.String()}); err != nil {
				return err
			}
		}
		return c.tx.PutWorker(st.Worker)
	})
	return task, err
}

// workerTextLen is the length of the random part of a worker's name.
const workerTextLen = 3

var animals = [...]string{
	"badger", "beaver", "bison", "crane", "dingo", "egret", "ferret", "finch", "gecko", "heron", "hornet", "ibex",
	"jackal", "kestrel", "lemur", "lynx", "marten", "mole", "newt", "ocelot", "osprey", "otter", "panda", "puffin",
	"quail", "raven", "robin", "seal", "shrew", "stoat", "tapir", "tern", "viper", "walrus", "weasel", "wren",
}

// GivesName reports whether a name has the form of those that the board gives to workers.
// No person has such a name.
func GivesName(name string) bool {
	animal, text, _ := strings.Cut(name, "-")
	return slices.Contains(animals[:], animal) && len(text) == workerTextLen && strings.Trim(text, nonceAlphabet) == ""
}

// newWorkerName returns a random name that is short enough for a model to repeat.
func newWorkerName() string {
	var b [1]byte
	rand.Read(b[:])
	return animals[int(b[0])%len(animals)] + "-" + randomText(workerTextLen)
}
