package board

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What a caller can do about an error decides its kind; errors.Is finds it. People and
// models read these texts, so they do not begin with the name of the package.
var (
	// ErrNotFound: there is no such thing, or not for this caller.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the request itself is wrong; repeat it corrected.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: it does not fit the state now; look again.
	ErrConflict = errors.New("conflict")
	// ErrDenied: this caller may not.
	ErrDenied = errors.New("not allowed")
	// ErrLeaseLost: the claim is over. Stop working, the task may be in other hands.
	ErrLeaseLost = errors.New("lease lost")
	// ErrUnknown: the database was lost in the middle of a commit; it may or may not
	// have happened. Ask again.
	ErrUnknown = errors.New("outcome unknown")
	// ErrUnavailable: the database cannot be reached. Nothing happened.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooNew: a newer program has changed the database under this one.
	//lint:ignore ST1005 people and models read this as it is
	ErrTooNew = errors.New("Bossman was upgraded while this process ran. Nothing is lost. Reconnect this MCP server.")
)

// A LostError is ErrLeaseLost with the state now.
type LostError struct {
	Claim Handle
	// Task is the task as it is now, Holder who has it, if somebody has.
	Task   Task
	Holder *Claim
	// Ended is how the lost claim ended, nil if that is not known.
	Ended *Attempt
	// Kept is set if what was sent was kept as a note.
	Kept bool
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: %v; the task is %s at attempt %d", ErrLeaseLost, e.Claim, e.Task.Status, e.Task.Attempt)
}

func (e *LostError) Unwrap() error { return ErrLeaseLost }

// An EvidenceError refuses a report that does not bring what the task wants. The
// claim stays.
type EvidenceError struct {
	Task    ID
	Missing []EvidenceKind
	Sent    []EvidenceKind
}

func (e *EvidenceError) Error() string {
	return fmt.Sprintf("%v: %v wants %v, the report brings %v", ErrConflict, e.Task, e.Missing, e.Sent)
}

func (e *EvidenceError) Unwrap() error { return ErrConflict }

// A CycleError refuses a dependency that would close a circle.
type CycleError struct {
	// Path is the circle, its first element repeated at the end.
	Path []string
}

func (e *CycleError) Error() string {
	return fmt.Sprintf("%v: a circle of dependencies: %s", ErrConflict, strings.Join(e.Path, " → "))
}

func (e *CycleError) Unwrap() error { return ErrConflict }

// A HeldError says that the worker's name belongs to another process: one that runs,
// or that died without a word.
type HeldError struct {
	Worker Worker
	// Left is when the name is free, if that process gives no sign of life.
	Left time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: worker %s belongs to another process", ErrDenied, e.Worker.Name)
}

func (e *HeldError) Unwrap() error { return ErrDenied }

// A StoppedError says that somebody told the worker to stop.
type StoppedError struct{ Worker Worker }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("%v: worker %s was stopped by %s", ErrDenied, e.Worker.Name, e.Worker.StoppedBy)
}

func (e *StoppedError) Unwrap() error { return ErrDenied }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func conflict(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConflict, fmt.Sprintf(format, args...))
}

func denied(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDenied, fmt.Sprintf(format, args...))
}
