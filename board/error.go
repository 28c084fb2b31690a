package board

import (
	"errors"
	"fmt"
	"strconv"
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
	// ErrGone: the board was moved or deleted while this process used it; it is an
	// ErrUnavailable. Nothing happened.
	ErrGone = fmt.Errorf("%w: the board is not where it was", ErrUnavailable)
	// ErrReadOnly: this process may read the board, and not write it, as in a sandbox.
	// Nothing happened.
	ErrReadOnly = errors.New("the board cannot be written from here")
	// ErrFull: the disk is full. Nothing happened.
	ErrFull = errors.New("the disk with the board is full")
	// ErrCursorTooOld: events after the cursor were archived. Start again from FeedEnd, and
	// read what the tasks are now.
	ErrCursorTooOld = errors.New("cursor too old")
	// ErrTooNew: a newer program has changed the database under this one.
	//lint:ignore ST1005 people and models read this as it is
	ErrTooNew = errors.New("Bossman was upgraded while this process was running. Nothing is lost. Reconnect this MCP server.")
)

// A LostError is an ErrLeaseLost with the current state of the task.
type LostError struct {
	Claim Handle
	// Task is the current state of the task, Holder its current claim, or nil.
	Task   Task
	Holder *Claim
	// Ended is the attempt of the lost claim, nil if unknown.
	Ended *Attempt
	// Kept is set if the text of the call was kept as a note.
	Kept bool
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: %v; the task is %s at attempt %d", ErrLeaseLost, e.Claim, e.Task.Status, e.Task.Attempt)
}

func (e *LostError) Unwrap() error { return ErrLeaseLost }

// An EvidenceError rejects a report without the evidence that the task requires. The claim
// stays in force.
type EvidenceError struct {
	Task    ID
	Missing []EvidenceKind
	Sent    []EvidenceKind
}

func (e *EvidenceError) Error() string {
	return fmt.Sprintf("%v: %v requires evidence of kind %v, the report has %v", ErrConflict, e.Task, e.Missing, e.Sent)
}

func (e *EvidenceError) Unwrap() error { return ErrConflict }

// An EditedError rejects a report of a worker that has not seen the newest spec, which it
// has. The claim stays in force, and the same report is accepted after it.
type EditedError struct {
	Task                           ID
	Title, Description, Acceptance string
	Wants                          []EvidenceKind
}

func (e *EditedError) Error() string {
	return fmt.Sprintf("%v: %v was edited after its worker got it: read it again, then repeat the report", ErrConflict, e.Task)
}

func (e *EditedError) Unwrap() error { return ErrConflict }

// An UnansweredError rejects a report of done, or an agent's cancellation, that would close
// questions which only people may answer. The claim stays in force.
type UnansweredError struct {
	Task      ID
	Questions []QuestionID
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("%v: %v has questions that only people may answer, and they have not yet: %v", ErrConflict, e.Task, e.Questions)
}

func (e *UnansweredError) Unwrap() error { return ErrConflict }

// A LedError denies the lease of a landing target, because another process has it.
type LedError struct {
	Target, Holder string
	// Author is whose process that is.
	Author Author `json:",omitzero"`
	// Left is how long its lease lasts.
	Left time.Duration
}

func (e *LedError) Error() string {
	return fmt.Sprintf("%v: %s, %q, lands on %s; its lease lasts for another %s", ErrConflict, e.Author.Lander(strconv.Quote), e.Holder, e.Target, Span(e.Left))
}

func (e *LedError) Unwrap() error { return ErrConflict }

// A CycleError rejects dependencies that would form a cycle.
type CycleError struct {
	// Path is the cycle, with its first element repeated at the end.
	Path []string
}

func (e *CycleError) Error() string {
	return fmt.Sprintf("%v: dependency cycle: %s", ErrConflict, strings.Join(e.Path, " → "))
}

func (e *CycleError) Unwrap() error { return ErrConflict }

// A HeldError denies the use of a worker's name that belongs to another process, which
// may be running or have crashed.
type HeldError struct {
	Worker Worker
	// Left is how long it takes until the name is free, without a sign of life of that
	// process.
	Left time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: worker %q belongs to another process", ErrDenied, e.Worker.Name)
}

func (e *HeldError) Unwrap() error { return ErrDenied }

// A StoppedError denies work to a worker that was stopped, or whose connection was.
type StoppedError struct{ Worker Worker }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("%v: %q was stopped by %q", ErrDenied, e.Worker.Name, e.Worker.StoppedBy)
}

func (e *StoppedError) Unwrap() error { return ErrDenied }

// An UnknownError is an ErrUnknown of a hand-out: the worker may hold a task. Next with its
// name finds out.
type UnknownError struct {
	Worker string
	Err    error `json:"-"`
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%v: worker %s may have been given a task: %v", ErrUnknown, e.Worker, e.Err)
}

func (e *UnknownError) Unwrap() error { return ErrUnknown }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func conflict(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConflict, fmt.Sprintf(format, args...))
}

func denied(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDenied, fmt.Sprintf(format, args...))
}
