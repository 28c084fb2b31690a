package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecord_throughTheTee(t *testing.T) {
	dir := t.TempDir()
	if err := gobuild(Dir(), filepath.Join(dir, "tee"), "./tee"); err != nil {
		t.Fatal(err)
	}
	// A server in a line of shell: whatever comes first, it answers an
	// initialize and then stays silent until the end of its stdin.
	answer := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`
	server := filepath.Join(dir, "server")
	if err := os.WriteFile(server, []byte("#!/bin/sh\nread line\necho '"+answer+"'\ncat >/dev/null\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rec := &Record{path: filepath.Join(dir, "log")}
	cmd := Command(t.Context(), dir, filepath.Join(dir, "tee"), rec.path, server)
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"add"}}`,
	}, "\n") + "\n")
	out := Run(t, cmd)
	if out.Stdout != answer+"\n" || out.Code != 3 {
		t.Errorf("tee let %q through and exited with %d, want the server's answer and 3", out.Stdout, out.Code)
	}

	if got := rec.Revision(t); got != "2025-06-18" {
		t.Errorf("Revision() = %q, want what the server answered", got)
	}
	if got, want := rec.Methods(t), []string{"initialize", "notifications/initialized", "tools/call"}; !slices.Equal(got, want) {
		t.Errorf("Methods() = %v, want %v", got, want)
	}
	call := rec.Called(t, "add")
	if call.Answered {
		t.Errorf("Called(add) = %+v, want no answer", call)
	}
	if end := rec.Ending(t, call.PID); !end.Exited || end.Code != 3 || len(end.Signals) > 0 {
		t.Errorf("Ending() = %+v, want exit 3", end)
	}
}

func TestRecord_signal(t *testing.T) {
	dir := t.TempDir()
	if err := gobuild(Dir(), filepath.Join(dir, "tee"), "./tee"); err != nil {
		t.Fatal(err)
	}
	rec := &Record{path: filepath.Join(dir, "log")}
	cmd := Command(t.Context(), dir, filepath.Join(dir, "tee"), rec.path, "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The line in the record says that the tee is up and listens for signals.
	if _, err := in.Write([]byte("{\"method\":\"ping\"}\n")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; {
		if b, err := os.ReadFile(rec.path); err == nil && len(b) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing recorded in 10 s")
		}
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	got := rec.Ending(t, cmd.Process.Pid)
	if !slices.Equal(got.Signals, []string{"interrupt"}) || !got.Exited || got.Code != -1 {
		t.Errorf("Ending() = %+v, want an interrupt and a death by it", got)
	}
}
