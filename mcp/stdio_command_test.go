package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/jsonrpc/transporttest"
	"github.com/bossman-dev/bossman/mcp"
)

// children are what this test program can be as a child process.
var children = map[string]func(){
	"noisy":    noisy,
	"stubborn": stubborn,
	"dies":     func() { oldServer(func() { os.Exit(3) }) },
	"wedges":   func() { oldServer(func() { select {} }) },
	"look":     look,
	"parent":   parent,
	"relay":    relay,
	"silent":   func() { select {} },
	"mortal":   mortal,
	"hangsUp":  hangsUp,
	"babbles":  babbles,
	"pours":    pours,
	"grumpy": func() {
		fmt.Fprintln(os.Stderr, "no configuration found")
		os.Exit(7)
	},
}

// noisy writes log lines to standard output, between messages.
func noisy() {
	for i := range 3 {
		fmt.Println("INFO starting,", i)
	}
	fmt.Println(`{"log":"json"}`)
	s := mcp.NewServer(mcp.Implementation{Name: "noisy", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "hi", Description: "Greet."}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		fmt.Println("WARN in the middle")
		return "hi", nil
	})
	_ = s.Serve(context.Background(), jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{}))
}

// mortal ends in the middle of a call.
func mortal() {
	s := mcp.NewServer(mcp.Implementation{Name: "mortal", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "die", Description: "End."}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(3)
		return "", nil
	})
	mcp.AddTool(s, mcp.Tool{Name: "pid", Description: "Say which process this is."}, func(context.Context, *mcp.Call, struct{}) (int, error) {
		return os.Getpid(), nil
	})
	s.AddResource(mcp.Resource{URI: "a://b", Name: "b"}, func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) { return nil, nil })
	_ = s.Serve(context.Background(), jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{}))
}

// hangsUp closes its output in the middle of a call, and lives on.
func hangsUp() {
	s := mcp.NewServer(mcp.Implementation{Name: "hangsUp", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "bye", Description: "Hang up."}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "bye")
		_ = os.Stdout.Close()
		select {}
	})
	_ = s.Serve(context.Background(), jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{}))
}

// babbles writes log lines to standard output when it is called, and nothing else.
func babbles() {
	s := mcp.NewServer(mcp.Implementation{Name: "babbles", Version: "1"}, nil)
	type much struct {
		Lines int `json:"lines" jsonschema:"how many"`
	}
	mcp.AddTool(s, mcp.Tool{Name: "babble", Description: "Write log lines."}, func(ctx context.Context, _ *mcp.Call, in much) (string, error) {
		for i := range in.Lines {
			fmt.Println("DEBUG line", i)
		}
		<-ctx.Done()
		return "", ctx.Err()
	})
	mcp.AddTool(s, mcp.Tool{Name: "hi", Description: "Greet."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "hi", nil })
	_ = s.Serve(context.Background(), jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{}))
}

// pours answers everything but the first question with a gibibyte.
func pours() {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriterSize(os.Stdout, 1<<20)
	chunk := strings.Repeat("x", 1<<20)
	for id := 1; in.Scan(); id++ {
		if id == 1 {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":1,"result":%s}`+"\n", discovered)
			_ = out.Flush()
			continue
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"`, id)
		for range 1 << 10 {
			_, _ = out.WriteString(chunk)
		}
		_, _ = out.WriteString(`"}]}}` + "\n")
		_ = out.Flush()
	}
}

// stubborn leaves only when it is killed, and has a child that is no better.
func stubborn() {
	signal.Ignore(syscall.SIGTERM)
	if os.Getenv("GRANDCHILD") == "" {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "GRANDCHILD=1")
		_ = cmd.Start()
		s := mcp.NewServer(mcp.Implementation{Name: "stubborn", Version: "1"}, nil)
		_ = s.Serve(context.Background(), jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{}))
	}
	select {}
}

// oldServer is one that an unknown first question does harm to.
func oldServer(harm func()) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch line := in.Text(); {
		case strings.Contains(line, "server/discover"):
			harm()
		case strings.Contains(line, `"initialize"`):
			fmt.Println(`{"jsonrpc":"2.0","id":1,"result":` + initialized("2025-03-26") + `}`)
		}
	}
}

// look tells what it sees of its surroundings.
func look() {
	s := mcp.NewServer(mcp.Implementation{Name: "look", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "env", Description: "Show the environment."}, func(context.Context, *mcp.Call, struct{}) ([]string, error) {
		return os.Environ(), nil
	})
	mcp.AddTool(s, mcp.Tool{Name: "files", Description: "Show what was open at first."}, func(context.Context, *mcp.Call, struct{}) ([]string, error) {
		return inheritable()
	})
	_ = s.Serve(context.Background(), jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{}))
}

// inheritable lists the open files of this process that are not close-on-exec: those
// that it was started with, since Go opens none like that. It works on Linux.
func inheritable() ([]string, error) {
	const closeOnExec = 0o2000000
	var kinds []string
	fds, err := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		info, err := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
		if err != nil {
			continue // of the directory itself, which is closed by now
		}
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err != nil {
			return nil, err
		}
		var pos, flags int
		if _, err := fmt.Sscanf(string(info), "pos: %d\nflags: %o", &pos, &flags); err != nil {
			return nil, err
		}
		if flags&closeOnExec == 0 {
			kind, _, _ := strings.Cut(to, ":")
			kinds = append(kinds, kind)
		}
	}
	return kinds, err
}

// parent starts children, tells their groups, and waits to be killed.
func parent() {
	for _, mode := range []string{"look", "silent"} {
		c := &mcp.Command{Args: []string{os.Args[0]}, Env: []string{"BOSSMAN_TEST_STDIO=" + mode}}
		c.OnStart = func(p *os.Process) { fmt.Println(p.Pid) }
		if _, err := c.StartChild(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	select {}
}

// relay passes everything on, between its standard streams and a socket, and leaves
// when its input ends.
func relay() {
	c, err := net.Dial("unix", os.Getenv("RELAY"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	socket := c.(*net.UnixConn)
	go func() {
		_, _ = io.Copy(socket, os.Stdin)
		_ = socket.CloseWrite()
		os.Exit(0)
	}()
	_, _ = io.Copy(os.Stdout, socket)
}

// A child is a transport like any other.
func TestChild_transport(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, func(t *testing.T) (a, b jsonrpc.Transport) {
		name := filepath.Join(t.TempDir(), "socket")
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c := self("relay")
		c.Env = append(c.Env, "RELAY="+name)
		c.Limits = jsonrpc.Limits{Bytes: 1 << 20, Nodes: 100_000}
		child, err := c.StartChild()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return child, jsonrpc.Lines(conn, conn, jsonrpc.Limits{})
	})
}

func self(mode string) *mcp.Command {
	return &mcp.Command{
		Args: []string{os.Args[0]}, Env: []string{"BOSSMAN_TEST_STDIO=" + mode},
		Logger: slog.New(slog.DiscardHandler), Grace: 300 * time.Millisecond,
	}
}

func start(t *testing.T, c *mcp.Command, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	client, err := c.Connect(t.Context(), quiet(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return client
}

// Lines on standard output that are no messages are dropped and counted.
func TestCommand_noisy(t *testing.T) {
	c := start(t, self("noisy"), mcp.ClientOptions{})
	if got, err := mcp.CallAs[string](t.Context(), c, "hi", nil, nil); err != nil || got != "hi" || c.Refused() != 5 {
		t.Errorf("CallAs = %q, %v with %d refused, want hi with 5", got, err, c.Refused())
	}
}

// A child that writes nothing but log lines is not relied on, until it says
// something sensible again. The log does not grow with it.
func TestCommand_onlyNoise(t *testing.T) {
	t.Parallel()
	var logged atomic.Int32
	o := quiet(mcp.ClientOptions{})
	o.Logger = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		logged.Add(1)
		return len(b), nil
	}), nil))
	c, err := self("babbles").Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, x := range []struct {
		lines int
		sick  bool
	}{{99, false}, {10_000, true}} {
		if _, err := c.Call(t.Context(), "babble", map[string]any{"lines": x.lines}, &mcp.CallOptions{Timeout: time.Second}); !errors.Is(err, mcp.ErrTimeout) {
			t.Errorf("babble = %v, want ErrTimeout", err)
		}
		if err := c.Health(); (err != nil) != x.sick {
			t.Errorf("after %d lines: Health = %v", x.lines, err)
		}
		if got, err := mcp.CallAs[string](t.Context(), c, "hi", nil, nil); err != nil || got != "hi" || c.Health() != nil {
			t.Errorf("hi = %q, %v with health %v", got, err, c.Health())
		}
	}
	if c.Refused() != 10_099 || logged.Load() > 20 {
		t.Errorf("%d refused and %d log lines, want 10099 and at most 20", c.Refused(), logged.Load())
	}
}

// Whoever calls a child that has ended is told so, and why: the call in which it
// happened, and every one after it.
func TestCommand_ends(t *testing.T) {
	c := start(t, self("mortal"), mcp.ClientOptions{})
	for i := range 3 {
		_, err := c.Call(t.Context(), "die", nil, nil)
		text := fmt.Sprint(err)
		if !errors.Is(err, jsonrpc.ErrClosed) || !strings.Contains(text, "call tool die") ||
			!strings.Contains(text, "the process ended with exit status 3") || !strings.Contains(text, "out of cheese") || strings.Contains(text, "\n") {
			t.Errorf("Call %d = %v, want that it ended, how, and what it said", i, err)
		}
		e, ok := errors.AsType[*mcp.ExitError](err)
		if !ok || e.State.ExitCode() != 3 || e.Killed || len(e.Stderr) != 1 {
			t.Errorf("Call %d = %+v, want an ExitError with the status", i, e)
		}
	}
	<-c.Done()
	if err := c.Health(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Health = %v", err)
	}
	for _, err := range c.Listen(t.Context(), mcp.EventFilter{Tools: true}) {
		if err == nil || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("Listen = %v", err)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// Nobody waits for the end of a child that has only stopped speaking.
func TestCommand_hangsUp(t *testing.T) {
	t.Parallel()
	command := self("hangsUp")
	command.Grace = 5 * time.Second
	c := start(t, command, mcp.ClientOptions{})
	_, err := c.Call(t.Context(), "bye", nil, nil)
	e, ok := errors.AsType[*mcp.ExitError](err)
	if !ok || !errors.Is(err, jsonrpc.ErrClosed) || e.State != nil || !slices.Equal(e.Stderr, []string{"bye"}) {
		t.Fatalf("Call = %v, want that it still runs, and what it said", err)
	}
	<-c.Done() // it is told to end
	if e, ok := errors.AsType[*mcp.ExitError](c.Health()); !ok || e.State == nil || !e.Killed {
		t.Errorf("Health = %v, want that it was made to end", c.Health())
	}
}

// A gibibyte in one line costs what the limit allows, and the call is told.
func TestCommand_gibibyte(t *testing.T) {
	c := start(t, self("pours"), mcp.ClientOptions{})
	var err error
	grown := peak(func() { _, err = c.Call(t.Context(), "x", nil, nil) })
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("Call = %v, want that it is too large", err)
	}
	// What comes after is read away for a while, and then no more.
	grown = max(grown, peak(func() { <-c.Done() }))
	if err := c.Health(); err == nil || !strings.Contains(err.Error(), "line too long") {
		t.Errorf("Health = %v, want why it ended", err)
	}
	t.Logf("%d MiB more in use at most", grown>>20)
	if grown > 100<<20 {
		t.Errorf("%d MiB more were in use", grown>>20)
	}
}

// peak is how much more memory was in use, at the worst of moments, while f ran.
func peak(f func()) (grown uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	inUse := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before := inUse()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		if now := inUse(); now > before {
			grown = max(grown, now-before)
		}
		select {
		case <-done:
			return grown
		case <-look.C:
		}
	}
}

// A child sees what it needs and what it was given, and no secrets of ours.
func TestCommand_surroundings(t *testing.T) {
	t.Setenv("SECRET", "swordfish")
	f, err := os.Open(os.Args[0]) // a file of ours that is none of its business
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := start(t, self("look"), mcp.ClientOptions{})
	env, err := mcp.CallAs[[]string](t.Context(), c, "env", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains([]string{"PATH", "HOME", "LANG", "TMPDIR", "BOSSMAN_TEST_STDIO"}, name) && !strings.HasPrefix(name, "XDG_") {
			t.Errorf("the child sees %s", name)
		}
	}
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return
	}
	files, err := mcp.CallAs[[]string](t.Context(), c, "files", nil, nil)
	if err != nil || strings.Join(files, " ") != "pipe pipe pipe" {
		t.Errorf("the child has open %v, %v; want three pipes", files, err)
	}
}

// A program is looked for where the child would look.
func TestCommand_path(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "our-own-server")); err != nil {
		t.Fatal(err)
	}
	c := self("look")
	c.Args = []string{"our-own-server"}
	c.Env = append(c.Env, "PATH="+dir)
	start(t, c, mcp.ClientOptions{})
	// Not where we happen to be.
	t.Chdir(dir)
	c.Env = append(c.Env, "PATH=.")
	if _, err := c.StartChild(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("StartChild = %v, want ErrNotFound", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Args = []string{filepath.Join(dir, "no-such-program")}
	if _, err := c.Connect(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Connect = %v, want Canceled before anything is started", err)
	}
}

// Close ends the whole group, whatever it takes.
func TestCommand_stubborn(t *testing.T) {
	t.Parallel()
	group := 0
	command := self("stubborn")
	command.OnStart = func(p *os.Process) { group = p.Pid }
	c, err := command.Connect(t.Context(), quiet(mcp.ClientOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := c.Close(); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("Close = %v after %v", err, time.Since(start))
	}
	expectGone(t, group)
}

// expectGone fails the test if anything is left of a process group. What is dead
// and waits to be collected is gone.
func expectGone(t *testing.T, group int) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = alive(group); len(left) == 0 {
			return
		}
	}
	t.Errorf("still there of group %d: %v", group, left)
}

func alive(group int) (left []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		_, rest, _ := bytes.Cut(b, []byte(") "))
		f := strings.Fields(string(rest)) // state, parent, group, …
		if len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			left = append(left, string(b[:min(60, len(b))]))
		}
	}
	return left
}

// A server that the first question kills, or silences, is started again.
func TestCommand_startedAgain(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"dies", "wedges"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		o := quiet(mcp.ClientOptions{ProbeTimeout: 200 * time.Millisecond})
		for i := range 2 {
			starts, command := 0, self(mode)
			command.OnStart = func(*os.Process) { starts++ }
			c, err := command.Connect(ctx, o)
			if err != nil {
				t.Fatalf("%s: %v", mode, err)
			}
			if c.Revision() != mcp.R20250326 {
				t.Errorf("%s: speaks %s", mode, c.Revision())
			}
			if i == 1 && starts != 1 {
				t.Errorf("%s: the second connection started it %d times: what it speaks was not remembered", mode, starts)
			}
			_ = c.Close()
		}
		cancel()
	}
}

// What is wrong with a child is told.
func TestCommand_doesNotBegin(t *testing.T) {
	t.Parallel()
	if _, err := self("grumpy").Connect(t.Context(), quiet(mcp.ClientOptions{})); err == nil || !strings.Contains(err.Error(), "no configuration found") || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("Connect = %v, want what it said and how it ended", err)
	}
	if _, err := mcp.Start(t.Context(), "/nowhere/to/be/found"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v, want ErrNotExist", err)
	}
	c := self("silent")
	c.StartTimeout = time.Second
	began := time.Now()
	if _, err := c.Connect(t.Context(), quiet(mcp.ClientOptions{ProbeTimeout: 100 * time.Millisecond})); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("Connect = %v after %v, want the deadline", err, time.Since(began))
	}
	if _, err := (&mcp.Command{}).Connect(t.Context(), nil); err == nil {
		t.Error("Connect to nothing = nil")
	}
}

// What a child writes to standard error is logged.
func TestCommand_logs(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	cmd := self("talk")
	cmd.Logger = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), nil))
	c := start(t, cmd, mcp.ClientOptions{})
	if _, err := c.Call(t.Context(), "talk", nil, nil); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "by an old file") {
		t.Errorf("log: %s", &log)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Children die with us, even if we have no time to say good-bye.
func TestCommand_dieWithUs(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux has this")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BOSSMAN_TEST_STDIO=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	var groups []int
	for range 2 {
		line, err := in.ReadString('\n')
		n, numErr := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || numErr != nil {
			t.Fatalf("read %q, %v", line, err)
		}
		groups = append(groups, n)
	}
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, in)
	_ = cmd.Wait()
	for _, g := range groups {
		expectGone(t, g)
	}
}
