package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is the example, built once.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "add")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "add")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

const (
	meta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	signed = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"add","version":"1.0.0"}}`
)

// A step is a line to the server, and the answer to it; "" is none.
type step struct{ send, want string }

// conversation is an old client's handshake and calls, with a new client's
// requests in between.
func conversation(revision string) []step {
	answer := `"content":[{"type":"text","text":"{\"result\":5}"}]`
	if revision >= "2025-06-18" {
		answer += `,"structuredContent":{"result":5}`
	}
	if revision < "2025-11-25" {
		answer += `,"isError":false`
	}
	return []step{
		{
			`{"jsonrpc":"2.0","id":"new-1","method":"tools/call","params":{"name":"add","arguments":{"a":40,"b":2},` + meta + `}}`,
			`{"jsonrpc":"2.0","id":"new-1","result":{"resultType":"complete","content":[{"type":"text","text":"{\"result\":42}"}],"structuredContent":{"result":42},` + signed + `}}`,
		},
		{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + revision + `","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"add","version":"1.0.0"}}}`,
		},
		{
			`{"jsonrpc":"2.0","id":"new-2","method":"server/discover","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":"new-2","result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
				`"capabilities":{"logging":{},"tools":{"listChanged":true}},"ttlMs":60000,"cacheScope":"public",` + signed + `}}`,
		},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`},
		{
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}`,
			`{"jsonrpc":"2.0","id":3,"result":{` + answer + `}}`,
		},
		{
			`{"jsonrpc":"2.0","id":"new-3","method":"ping","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":"new-3","error":{"code":-32601,"message":"Method not found: ping"}}`,
		},
	}
}

// start runs the program. It is killed with the test, if it has not ended.
func start(t *testing.T) (*exec.Cmd, io.WriteCloser, *bufio.Reader, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.WaitDelay = 5 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, bufio.NewReader(out), &stderr
}

func TestAdd_oldAndNewClientsOnOnePipe(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		steps := conversation(revision)
		t.Run(revision+" at once", func(t *testing.T) {
			cmd, in, out, stderr := start(t)
			var all strings.Builder
			want := map[string]bool{}
			for _, s := range steps {
				all.WriteString(s.send + "\n")
				if s.want != "" {
					want[s.want] = true
				}
			}
			if _, err := io.WriteString(in, all.String()); err != nil {
				t.Fatal(err)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(got)) {
				if line = strings.TrimSuffix(line, "\n"); !want[line] {
					t.Errorf("unexpected %s", line)
				}
				delete(want, line)
			}
			for line := range want {
				t.Errorf("missing %s", line)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("after the end of input: %v, stderr %q; want exit 0", err, stderr)
			}
		})
		t.Run(revision+" one by one", func(t *testing.T) {
			cmd, in, out, stderr := start(t)
			for _, s := range steps {
				if _, err := io.WriteString(in, s.send+"\n"); err != nil {
					t.Fatal(err)
				}
				if s.want == "" {
					continue
				}
				got, err := out.ReadString('\n')
				if err != nil || got != s.want+"\n" {
					t.Fatalf("sent %s\n got %s, %v\nwant %s", s.send, got, err, s.want)
				}
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
				t.Errorf("at the end: %q, %v; want nothing", rest, err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("after the end of input: %v, stderr %q; want exit 0", err, stderr)
			}
		})
	}
}

// Nobody reads the answers any more: the program ends with a word and a status,
// not by a signal.
func TestAdd_closedStdout(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), program)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []io.Closer{w, r} {
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(in, conversation("2025-11-25")[0].send+"\n"); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code <= 0 || stderr.Len() == 0 {
		t.Errorf("exit %d (%v), stderr %q; want a status above 0 and a word why", code, err, &stderr)
	}
}
