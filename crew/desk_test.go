package crew

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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
		root, err := openDesk(dir)
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

// Nor is anything written through a link in the place of the whole directory.
func TestOpenDesk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), deskPrefix+"1")
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if root, err := openDesk(dir); err == nil {
		root.Close()
		t.Error("a link was opened as the directory of a job")
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
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 108))
	if stop, err := new(job).serve(t.Context(), path, Bound{}); err == nil {
		stop()
		t.Error("there is a socket with a path that is too long")
	} else if !strings.Contains(err.Error(), "is too long") || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("the error is %v", err)
	}
}
