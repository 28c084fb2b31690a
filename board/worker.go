package board

import (
	"crypto/rand"
	"time"
)

// A WorkerID names one running agent: the credential behind it and a name, which
// is unique for that credential.
type WorkerID struct {
	Principal string
	Name      string
}

// IsZero reports whether w names nobody.
func (w WorkerID) IsZero() bool { return w == WorkerID{} }

// A Worker is one running agent. It holds at most one claim.
type Worker struct {
	WorkerID
	// Owner is the process or key that minted the name; empty when that has ended
	// and the name may be taken up again.
	Owner    string
	LastSeen time.Time
	// StoppedBy is who told it to stop: it gets no more work.
	StoppedBy string
}

// An Actor is who calls. Authority comes from here and never from a text.
type Actor struct {
	// Principal is the credential: "local" on a person's own machine.
	Principal string
	// Owner is the running process, or the key, behind the call: workers belong to
	// it.
	Owner string
	// Worker is the agent's name where it is known.
	Worker string
	// Name is what people are shown: of an agent the worker's comes first, and the
	// principal's if there is none.
	Name string
	// Person is set for a person's own credential.
	Person bool
}

// String is what the history shows.
func (a Actor) String() string {
	switch {
	case a.Worker != "" && !a.Person:
		return a.Worker
	case a.Name != "":
		return a.Name
	}
	return a.Principal
}

var animals = [...]string{
	"badger", "beaver", "bison", "crane", "dingo", "egret", "ferret", "finch", "gecko", "heron", "hornet", "ibex",
	"jackal", "kestrel", "lemur", "lynx", "marten", "mole", "newt", "ocelot", "osprey", "otter", "panda", "puffin",
	"quail", "raven", "robin", "seal", "shrew", "stoat", "tapir", "tern", "viper", "walrus", "weasel", "wren",
}

// newWorkerName draws a name that is short enough for a model to repeat.
func newWorkerName() string {
	var b [1]byte
	rand.Read(b[:])
	return animals[int(b[0])%len(animals)] + "-" + randomText(3)
}
