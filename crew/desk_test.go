package crew

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// The agent of another job may put a symbolic link in the place of a job's file: nothing is written
// through it.
func TestFillDesk(t *testing.T) {
	for _, name := range []string{"prompt.txt", "task.json"} {
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
		bound := Bound{Text: "prompt", Task: []byte("task")}
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		root, err := plaindir.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := fillDesk(root, bound); !errors.Is(err, fs.ErrExist) {
			t.Errorf("fillDesk with a link as %s: %v", name, err)
		}
		if text, _ := os.ReadFile(file); string(text) != "mine" {
			t.Errorf("through the link %s was written: %q", name, text)
		}
	}
}

// makeDesk makes the directory of a job for a test.
func makeDesk(t *testing.T, parent string) *os.Root {
	t.Helper()
	desk, err := plaindir.Make(parent, deskPrefix+"1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { desk.Close() })
	return desk
}

// Nothing is made or deleted where a link leads that an agent has put in the place of the whole
// directory, before or after the socket was made.
func TestServe_exchanged(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			desk, victim := makeDesk(t, t.TempDir()), t.TempDir()
			exchange := func() {
				if err := os.Rename(desk.Name(), desk.Name()+"-old"); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(victim, desk.Name()); err != nil {
					t.Fatal(err)
				}
			}
			if when == "before" {
				exchange()
				if stop, err := new(job).serve(t.Context(), desk, Bound{}); err == nil {
					stop()
					t.Error("a socket in a directory that is elsewhere is served")
				}
				if _, err := os.Lstat(socketOf(victim)); err == nil && runtime.GOOS == "linux" {
					t.Error("the socket was made where the link leads")
				}
				return
			}
			stop, err := new(job).serve(t.Context(), desk, Bound{})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"socket", "thesis"} {
				if err := os.WriteFile(filepath.Join(victim, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			exchange()
			stop()
			clearDesk(desk)
			if files, err := os.ReadDir(victim); err != nil || len(files) != 2 {
				t.Errorf("where the link led are %v, %v", files, err)
			}
		})
	}
}

// What a desk has is deleted with it.
func TestClearDesk(t *testing.T) {
	desk := makeDesk(t, t.TempDir())
	stop, err := new(job).serve(t.Context(), desk, Bound{Serve: func(_ context.Context, conn io.ReadWriteCloser) { conn.Close() }})
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("unix", socketOf(desk.Name())); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	stop()
	clearDesk(desk)
	if _, err := os.Lstat(desk.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the job is still there: %v", err)
	}
}

// weak is a listener whose first connection cannot be accepted.
type weak struct {
	net.Listener
	failed bool
}

func (w *weak) Accept() (net.Conn, error) {
	if !w.failed {
		w.failed = true
		return nil, errors.New("too many open files")
	}
	return w.Listener.Accept()
}

// TestAccept: a job has a bounded number of connections, and an error does not end its socket.
func TestAccept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		accept(ctx, &weak{Listener: l}, func(conn net.Conn) {
			_, _ = conn.Write([]byte("x"))
			_, _ = io.Copy(io.Discard, conn)
		})
	})
	defer func() {
		cancel()
		l.Close()
		wg.Wait()
	}()
	// dial returns a connection, and reports whether it is served.
	dial := func() (net.Conn, bool) {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := conn.Read(make([]byte, 1))
		return conn, n == 1
	}
	var open []net.Conn
	for range maxConnections {
		conn, ok := dial()
		if !ok {
			t.Fatalf("connection %d is not served", len(open)+1)
		}
		open = append(open, conn)
	}
	for range 3 {
		if _, ok := dial(); ok {
			t.Error("one too many is served")
		}
	}
	for _, conn := range open {
		conn.Close()
	}
	for { // a place is free as soon as the end of a connection was seen
		if conn, ok := dial(); ok {
			conn.Close()
			return
		}
	}
}

// A path that is too long for a socket is said to be, and what to do.
func TestServe_long(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 108))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if stop, err := new(job).serve(t.Context(), makeDesk(t, long), Bound{}); err == nil {
		stop()
		t.Error("there is a socket with a path that is too long")
	} else if !strings.Contains(err.Error(), "is too long") || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("the error is %v", err)
	}
}
