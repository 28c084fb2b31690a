// Package keys shows how the server of a team behaves as a whole: real processes,
// several of them on one PostgreSQL, with keys that end, a flood, and secrets that
// must not come out anywhere.
package keys

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

var bossman string // the program

func TestMain(m *testing.M) {
	if spec := os.Getenv(besiegerVariable); spec != "" {
		besieger(spec)
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bossman-team-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bossman = filepath.Join(dir, "bossman")
		build := exec.Command("go", "build", "-o", bossman, "./cmd/bossman")
		build.Dir = harness.Dir("..")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build ./cmd/bossman: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// A team is a database, and who works with it.
type team struct {
	t    *testing.T
	c    *pgtest.Cluster
	db   string // its name
	dsn  string
	home string
}

func newTeam(t *testing.T) *team {
	t.Helper()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	m := &team{t: t, c: c, db: db, dsn: c.DSNAs(pgtest.App, db), home: t.TempDir()}
	for _, slug := range []string{"web", "api"} {
		m.run("project", "create", slug, "--db", m.dsn, "--policy", "trust")
	}
	return m
}

// command is one of the program, in an environment of its own: no agent's, and without
// what this machine has set.
func (m *team) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bossman, args...)
	cmd.Dir = m.home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "XDG_CONFIG_HOME=" + filepath.Join(m.home, ".config")}
	return cmd
}

// run runs a command to its end and gives what it printed.
func (m *team) run(args ...string) string {
	m.t.Helper()
	cmd := m.command(m.t.Context(), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("bossman %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// key makes a key; what is given comes after the project.
func (m *team) key(project string, more ...string) string {
	m.t.Helper()
	return m.run(append([]string{"key", "create", "--db", m.dsn, "--project", project}, more...)...)
}

// A server is a running one.
type server struct {
	address string
	pid     int
	log     *logs
}

// logs keeps what a process writes.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var addressed = regexp.MustCompile(`"address":"([^"]+)"`)

// serve starts a server, which ends with the test.
func (m *team) serve(env []string, args ...string) *server {
	m.t.Helper()
	cmd := m.command(context.WithoutCancel(m.t.Context()), append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	s := &server{pid: cmd.Process.Pid, log: &logs{}}
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.log.add(lines.Text())
			if a := addressed.FindStringSubmatch(lines.Text()); a != nil && strings.Contains(lines.Text(), `"serving"`) {
				ready <- a[1]
			}
		}
		close(ready)
		ended <- cmd.Wait()
	}()
	if s.address = <-ready; s.address == "" {
		m.t.Fatalf("bossman serve ended: %v\n%s", <-ended, s.log)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				m.t.Errorf("bossman serve ended with %v\n%s", err, harness.Tail(s.log.String(), 2000))
			}
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			m.t.Error("bossman serve did not end")
		}
	})
	return s
}

const (
	newest = "2026-07-28"
	meta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newest + `","io.modelcontextprotocol/clientInfo":{"name":"team","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
)

// request makes one of the newest revision. Params is an object's members.
func (s *server) request(ctx context.Context, key, method, name, params string) *http.Request {
	if params != "" {
		params += ","
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + meta + `}}`
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.address+"/mcp", strings.NewReader(body))
	if err != nil {
		panic(err) // our own words
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", newest)
	r.Header.Set("Mcp-Method", method)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	r.Header.Set("X-Api-Token", key)
	return r
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}

// ask sends a request and gives the whole answer.
func (s *server) ask(ctx context.Context, key, method, name, params string) (int, string, error) {
	res, err := client.Do(s.request(ctx, key, method, name, params))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// tool calls a tool.
func (s *server) tool(ctx context.Context, key, name, args string) (int, string, error) {
	return s.ask(ctx, key, "tools/call", name, `"name":"`+name+`","arguments":`+args)
}
