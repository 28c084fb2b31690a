package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Command is a server that runs as a child process and communicates over its
// standard streams.
type Command struct {
	Args []string // the program and its arguments; no shell is involved
	Env  []string // "NAME=value"; the child sees only these and DefaultEnv; the program is looked up in their PATH
	Dir  string   // working directory; default: the current one
	// Cmd, if not nil, is started in place of Args, Env and Dir. It must not have
	// been started, and must not have Stdin or Stdout set. It is copied each time
	// the child is started. Its Env is used as it is: if that is nil, the child
	// gets the whole environment of this process. The child gets its own process
	// group, unless SysProcAttr starts a session. If Cmd has a context, the process
	// is killed when that is done; Cancel is not called. If Stderr is set, what the
	// child writes to it is neither logged nor in an ExitError.
	Cmd *exec.Cmd
	// Restart says whether a child that exits is started again. The zero value
	// means never.
	Restart RestartPolicy
	// OnStart is called with each process that was started, before it is sent
	// anything.
	OnStart func(p *os.Process)

	// Logger receives the child's standard error. Default: slog.Default().
	Logger *slog.Logger
	// Limits bounds one message from the child; default 16 MiB and a million
	// values.
	Limits jsonrpc.Limits
	// StartTimeout limits how long connecting may take if the context has no
	// deadline; default one minute, because some servers are downloaded first.
	StartTimeout time.Duration
	// Grace is how long the child may take to exit after its input is closed,
	// and again after SIGTERM; default 2 s. Most servers exit at once. Those
	// that do not notice the end of their input, such as Node servers with a
	// running timer, take all of it.
	Grace time.Duration
}

// A RestartPolicy says how often a child that exits is started again. Requests in
// flight when it exits fail with an ExitError. Those sent before it is connected
// again wait.
type RestartPolicy struct {
	Max     int           // limit of restarts within Window; then the connection is closed
	Window  time.Duration // default one minute
	Backoff time.Duration // before the first restart, doubled for each further one in Window; default 1 s
}

// inherited lists the variables that a child needs. Others are not passed on,
// because they may contain secrets.
var inherited = []string{
	"PATH", "HOME", "LANG", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT", "COMSPEC", // Windows
}

// DefaultEnv returns the part of this process's environment that every child
// gets: where to find programs, the user's directories and temporary files, and the
// language.
func DefaultEnv() []string {
	var env []string
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Start starts a server as a child process and connects to it. ctx bounds
// connecting only. Close ends the child and everything it started.
//
//	c, err := mcp.Start(ctx, "uvx", "mcp-server-fetch")
func Start(ctx context.Context, argv ...string) (*Client, error) {
	return (&Command{Args: argv}).Connect(ctx, nil)
}

// Connect starts the child and connects to it. If the child exits or does not
// respond to the first message of the latest revision, it is started again and
// offered initialize. If the connection fails, the error is an *ExitError that
// says what happened to the process.
func (c *Command) Connect(ctx context.Context, o *ClientOptions) (*Client, error) {
	var options ClientOptions
	if o != nil {
		options = *o
	}
	if options.Logger == nil {
		options.Logger = c.Logger
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, cmp.Or(c.StartTimeout, time.Minute), ErrTimeout)
		defer cancel()
	}
	client, err := c.connect(ctx, &options, options.Revision == 0)
	if err == nil || options.Revision != 0 || ctx.Err() != nil || knownEras.isLegacy(c.name()) ||
		!errors.Is(err, jsonrpc.ErrClosed) && !errors.Is(err, context.DeadlineExceeded) {
		return client, err
	}
	knownEras.set(c.name(), true)
	client, again := c.connect(ctx, &options, false)
	if again != nil {
		knownEras.set(c.name(), false)
		return nil, errors.Join(err, again)
	}
	return client, nil
}

// connect starts the child. If first is set, it leaves time for a second
// attempt.
func (c *Command) connect(ctx context.Context, o *ClientOptions, first bool) (*Client, error) {
	child, err := c.start(o.Redact)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok && first {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/3))
		defer cancel()
	}
	client, err := Connect(ctx, child, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.program(), child.explain(err))
	}
	if c.Restart.Max > 0 {
		client.restartWith(new(*c))
	}
	return client, nil
}

// name identifies the server, for the cache of eras.
func (c *Command) name() string {
	dir, env, args := c.Dir, c.Env, c.Args
	if c.Cmd != nil {
		dir, env, args = c.Cmd.Dir, c.Cmd.Env, c.Cmd.Args
	}
	return dir + "\n" + strings.Join(env, "\n") + "$ " + strings.Join(args, " ")
}

// program returns the name of the program, for people.
func (c *Command) program() string {
	if c.Cmd != nil {
		return c.Cmd.Path
	}
	return c.Args[0]
}
