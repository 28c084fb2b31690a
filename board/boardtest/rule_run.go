package boardtest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// log reads what is kept of the log of an attempt.
func (f *fixture) log(h board.Handle, after int64) string {
	f.Helper()
	parts, err := f.board.Log(f.ctx, h.Task, h.Attempt, after)
	f.ok(err)
	text := ""
	for _, p := range parts {
		text += p.Text
	}
	return text
}

var ruleRuns = group{"runs", []test{
	{"what an agent did and what it cost is kept, also after its report", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		run := board.Run{Claim: h, Agent: "claude", Model: "opus", Session: "s-1", Tokens: board.Tokens{In: 7, Out: 5, Cached: 3}}
		f.ok(f.board.Record(f.ctx, x.actor, run, board.LogPart{No: 1, Text: "one\n"}, board.LogPart{No: 2, Text: "two\n"}))
		x.done(h)
		run.Cost, run.Priced, run.Tokens.Out = 12_000, true, 9
		f.ok(f.board.Record(f.ctx, x.actor, run, board.LogPart{No: 2, Text: "again\n"}, board.LogPart{No: 3, Text: "three\n"}))
		got, err := f.board.Runs(f.ctx, h.Task)
		f.ok(err)
		if len(got) != 1 || got[0].At.IsZero() {
			f.Fatalf("runs %+v", got)
		}
		got[0].At = time.Time{}
		f.equal("run", got[0], run)
		f.equal("log", f.log(h, 0), "one\ntwo\nthree\n")
		f.equal("its end", f.log(h, 2), "three\n")
	}},
	{"what the runs of a project cost on a day is summed", func(f *fixture) {
		spent := func(slug string) board.Spending {
			s, err := f.board.Spent(f.ctx, slug)
			f.ok(err)
			return s
		}
		f.equal("before any", spent(project).Cost, int64(0))
		x, y := f.agent("x"), f.agent("y")
		first, second := x.take(f.create("a")), y.take(f.create("b"))
		run := board.Run{Claim: first, Agent: "claude", Cost: 12_000, Priced: true}
		f.ok(f.board.Record(f.ctx, x.actor, run))
		run.Cost = 15_000
		f.ok(f.board.Record(f.ctx, x.actor, run))
		f.ok(f.board.Record(f.ctx, y.actor, board.Run{Claim: second, Agent: "codex", Tokens: board.Tokens{In: 1}}))
		s := spent(project)
		f.equal("today", s.Cost, int64(15_000))
		f.equal("the dearest", words(s.Most, s.Task, s.Attempt), words(15_000, first.Task, first.Attempt))
		f.equal("another project", spent("nosuch").Cost, int64(0))
		if left := s.Ends.Sub(s.Now); left <= 0 || left > 24*time.Hour || s.Ends.UTC().Format("15:04:05") != "00:00:00" {
			f.Errorf("the day ends at %v, and it is %v", s.Ends, s.Now)
		}
		f.ok(f.board.Record(f.ctx, y.actor, board.Run{Claim: second, Agent: "codex", Tokens: board.Tokens{In: 1 << 62}, Cost: 1 << 62, Priced: true}))
		got, err := f.board.Runs(f.ctx, second.Task)
		f.ok(err)
		f.equal("one that is too much to be true", words(got[0].Cost, got[0].Tokens.In), words(int64(1e10), int64(1e12)))
		s = spent(project)
		f.equal("with it", words(s.Cost, s.Most, s.Task), words(int64(1e10+15_000), int64(1e10), second.Task))
		for at, want := range map[time.Time]int64{s.Ends.Add(-time.Microsecond): 2, s.Ends.AddDate(0, 0, -1): 2, s.Ends.AddDate(0, 0, -1).Add(-time.Microsecond): 1, s.Ends: 1} {
			f.ok(f.store.Write(f.ctx, func(tx board.Tx) error {
				if _, err := tx.Lock(first.Task); err != nil {
					return err
				}
				one, other := run, board.Run{Claim: second, Agent: "a", Cost: 1, Priced: true, At: s.Now}
				one.Cost, one.At = 1, at
				return errors.Join(tx.PutRun(one), tx.PutRun(other))
			}))
			f.equal("with one told at "+at.UTC().String(), spent(project).Cost, want)
		}
	}},
	{"only its newest parts are kept", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		run := board.Run{Claim: h, Agent: "claude"}
		long := strings.Repeat("x", board.MaxLogPart)
		for no := range int64(12) {
			f.ok(f.board.Record(f.ctx, x.actor, run, board.LogPart{No: no + 1, Text: long}))
		}
		f.equal("log", len(f.log(h, 0)), board.MaxLog)
		f.equal("what is left of the oldest", len(f.log(h, 5)), 7*board.MaxLogPart)
		for no := range int64(1030) {
			f.ok(f.board.Record(f.ctx, x.actor, run, board.LogPart{No: no + 13, Text: "y"}))
		}
		f.equal("log of short parts", len(f.log(h, 0)), board.MaxLog/256)
	}},
	{"nobody tells of another's attempt, or of one that is long over", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		run := board.Run{Claim: h, Agent: "claude"}
		f.is("another principal", f.board.Record(f.ctx, board.Actor{Principal: "eve", Owner: "eve"}, run), board.ErrDenied)
		run.Claim.Nonce = "0000000000"
		f.is("another claim", f.board.Record(f.ctx, x.actor, run), board.ErrConflict)
		run.Claim = board.Handle{Task: board.ID{Project: project, No: 99}, Attempt: 1, Nonce: h.Nonce}
		f.is("no task", f.board.Record(f.ctx, x.actor, run), board.ErrNotFound)
		for _, bad := range []board.Run{{Claim: h}, {Claim: h, Agent: "a\x00"}, {Claim: h, Agent: "a", Cost: -1}, {Claim: h, Agent: "a", Session: strings.Repeat("s", 300)}} {
			f.is("run", f.board.Record(f.ctx, x.actor, bad), board.ErrInvalid)
		}
		for _, session := range []string{`-cnotify=["touch","/tmp/x"]`, "--mcp-config=/tmp/x", "a b", "a;b", "../a", "é"} {
			f.is("session "+session, f.board.Record(f.ctx, x.actor, board.Run{Claim: h, Agent: "codex", Session: session}), board.ErrInvalid)
		}
		f.is("many parts", f.board.Record(f.ctx, x.actor, run, slices.Repeat([]board.LogPart{{No: 1, Text: "x"}}, 17)...), board.ErrInvalid)
		for _, bad := range []board.LogPart{{No: 0, Text: "x"}, {No: 1}, {No: 1, Text: strings.Repeat("x", board.MaxLogPart+1)}, {No: 1, Text: "\xff"}} {
			f.is("part", f.board.Record(f.ctx, x.actor, board.Run{Claim: h, Agent: "a"}, bad), board.ErrInvalid)
		}
		x.done(h)
		f.ok(f.store.Write(f.ctx, func(tx board.Tx) error {
			a, err := tx.Attempt(h.Task, h.Attempt)
			f.ok(err)
			a.EndedAt = a.EndedAt.Add(-2 * time.Hour)
			return tx.UpdateAttempt(a)
		}))
		f.is("an old one", f.board.Record(f.ctx, x.actor, board.Run{Claim: h, Agent: "a"}), board.ErrConflict)
		runs, err := f.board.Runs(f.ctx, h.Task)
		f.ok(err)
		f.equal("runs", len(runs), 0)
	}},
	{"runs leave the board with their tasks, and come back", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		text := strings.Repeat("é", board.MaxLogPart) // more than one part
		run := board.Run{Claim: h, Agent: "codex", Session: "s", Tokens: board.Tokens{In: 1}, Cost: 5, Priced: true}
		half := len(text) / 2
		f.ok(f.board.Record(f.ctx, x.actor, run, board.LogPart{No: 1, Text: text[:half]}, board.LogPart{No: 2, Text: text[half:]}))
		x.done(h)
		before, err := f.board.Runs(f.ctx, h.Task)
		f.ok(err)
		place := f.archive(1)
		if !bytes.Contains(place.Bytes(), []byte("\"agent\":\"codex\"")) {
			f.Errorf("the archive has no run:\n%.2000s", place.String())
		}
		f.equal("log of a task that is gone", f.log(h, 0), "")
		_, err = f.board.Import(f.ctx, ada, project, place.lines(), nil)
		f.ok(err)
		after, err := f.board.Runs(f.ctx, h.Task)
		f.ok(err)
		if len(after) != 1 {
			f.Fatalf("%d runs came back", len(after))
		}
		after[0].At = before[0].At.UTC()
		before[0].At = after[0].At
		f.equal("run", after[0], before[0])
		f.equal("log", f.log(h, 0) == text, true)
		s, err := f.board.Spent(f.ctx, project)
		f.ok(err)
		f.equal("spent here today, says an import", words(s.Cost, s.Most), words(0, 0))
	}},
}}
