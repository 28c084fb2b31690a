package remote_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/tools"
)

// people are who may use the server of the tests, by their key.
var people = map[string]*access.Caller{
	"ada": {Actor: board.Actor{Principal: "key:ada", Owner: "key:ada", Name: "Ada", Person: true}, Role: auth.Lead, Roles: map[string]auth.Role{"web": auth.Lead}},
	"bob": {Actor: board.Actor{Principal: "key:bob", Owner: "key:bob"}, Role: auth.Worker, Roles: map[string]auth.Role{"web": auth.Worker}},
	"eve": {Actor: board.Actor{Principal: "key:eve", Owner: "key:eve"}, Role: auth.Lead, Roles: map[string]auth.Role{"api": auth.Lead}},
	"vic": {Actor: board.Actor{Principal: "key:vic", Owner: "key:vic"}, Role: auth.Viewer, Roles: map[string]auth.Role{"web": auth.Viewer}},
	"bot": {Actor: board.Actor{Principal: "key:bot", Owner: "key:bot", Name: "Bot"}, Role: auth.Admin, Roles: map[string]auth.Role{"web": auth.Admin}},
	"adm": {Actor: board.Actor{Principal: "key:adm", Owner: "key:adm", Name: "Adm", Person: true}, Role: auth.Admin, Roles: map[string]auth.Role{"web": auth.Admin, "api": auth.Admin}},
}

// A site is a server with a board of two projects.
type site struct {
	t       *testing.T
	b       *board.Board
	address string
	faults  *faults
}

// faults are what befalls the writes of a store, one after the other.
type faults struct {
	board.Store
	mu   sync.Mutex
	next []fault
}

// A fault is an error of a write, and whether it is done all the same.
type fault struct {
	err  error
	done bool
}

func (f *faults) Write(ctx context.Context, do func(board.Tx) error) error {
	f.mu.Lock()
	var now fault
	if len(f.next) > 0 {
		now, f.next = f.next[0], f.next[1:]
	}
	f.mu.Unlock()
	if now.err == nil || now.done {
		if err := f.Store.Write(ctx, do); err != nil {
			return err
		}
	}
	return now.err
}

// befall sets what befalls the next writes, and tells how many of it have not.
func (f *faults) befall(next ...fault) (left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left, f.next = len(f.next), next
	return left
}

func newSite(t *testing.T) *site {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	broken := &faults{Store: store}
	b := board.New(broken, &board.Options{Sweep: time.Hour})
	for _, slug := range []string{"web", "api"} {
		if err := b.SetProject(t.Context(), board.Project{Slug: slug, Policy: board.PolicyTrust}); err != nil {
			t.Fatal(err)
		}
	}
	server := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, &mcp.ServerOptions{
		Visible:  tools.Visible,
		Observer: mcp.Observer{Panicked: func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) }},
	})
	server.Use(tools.Authorize(func(_ context.Context, p mcp.Principal) (*access.Caller, error) { return people[p.ID], nil }))
	tl := tools.Register(server, b, nil)
	remote.Register(server, b)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := streamable.NewHandler(server, &streamable.Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		name := r.Header.Get("X-Api-Token")
		if _, ok := people[name]; !ok {
			return mcp.Principal{}, errors.New("nobody")
		}
		return mcp.Principal{ID: name}, nil
	}})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 3)
	go func() { ended <- streamable.Serve(ctx, l, h, nil) }()
	go func() { ended <- b.Run(ctx) }()
	go func() { ended <- tl.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for range cap(ended) {
			<-ended
		}
		server.Close()
	})
	return &site{t, b, "http://" + l.Addr().String() + "/mcp", broken}
}

// as is the board for somebody's key.
func (s *site) as(name string) *remote.Board {
	b := remote.New(func(ctx context.Context) (*mcp.Client, error) {
		return streamable.Connect(ctx, s.address, &streamable.ClientOptions{Header: http.Header{"X-Api-Token": {name}}}, nil)
	}, tools.Watched()...)
	s.t.Cleanup(func() { b.Close() })
	return b
}

// local is a laptop's own view of who acts; the server makes of it what the key says.
var local = board.Actor{Principal: "local", Owner: "p-1"}

// TestBoard_work: a task's whole way, and what is read on it is what the board has.
func TestBoard_work(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	ada, bob := s.as("ada"), s.as("bob")

	task, doc, err := ada.Create(ctx, local, board.NewTask{Project: "web", Title: "One", Description: "Do it", Lease: time.Minute}, "")
	if err != nil || doc.Description != "Do it" || task.ID.String() != "web-1" {
		t.Fatalf("Create = %+v, %+v, %v", task, doc, err)
	}
	var waiting *board.Nothing
	h, err := bob.Next(ctx, local, board.Wish{Where: board.Where{Branch: "b", Uncommitted: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if h.Task.ID != task.ID || h.Claim.Worker.Principal != "key:bob" || h.Claim.Owner != "p-1" || h.Dossier.Claim == nil || h.Claim.Lease != time.Minute {
		t.Errorf("Next = %+v", h)
	}
	if _, err := bob.Next(ctx, board.Actor{Owner: "p-2"}, board.Wish{}); !errors.As(err, &waiting) || waiting.Counts.Status[board.InProgress] != 1 {
		t.Errorf("Next with nothing left = %v", err)
	}
	held, err := bob.Renew(ctx, "p-1", false)
	if err != nil || len(held) != 1 {
		t.Errorf("Renew = %v, %v", held, err)
	}
	if held, err := bob.Renew(ctx, "p-2", false); err != nil || len(held) != 0 {
		t.Errorf("Renew of another process = %v, %v", held, err)
	}
	if cs, err := s.b.Claims(ctx, board.ClaimFilter{Owner: "key:bob/p-1"}); err != nil || len(cs) != 1 {
		t.Errorf("the board knows the process as %v, %v", cs, err)
	}
	a := local
	a.Worker = h.Claim.Worker.Name
	if _, err := bob.Progress(ctx, a, h.Claim.Handle, board.Note{Text: "half", Percent: 50}); err != nil {
		t.Error(err)
	}
	q, err := bob.Ask(ctx, a, board.NewQuestion{Claim: h.Claim.Handle, Text: "Red or blue?", Options: []string{"red", "blue"}, Blocking: new(false), HumanOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Answer(ctx, board.Actor{Person: true}, q.ID, "red"); !errors.Is(err, board.ErrDenied) {
		t.Errorf("an agent's answer as a person = %v", err)
	}
	if q, err := ada.Answer(ctx, board.Actor{Person: true}, q.ID, "blue"); err != nil || q.AnsweredBy != "Ada" {
		t.Errorf("Answer = %+v, %v", q, err)
	}
	if q, err := bob.Await(ctx, q.ID, time.Second); err != nil || q.Answer != "blue" {
		t.Errorf("Await = %+v, %v", q, err)
	}
	out, err := bob.Done(ctx, a, h.Claim.Handle, board.Report{Summary: "done"})
	if err != nil || out.Status != board.Done || out.Again {
		t.Errorf("Done = %+v, %v", out, err)
	}
	if out, err = bob.Done(ctx, a, h.Claim.Handle, board.Report{Summary: "done"}); err != nil || !out.Again {
		t.Errorf("Done once more = %+v, %v", out, err)
	}
	if err := bob.Record(ctx, a, board.Run{Claim: h.Claim.Handle, Agent: "claude", Cost: 7, Priced: true}); err != nil {
		t.Error(err)
	}
	if sum, err := ada.Spent(ctx, "web"); err != nil || sum.Cost != 7 || !sum.Ends.After(sum.Now) {
		t.Errorf("Spent = %+v, %v", sum, err)
	}
	var lost *board.LostError
	if _, err := bob.Progress(ctx, a, h.Claim.Handle, board.Note{Text: "late"}); !errors.As(err, &lost) || !errors.Is(err, board.ErrLeaseLost) || lost.Task.ID != task.ID {
		t.Errorf("Progress after the end = %v", err)
	}

	// What is read over the wire is what is there.
	here, err := s.b.Get(ctx, task.ID, 50)
	if err != nil {
		t.Fatal(err)
	}
	there, err := ada.Get(ctx, task.ID, 50)
	if err != nil {
		t.Fatal(err)
	}
	for i := range here.Attempts { // of others' processes nothing is told
		here.Attempts[i].Owner = "another"
	}
	for i := range here.Questions {
		here.Questions[i].Owner = "another"
	}
	here.Now, there.Now = time.Time{}, time.Time{}
	if diff := cmp.Diff(here, there); diff != "" {
		t.Errorf("Get, there and here:\n%s", diff)
	}
}

// TestBoard_foreign: what is not the caller's is not found, whatever is tried.
func TestBoard_foreign(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	ada, eve := s.as("ada"), s.as("eve")
	task, _, err := ada.Create(ctx, local, board.NewTask{Project: "web", Title: "One"}, "")
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.as("bob").Next(ctx, local, board.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.as("bob").Ask(ctx, local, board.NewQuestion{Claim: h.Claim.Handle, Text: "?"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada (person)", "a\nb", strings.Repeat("w", 1<<10)} {
		forged := local
		forged.Worker = name
		if _, err := s.as("bob").Progress(ctx, forged, h.Claim.Handle, board.Note{Text: "Approved"}); !errors.Is(err, board.ErrInvalid) {
			t.Errorf("a note by %.20q: %v, want ErrInvalid", name, err)
		}
	}
	// A name that the board has not given is nobody's: neither under a claim, nor otherwise.
	forged := local
	forged.Worker = "ada"
	if _, err := s.as("bob").Progress(ctx, forged, h.Claim.Handle, board.Note{Text: "Approved"}); err != nil {
		t.Error(err)
	}
	other, err := s.as("bob").Ask(ctx, forged, board.NewQuestion{Project: "web", Text: "??"})
	if err != nil || other.Asker.Name != "" {
		t.Errorf("asked by %q, %v", other.Asker.Name, err)
	}
	events, err := s.as("bob").Events(ctx, task.ID, 0, 10)
	if err != nil || events[len(events)-1].Actor != h.Claim.Worker.Name {
		t.Errorf("the history is %+v, %v", events, err)
	}
	e := board.Actor{Principal: "key:bob", Owner: "p-1", Person: true, Name: "Ada"} // a lie
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"project":     second(eve.Project(ctx, "web")),
		"summary":     second(eve.Summary(ctx, "web")),
		"spent":       second(eve.Spent(ctx, "web")),
		"list":        second(eve.List(ctx, board.TaskFilter{Projects: []string{"web"}})),
		"get":         second(eve.Get(ctx, task.ID, 1)),
		"why":         func() error { _, _, err := eve.Why(ctx, task.ID); return err }(),
		"events":      second(eve.Events(ctx, task.ID, 0, 10)),
		"claims":      second(eve.Claims(ctx, board.ClaimFilter{Project: "web"})),
		"questions":   second(eve.Questions(ctx, board.QuestionFilter{Projects: []string{"web"}})),
		"question":    second(eve.Question(ctx, q.ID)),
		"await":       second(eve.Await(ctx, q.ID, 0)),
		"feed":        second(eve.Feed(ctx, []string{"web"}, "", 10)),
		"next":        second(eve.Next(ctx, e, board.Wish{Projects: []string{"web"}})),
		"next task":   second(eve.Next(ctx, e, board.Wish{Task: task.ID})),
		"progress":    second(eve.Progress(ctx, e, h.Claim.Handle, board.Note{Text: "x"})),
		"done":        second(eve.Done(ctx, e, h.Claim.Handle, board.Report{Summary: "x"})),
		"fail":        second(eve.Fail(ctx, e, h.Claim.Handle, board.Failure{Reason: "x"})),
		"ask":         second(eve.Ask(ctx, e, board.NewQuestion{Claim: h.Claim.Handle, Text: "x"})),
		"ask project": second(eve.Ask(ctx, e, board.NewQuestion{Project: "web", Text: "x"})),
		"park":        func() error { _, _, err := eve.Park(ctx, e, q.ID); return err }(),
		"create": func() error {
			_, _, err := eve.Create(ctx, e, board.NewTask{Project: "web", Title: "x"}, "")
			return err
		}(),
		"under": func() error {
			_, _, err := eve.CreateUnder(ctx, e, h.Claim.Handle, board.NewTask{Project: "web", Title: "x"}, "")
			return err
		}(),
		"answer":  second(eve.Answer(ctx, e, q.ID, "x")),
		"plan":    second(eve.CreatePlan(ctx, e, board.Plan{Project: "web"})),
		"update":  second(eve.Update(ctx, e, task.ID, board.Edit{Title: new("x")})),
		"cancel":  second(eve.Cancel(ctx, e, task.ID, "x", board.DependentsKeep)),
		"review":  second(eve.Review(ctx, e, task.ID, board.Decision{Verdict: board.Accept, Note: "x"})),
		"release": second(eve.Release(ctx, e, task.ID, "x")),
		"stop":    second(eve.Stop(ctx, e, h.Claim.Worker)),
		"pause":   eve.Pause(ctx, e, "web"),
		"resume":  eve.Resume(ctx, e, "web"),
	} {
		if !errors.Is(err, board.ErrNotFound) {
			t.Errorf("%s of another's project = %v, want not found", name, err)
		}
	}
	// Who is an admin nowhere is told that, in the same words for any project.
	for _, slug := range []string{"web", "missing", "api"} {
		if err := eve.SetProject(ctx, board.Project{Slug: slug}); !errors.Is(err, board.ErrDenied) || strings.Contains(err.Error(), slug) {
			t.Errorf("setProject %s by a lead = %v, want not allowed", slug, err)
		}
	}
	// Lists without a project are of one's own.
	if ts, err := eve.List(ctx, board.TaskFilter{}); err != nil || len(ts) != 0 {
		t.Errorf("List = %v, %v", ts, err)
	}
	if qs, err := eve.Questions(ctx, board.QuestionFilter{}); err != nil || len(qs) != 0 {
		t.Errorf("Questions = %v, %v", qs, err)
	}
	if qs, err := eve.Questions(ctx, board.QuestionFilter{Task: task.ID}); err != nil || len(qs) != 0 {
		t.Errorf("Questions of a task = %v, %v", qs, err)
	}
	if cs, err := eve.Claims(ctx, board.ClaimFilter{}); err != nil || len(cs) != 0 {
		t.Errorf("Claims = %v, %v", cs, err)
	}
	if cs, err := eve.Claims(ctx, board.ClaimFilter{Owner: "p-1"}); err != nil || len(cs) != 0 {
		t.Errorf("Claims of a process with the same name = %v, %v", cs, err)
	}
	if ws, _, err := eve.Workers(ctx, time.Hour); err != nil || len(ws) != 0 {
		t.Errorf("Workers = %v, %v", ws, err)
	}
	if ps, err := eve.Projects(ctx); err != nil || len(ps) != 1 || ps[0].Slug != "api" {
		t.Errorf("Projects = %v, %v", ps, err)
	}
	if es, err := eve.Feed(ctx, nil, "", 10); err != nil || len(es) != 0 {
		t.Errorf("Feed = %v, %v", es, err)
	}
	if held, err := eve.Renew(ctx, "p-1", false); err != nil || len(held) != 0 {
		t.Errorf("Renew = %v, %v", held, err)
	}
	if d, err := s.b.Get(ctx, task.ID, 50); err != nil || d.Task.Status != board.InProgress || slices.ContainsFunc(d.Events, func(ev board.Event) bool { return strings.Contains(ev.Actor, "eve") }) {
		t.Errorf("the task is touched: %+v, %v", d, err)
	}
}

// TestBoard_roles: each role may do what is its own in its project, and is told so
// where it may not.
func TestBoard_roles(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	if _, _, err := s.as("ada").Create(ctx, local, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
		t.Fatal(err)
	}
	id := board.ID{Project: "web", No: 1}
	try := map[string]func(b *remote.Board) error{
		"get":  func(b *remote.Board) error { _, err := b.Get(ctx, id, 0); return err },
		"next": func(b *remote.Board) error { _, err := b.Next(ctx, local, board.Wish{}); return err },
		"reviews": func(b *remote.Board) error {
			_, err := b.Next(ctx, board.Actor{Owner: "p-9"}, board.Wish{Reviews: []string{"web"}, OnlyReviews: true})
			return err
		},
		"update": func(b *remote.Board) error {
			_, err := b.Update(ctx, local, id, board.Edit{Title: new("x")})
			return err
		},
		"pause": func(b *remote.Board) error { return b.Pause(ctx, local, "web") },
		"setProject": func(b *remote.Board) error {
			return b.SetProject(ctx, board.Project{Slug: "web", Policy: board.PolicyTrust})
		},
	}
	for _, c := range []struct{ who, may string }{
		{"vic", "get"},
		{"bob", "get next"},
		{"ada", "get next reviews update pause"},
		{"adm", "get next reviews update pause setProject"},
	} {
		for name, do := range try {
			err := do(s.as(c.who))
			_, nothing := errors.AsType[*board.Nothing](err)
			if may := slices.Contains(strings.Fields(c.may), name); may != (err == nil || nothing) {
				t.Errorf("%s by %s = %v, may it: %v", name, c.who, err, may)
			} else if !may && (!errors.Is(err, board.ErrDenied) || !strings.Contains(err.Error(), "requires the role ") && !strings.Contains(err.Error(), "with the role admin")) {
				t.Errorf("%s by %s = %v, want the role that it takes", name, c.who, err)
			}
		}
	}
}

// TestBoard_setProject: only people change a project, and its pause only by resuming it.
func TestBoard_setProject(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	person := local
	person.Person = true
	if err := s.as("adm").Pause(ctx, person, "web"); err != nil {
		t.Fatal(err)
	}
	if err := s.as("bot").SetProject(ctx, board.Project{Slug: "web", Policy: board.PolicyTrust}); !errors.Is(err, board.ErrDenied) {
		t.Errorf("by a program: %v, want ErrDenied", err)
	}
	if err := s.as("adm").SetProject(ctx, board.Project{Slug: "web", Policy: board.PolicyReview, PausedBy: "Ada"}); err != nil {
		t.Error(err)
	}
	if p, err := s.b.Project(ctx, "web"); err != nil || p.PausedBy != "Adm" || p.Policy != board.PolicyReview {
		t.Errorf("the project is %+v, %v; want policy review, paused by Adm", p, err)
	}
}

// TestBoard_wait: a change at the server wakes whoever waits on a laptop.
func TestBoard_wait(t *testing.T) {
	s := newSite(t)
	ada := s.as("ada")
	woken := make(chan time.Duration, 1)
	begun := time.Now()
	go func() {
		board.WaitFor(t.Context(), ada.Changes(), time.Minute)
		woken <- time.Since(begun)
	}()
	for {
		if _, _, err := s.as("ada").Create(t.Context(), local, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		select {
		case took := <-woken:
			if took > 30*time.Second {
				t.Errorf("woken after %v", took)
			}
			return
		case <-time.After(100 * time.Millisecond): // it may not listen yet: another change
		}
	}
}

// TestBoard_unreachable: a server that is not there is unavailable, and says so.
func TestBoard_unreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String() + "/mcp"
	l.Close()
	b := remote.New(func(ctx context.Context) (*mcp.Client, error) {
		return streamable.Connect(ctx, address, nil, &mcp.ClientOptions{Revision: mcp.LatestRevision})
	})
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := b.Summary(ctx, "web"); !errors.Is(err, board.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Summary = %v", err)
	}
}

// TestBoard_databaseAway: while the server's database is away a call is tried again,
// and done once. What must not be repeated is not, if it may have been done.
func TestBoard_databaseAway(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	ada := s.as("ada")
	away := fault{err: board.ErrUnavailable}
	unknown := fault{err: board.ErrUnknown}
	committed := fault{err: board.ErrUnknown, done: true}

	s.faults.befall(away, unknown, committed)
	task, _, err := ada.Create(ctx, local, board.NewTask{Project: "web", Title: "One"}, "")
	if err != nil || task.ID.String() != "web-1" {
		t.Fatalf("Create = %v, %v", task.ID, err)
	}
	s.faults.befall(away, committed)
	h, err := ada.Next(ctx, local, board.Wish{Projects: []string{"web"}})
	if err != nil || h.Claim.Attempt != 1 {
		t.Fatalf("Next = %+v, %v", h, err)
	}
	note := board.Note{Text: "half"}
	s.faults.befall(away, away)
	if _, err := ada.Progress(ctx, local, h.Claim.Handle, note); err != nil {
		t.Errorf("Progress = %v", err)
	}
	s.faults.befall(away, committed, away)
	if _, err := ada.Progress(ctx, local, h.Claim.Handle, note); !errors.Is(err, board.ErrUnknown) || errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Progress that may have been done = %v, want ErrUnknown", err)
	}
	if left := s.faults.befall(away, committed); left != 1 {
		t.Errorf("Progress was tried %d times more after its outcome was unknown", 1-left)
	}
	if _, err := ada.Done(ctx, local, h.Claim.Handle, board.Report{Summary: "done"}); err != nil {
		t.Errorf("Done = %v", err)
	}
	events, err := ada.Events(ctx, task.ID, 0, 0)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Kind))
	}
	want := []string{"created", "claimed", "delivered", "note", "note", "done"}
	if diff := cmp.Diff(want, kinds); err != nil || diff != "" {
		t.Errorf("events: %v\n%s", err, diff)
	}
}

// TestBoard_givenUp: who gives up says what is known. A call that one of the tries may
// have done is not said to have done nothing.
func TestBoard_givenUp(t *testing.T) {
	s := newSite(t)
	ada := s.as("ada")
	if _, err := ada.Whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	remote.SetPatience(ada, 200*time.Millisecond)
	many := slices.Repeat([]fault{{err: board.ErrUnavailable}}, 100)
	for _, c := range []struct {
		name  string
		first fault
		want  error
	}{
		{"nothing happened", fault{err: board.ErrUnavailable}, board.ErrUnavailable},
		{"something may have", fault{err: board.ErrUnknown}, board.ErrUnknown},
	} {
		s.faults.befall(append([]fault{c.first}, many...)...)
		_, _, err := ada.Create(t.Context(), local, board.NewTask{Project: "web", Title: "One"}, "")
		if !errors.Is(err, c.want) || errors.Is(err, board.ErrUnknown) != (c.want == board.ErrUnknown) {
			t.Errorf("%s: Create = %v, want %v", c.name, err, c.want)
		}
		if left := s.faults.befall(); left == len(many) {
			t.Errorf("%s: it was not tried again", c.name)
		}
	}
}

// TestBoard_refused: a key that the server does not take.
func TestBoard_refused(t *testing.T) {
	s := newSite(t)
	if _, err := s.as("mallory").Whoami(t.Context()); !errors.Is(err, board.ErrDenied) || !errors.Is(err, access.ErrKeyRejected) {
		t.Errorf("Whoami = %v", err)
	}
	me, err := s.as("ada").Whoami(t.Context())
	if diff := cmp.Diff(remote.Me{ID: "key:ada", Name: "Ada", Person: true, Roles: map[string]auth.Role{"web": auth.Lead}}, me); err != nil || diff != "" {
		t.Errorf("Whoami: %v\n%s", err, diff)
	}
}
