package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A Child is a running Command, as a transport. It must be closed.
type Child struct {
	jsonrpc.Transport
	command *Command
	cmd     *exec.Cmd
	log     *slog.Logger
	stdout  *quietReader
	exited  chan struct{} // closed when the process has ended
	hushed  chan struct{} // closed when all that it wrote to standard error is read
	told    atomic.Bool   // to end, since it did not by itself
	wg      sync.WaitGroup
	once    sync.Once
	failed  error

	mu   sync.Mutex
	tail []string // the last lines of standard error
}

// Start starts the child, in a process group of its own. It has three open files, its
// standard streams: also those that this process inherited, or opened without
// close-on-exec, are closed in the child. In this process they stay as they are.
func (c *Command) Start() (*Child, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("mcp: no command to start")
	}
	env := slices.Concat(Environment(), c.Env)
	program, err := find(c.Args[0], env)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	var files [6]*os.File // for each stream, the child's end and ours
	closeAll := func(n int) {
		for i := n; i < len(files); i += 2 {
			if files[i] != nil {
				_ = files[i].Close()
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(0)
			closeAll(1)
			return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
		}
		if files[i], files[i+1] = w, r; i == 0 {
			files[i], files[i+1] = r, w
		}
	}
	child := &Child{command: c, stdout: &quietReader{f: files[3]}, log: c.Logger}
	child.exited, child.hushed = make(chan struct{}), make(chan struct{})
	if child.log == nil {
		child.log = slog.Default()
	}
	child.log = child.log.With("command", c.Args[0])
	child.cmd = exec.Command(program, c.Args[1:]...)
	child.cmd.Args[0] = c.Args[0]
	child.cmd.Dir, child.cmd.Env = c.Dir, env
	child.cmd.Stdin, child.cmd.Stdout, child.cmd.Stderr = files[0], files[2], files[4]
	child.cmd.ExtraFiles = make([]*os.File, inheritable()-2) // each nil is a descriptor to close
	child.cmd.SysProcAttr = ownGroup()

	started := make(chan error, 1)
	child.wg.Go(func() { child.run(started) })
	err = <-started
	closeAll(0)
	if err != nil {
		closeAll(1)
		child.wg.Wait()
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	child.wg.Go(func() { child.listen(files[5]) })
	limits := c.Limits
	limits.Bytes = cmp.Or(limits.Bytes, 16<<20)
	limits.Nodes = cmp.Or(limits.Nodes, 1_000_000)
	child.Transport = jsonrpc.Lines(child.stdout, files[1], limits)
	return child, nil
}

// find looks for a program in the folders of an environment's PATH, which is the
// child's own and need not be ours. What names a folder itself is not looked for.
func find(program string, env []string) (string, error) {
	if filepath.Base(program) != program {
		return program, nil
	}
	path := ""
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			path = value // the last one counts
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // whoever can write where we are could choose the program
		}
		if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// run starts the process and waits for its end. On Linux the system ends a child
// when the thread that started it ends: so the thread is kept for as long.
func (c *Child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = c.cmd.Wait() // how it ended is in its state
	close(c.exited)
	// What it said is still to be read, but what it left behind does not speak for it.
	_ = c.stdout.f.SetReadDeadline(time.Now().Add(time.Second))
}

// Name tells which server this is, for the next time.
func (c *Child) Name() string { return c.command.name() }

// PID is the number of the process, which is that of its group as well.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Close ends the child: its input ends, and if that does not help within the
// grace, it is told to end, and then made to; with it all that it has started.
func (c *Child) Close() error {
	c.once.Do(func() {
		_ = c.Transport.Close() // its standard input
		c.wg.Go(c.stdout.drain)
		c.failed = c.stop()
		_ = c.stdout.f.Close()
		c.wg.Wait()
	})
	return c.failed
}

func (c *Child) stop() error {
	grace := cmp.Or(c.command.Grace, 2*time.Second)
	if c.left(grace) {
		return nil
	}
	c.log.Debug("child does not leave", "pid", c.PID())
	c.told.Store(true)
	tell(c.cmd.Process)
	if c.left(grace) {
		return nil
	}
	kill(c.cmd.Process)
	select {
	case <-c.exited:
		return nil
	case <-time.After(5 * time.Second):
	}
	return fmt.Errorf("mcp: process %d does not end", c.PID())
}

// left waits for the process and its group to end.
func (c *Child) left(within time.Duration) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-c.exited:
	case <-limit.C:
		return false
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for groupLives(c.cmd.Process) {
		select {
		case <-look.C:
		case <-limit.C:
			return false
		}
	}
	return true
}

const (
	maxErrLine = 4 << 10 // of a line on standard error; the rest is another
	maxErrRate = 200     // lines a second; more are counted
	keptErr    = 5       // lines that are shown if the child fails
)

// listen passes on what the child writes to standard error.
func (c *Child) listen(f *os.File) {
	// What outlives the child may hold the other end.
	c.wg.Go(func() {
		<-c.exited
		_ = f.SetReadDeadline(time.Now().Add(time.Second))
	})
	defer close(c.hushed)
	defer f.Close()
	buf := make([]byte, 0, maxErrLine)
	second, lines, dropped := time.Now(), 0, 0
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for len(buf) > 0 {
			i := slices.Index(buf, '\n')
			if i < 0 && len(buf) < cap(buf) && err == nil {
				break
			}
			line, rest := buf, buf[:0]
			if i >= 0 {
				line, rest = buf[:i], buf[i+1:]
			}
			if now := time.Now(); now.Sub(second) > time.Second {
				if dropped > 0 {
					c.log.Warn("child writes too much to standard error", "dropped", dropped)
				}
				second, lines, dropped = now, 0, 0
			}
			if lines++; lines <= maxErrRate {
				c.said(strings.TrimSpace(strings.ToValidUTF8(string(line), "\ufffd")))
			} else {
				dropped++
			}
			buf = buf[:copy(buf, rest)]
		}
		if err != nil {
			return
		}
	}
}

func (c *Child) said(line string) {
	if line == "" {
		return
	}
	c.log.Info("child", "stderr", line)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail = append(c.tail, line)
	c.tail = c.tail[max(0, len(c.tail)-keptErr):]
}

// A quietReader is a pipe from a child. When it is closed nobody hears the child
// any more, but it can still write.
type quietReader struct {
	f *os.File

	mu     sync.Mutex // held while reading
	closed bool
}

func (r *quietReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, io.EOF
	}
	n, err := r.f.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

func (r *quietReader) Close() error {
	_ = r.f.SetReadDeadline(time.Now()) // wakes the one that reads
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// drain reads what nobody hears, until the child ends.
func (r *quietReader) drain() {
	_ = r.f.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, r.f)
}
