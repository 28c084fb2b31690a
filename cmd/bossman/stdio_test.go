package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/server"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/telemetry"
)

// A team is a server in this process, with a board of the projects web and api that have
// tasks, a claim and a question.
type team struct {
	board *board.Board
	keys  *auth.Authenticator
	url   string
}

func newTeam(t *testing.T) *team {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "board.db"), nil)
	must(t, err)
	t.Cleanup(func() { store.Close() })
	b := board.New(store, nil)
	actor := board.Actor{Principal: "key:x", Owner: "key:x"}
	for _, slug := range []string{"web", "api"} {
		must(t, b.SetProject(ctx, board.Project{Slug: slug, Policy: board.PolicyTrust}))
		_, _, err := b.Create(ctx, actor, board.NewTask{Project: slug, Title: "One"}, "")
		must(t, err)
		h, err := b.Next(ctx, actor, board.Wish{Projects: []string{slug}, Absent: true})
		must(t, err)
		_, err = b.Ask(ctx, actor, board.NewQuestion{Claim: h.Claim.Handle, Text: "Which?", Blocking: new(false)})
		must(t, err)
	}
	log := slog.New(slog.DiscardHandler)
	tel, err := telemetry.New(&telemetry.Options{Logger: log})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s, err := server.New(ctx, b, store, l, &server.Options{Logger: log, Telemetry: tel})
	must(t, err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return &team{b, auth.New(store, nil), "http://" + l.Addr().String()}
}

// key creates a key.
func (s *team) key(t *testing.T, project string, role auth.Role, person bool) string {
	t.Helper()
	_, secret, err := s.keys.CreateKey(t.Context(), auth.NewKey{Owner: "ada", Person: person, Project: project, Role: role})
	must(t, err)
	return secret.Reveal()
}

// contents is all that is in a project.
func (s *team) contents(t *testing.T, project string) string {
	t.Helper()
	ctx := t.Context()
	tasks, err := s.board.List(ctx, board.TaskFilter{Projects: []string{project}})
	must(t, err)
	events, err := s.board.Feed(ctx, []string{project}, "", 1000)
	must(t, err)
	questions, err := s.board.Questions(ctx, board.QuestionFilter{Projects: []string{project}})
	must(t, err)
	claims, err := s.board.Claims(ctx, board.ClaimFilter{Project: project})
	must(t, err)
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v", tasks, events, questions, claims)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAuthorization_stdio: the process for one agent has the tools and prompts of its
// role, in every revision: of a board in a file the role is given by --role, of a
// server's board by the key as well.
func TestAuthorization_stdio(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
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
		key := s.key(t, "web", role, role == auth.Lead)
		all = append(all,
			process{[]string{"--board", s.url}, []string{"BOSSMAN_KEY=" + key}, min(role, auth.Lead), true}, // lead is the default role
			process{[]string{"--board", s.url, "--role", "worker"}, []string{"BOSSMAN_KEY=" + key}, min(role, auth.Worker), true},
		)
	}
	for role := auth.Viewer; role <= auth.Worker; role++ { // in all projects, and none is named
		all = append(all, process{[]string{"--board", s.url}, []string{"BOSSMAN_KEY=" + s.key(t, auth.EveryProject, role, false)}, role, true})
	}
	before := s.contents(t, "web")
	revisions := mcp.Revisions()
	for i, p := range all {
		tried := revisions
		if p.remote {
			tried = revisions[i%len(revisions):][:1]
		}
		for _, revision := range tried {
			tryProcess(t, p.args, p.env, p.role, revision, p.remote)
		}
	}
	if after := s.contents(t, "web"); after != before {
		t.Errorf("the project was changed:\n%s\nwas\n%s", after, before)
	}
}

// shownTo are the tools and prompts of the table of verbs, and whether a role is shown them.
func shownTo(role auth.Role) map[string]bool {
	all := map[string]bool{}
	for _, v := range access.Verbs() {
		if v.Tool != "" {
			all["tool "+v.Tool] = v.Shows(role)
		}
	}
	for prompt, v := range map[string]*access.Verb{"work": access.Next, "plan": access.CreatePlan, "review": access.Review} {
		all["prompt "+prompt] = v.Shows(role)
	}
	return all
}

func tryProcess(t *testing.T, args, env []string, role auth.Role, revision mcp.Revision, remote bool) {
	t.Helper()
	home := "HOME=" + t.TempDir()
	cmd := &mcp.Command{Args: append([]string{"bossman", "mcp"}, args...), Env: append(env, home, "XDG_CONFIG_HOME="), Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	c, err := cmd.Connect(t.Context(), &mcp.ClientOptions{Revision: revision})
	if err != nil {
		t.Fatalf("bossman mcp %v: %v", args, err)
	}
	defer c.Close()
	if c.Revision() != revision {
		t.Errorf("the revision is %v, want %v", c.Revision(), revision)
	}
	listed := map[string]bool{}
	for x, err := range c.Tools(t.Context()) {
		must(t, err)
		listed["tool "+x.Name] = true
	}
	for x, err := range c.Prompts(t.Context()) {
		must(t, err)
		listed["prompt "+x.Name] = true
	}
	for thing, allowed := range shownTo(role) {
		kind, name, _ := strings.Cut(thing, " ")
		if listed[thing] != allowed {
			t.Errorf("%v, %v: %s is listed: %v, want %v", revision, args, thing, listed[thing], allowed)
		}
		if kind != "tool" || allowed {
			continue
		}
		_, got := c.CallMethod(t.Context(), "tools/call", map[string]any{"name": name, "arguments": map[string]any{"task": "web-1"}}, nil)
		_, none := c.CallMethod(t.Context(), "tools/call", map[string]any{"name": "nosuch", "arguments": map[string]any{"task": "web-1"}}, nil)
		if a, b := strings.ReplaceAll(fmt.Sprint(got), name, "X"), strings.ReplaceAll(fmt.Sprint(none), "nosuch", "X"); got == nil || a != b {
			t.Errorf("%v, %v: %s = %v, and what does not exist %v", revision, args, thing, got, none)
		}
	}
	if remote { // the methods of a board are between its server and this process
		if _, err := c.CallMethod(t.Context(), "bossman/whoami", nil, nil); err == nil {
			t.Errorf("%v: bossman/whoami is there", args)
		}
	}
	if role < auth.Worker { // the methods without a handshake
		for _, method := range []string{"getNextTask", "askQuestion"} {
			if out, err := c.CallMethod(t.Context(), method, map[string]any{"question": "x"}, nil); err == nil {
				t.Errorf("%v, %v: %s = %s", revision, args, method, out)
			}
		}
	}
}
