package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A child can be given as an exec.Cmd, with its own environment, directory and standard error.
func TestCommand_cmd(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"BOSSMAN_TEST_STDIO=look", "OWN=1"}
	cmd.Dir, cmd.Stderr = t.TempDir(), &stderr
	var started atomic.Int32
	c := start(t, &mcp.Command{Cmd: cmd, OnStart: func(p *os.Process) { started.Store(int32(p.Pid)) }}, mcp.ClientOptions{})
	env, err := mcp.CallAs[[]string](t.Context(), c, "env", nil, nil)
	if err != nil || !slices.Equal(env, cmd.Env) || started.Load() == 0 {
		t.Errorf("the child has %v, %v; want %v. Process %d", env, err, cmd.Env, started.Load())
	}
	if cmd.Process != nil || cmd.Stdin != nil {
		t.Error("the caller's Cmd was changed")
	}
	for name, bad := range map[string]*exec.Cmd{
		"Stdin":  {Path: os.Args[0], Stdin: strings.NewReader("")},
		"Stdout": {Path: os.Args[0], Stdout: &stderr},
		"absent": exec.Command("no-such-program-anywhere"),
	} {
		if _, err := (&mcp.Command{Cmd: bad}).Connect(t.Context(), nil); err == nil {
			t.Errorf("Connect with a bad %s = nil", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	killed := exec.CommandContext(ctx, os.Args[0])
	killed.Env = []string{"BOSSMAN_TEST_STDIO=look"}
	c = start(t, &mcp.Command{Cmd: killed, Logger: quiet(mcp.ClientOptions{}).Logger}, mcp.ClientOptions{})
	cancel()
	select {
	case <-c.Done():
	case <-time.After(time.Minute):
		t.Error("the child outlives the context of its Cmd")
	}
}

// A child that exits is started again, as often as the policy says. The call that it died of fails,
// later ones wait for the new child.
func TestCommand_restart(t *testing.T) {
	t.Parallel()
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			var starts atomic.Int32
			command := self("mortal")
			command.Restart = mcp.RestartPolicy{Max: 2, Backoff: 10 * time.Millisecond}
			command.OnStart = func(*os.Process) { starts.Add(1) }
			c := start(t, command, mcp.ClientOptions{Revision: r})
			events := make(chan mcp.Event, 10)
			listening := make(chan error, 1)
			go func() {
				for e, err := range c.Listen(t.Context(), mcp.EventFilter{Tools: true, ResourceURIs: []string{"a://b"}}) {
					if err != nil {
						listening <- err
						return
					}
					events <- e
				}
				listening <- nil
			}()
			last := 0
			for i := range 3 {
				pid, err := mcp.CallAs[int](t.Context(), c, "pid", nil, nil)
				if err != nil || pid == last || int(starts.Load()) != i+1 {
					t.Fatalf("after %d deaths: pid = %d, %v; was %d; %d starts", i, pid, err, last, starts.Load())
				}
				last = pid
				for range 2 {
					select {
					case <-events:
					case <-time.After(time.Minute):
						t.Fatal("the listener does not hear that things may have changed")
					}
				}
				if err := c.Health(); err != nil {
					t.Errorf("Health = %v", err)
				}
				_, err = c.Call(t.Context(), "die", nil, nil)
				if e, ok := errors.AsType[*mcp.ExitError](err); !ok || e.State == nil || e.State.ExitCode() != 3 {
					t.Fatalf("Call of what kills it = %v, want an ExitError", err)
				}
			}
			if _, err := mcp.CallAs[int](t.Context(), c, "pid", nil, nil); !errors.Is(err, jsonrpc.ErrClosed) || c.Health() == nil {
				t.Errorf("after the last restart: Call = %v, Health = %v; want ErrClosed", err, c.Health())
			}
			select {
			case <-c.Done():
			case <-time.After(time.Minute):
				t.Error("Done is not closed")
			}
			if err := <-listening; !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("Listen ended with %v, want ErrClosed", err)
			}
		})
	}
}

// Close does not wait for a restart, and nothing is started after it.
func TestCommand_closeBeforeRestart(t *testing.T) {
	t.Parallel()
	var starts atomic.Int32
	command := self("mortal")
	command.Restart = mcp.RestartPolicy{Max: 5, Backoff: time.Hour}
	command.OnStart = func(*os.Process) { starts.Add(1) }
	c := start(t, command, mcp.ClientOptions{Revision: mcp.R20260728})
	if _, err := c.Call(t.Context(), "die", nil, nil); err == nil {
		t.Error("Call = nil")
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "pid", nil, nil)
		waiting <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-waiting; !errors.Is(err, jsonrpc.ErrClosed) || starts.Load() != 1 {
		t.Errorf("the waiting call = %v after %d starts, want ErrClosed after one", err, starts.Load())
	}
}
