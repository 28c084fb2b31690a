package web

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

const (
	secret   = "HUNTER2"
	harmless = "Not needed any more."
)

// confess writes a secret into a task that is over: as an answer, and as the reason of an attempt. Another task asks the
// same.
func (s *testSite) confess() board.ID {
	s.t.Helper()
	ctx := s.t.Context()
	q := s.ask(board.NewQuestion{Text: "Which password?"})
	agent := board.Actor{Principal: "key:crew", Owner: "p-crew", Worker: q.Asker.Name}
	id := q.Claim.Task
	s.askAs("key:other", board.NewQuestion{Text: "Which password?"})
	if _, err := s.board.Answer(ctx, testPerson, q.ID, secret); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.board.Fail(ctx, agent, q.Claim, board.Failure{Kind: board.FailWrongSpec, Reason: secret + " is wrong."}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.board.Cancel(ctx, testPerson, id, harmless, ""); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// redact redacts each event of a task that has the secret.
func (s *testSite) redact(id board.ID) {
	s.t.Helper()
	es, err := s.board.Events(s.t.Context(), id, 0, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, e := range es {
		if strings.Contains(e.Detail.Text, secret) {
			n++
			if err := s.board.Redact(s.t.Context(), testPerson, id, e.Seq, "a password"); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if n != 2 {
		s.t.Fatalf("%d events have the secret, want 2", n)
	}
}

func (s *testSite) erase(id board.ID) {
	s.t.Helper()
	if _, err := s.board.Erase(s.t.Context(), testPerson, id, "a password"); err != nil {
		s.t.Fatal(err)
	}
}

// secretPages show the secret of confess: a list of answers, what was answered when the same was asked before, what people
// did, and how attempts ended.
var secretPages = []string{"/inbox", "/inbox/q-2", "/admin?tab=audit", "/timeline?span=24h"}

// testErased checks that no site shows what the first one has erased.
func testErased(t *testing.T, sites []*testSite, browsers []*browser, erase func(board.ID), kept bool) {
	t.Helper()
	id := sites[0].confess()
	for i, b := range browsers {
		for _, page := range secretPages {
			until(t, "site "+string(rune('1'+i))+" shows the secret at "+page, func() bool {
				_, body := b.get(page)
				return strings.Contains(body, secret)
			})
		}
	}
	erase(id)
	for i, b := range browsers {
		for _, page := range secretPages {
			until(t, "site "+string(rune('1'+i))+" does not show the secret at "+page, func() bool {
				status, body := b.get(page)
				return status == 200 && !strings.Contains(body, secret)
			})
		}
		until(t, "site "+string(rune('1'+i))+" shows what people did", func() bool {
			_, body := b.get("/admin?tab=audit")
			return strings.Contains(body, board.Erased) && strings.Contains(body, harmless) == kept && !strings.Contains(body, secret)
		})
		if _, body := b.get("/inbox/q-2"); strings.Contains(body, "asked before") {
			t.Errorf("site %d shows an answer that was erased as an earlier one", i+1)
		}
	}
}

// TestErased: no page shows what was erased, and all show what was not.
func TestErased(t *testing.T) {
	for _, c := range []struct {
		name  string
		erase func(*testSite, board.ID)
		kept  bool
	}{{"redact", (*testSite).redact, true}, {"erase", (*testSite).erase, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTestSite(t, true)
			testErased(t, []*testSite{s}, []*browser{s.signedIn("ada", "shop", auth.Admin)}, func(id board.ID) { c.erase(s, id) }, c.kept)
		})
	}
}

// TestReplicas_erased: so it is with a replica that did not erase it.
func TestReplicas_erased(t *testing.T) {
	for _, c := range []struct {
		name  string
		erase func(*testSite, board.ID)
		kept  bool
	}{{"redact", (*testSite).redact, true}, {"erase", (*testSite).erase, false}} {
		t.Run(c.name, func(t *testing.T) {
			sites, _ := newReplicas(t, 2)
			b := sites[0].signedIn("ada", "shop", auth.Admin)
			testErased(t, sites, []*browser{b, b.at(sites[1], b.session())}, func(id board.ID) { c.erase(sites[0], id) }, c.kept)
		})
	}
}

// TestErased_permission: an erased permission is not shown as one that was refused.
func TestErased_permission(t *testing.T) {
	s := newTestSite(t, true)
	q := s.ask(board.NewQuestion{Text: migrate, Options: permits, HumanOnly: true})
	if _, err := s.board.Answer(t.Context(), testPerson, q.ID, "yes"); err != nil {
		t.Fatal(err)
	}
	b := s.signedIn("ada", "shop", auth.Admin)
	until(t, "the answer is listed", func() bool {
		_, body := b.get("/inbox")
		return strings.Contains(body, "Allowed once.")
	})
	es, err := s.board.Events(t.Context(), q.Claim.Task, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(es, func(e board.Event) bool { return e.Kind == board.EventAnswered })
	if err := s.board.Redact(t.Context(), testPerson, q.Claim.Task, es[at].Seq, "why"); err != nil {
		t.Fatal(err)
	}
	until(t, "the answer is shown as erased", func() bool {
		_, body := b.get("/inbox")
		return strings.Contains(body, board.Erased) && !strings.Contains(body, "llowed")
	})
}

// A lateBoard keeps its feed back while it is held, and has then archived what came meanwhile.
type lateBoard struct {
	*board.Board
	held, archived atomic.Bool
	kept           atomic.Int64 // how often it kept its feed back
}

func (b *lateBoard) Feed(ctx context.Context, projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	switch {
	case after == "":
	case b.held.Load():
		b.kept.Add(1)
		return nil, nil
	case b.archived.Swap(false):
		return nil, board.ErrCursorTooOld
	}
	return b.Board.Feed(ctx, projects, after, limit)
}

// TestErased_missed: a site that missed events, which were archived, does not show what was erased by one of them.
func TestErased_missed(t *testing.T) {
	s := newTestSite(t, false)
	late := &lateBoard{Board: s.board}
	site, err := New(Options{Board: late, Door: s.door, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = site.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	b := s.signedIn("ada", "shop", auth.Admin)
	s.server.Config.Handler = site
	testErased(t, []*testSite{s}, []*browser{b}, func(id board.ID) {
		before := late.kept.Load()
		late.held.Store(true)
		until(t, "no page of the feed is under way", func() bool { return late.kept.Load() > before })
		late.archived.Store(true)
		s.redact(id)
		late.held.Store(false)
	}, true)
	if late.archived.Load() {
		t.Error("no events were missed")
	}
}

// TestHistory_erased: the past is read while something is erased, so what was erased may come after that.
func TestHistory_erased(t *testing.T) {
	now := time.Now()
	id := board.ID{Project: "shop", No: 7}
	at := func(m int) time.Time { return now.Add(time.Duration(m-200) * time.Minute) }
	answer := board.Event{Task: id, Seq: 12, At: at(10), Kind: board.EventAnswered, Actor: "ada", Detail: board.Detail{Text: "because", By: board.ByPerson}}
	back := board.Event{Task: id, Seq: 20, At: at(40), Kind: board.EventReturned, From: board.Landing, To: board.Pending, Detail: board.Detail{Attempt: 1, Text: "because", Returned: &board.Returned{Kind: board.ReturnConflict, Title: "because"}}}
	past := []board.Event{claimed(id, 1, "otter-7", at(0)), answer, over(id, 1, board.EventFailed, board.Pending, at(30)), back}
	erasure := board.Event{Task: id, Seq: 30, At: at(50), Kind: board.EventErased, Detail: board.Detail{Text: "a password", Fields: []string{"event 12"}, By: board.ByPerson}}
	for seed := range uint64(20) {
		h, s := newHistory(), newStats()
		list := slices.Concat(past, past, []board.Event{erasure, erasure})
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, e := range list {
			h.add(e)
			s.add(e)
		}
		check := func(text, client, title, reason string) {
			t.Helper()
			tries, acts, sent := h.between([]string{"shop"}, at(-1), now), h.actsOf([]string{"shop"}), h.sentBack("shop")
			if len(tries) != 1 || len(acts) != 2 || len(sent) != 1 {
				t.Fatalf("seed %d: %d tries, %d acts, %d returns, want 1, 2, 1", seed, len(tries), len(acts), len(sent))
			}
			if tries[0].Text != text || tries[0].Client != client || sent[0].Text != text || sent[0].Told.Title != title || acts[1].Text != reason {
				t.Errorf("seed %d: %+v, %+v, %+v", seed, tries[0], sent[0], acts[1])
			}
			if acts[0].Text != "a password" {
				t.Errorf("seed %d: the reason of the erasure is %q", seed, acts[0].Text)
			}
			if got := s.day([]string{"shop"}, 0, now).Workers["otter-7"].Client; got != client {
				t.Errorf("seed %d: the worker's program is %q, want %q", seed, got, client)
			}
		}
		check(board.Erased, "", "", board.Erased)
		if got := h.pastRead(); !slices.Equal(got, []board.ID{id}) {
			t.Errorf("pastRead = %v, want %v", got, id)
		}
		redacted := answer
		redacted.Detail.Text = board.Erased
		other := over(id, 1, board.EventFailed, board.Pending, at(31)) // of a task that was imported under this number
		other.Detail.Text = "something else"
		for _, e := range []board.Event{past[0], redacted, past[2], other, back} {
			h.fill(e)
			s.fill(e)
		}
		check("because", "claude-code", "because", board.Erased)
	}
}

// A staleBoard reads a question, and only then it is erased.
type staleBoard struct {
	access.Board
	erase func()
	texts []string
}

func (b *staleBoard) Question(_ context.Context, id board.QuestionID) (board.Question, error) {
	q := board.Question{ID: id, Project: "shop", Claim: board.Handle{Task: board.ID{Project: "shop", No: 1}}, Answer: b.texts[0]}
	b.texts = b.texts[1:]
	if b.erase != nil {
		b.erase()
		b.erase = nil
	}
	return q, nil
}

// TestAnswers_erased: a question that is erased while it is read is read again, and then kept.
func TestAnswers_erased(t *testing.T) {
	a := newAnswers()
	task := board.ID{Project: "shop", No: 1}
	a.add(board.Event{Task: task, Seq: 3, Kind: board.EventAnswered, Detail: board.Detail{Question: 1}})
	b := &staleBoard{texts: []string{secret, board.Erased}}
	b.erase = func() { a.add(board.Event{Task: task, Seq: 4, Kind: board.EventErased}) }
	a.of(t.Context(), b, "shop")
	for range 2 {
		if list := a.of(t.Context(), b, "shop"); len(list) != 1 || list[0].Answer != board.Erased {
			t.Errorf("after the erasure the answers are %+v", list)
		}
	}
}

// TestActivity_erased: what an agent did at a task is dropped with the task's content.
func TestActivity_erased(t *testing.T) {
	a := newActivity(nil)
	one, two := board.Handle{Task: board.ID{Project: "shop", No: 1}}, board.Handle{Task: board.ID{Project: "shop", No: 2}}
	a.runs[one], a.runs[two] = &runActivity{entry: secret}, &runActivity{entry: harmless}
	a.forget(one.Task)
	if got, other := a.known(one), a.known(two); got.Entry != "" || other.Entry != harmless {
		t.Errorf("the agents do %q and %q, want nothing and %q", got.Entry, other.Entry, harmless)
	}
}
