package agents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"syscall"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// An app is Codex's app server: Codex without its screen, driven by JSON-RPC on
// its stdin and stdout. It calls tools without a model.
type app struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr *bytes.Buffer
	next   int
}

// startApp starts it in a folder; whatever it started dies with the test or after
// patience.
func startApp(t *testing.T, home, dir string, argv ...string) *app {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	a := &app{cmd: harness.Command(ctx, home, argv...), stderr: new(bytes.Buffer)}
	a.cmd.Dir = dir
	a.cmd.Stderr = a.stderr
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.out = bufio.NewScanner(stdout)
	a.out.Buffer(nil, 64<<20)
	t.Cleanup(func() {
		a.end()
		cancel()
		if t.Failed() {
			t.Logf("codex: stderr ends\n%s", harness.Tail(a.stderr.String(), 20))
		}
	})
	return a
}

// call asks and waits for the answer, letting notifications go by.
func (a *app) call(t *testing.T, method string, params, result any) {
	t.Helper()
	a.next++
	a.send(t, map[string]any{"jsonrpc": "2.0", "id": a.next, "method": method, "params": params})
	for a.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(a.out.Bytes(), &m); err != nil {
			t.Fatalf("codex wrote %q: %v", a.out.Text(), err)
		}
		var id int
		if m.Method != "" || json.Unmarshal(m.ID, &id) != nil || id != a.next {
			continue
		}
		if m.Error != nil {
			t.Fatalf("%s: %s", method, m.Error)
		}
		if result == nil {
			return
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			t.Fatalf("%s: %v in %s", method, err, m.Result)
		}
		return
	}
	t.Fatalf("codex ended before it answered %s: %v", method, a.out.Err())
}

func (a *app) notify(t *testing.T, method string) {
	t.Helper()
	a.send(t, map[string]any{"jsonrpc": "2.0", "method": method})
}

func (a *app) send(t *testing.T, message any) {
	t.Helper()
	b, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.in.Write(append(b, '\n')); err != nil {
		t.Fatalf("codex does not read: %v", err)
	}
}

// end kills the process group and waits. It may be called twice.
func (a *app) end() {
	_ = a.in.Close()
	_ = syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL)
	_ = a.cmd.Wait()
}
