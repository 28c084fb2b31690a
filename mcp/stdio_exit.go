package mcp

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// An ExitError is why the conversation with a child process is over, or did not
// begin, and what has become of the process.
type ExitError struct {
	Err    error
	State  *os.ProcessState // how the process ended; nil if it still ran a moment later
	Killed bool             // it did not end by itself: it was told to, or made to
	Stderr []string         // what it wrote last to standard error, line by line
}

func (e *ExitError) Error() string {
	s := e.Err.Error()
	switch {
	case e.State == nil:
		s += "; the process still runs"
	case e.Killed:
		s += "; the process was made to end"
	default:
		s += "; the process ended with " + e.State.String()
	}
	if len(e.Stderr) > 0 {
		s += "; it said " + fmt.Sprintf("%.1000q", strings.Join(e.Stderr, "\n"))
	}
	return s
}

func (e *ExitError) Unwrap() error { return e.Err }

// lastWordsWithin is how long a child that has closed its output may take to end.
const lastWordsWithin = time.Second

// explain adds to an error what has become of the child. It waits a moment for the
// child to end.
func (c *Child) explain(err error) *ExitError {
	ctx, cancel := context.WithTimeout(context.Background(), lastWordsWithin)
	defer cancel()
	for _, done := range []chan struct{}{c.exited, c.hushed} {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	e := &ExitError{Err: err}
	select {
	case <-c.exited:
		e.State, e.Killed = c.cmd.ProcessState, c.told.Load()
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Stderr = append(e.Stderr, c.tail...)
	return e
}
