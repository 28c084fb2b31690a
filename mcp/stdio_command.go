package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Command is a server that runs as a child process and is spoken to over its
// standard streams.
type Command struct {
	Args []string // the program and its arguments; there is no shell
	Env  []string // "NAME=value": all that the child sees, besides what Environment gives; its PATH is where the program is looked for
	Dir  string   // where it runs; empty: where we do

	// Logger takes what the child writes to standard error. Nil: slog's default.
	Logger *slog.Logger
	// Limits bound one message of the child's; 16 MiB and a million values.
	Limits jsonrpc.Limits
	// Handshake is how long the child may take to begin, where no context says so;
	// a minute. What has to be downloaded first takes its time.
	Handshake time.Duration
	// Grace is what the child gets at the end to leave by itself, and once more
	// after it was told to; 2 s. Many leave at once when their input ends. Those that
	// do not notice, as servers on Node with a timer running, take all of it.
	Grace time.Duration
}

// inherited are the variables that a child cannot do without. The others are none
// of its business: they hold our secrets.
var inherited = []string{
	"PATH", "HOME", "LANG", "TMPDIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT", "COMSPEC", // Windows
}

// Environment is what every child sees of our environment: where programs, the
// home and temporary files are, and the language.
func Environment() []string {
	var env []string
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Start starts a server as a child process and connects to it. The context bounds
// the beginning only; Close ends the child and all that it started.
//
//	c, err := mcp.Start(ctx, "uvx", "mcp-server-fetch")
func Start(ctx context.Context, argv ...string) (*Client, error) {
	return (&Command{Args: argv}).Connect(ctx, nil)
}

// Connect starts the child and begins a conversation with it. A child that does
// not survive the first question of the newest revision, or falls silent over it,
// is started again and greeted in the old way. If it cannot be spoken to, an
// ExitError says what has become of it.
func (c *Command) Connect(ctx context.Context, o *ClientOptions) (*Client, error) {
	var options ClientOptions
	if o != nil {
		options = *o
	}
	if options.Eras == nil {
		options.Eras = &defaultEras
	}
	if options.Logger == nil {
		options.Logger = c.Logger
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, cmp.Or(c.Handshake, time.Minute), ErrTimeout)
		defer cancel()
	}
	client, err := c.connect(ctx, &options, options.Revision == 0)
	if err == nil || options.Revision != 0 || ctx.Err() != nil || options.Eras.isLegacy(c.name()) ||
		!errors.Is(err, jsonrpc.ErrClosed) && !errors.Is(err, context.DeadlineExceeded) {
		return client, err
	}
	options.Eras.set(c.name(), true)
	client, again := c.connect(ctx, &options, false)
	if again != nil {
		options.Eras.set(c.name(), false)
		return nil, errors.Join(err, again)
	}
	return client, nil
}

// connect starts the child. With a second try to come, it leaves time for that.
func (c *Command) connect(ctx context.Context, o *ClientOptions, first bool) (*Client, error) {
	child, err := c.Start()
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
		return nil, fmt.Errorf("%s: %w", c.Args[0], child.explain(err))
	}
	return client, nil
}

func (c *Command) name() string { return c.Dir + "$ " + strings.Join(c.Args, " ") }
