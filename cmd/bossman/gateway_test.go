package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// A desk is a user's machine with a board: in a file, or on a server.
type desk struct {
	t     *testing.T
	dir   string
	env   []string
	board string
	key   string // for the board's server
}

// fixtureUpstreams are the sections of other servers that a desk has.
const fixtureUpstreams = `
[upstream.%[1]s]
command = ["fixture"]
share = "%[2]s"
idle = "2s"
[upstream.%[1]s.tools]
allow = ["echo", "env", "pid", "hang", "ask", "large", "refuse"]
read = ["echo"]
`

// newDesk returns a machine whose user has a server named fix behind the gateway.
func newDesk(t *testing.T, lease string) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	d.env = []string{"HOME=" + d.dir, "XDG_CONFIG_HOME=" + filepath.Join(d.dir, ".config"), "XDG_STATE_HOME=" + filepath.Join(d.dir, "state"), "BOSSMAN_LEASE=" + lease, "BOSSMAN_PERSON=1"}
	d.board = filepath.Join(d.dir, "board.db")
	d.configure(fmt.Sprintf(fixtureUpstreams, "fix", "own"))
	return d
}

func (d *desk) configure(text string) {
	d.t.Helper()
	must(d.t, os.MkdirAll(filepath.Join(d.dir, ".config", "bossman"), 0o700))
	must(d.t, os.WriteFile(filepath.Join(d.dir, ".config", "bossman", "config.toml"), []byte(text), 0o600))
}

// bossman runs a command to its end.
func (d *desk) bossman(args ...string) string {
	d.t.Helper()
	cmd := exec.Command("bossman", append(args, "--board", d.board, "--project", "shop")...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), d.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("bossman %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// serve serves a board of this machine in the background, with a server named common behind the gateway that
// everybody shares, and returns a laptop that uses it.
func (d *desk) serve() *desk {
	d.t.Helper()
	d.configure(fmt.Sprintf(fixtureUpstreams, "common", "shared") + fmt.Sprintf(fixtureUpstreams, "fix", "shared"))
	cmd := exec.Command("bossman", "serve", "--http", "127.0.0.1:0", "--board", d.board, "--project", "shop")
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), d.env...)
	stderr, err := cmd.StderrPipe()
	must(d.t, err)
	must(d.t, cmd.Start())
	d.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	key, url := "", ""
	lines := bufio.NewScanner(stderr)
	for (key == "" || url == "") && lines.Scan() {
		var line struct {
			Address string `json:"address"`
		}
		if found := regexp.MustCompile(`bossman_local_[a-z0-9]+`).FindString(lines.Text()); found != "" {
			key = found
		} else if json.Unmarshal(lines.Bytes(), &line) == nil && line.Address != "" {
			url = "http://" + line.Address
		}
	}
	if url == "" || key == "" {
		d.t.Fatal("the server does not say where it is")
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	laptop := newDesk(d.t, "1h")
	laptop.board, laptop.key = url, key
	laptop.env = append(laptop.env, "BOSSMAN_KEY="+key)
	return laptop
}

// An agentClient is an agent with bossman mcp.
type agentClient struct {
	*mcp.Client
	t *testing.T
}

func (d *desk) agent(args ...string) *agentClient {
	d.t.Helper()
	cmd := &mcp.Command{
		Args: append([]string{"bossman", "mcp", "--board", d.board, "--project", "shop", "--role", "worker"}, args...), Env: d.env, Dir: d.dir, Logger: slog.New(slog.DiscardHandler),
	}
	c, err := cmd.Connect(d.t.Context(), &mcp.ClientOptions{Info: mcp.Implementation{Name: "agent", Version: "1"}})
	must(d.t, err)
	d.t.Cleanup(func() { c.Close() })
	return &agentClient{c, d.t}
}

// direct is an agent that uses the server's board over HTTP.
func (d *desk) direct() *agentClient {
	d.t.Helper()
	c, err := streamable.Connect(d.t.Context(), d.board+"/mcp", bearing(auth.Secret(d.key)), &mcp.ClientOptions{Info: mcp.Implementation{Name: "agent", Version: "1"}})
	must(d.t, err)
	d.t.Cleanup(func() { c.Close() })
	return &agentClient{c, d.t}
}

// call calls a tool, and returns its text.
func (c *agentClient) call(tool string, args map[string]any) (string, bool) {
	c.t.Helper()
	res, err := c.Call(context.WithoutCancel(c.t.Context()), tool, args, nil)
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	var text []string
	for _, part := range res.Content {
		text = append(text, part.Text)
	}
	return strings.Join(text, "\n"), !res.IsError
}

// upstream calls a tool of another server, when that is listed.
func (c *agentClient) upstream(tool string, more map[string]any) (string, bool) {
	c.t.Helper()
	args := map[string]any{"name": tool}
	for k, v := range more {
		args[k] = v
	}
	var text string
	var ok bool
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if text, ok = c.call("call_tool", args); !strings.Contains(text, "there is no tool") {
			break
		}
	}
	return text, ok
}

var claimText = regexp.MustCompile(`[a-z0-9]+-\d+/\d+\.[a-z0-9]{5}`)

// take takes a task.
func (c *agentClient) take() string {
	c.t.Helper()
	text, _ := c.call("get_next_task", map[string]any{})
	claim := claimText.FindString(text)
	if claim == "" {
		c.t.Fatalf("get_next_task = %s", text)
	}
	return claim
}

// An agent over HTTP that makes only calls of other servers keeps its task for three leases, and one that makes none loses it.
func TestGateway_lease(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	for _, tool := range []string{"", "common__echo", "common__env"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, lease.String())
			d.bossman("task", "add", "One")
			d = d.serve()
			agent := d.direct()
			claim := agent.take()
			for end := time.Now().Add(3*lease + time.Second); time.Now().Before(end); time.Sleep(lease / 5) {
				if tool == "" {
					continue
				}
				if text, ok := agent.upstream(tool, nil); !ok {
					t.Fatalf("%s = %s", tool, text)
				}
			}
			text, _ := d.agent().call("get_next_task", map[string]any{})
			if taken := claimText.MatchString(text); taken != (tool == "") {
				t.Errorf("another agent's get_next_task = %s", text)
			}
			if tool == "" {
				if text, ok := agent.upstream("common__env", map[string]any{"claim": claim}); ok || !strings.Contains(text, "was not sent") {
					t.Errorf("a call under a lost claim = %s", text)
				}
			}
		})
	}
}

// An agent whose task was taken away makes no further calls, whether the server is its own or the board's, and another one does.
func TestGateway_lost(t *testing.T) {
	t.Parallel()
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served=%v", served), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "1h")
			d.bossman("task", "add", "One")
			tools := []string{"fix__env"}
			if served {
				d = d.serve()
				tools = append(tools, "common__env")
			}
			first, second := d.agent(), d.agent()
			claim := first.take()
			for _, tool := range tools {
				if text, ok := first.upstream(tool, nil); !ok {
					t.Errorf("%s = %s", tool, text)
				}
				if text, ok := second.upstream(tool, nil); ok || !strings.Contains(text, "you hold no task") {
					t.Errorf("%s without a claim = %s", tool, text)
				}
			}
			d.bossman("task", "release", "shop-1", "--reason", "enough")
			text, _ := second.call("get_next_task", map[string]any{})
			if !strings.Contains(text, "shop-1/2.") || !strings.Contains(text, " "+tools[0]+" ") {
				t.Fatalf("get_next_task of the next worker = %s", text)
			}
			for _, tool := range tools {
				if text, ok := first.upstream(tool, map[string]any{"claim": claim}); ok || !strings.Contains(text, "was not sent") || !strings.Contains(text, "Stop working") {
					t.Errorf("%s under a lost claim = %s", tool, text)
				}
				if text, ok := second.upstream(tool, nil); !ok {
					t.Errorf("%s of the next worker = %s", tool, text)
				}
			}
		})
	}
}

// Eight agents of a server's board share one process of the server's upstream. Their own run for each, while they are used.
func TestGateway_processes(t *testing.T) {
	t.Parallel()
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served=%v", served), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "1h")
			for range 8 {
				d.bossman("task", "add", "One")
			}
			if served {
				d = d.serve()
			}
			pids := map[string]map[string]bool{"fix": {}, "common": {}}
			for n := range 8 {
				agent := d.agent()
				agent.take()
				for name := range pids {
					if name == "fix" && n >= 2 || name == "common" && !served {
						continue // of eight agents, two use their own
					}
					pid, ok := agent.upstream(name+"__pid", nil)
					if !ok {
						t.Fatalf("%s__pid = %s", name, pid)
					}
					pids[name][pid] = true
				}
			}
			if len(pids["fix"]) != 2 || len(pids["common"]) > 1 || served != (len(pids["common"]) == 1) {
				t.Errorf("processes = %v", pids)
			}
			for pid := range pids["fix"] { // idle is 2s
				for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
					if _, err := os.Stat("/proc/" + pid); err != nil {
						break
					}
					if time.Now().After(end) {
						t.Errorf("the process %s still runs", pid)
						break
					}
				}
			}
		})
	}
}

// A call that runs is cancelled when its claim ends, and says so; a large result is kept, and read by lines. Both hold
// for an agent's own servers and those of the board's server.
func TestGateway_running(t *testing.T) {
	t.Parallel()
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served=%v", served), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "1h")
			d.bossman("task", "add", "One")
			server, names := d, []string{"fix"}
			if served {
				d = d.serve()
				names = append(names, "common")
			}
			for _, name := range names {
				agent := d.agent()
				agent.take()
				text, ok := agent.upstream(name+"__large", map[string]any{"step": name})
				id := regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(text)
				if !ok || len(text) > 8<<10 || !strings.HasPrefix(text, "line 1 of") || id == nil {
					t.Fatalf("%s__large = %.9000s", name, text)
				}
				again, _ := agent.upstream(name+"__large", map[string]any{"step": name})
				if again != text {
					t.Errorf("the same step = %.9000s", again)
				}
				as := name + "__large"
				if served && name == "fix" { // the laptop's own server
					as = "laptop/" + as
				}
				kept := regexp.MustCompile(`^\[Kept by "(local|key:local)" for shop-1 as the result of "` + as + `"\. Its lines are quoted\.\]\n`)
				page, ok := agent.call("call_read_tool", map[string]any{"name": "artifact", "arguments": map[string]any{"id": json.Number(id[1]), "line": 15_000, "lines": 2}})
				if !ok || !strings.HasPrefix(kept.ReplaceAllString(page, ""), "15000> line 15000 of a long text\n15001> ") || !strings.Contains(page, `"line":15002`) {
					t.Errorf("artifact = %.500s", page)
				}
				page, _ = agent.call("call_read_tool", map[string]any{"name": "artifact", "arguments": map[string]any{"id": json.Number(id[1]), "find": "LINE 12345 "}})
				if kept.ReplaceAllString(page, "") != "12345> line 12345 of a long text\n[That is all.]" {
					t.Errorf("find = %.500s", page)
				}
				res, err := agent.Read(t.Context(), "bossman://artifacts/"+id[1]+"?line=20000", nil)
				if err != nil || kept.ReplaceAllString(res.Contents[0].Text, "") != "20000> line 20000 of a long text\n[That is all.]" {
					t.Errorf("the resource = %+v, %v", res, err)
				}
				time.AfterFunc(time.Second, func() { d.bossman("task", "release", "shop-1", "--reason", "enough") })
				begun := time.Now()
				if text, ok := agent.upstream(name+"__hang", nil); ok || !strings.Contains(text, "was cancelled: your claim shop-1/") || !strings.Contains(text, "outcome is unknown") {
					t.Errorf("%s__hang = %s", name, text)
				}
				if took := time.Since(begun); took > 20*time.Second {
					t.Errorf("%s__hang took %v", name, took)
				}
				if err := agent.Close(); err != nil {
					t.Error(err)
				}
				where := d
				if name == "common" {
					where = server
				}
				if log := where.bossman("gateway", "logs", name); !strings.Contains(log, "fixture was cancelled") {
					t.Errorf("%s was not cancelled: %s", name, log)
				}
			}
		})
	}
}

// What a server asks during a call goes to the inbox if the agent's client has no forms, and the answer to the server.
func TestGateway_asks(t *testing.T) {
	t.Parallel()
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served=%v", served), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "5s")
			d.bossman("task", "add", "One")
			names := []string{"fix"}
			if served {
				d = d.serve()
				names = append(names, "common")
			}
			agent := d.agent()
			agent.take()
			for n, name := range names {
				answers := []string{"name=Ada\nage=x\ncolour=r", "name=Ada\nage=36\ncolour=r"}
				done := make(chan string, 1)
				go func() {
					text, _ := agent.upstream(name+"__ask", nil)
					done <- text
				}()
				for i, answer := range answers {
					id := fmt.Sprintf("q-%d", 2*n+i+1)
					for end := time.Now().Add(20 * time.Second); !strings.Contains(d.bossman("inbox"), id); time.Sleep(100 * time.Millisecond) {
						if time.Now().After(end) {
							t.Fatalf("there is no %s: %s", id, d.bossman("inbox"))
						}
					}
					if text := d.bossman("inbox"); !strings.Contains(text, "The server "+name+" asks") || !strings.Contains(text, "Who are you?") {
						t.Errorf("inbox = %s", text)
					}
					time.Sleep(time.Duration(i) * 6 * time.Second) // longer than the lease
					d.bossman("answer", id, answer)
				}
				if text := <-done; text != `accept {"age":36,"colour":"r","name":"Ada","sure":true}` && text != `accept {"age":36,"colour":"r","name":"Ada"}` {
					t.Errorf("%s__ask = %s", name, text)
				}
			}
		})
	}
}

// The operator logs in once, and the gateway uses the token. Nothing of it is in what agents see.
func TestGateway_login(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	up := mcp.NewServer(mcp.Implementation{Name: "up", Version: "1"}, nil)
	mcp.AddTool(up, mcp.Tool{Name: "hello", Description: "Say hello."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) { return "hello", nil })
	t.Cleanup(func() { up.Close() })
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	h := streamable.NewHandler(up, nil)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q]}`, site.URL+"/mcp", is.URL)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || strings.Count(token, ".") != 2 {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, site.URL))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
	d := newDesk(t, "1h")
	d.configure(fmt.Sprintf("[upstream.up]\nurl = %q\nprivate = true\noauth = true\n[upstream.up.tools]\nread = [\"*\"]\n", site.URL+"/mcp"))
	if text := d.bossman("gateway", "list", "--start"); !strings.Contains(text, "bossman gateway login up") {
		t.Errorf("gateway list = %s", text)
	}
	cmd := exec.Command("bossman", "gateway", "login", "up")
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), d.env...)
	out, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address := regexp.MustCompile(`http://\S+/authorize\?\S+`).FindString(lines.Text()); address != "" {
			res, err := http.Get(address)
			must(t, err)
			_ = res.Body.Close()
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
	must(t, cmd.Wait())
	agent := d.agent()
	if text, ok := agent.upstream("up__hello", nil); !ok || text != "hello" {
		t.Errorf("up__hello = %s", text)
	}
}
