package tools_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/tools"
)

var update = flag.Bool("update", false, "rewrite the answers in the conversations")

// TestConversations replays the conversations in testdata, in both eras. Each is a txtar
// file: a comment, then a file named conversation whose lines are
//
//	-> tool {…}       an agent calls a tool; -> b: tool {…} one on another connection
//	=> tool {…}       the same, and the result for programs is shown as well
//	<- …              what the model sees, line by line; <! if the call was refused
//	<= {…}            the result for programs
//	== action …       something that a person does; see fixture.do
//	.. 10m            time passes
//	# …               a comment
//
// Worker names and claims are random: the first to appear are $worker1 and $claim1. The
// comment may contain settings such as "role: worker".
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		for _, revision := range []mcp.Revision{mcp.LatestRevision, mcp.R20250326} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+revision.String(), func(t *testing.T) {
				if !*update {
					t.Parallel()
				}
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				head, conversation, ok := strings.Cut(string(b), "-- conversation --\n")
				if !ok {
					t.Fatalf("%s has no file named conversation", file)
				}
				lines := strings.Split(strings.TrimSuffix(conversation, "\n"), "\n")
				var got []string
				synctest.Test(t, func(t *testing.T) { got = play(t, head, lines, revision) })
				if t.Failed() {
					return
				}
				if *update {
					if err := os.WriteFile(file, []byte(head+"-- conversation --\n"+strings.Join(got, "\n")+"\n"), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				for i := range max(len(got), len(lines)) {
					if i >= len(got) || i >= len(lines) || got[i] != lines[i] {
						t.Fatalf("line %d:\n got %s\nwant %s", strings.Count(head, "\n")+2+i, line(got, i), line(lines, i))
					}
				}
			})
		}
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// A setup is how a server of the tests is set up: its options, and who calls it. The
// zero Role is a lead.
type setup struct {
	Role      auth.Role
	Project   string   // the default
	Projects  []string // all of them; nil: Project alone
	Piped     bool
	Who       func(context.Context, mcp.Principal) (*access.Caller, error) // in place of the above
	Where     func(context.Context) board.Where
	Session   string
	Quiet     bool
	Missing   error
	Asked     func(board.Question)
	Inspector tools.Inspector
	Keep      func(ctx context.Context, at board.Where, tree, summary string) (board.Where, board.Evidence, error)
}

// register adds the tools of a board to a server.
func register(s *mcp.Server, b access.Board, o setup) *tools.Tools {
	projects := o.Projects
	if projects == nil && o.Project != "" {
		projects = []string{o.Project}
	}
	c := access.Local(cmp.Or(o.Role, auth.Lead), projects...)
	c.Project = o.Project
	to := &tools.Options{Where: o.Where, Session: o.Session, Quiet: o.Quiet, Asked: o.Asked, Inspector: o.Inspector, Keep: o.Keep}
	if o.Missing != nil {
		b = nil
		to.Open = func(context.Context) (access.Board, *tools.Options, error) { return nil, nil, o.Missing }
	}
	if o.Piped {
		to.Pipe = c
	}
	if o.Who != nil {
		s.Use(tools.Authorize(o.Who))
	} else {
		s.Use(tools.AuthorizeAs(c))
	}
	return tools.Register(s, b, to)
}

// A fixture is a board with agents connected to it.
type fixture struct {
	t        *testing.T
	b        *board.Board
	o        setup
	watched  access.Board  // if not nil, the board that watch reads
	hold     chan struct{} // if not nil, what is watched is published once this is closed
	revision mcp.Revision
	agents   map[string]*agent
	names    map[string]string // random value → $name
	values   map[string]string
	counts   map[string]int
	owners   map[string]string // worker → the agent that it belongs to
	claims   map[string]string // claim → worker
}

// An agent is a client with a server of its own, like a process on a pipe.
type agent struct {
	client *mcp.Client
	server *mcp.Server
	tools  *tools.Tools
	stop   func()
}

// newFixture creates a board in a temporary file.
func newFixture(t *testing.T, p board.Project, o setup, revision mcp.Revision) *fixture {
	t.Helper()
	return newFixtureEvery(t, p, o, revision, 5*time.Second)
}

// newFixtureEvery is newFixture with another polling interval. Tests in which hours pass
// poll rarely, because each poll is slow under the race detector.
func newFixtureEvery(t *testing.T, p board.Project, o setup, revision mcp.Revision, pause time.Duration) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "board.db")
	if err := os.WriteFile(path, emptyBoard(t), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), path, &sqlite.Options{Poll: pause})
	if err != nil {
		t.Fatal(err)
	}
	b := board.New(store, &board.Options{Sweep: pause})
	if err := b.SetProject(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = b.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if o.Project == "" {
		o.Project = p.Slug
	}
	return &fixture{
		t: t, b: b, o: o, revision: revision, agents: map[string]*agent{},
		names: map[string]string{}, values: map[string]string{}, counts: map[string]int{},
		owners: map[string]string{}, claims: map[string]string{},
	}
}

var emptyFile struct {
	sync.Mutex
	file []byte
}

// emptyBoard returns the file of an empty board. It is created once, because that is slow
// under the race detector, and inside a synctest bubble, so that its clock is not ahead of
// the tests.
func emptyBoard(t *testing.T) []byte {
	t.Helper()
	emptyFile.Lock()
	defer emptyFile.Unlock()
	if emptyFile.file != nil {
		return emptyFile.file
	}
	path := filepath.Join(t.TempDir(), "board.db")
	store, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := board.New(store, nil).SetProject(t.Context(), board.Project{Slug: "web"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if emptyFile.file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return emptyFile.file
}

// connect starts a server for the board and a client connected to it.
func (s *fixture) connect(o setup, revision mcp.Revision, co *mcp.ClientOptions) *agent {
	s.t.Helper()
	a := &agent{}
	a.server = mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, &mcp.ServerOptions{
		Instructions: tools.Instructions(), Visible: tools.Visible,
		Observer: mcp.Observer{Panicked: func(v any, stack []byte) { s.t.Errorf("panic: %v\n%s", v, stack) }},
		Complete: func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
			return a.tools.Complete(ctx, c, p)
		},
	})
	a.tools = register(a.server, s.b, o)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.tools.Run(ctx) })
	a.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		a.server.Close()
	})
	s.t.Cleanup(a.stop) // runs after the client has disconnected
	options := &mcptest.Options{Revision: revision}
	if co != nil {
		options.Client = *co
	}
	a.client = mcptest.Connect(s.t, a.server, options)
	return a
}

func (s *fixture) agent(name string) *agent {
	if a := s.agents[name]; a != nil {
		return a
	}
	a := s.connect(s.o, s.revision, nil)
	s.agents[name] = a
	return a
}

// play replays a conversation and returns it with the actual answers.
func play(t *testing.T, head string, lines []string, revision mcp.Revision) (out []string) {
	p := board.Project{Slug: "web", Skills: []string{"go", "gpu"}}
	o := setup{Piped: true}
	for l := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(l), ": ")
		switch key {
		case "role":
			o.Role, _ = auth.ParseRole(value)
		case "projects":
			o.Projects = strings.Fields(value)
			o.Project = "-"
		case "policy":
			p.Policy = board.Policy(value)
		case "piped":
			o.Piped = value == "true"
		case "quiet":
			o.Quiet = value == "true"
		case "branch":
			o.Where = func(context.Context) board.Where {
				return board.Where{Branch: value, Head: "3f2c1ab99", Uncommitted: 2}
			}
		case "dir":
			o.Where = func(context.Context) board.Where {
				return board.Where{Host: "h", Dir: value, Branch: "main", Head: "3f2c1ab99"}
			}
		case "missing":
			o.Missing = fmt.Errorf("%s", value)
		}
	}
	if !o.Piped {
		role := cmp.Or(o.Role, auth.Lead)
		roles := map[string]auth.Role{"web": role}
		for _, slug := range o.Projects {
			roles[slug] = role
		}
		o.Who = func(context.Context, mcp.Principal) (*access.Caller, error) {
			return &access.Caller{Actor: board.Actor{Principal: "key", Owner: "key-1"}, Role: role, Roles: roles}, nil
		}
	}
	s := newFixture(t, p, o, revision)
	if o.Projects != nil {
		s.o.Project = "-"
		for _, slug := range o.Projects {
			if err := s.b.SetProject(t.Context(), board.Project{Slug: slug}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, l := range lines {
		word, rest, _ := strings.Cut(l, " ")
		switch word {
		case "<-", "<!", "<=":
			continue
		}
		out = append(out, l)
		switch word {
		case "->", "=>":
			out = append(out, s.call(rest, word == "=>")...)
		case "..":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
		case "==":
			out = append(out, s.do(strings.Fields(s.unmask(rest)))...)
		case "", "#":
		default:
			t.Fatalf("line %d: %q", i, l)
		}
		synctest.Wait()
	}
	return out
}

// call calls a tool and returns the lines of its answer.
func (s *fixture) call(rest string, programs bool) (out []string) {
	name := "a"
	if who, more, ok := strings.Cut(rest, ": "); ok && !strings.ContainsAny(who, " {") {
		name, rest = who, more
	}
	tool, args, _ := strings.Cut(rest, " ")
	if args == "" {
		args = "{}"
	}
	res, err := s.agent(name).client.Call(s.t.Context(), tool, json.RawMessage(s.unmask(args)), nil)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && s.agent(name).client.Revision() < mcp.R20251125 && strings.HasPrefix(e.Message, "Refused: ") {
		res, err = &mcp.ToolResult{Content: []mcp.Content{mcp.Text(e.Message)}, IsError: true}, nil // invalid arguments
	}
	if err != nil {
		return []string{"<! " + s.mask(err.Error())}
	}
	if res.StructuredContent != nil {
		s.t.Errorf("%s answers with structured content", tool)
	}
	s.learn(res, name)
	s.checkNames(name, tool, s.unmask(args), res)
	mark := "<-"
	if res.IsError {
		mark = "<!"
	}
	for _, c := range res.Content {
		for l := range strings.Lines(c.Text) {
			out = append(out, strings.TrimRight(mark+" "+s.mask(strings.TrimSuffix(l, "\n")), " "))
		}
	}
	if programs {
		b, err := json.Marshal(res.Meta[tools.ResultKey])
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, "<= "+s.mask(string(b)))
	}
	return out
}

var handle = regexp.MustCompile(`[a-z][a-z0-9]*-\d+/(?:\d+|review)\.[a-z2-9]{5}`)

// learn names the random values in a result.
func (s *fixture) learn(res *mcp.ToolResult, agent string) {
	meta, _ := res.Meta[tools.ResultKey].(map[string]any)
	claims, _ := meta["held"].([]any)
	if c, ok := meta["claim"]; ok {
		claims = append(claims, c)
	}
	for _, c := range claims {
		if m, ok := c.(map[string]any); ok {
			worker, claim := m["worker"].(string), m["claim"].(string)
			s.name("worker", worker)
			s.name("claim", claim)
			s.owners[worker], s.claims[claim] = agent, worker
		}
	}
	items, _ := meta["items"].([]any)
	for _, c := range items {
		if m, ok := c.(map[string]any); ok && m["last_seen_seconds_ago"] != nil {
			s.name("worker", m["name"].(string))
		}
	}
	for _, c := range res.Content {
		for _, h := range handle.FindAllString(c.Text, -1) {
			s.name("claim", h)
		}
	}
}

// checkNames reports an error if a text contains the name of another agent's worker, unless
// the call named that worker or its claim. The lists for leads are exempt.
func (s *fixture) checkNames(agent, tool, args string, res *mcp.ToolResult) {
	s.t.Helper()
	if tool == "list_tasks" || tool == "list_workers" {
		return
	}
	for worker, owner := range s.owners {
		named := strings.Contains(args, worker)
		for claim, w := range s.claims {
			named = named || w == worker && strings.Contains(args, claim)
		}
		for _, c := range res.Content {
			if owner != agent && !named && strings.Contains(c.Text, worker) {
				s.t.Errorf("%s by %s names the worker %s of %s: %s", tool, agent, s.names[worker], owner, c.Text)
			}
		}
	}
}

func (s *fixture) name(kind, value string) {
	if s.names[value] == "" {
		s.counts[kind]++
		name := fmt.Sprintf("$%s%d", kind, s.counts[kind])
		s.names[value], s.values[name] = name, value
	}
}

func (s *fixture) mask(text string) string {
	for value, name := range s.names {
		text = strings.ReplaceAll(text, value, name)
	}
	return text
}

func (s *fixture) unmask(text string) string {
	for name, value := range s.values {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

var ada = board.Actor{Principal: "ada", Name: "ada", Person: true}

// do carries out the action of a person, or ends the process of an agent.
func (s *fixture) do(words []string) []string {
	s.t.Helper()
	ctx := s.t.Context()
	var err error
	switch words[0] {
	case "answer": // q-1 text
		var id board.QuestionID
		if id, err = board.ParseQuestionID(words[1]); err == nil {
			_, err = s.b.Answer(ctx, ada, id, strings.Join(words[2:], " "))
		}
	case "add": // text
		_, _, err = s.b.Create(ctx, ada, board.NewTask{Project: "web", Description: strings.Join(words[1:], " "), Priority: board.Normal}, "")
	case "pause":
		err = s.b.Pause(ctx, ada, "web")
	case "resume":
		err = s.b.Resume(ctx, ada, "web")
	case "edit": // web-1 text
		var id board.ID
		if id, err = board.ParseID(words[1]); err == nil {
			_, err = s.b.Update(ctx, ada, id, board.Edit{Description: new(strings.Join(words[2:], " "))})
		}
	case "draft": // web-1
		var id board.ID
		if id, err = board.ParseID(words[1]); err == nil {
			_, err = s.b.Update(ctx, ada, id, board.Edit{Hold: new(true)})
		}
	case "want": // web-1 tests
		var id board.ID
		if id, err = board.ParseID(words[1]); err == nil {
			_, err = s.b.Update(ctx, ada, id, board.Edit{Wants: new([]board.EvidenceKind{board.EvidenceKind(words[2])})})
		}
	case "cancel":
		var id board.ID
		if id, err = board.ParseID(words[1]); err == nil {
			_, err = s.b.Cancel(ctx, ada, id, strings.Join(words[2:], " "), board.DependentsKeep)
		}
	case "accept": // web-1
		var id board.ID
		if id, err = board.ParseID(words[1]); err == nil {
			_, err = s.b.Review(ctx, ada, id, board.Decision{Verdict: board.Accept})
		}
	case "stop":
		_, err = s.b.Stop(ctx, ada, board.WorkerID{Principal: "local", Name: words[1]})
	case "leave": // the process of an agent ends
		s.agents[words[1]].stop()
	default:
		s.t.Fatalf("unknown action %q", words)
	}
	if err != nil {
		s.t.Fatalf("%q: %v", words, err)
	}
	return nil
}
