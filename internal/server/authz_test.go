package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

const (
	everybody = "viewer worker lead admin"
	workers   = "worker lead admin"
)

// roles tells who may use each thing that the server has. What a board can do is in
// the table of verbs; the rest is here. What is in neither fails the tests, in every
// revision and on every transport.
var roles = func() map[string]string {
	all := map[string]string{
		"resource bossman://board":                 everybody,
		"resource bossman://questions":             everybody,
		"resource skill://work-the-board/SKILL.md": everybody,
		"method skills/list":                       everybody, // whose answers are the same for all
		"method skills/get":                        everybody,
		"template bossman://tasks/{id}":            everybody,
		"route /mcp":                               "key",
		"route /livez":                             "open",
		"route /readyz":                            "open",
		"route " + metadataPath:                    "open",
		"method initialize":                        everybody,
		"method server/discover":                   everybody,
		"method ping":                              everybody,
		"method tools/list":                        everybody,
		"method tools/call":                        everybody,
		"method prompts/list":                      everybody,
		"method prompts/get":                       workers, // a viewer has none
		"method resources/list":                    everybody,
		"method resources/templates/list":          everybody,
		"method resources/read":                    everybody,
		"method resources/subscribe":               everybody,
		"method resources/unsubscribe":             everybody,
		"method subscriptions/listen":              everybody,
		"method completion/complete":               everybody,
		"method logging/setLevel":                  everybody,
		"method tasks/get":                         everybody, // their own
		"method tasks/update":                      everybody,
		"method tasks/cancel":                      everybody,
	}
	for _, v := range access.Verbs() {
		var call, show []string
		for r := auth.Viewer; r <= auth.Admin; r++ {
			switch {
			case v.Allows(r, false):
				call = append(call, r.String())
			case v.Allows(r, true):
				call = append(call, "person:"+r.String())
			}
			if v.Shows(r) {
				show = append(show, r.String())
			}
		}
		all["method "+v.Method()] = strings.Join(call, " ")
		if v.Tool != "" {
			all["tool "+v.Tool] = strings.Join(show, " ")
		}
	}
	for prompt, v := range map[string]*access.Verb{"work": access.Next, "plan": access.CreatePlan, "review": access.Review} {
		all["prompt "+prompt] = all["tool "+v.Tool]
	}
	return all
}()

const (
	issuerForTest = "https://login.example.org"
	metadataPath  = "/.well-known/oauth-protected-resource/mcp"
)

// may reports whether the table lets somebody use a thing.
func may(t *testing.T, thing string, role auth.Role, person bool) bool {
	t.Helper()
	row, ok := roles[thing]
	if !ok {
		t.Fatalf("%q has no row in the table of roles", thing)
	}
	names := strings.Fields(row)
	return slices.Contains(names, role.String()) || person && slices.Contains(names, "person:"+role.String())
}

// registry is everything that the server has, by its own lists.
func registry(t *testing.T, s *testServer) (all []string) {
	t.Helper()
	server := mcp.NewServer(mcp.Implementation{Name: "all", Version: "1"}, nil) // which hides nothing
	defer server.Close()
	server.Use(tools.AuthorizeAs(access.Local(auth.Admin)))
	tools.Register(server, nil, &tools.Options{Open: func(context.Context) (access.Board, *tools.Options, error) { return nil, nil, errors.New("no board") }})
	here, there := jsonrpc.Pipe(jsonrpc.Limits{})
	go server.Serve(t.Context(), there)
	c, err := mcp.Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for x, err := range c.Tools(t.Context()) {
		all = append(all, "tool "+x.Name)
		check(t, err)
	}
	for x, err := range c.Prompts(t.Context()) {
		all = append(all, "prompt "+x.Name)
		check(t, err)
	}
	for x, err := range c.Resources(t.Context()) {
		all = append(all, "resource "+x.URI)
		check(t, err)
	}
	for x, err := range c.ResourceTemplates(t.Context()) {
		all = append(all, "template "+x.URITemplate)
		check(t, err)
	}
	for _, v := range access.Verbs() { // whether each is served, TestAuthorization finds out
		all = append(all, "method "+v.Method())
	}
	for _, name := range []string{"skills/list", "skills/get"} { // of an extension
		if _, err := c.CallMethod(t.Context(), name, map[string]any{"uri": "skill://work-the-board/SKILL.md"}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all = append(all, "method "+name)
	}
	text, err := os.ReadFile("../../mcp/method.go")
	check(t, err)
	words := regexp.MustCompile(`"([a-zA-Z/]+)": +\{kind: wordRequest, client:`).FindAllStringSubmatch(string(text), -1)
	for _, w := range words {
		all = append(all, "method "+w[1])
	}
	for _, r := range s.routes {
		all = append(all, "route "+r.path)
	}
	return all
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// withTokens are the options of a server with every route.
var withTokens = Options{Issuer: issuerForTest, Audience: "https://bossman.example.org/mcp"}

// TestAuthorization_table: the table has exactly what the server has.
func TestAuthorization_table(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withTokens)
	all := registry(t, s)
	for _, thing := range all {
		if _, ok := roles[thing]; !ok {
			t.Errorf("%q has no row in the table of roles: say who may use it", thing)
		}
	}
	for thing := range roles {
		if !slices.Contains(all, thing) {
			t.Errorf("%q is in the table of roles, and does not exist", thing)
		}
	}
	for _, r := range s.routes {
		if want := map[bool]string{true: "open", false: "key"}[r.open]; roles["route "+r.path] != want {
			t.Errorf("route %s is %s", r.path, want)
		}
	}
	t.Logf("%d things", len(all))
}

// A testCaller is a kind of caller.
type testCaller struct {
	role    auth.Role
	person  bool
	project string
}

func (w testCaller) String() string {
	kind := "agent"
	if w.person {
		kind = "person"
	}
	return fmt.Sprintf("%s (%s) of %s", w.role, kind, w.project)
}

// callers are all kinds: each role, with a person's and an agent's key, in the project web,
// in another, and in one that does not exist.
func callers() (all []testCaller) {
	for _, project := range []string{"web", "api", "ghost"} {
		for role := auth.Viewer; role <= auth.Admin; role++ {
			all = append(all, testCaller{role, false, project}, testCaller{role, true, project})
		}
	}
	return all
}

// TestAuthorization tries everything as every caller, in every revision over HTTP.
func TestAuthorization(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, withTokens)
			ids := addTasks(t, s)
			calls := 0
			for _, w := range callers() {
				k := s.client(s.key(w.project, w.role, w.person), revision)
				calls += checkLists(t, w, k) + checkMethods(t, s, w, k, ids)
			}
			t.Logf("%d calls by %d kinds of callers", calls, len(callers()))
		})
	}
}

// checkLists compares what a caller is shown with the table, and checks that the rest is
// answered like what does not exist.
func checkLists(t *testing.T, w testCaller, k *testClient) (calls int) {
	t.Helper()
	lists := map[string]map[string]bool{
		"tool":     k.names("tools/list", "tools", "name"),
		"prompt":   k.names("prompts/list", "prompts", "name"),
		"resource": k.names("resources/list", "resources", "uri"),
		"template": k.names("resources/templates/list", "resourceTemplates", "uriTemplate"),
	}
	alike := func(thing string, got, none reply, name string) {
		t.Helper()
		if a, b := strings.ReplaceAll(got.text, name, "X"), strings.ReplaceAll(none.text, "nosuch", "X"); a != b {
			t.Errorf("%s, %s: %s is answered %s, and what does not exist %s", k.revision, w, thing, a, b)
		}
	}
	for _, thing := range slices.Sorted(maps.Keys(roles)) {
		kind, name, _ := strings.Cut(thing, " ")
		list, ok := lists[kind]
		if !ok {
			continue
		}
		calls++
		allowed := may(t, thing, w.role, w.person)
		if list[name] != allowed {
			t.Errorf("%s, %s: %s is listed: %v, want %v", k.revision, w, thing, list[name], allowed)
		}
		delete(list, name)
		switch kind {
		case "tool":
			got := k.tool(name, `{"task":"%%"}`)
			if none := k.tool("nosuch", `{"task":"%%"}`); !allowed {
				alike(thing, got, none, name)
			} else if got.text == strings.ReplaceAll(none.text, "nosuch", name) {
				t.Errorf("%s, %s: %s is not there", k.revision, w, thing)
			}
		case "prompt":
			if !allowed {
				alike(thing, k.ask("prompts/get", `{"name":"`+name+`","arguments":{"goal":"x"}}`), k.ask("prompts/get", `{"name":"nosuch","arguments":{"goal":"x"}}`), name)
				complete := `{"ref":{"type":"ref/prompt","name":"%s"},"argument":{"name":"task","value":""}}`
				alike(thing+" (completion)", k.ask("completion/complete", fmt.Sprintf(complete, name)), k.ask("completion/complete", fmt.Sprintf(complete, "nosuch")), name)
			} else if got := k.ask("prompts/get", `{"name":"`+name+`","arguments":{"goal":"x"}}`); got.code != 0 {
				t.Errorf("%s, %s: %s = %s", k.revision, w, thing, got.text)
			}
		case "resource":
			if got := k.ask("resources/read", `{"uri":"`+name+`"}`); got.code != 0 && w.project != "ghost" {
				t.Errorf("%s, %s: %s = %s", k.revision, w, thing, got.text)
			}
		}
	}
	for kind, list := range lists {
		for name := range list {
			t.Errorf("%s, %s: %s %s is listed, and not in the table", k.revision, w, kind, name)
		}
	}
	return calls
}

// testIDs are things in the project web.
type testIDs struct {
	task, free board.ID
	claim      board.Handle
	worker     board.WorkerID
	question   board.QuestionID
	artifact   board.ArtifactID
}

// addTasks creates tasks in both projects; one of web is claimed and has a question.
func addTasks(t *testing.T, s *testServer) (f testIDs) {
	t.Helper()
	ctx := t.Context()
	b := s.board
	planner := board.Actor{Principal: "key:planner", Owner: "key:planner"}
	for _, slug := range []string{"api", "web"} {
		for _, title := range []string{"One", "Two"} {
			task, _, err := b.Create(ctx, planner, board.NewTask{Project: slug, Title: title, Description: "secret of " + slug}, "")
			check(t, err)
			f.task, f.free = f.free, task.ID
		}
	}
	holder := board.Actor{Principal: "key:holder", Owner: "key:holder"}
	h, err := b.Next(ctx, holder, board.Wish{Projects: []string{"web"}, Task: f.task, Absent: true})
	check(t, err)
	f.claim, f.worker = h.Claim.Handle, h.Claim.Worker
	q, err := b.Ask(ctx, holder, board.NewQuestion{Claim: f.claim, Text: "secret question?", Blocking: new(false)})
	check(t, err)
	f.question = q.ID
	art, err := b.PutArtifact(ctx, holder, board.NewArtifact{Claim: f.claim, Name: "secret", Body: []byte("secret")})
	check(t, err)
	f.artifact = art.ID
	return f
}

// claimNewTask creates a task in the project web and lets a new worker claim it.
func claimNewTask(t *testing.T, s *testServer) board.WorkerID {
	t.Helper()
	planner := board.Actor{Principal: "key:planner"}
	check(t, s.board.Resume(t.Context(), planner, "web")) // somebody may have tried to pause it
	task, _, err := s.board.Create(t.Context(), planner, board.NewTask{Project: "web", Title: "Held"}, "")
	check(t, err)
	h, err := s.board.Next(t.Context(), board.Actor{Principal: "key:other", Owner: "key:other"}, board.Wish{Projects: []string{"web"}, Task: task.ID, Absent: true})
	check(t, err)
	return h.Claim.Worker
}

// checkMethods tries every method on what is in the project web.
func checkMethods(t *testing.T, s *testServer, w testCaller, k *testClient, f testIDs) (calls int) {
	t.Helper()
	for _, v := range access.Verbs() {
		name, args := v.Method(), cmp.Or(arguments[v], usualArguments)
		if v == access.Stop { // which ends the hold
			f.worker = claimNewTask(t, s)
		}
		thing := "method " + name
		allowed := may(t, thing, w.role, w.person)
		got := k.ask(name, fill(args, f))
		calls++
		if w.project == "web" {
			if got.notThere() == allowed {
				t.Errorf("%s, %s: %s = %d %s, want allowed: %v", k.revision, w, name, got.status, got.text, allowed)
			}
			continue
		}
		// Elsewhere it is as if nothing were there.
		nothing := k.ask(name, fill(args, missingIDs))
		if a, b := normalize(got.text, f), normalize(nothing.text, missingIDs); a != b {
			t.Errorf("%s, %s: %s of another's project = %s\nof none = %s", k.revision, w, name, a, b)
		}
		if strings.Contains(got.text, "secret") {
			t.Errorf("%s, %s: %s shows %s", k.revision, w, name, got.text)
		}
	}
	return calls
}

// missingIDs are things that do not exist.
var missingIDs = testIDs{
	task: board.ID{Project: "zzz", No: 3}, free: board.ID{Project: "zzz", No: 4},
	claim:  board.Handle{Task: board.ID{Project: "zzz", No: 3}, Attempt: 1, Nonce: "aaaaa"},
	worker: board.WorkerID{Principal: "key:nobody", Name: "otter-zzz"}, question: 424242,
	artifact: 434343,
}

// usualArguments are arguments for most methods: each takes those that it knows.
const usualArguments = `{"args":{"ID":"$TASK","Slug":"$PROJECT","Project":"$PROJECT","Projects":["$PROJECT"],"Claim":$STALE}}`

// arguments are those of the methods for which the usual ones do not do. Where
// possible they are such that a call that is allowed fails later: nothing changes by
// trying.
var arguments = map[*access.Verb]string{
	access.Calls:       `{"args":{"Task":"$TASK"}}`,
	access.Artifact:    `{"args":{"Artifact":$ARTIFACT}}`,
	access.Admit:       `{"args":{"Claim":$STALE,"Upstream":"x"}}`,
	access.Touch:       `{"args":{"Touched":[{"Claim":$STALE}]}}`,
	access.PutArtifact: `{"args":{"Claim":$STALE,"Name":"x"}}`,
	access.Workers:     `{"args":{"Since":3600000000000}}`,
	access.Questions:   `{"args":{"Projects":["$PROJECT"],"Task":"$TASK"}}`,
	access.Question:    `{"args":{"ID":$QUESTION}}`,
	access.Await:       `{"args":{"ID":$QUESTION}}`,
	access.Next:        `{"args":{"Projects":["$PROJECT"],"Task":"$TASK"}}`,
	access.Renew:       `{"args":{"Owner":"p-1"}}`,
	access.Leave:       `{"args":{"Owner":"p-1"}}`,
	access.Progress:    `{"args":{"Claim":$STALE,"Note":{"Text":"x"}}}`,
	access.Record:      `{"args":{"Run":{"Claim":$STALE,"Agent":"x"}}}`,
	access.Done:        `{"args":{"Claim":$STALE,"Report":{"Summary":"x"}}}`,
	access.Fail:        `{"args":{"Claim":$STALE,"Failure":{"Kind":"other","Reason":"x"}}}`,
	access.Ask:         `{"args":{"Project":"$PROJECT","Text":""}}`,
	access.Park:        `{"args":{"ID":$QUESTION}}`,
	access.Create:      `{"args":{"Task":{"Project":"$PROJECT","Title":""}}}`,
	access.CreateUnder: `{"args":{"Claim":$STALE,"Task":{"Project":"$PROJECT","Title":"x"}}}`,
	access.MarkDone:    `{"as":{"person":true},"args":{"ID":"$TASK","Note":"\u0000"}}`,
	access.Erase:       `{"as":{"person":true},"args":{"ID":"$TASK","Reason":"\u0000"}}`,
	access.Redact:      `{"as":{"person":true},"args":{"ID":"$TASK","Seq":1,"Reason":"\u0000"}}`,
	access.Answer:      `{"as":{"person":true},"args":{"ID":$QUESTION,"Answer":""}}`,
	access.Update:      `{"args":{"ID":"$TASK","Edit":{"Title":""}}}`,
	access.Cancel:      `{"args":{"ID":"$TASK","Dependents":"nonsense"}}`,
	access.Review:      `{"args":{"ID":"$TASK","Verdict":"nonsense"}}`,
	access.Release:     `{"args":{"ID":"$FREE","Reason":"x"}}`,
	access.Stop:        `{"args":{"Principal":"$PRINCIPAL","Name":"$WORKER"}}`,
	access.BeginLand:   `{"args":{"Lease":{"Project":"$PROJECT"}}}`,
	access.Landed:      `{"args":{"Lease":{"Project":"$PROJECT"}}}`,
	access.Dropped:     `{"args":{"Lease":{"Project":"$PROJECT"}}}`,
	access.Told:        `{"args":{"Task":"$TASK"}}`,
	access.SetProject:  `{"args":{"Slug":"$PROJECT","Policy":"trust"}}`,
	access.Login:       `{"machine":"m","project":"$PROJECT"}`,
}

// fill puts ids into arguments.
func fill(args string, f testIDs) string {
	stale := fmt.Sprintf(`{"Task":%q,"Attempt":9,"Nonce":"aaaaa"}`, f.task)
	return strings.NewReplacer("$PROJECT", f.task.Project, "$TASK", f.task.String(), "$FREE", f.free.String(), "$CLAIM", f.claim.String(),
		"$QUESTIONID", f.question.String(), "$QUESTION", fmt.Sprint(int64(f.question)), "$ARTIFACT", fmt.Sprint(int64(f.artifact)), "$STALE", stale, "$PRINCIPAL", f.worker.Principal, "$WORKER", f.worker.Name).Replace(args)
}

var volatile = regexp.MustCompile(`bossman_[a-z2-7]{12}_[a-z2-7]{56}|"Now":"[^"]*"|"LastSeen":"[^"]*"|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// ownRow is what a caller of the project api made by trying.
var ownRow = regexp.MustCompile(`api-\d+|"q-\d+"|\bq-\d+`)

// normalize replaces ids and times in an answer, so that answers can be compared.
func normalize(text string, f testIDs) string {
	text = strings.NewReplacer(f.claim.String(), "CLAIM", f.task.String(), "TASK", f.free.String(), "FREE", f.question.String(), "QUESTION", fmt.Sprint("artifact ", f.artifact), "artifact ARTIFACT",
		fmt.Sprintf("%q", f.task.Project), `"PROJECT"`, `\"`+f.task.Project+`\"`, `\"PROJECT\"`, "project "+f.task.Project, "project PROJECT", f.worker.Name, "WORKER").Replace(text)
	return volatile.ReplaceAllString(text, "…")
}

// TestAuthorization_nobody: without a valid key every route that is not open refuses, in
// every revision.
func TestAuthorization_nobody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withTokens)
	wrong := s.key("web", auth.Lead, true)
	wrong = wrong[:len(wrong)-1] + map[bool]string{true: "b", false: "a"}[strings.HasSuffix(wrong, "a")]
	for _, r := range s.routes {
		want := map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[r.open]
		for _, revision := range revisions {
			for _, key := range []string{"", wrong, "bossman_local_x", "Bearer"} {
				k := &testClient{t: t, url: s.url + r.path, key: key, revision: revision}
				for _, method := range []string{"GET", "POST", "DELETE"} {
					if r.open && method != "GET" {
						want = http.StatusMethodNotAllowed
					}
					res := k.send(context.Background(), method, map[bool]string{true: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}[method == "POST"], nil)
					text, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if res.StatusCode != want && res.StatusCode != http.StatusTooManyRequests {
						t.Errorf("%s %s in %s with key %q = %s %s, want %d", method, r.path, revision, key, res.Status, text, want)
					}
				}
				want = map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[r.open]
			}
		}
	}
}
