package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp"
)

// TestAuthorization_stdio: the process for one agent has the tools and prompts of its
// role, in every revision: of a board in a file the role is given by --role, of a
// server's board by the key as well.
func TestAuthorization_stdio(t *testing.T) {
	s := newSite(t, httpOptions{})
	furnish(t, s)
	file := filepath.Join(t.TempDir(), "board.db")
	type process struct {
		args   []string
		env    []string
		role   auth.Role
		remote bool
	}
	var all []process
	for role := auth.Viewer; role <= auth.Lead; role++ {
		all = append(all, process{args: []string{"--board", file, "--project", "web", "--role", role.String()}, role: role})
	}
	for role := auth.Viewer; role <= auth.Admin; role++ {
		key := s.key("web", role, role == auth.Lead)
		all = append(all,
			process{[]string{"--board", s.url}, []string{"BOSSMAN_KEY=" + key}, min(role, auth.Lead), true}, // whose usual role is a lead
			process{[]string{"--board", s.url, "--role", "worker"}, []string{"BOSSMAN_KEY=" + key}, min(role, auth.Worker), true},
		)
	}
	for role := auth.Viewer; role <= auth.Worker; role++ { // in all projects, and none is named
		all = append(all, process{[]string{"--board", s.url}, []string{"BOSSMAN_KEY=" + s.key(auth.EveryProject, role, false)}, role, true})
	}
	before := contents(t, s, "web")
	for i, p := range all {
		revision := revisions[i%len(revisions)]
		if !p.remote { // every one
			for _, revision := range revisions[1:] {
				tryProcess(t, p.args, p.env, p.role, revision, false)
			}
			revision = revisions[0]
		}
		tryProcess(t, p.args, p.env, p.role, revision, p.remote)
	}
	if after := contents(t, s, "web"); after != before {
		t.Errorf("the project was touched:\n%s\nwas\n%s", after, before)
	}
}

func tryProcess(t *testing.T, args, env []string, role auth.Role, revision string, remote bool) {
	t.Helper()
	r, ok := mcp.ParseRevision(revision)
	if !ok {
		t.Fatalf("revision %s", revision)
	}
	home := "HOME=" + t.TempDir()
	cmd := &mcp.Command{Args: append([]string{"bossman", "mcp"}, args...), Env: append(env, home, "XDG_CONFIG_HOME="), Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	c, err := cmd.Connect(t.Context(), &mcp.ClientOptions{Revision: r})
	if err != nil {
		t.Fatalf("bossman mcp %v: %v", args, err)
	}
	defer c.Close()
	if c.Revision() != r {
		t.Errorf("the revision is %v, want %v", c.Revision(), r)
	}
	listed := map[string]bool{}
	for x, err := range c.Tools(t.Context()) {
		check(t, err)
		listed["tool "+x.Name] = true
	}
	for x, err := range c.Prompts(t.Context()) {
		check(t, err)
		listed["prompt "+x.Name] = true
	}
	for thing := range roles {
		kind, name, _ := strings.Cut(thing, " ")
		if kind != "tool" && kind != "prompt" {
			continue
		}
		allowed := may(t, thing, role, false)
		if listed[thing] != allowed {
			t.Errorf("%s, %v: %s is listed: %v, want %v", revision, args, thing, listed[thing], allowed)
		}
		if kind != "tool" || allowed {
			continue
		}
		_, got := c.Ask(t.Context(), "tools/call", map[string]any{"name": name, "arguments": map[string]any{"task": "web-1"}})
		_, none := c.Ask(t.Context(), "tools/call", map[string]any{"name": "nosuch", "arguments": map[string]any{"task": "web-1"}})
		if a, b := strings.ReplaceAll(fmt.Sprint(got), name, "X"), strings.ReplaceAll(fmt.Sprint(none), "nosuch", "X"); got == nil || a != b {
			t.Errorf("%s, %v: %s = %v, and what does not exist %v", revision, args, thing, got, none)
		}
	}
	if remote { // the methods of a board are between its server and this process
		if _, err := c.Ask(t.Context(), "bossman/whoami", nil); err == nil {
			t.Errorf("%v: bossman/whoami is there", args)
		}
	}
	if role < auth.Worker { // the methods without a handshake
		for _, method := range []string{"getNextTask", "askQuestion"} {
			if out, err := c.Ask(t.Context(), method, map[string]any{"question": "x"}); err == nil {
				t.Errorf("%s, %v: %s = %s", revision, args, method, out)
			}
		}
	}
}
