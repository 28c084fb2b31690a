package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/proc"
)

// ErrNoGit means that there is no program git where programs are searched for.
var ErrNoGit = errors.New("git is not in the PATH of this process")

// Installed returns ErrNoGit if there is no git.
func Installed() error {
	if _, err := exec.LookPath("git"); err != nil {
		return ErrNoGit
	}
	return nil
}

// An Error says that git failed.
type Error struct {
	// Args is the command, without the options that every call has.
	Args []string
	// Exit is the exit status, -1 if git was killed or not started.
	Exit int
	// Output is the last part of standard error.
	Output string
	err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("git %s: %v: %s", e.Args[0], e.err, strings.TrimSpace(e.Output))
}

func (e *Error) Unwrap() error { return e.err }

const (
	// maxOutput bounds what is read of git's output.
	maxOutput = 64 << 20
	// maxErrors bounds what is kept of standard error.
	maxErrors = 4 << 10
	// killDelay is how long git may take to end after it was told to.
	killDelay = 2 * time.Second
)

// safeOptions precede every command.
var safeOptions = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.pager=cat",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
	"-c", "protocol.ext.allow=never",
}

// A call is one run of git.
type call struct {
	args  []string
	env   []string // in addition
	stdin string
}

// git runs a command in the repository and returns its standard output.
func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	return r.run(ctx, call{args: args})
}

func (r *Repo) run(ctx context.Context, c call) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, safeOptions...), c.args...)...)
	cmd.Dir = r.Root
	cmd.Env = append(r.environment(), c.env...)
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.WaitDelay = killDelay
	proc.CloseInherited(cmd)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it removes its locks
	out, complaints := &limited{limit: maxOutput}, &limited{limit: maxErrors, tail: true}
	cmd.Stdout, cmd.Stderr = out, complaints
	err := cmd.Run()
	if err == nil && out.cut {
		err = errors.New("the output is too long")
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", &Error{Args: c.args, Exit: cmd.ProcessState.ExitCode(), Output: complaints.String(), err: err}
	}
	return out.String(), nil
}

// environment is that of this process without its GIT_* variables, and with the
// repository named, so that git does not search for one.
func (r *Repo) environment() []string {
	env := make([]string, 0, len(os.Environ())+8)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			env = append(env, v)
		}
	}
	env = append(
		env, "GIT_DIR="+r.Dir, "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=true", "GIT_PAGER=cat", "GIT_EDITOR=true", "LC_ALL=C",
	)
	if !r.Bare {
		env = append(env, "GIT_WORK_TREE="+r.Root)
	}
	return env
}

// A limited writer keeps the first bytes, or with tail the last ones.
type limited struct {
	bytes.Buffer
	limit int
	tail  bool
	cut   bool
}

func (w *limited) Write(p []byte) (int, error) {
	if !w.tail {
		room := w.limit - w.Len()
		if room < len(p) {
			w.cut = true
			w.Buffer.Write(p[:max(room, 0)])
			return len(p), nil
		}
		return w.Buffer.Write(p)
	}
	w.Buffer.Write(p)
	if over := w.Len() - w.limit; over > 0 {
		w.cut = true
		w.Next(over)
	}
	return len(p), nil
}
