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
	"unicode/utf8"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/proc"
)

// A child is a running Command, as a transport. The caller must close it.
type child struct {
	jsonrpc.Transport
	command *Command
	cmd     *exec.Cmd
	log     *slog.Logger
	redact  redactor
	stdout  *quietReader
	exited  chan struct{} // closed when the process has exited
	hushed  chan struct{} // closed when all of standard error was read
	told    atomic.Bool   // to terminate, because it did not exit by itself
	wg      sync.WaitGroup
	once    sync.Once
	failed  error

	mu   sync.Mutex
	tail []string // last lines of standard error
}

// newCmd returns the process to start. It has three open files, its standard
// streams: also those that this process inherited, or opened without
// close-on-exec, are closed in the child. In this process they stay as they are.
// A Cmd of the program may have more.
func (c *Command) newCmd() (*exec.Cmd, error) {
	if c.Cmd != nil {
		if c.Cmd.Process != nil || c.Cmd.Stdin != nil || c.Cmd.Stdout != nil {
			return nil, errors.New("mcp: Command.Cmd was started, or has Stdin or Stdout")
		}
		cmd := *c.Cmd          // it can be started once only
		if cmd.Cancel != nil { // the one of exec.CommandContext kills the process of c.Cmd
			cmd.Cancel = func() error { return cmd.Process.Kill() }
		}
		cmd.SysProcAttr = ownGroup(cmd.SysProcAttr)
		if len(cmd.ExtraFiles) == 0 {
			proc.CloseInherited(&cmd)
		}
		return &cmd, nil
	}
	if len(c.Args) == 0 {
		return nil, errors.New("mcp: no command to start")
	}
	env := slices.Concat(DefaultEnv(), c.Env)
	program, err := find(c.Args[0], env)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	cmd := exec.Command(program, c.Args[1:]...)
	cmd.Args[0] = c.Args[0]
	cmd.Dir, cmd.Env = c.Dir, env
	cmd.SysProcAttr = ownGroup(nil)
	proc.CloseInherited(cmd)
	return cmd, nil
}

// start starts the child, in a process group of its own.
func (c *Command) start(redact redactor) (*child, error) {
	cmd, err := c.newCmd()
	if err != nil {
		return nil, err
	}
	program := c.program()
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
			return nil, fmt.Errorf("start %s: %w", program, err)
		}
		if files[i], files[i+1] = w, r; i == 0 {
			files[i], files[i+1] = r, w
		}
	}
	child := &child{command: c, cmd: cmd, redact: redact, stdout: &quietReader{f: files[3]}, log: c.Logger}
	child.exited, child.hushed = make(chan struct{}), make(chan struct{})
	if child.log == nil {
		child.log = slog.Default()
	}
	child.log = child.log.With("command", program)
	cmd.Stdin, cmd.Stdout = files[0], files[2]
	if cmd.Stderr == nil {
		cmd.Stderr = files[4]
	}

	started := make(chan error, 1)
	child.wg.Go(func() { child.run(started) })
	err = <-started
	closeAll(0)
	if err != nil {
		closeAll(1)
		child.wg.Wait()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	if c.OnStart != nil {
		c.OnStart(cmd.Process)
	}
	child.wg.Go(func() { child.listen(files[5]) })
	child.Transport = jsonrpc.Lines(child.stdout, files[1], stdioLimits(c.Limits))
	return child, nil
}

// find looks for a program in the PATH of env, which is the child's and may
// differ from this process's. A program with a directory in its name is not
// looked for.
func find(program string, env []string) (string, error) {
	if filepath.Base(program) != program {
		return program, nil
	}
	path := ""
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			path = value // the last one wins
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // anyone who can write to the current directory could choose the program
		}
		if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// run starts the process and waits for it. On Linux the kernel kills a child
// when the thread that started it exits, so run keeps the thread.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = c.cmd.Wait() // the result is in ProcessState
	close(c.exited)
	// Its output is still to be read, but processes it left behind do not
	// count.
	_ = c.stdout.f.SetReadDeadline(time.Now().Add(time.Second))
}

// ServerName identifies the server, for the cache of eras.
func (c *child) ServerName() string { return c.command.name() }

// Close ends the child and everything it started: it closes the child's input,
// then sends SIGTERM, then SIGKILL, with the grace period in between.
func (c *child) Close() error {
	c.once.Do(func() {
		_ = c.Transport.Close() // its standard input
		c.wg.Go(c.stdout.drain)
		c.failed = c.stop()
		_ = c.stdout.f.Close()
		c.wg.Wait()
	})
	return c.failed
}

func (c *child) stop() error {
	grace := cmp.Or(c.command.Grace, 2*time.Second)
	if c.left(grace) {
		return nil
	}
	c.log.Debug("child does not exit", "pid", c.cmd.Process.Pid)
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
	return fmt.Errorf("mcp: process %d does not exit", c.cmd.Process.Pid)
}

// left waits for the process and its group to exit, and reports whether they
// did.
func (c *child) left(within time.Duration) bool {
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
	maxErrLine = 4 << 10  // longer lines of standard error are split
	maxErrRead = 64 << 10 // what is redacted at once
	maxErrRate = 200      // lines per second; more are dropped and counted
	keptErr    = 5        // lines shown if the child fails
)

// listen logs the child's standard error.
func (c *child) listen(f *os.File) {
	// Processes that outlive the child may hold the other end open.
	c.wg.Go(func() {
		<-c.exited
		_ = f.SetReadDeadline(time.Now().Add(time.Second))
	})
	defer close(c.hushed)
	defer f.Close()
	buf := make([]byte, 0, maxErrRead)
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
					c.log.Warn("dropping lines of the child's standard error", "dropped", dropped)
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

// said takes a line of the child's standard error.
func (c *child) said(line string) {
	if c.redact != nil {
		line = c.redact(line)
	}
	for line != "" {
		n := min(len(line), maxErrLine)
		for cut := n; n < len(line) && cut > n-utf8.UTFMax; cut-- { // between two characters, if there are any
			if utf8.RuneStart(line[cut]) {
				n = cut
				break
			}
		}
		part := line[:n]
		line = line[n:]
		c.log.Info("child", "stderr", part)
		c.mu.Lock()
		c.tail = append(c.tail, part)
		c.tail = c.tail[max(0, len(c.tail)-keptErr):]
		c.mu.Unlock()
	}
}

// A quietReader is a pipe from a child. After Close its output is ignored, but
// the child can still write.
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
	_ = r.f.SetReadDeadline(time.Now()) // unblocks a reader
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// drain discards the output until the child exits.
func (r *quietReader) drain() {
	_ = r.f.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, r.f)
}
