package mcp

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// An ExitError reports why the connection to a child process ended or failed,
// and what happened to the process.
type ExitError struct {
	Err    error
	State  *os.ProcessState // how the process ended; nil if it was still running shortly afterwards
	Killed bool             // it did not exit by itself, but was terminated or killed
	Stderr []string         // its last lines on standard error
}

func (e *ExitError) Error() string {
	s := e.Err.Error()
	switch {
	case e.State == nil:
		s += "; the process is still running"
	case e.Killed:
		s += "; the process was terminated"
	default:
		s += "; the process ended with " + e.State.String()
	}
	if len(e.Stderr) > 0 {
		s += "; stderr: " + fmt.Sprintf("%.1000q", strings.Join(e.Stderr, "\n"))
	}
	return s
}

func (e *ExitError) Unwrap() error { return e.Err }

// lastWordsWithin is how long a child that has closed its output may take to
// exit.
const lastWordsWithin = time.Second

// explain adds to an error what happened to the child. It waits briefly for the
// child to exit.
func (c *child) explain(err error) *ExitError {
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
