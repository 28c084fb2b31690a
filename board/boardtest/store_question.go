package boardtest

import (
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var storeQuestions = group{"stored questions", []test{
	{"every field of a question comes back", func(f *fixture) {
		id := f.create("a")
		c := f.claim(board.Want{For: claimants("w")})[0]
		var want board.Question
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			want = board.Question{
				Project: project, Claim: c.Handle, Asker: c.Worker, Owner: "process", ChatID: "chat", Text: "which?",
				Options: []string{"a", "b"}, Default: "a", NeededBy: now.Add(time.Hour), Blocking: true, HumanOnly: true,
				State: board.QuestionOpen, AskedAt: now,
			}
			want.ID, err = tx.InsertQuestion(want)
			return err
		})
		f.sameQuestion(want)
		f.write(func(tx board.Tx) error {
			want.State, want.Answer, want.AnsweredBy, want.AnsweredAt = board.QuestionAnswered, "b", "ada", want.AskedAt.Add(time.Second)
			want.AnsweredAs = board.ByPerson
			return tx.UpdateQuestion(want)
		})
		f.sameQuestion(want)
		f.equal("questions of the dossier", len(f.get(id).Questions), 1)
		f.unchecked = true // answered without an event
	}},
	{"a question without a task comes back", func(f *fixture) {
		var want board.Question
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			want = board.Question{Project: project, Text: "which?", State: board.QuestionOpen, AskedAt: now, Asker: board.WorkerID{Principal: "p"}, Owner: "o"}
			want.ID, err = tx.InsertQuestion(want)
			return err
		})
		f.sameQuestion(want)
	}},
	{"Usage counts one principal's open questions and live claims", func(f *fixture) {
		f.create("a")
		f.create("b")
		f.create("c")
		usage := func(principal string, claims, questions int) {
			f.Helper()
			u, err := f.board.Usage(f.ctx, principal)
			f.ok(err)
			f.equal("Usage of "+principal, u, board.Usage{Claims: claims, OpenQuestions: questions})
		}
		usage("x", 0, 0)
		f.claim(board.Want{For: []board.Claimant{
			{Worker: board.WorkerID{Principal: "x", Name: "w1"}},
			{Worker: board.WorkerID{Principal: "x", Name: "w2"}},
			{Worker: board.WorkerID{Principal: "y", Name: "w1"}},
		}})
		f.project(board.Project{Slug: "other"})
		var answered board.Question
		f.write(func(tx board.Tx) error {
			for _, q := range []board.Question{
				{Project: project, Asker: board.WorkerID{Principal: "y"}},
				{Project: project, Asker: board.WorkerID{Principal: "x"}},
				{Project: "other", Asker: board.WorkerID{Principal: "x", Name: "w1"}},
				{Project: project, Asker: board.WorkerID{Principal: "x", Name: "w2"}},
			} {
				q.Text, q.State = "?", board.QuestionOpen
				id, err := tx.InsertQuestion(q)
				if err != nil {
					return err
				}
				answered = q
				answered.ID = id
			}
			return nil
		})
		usage("x", 2, 3)
		usage("y", 1, 1)
		answered.State, answered.Answer = board.QuestionAnswered, "yes"
		f.write(func(tx board.Tx) error { return tx.UpdateQuestion(answered) })
		usage("x", 2, 2)
		usage("nobody", 0, 0)
	}},
	{"only an open question is written", func(f *fixture) {
		q := f.question("?")
		q.State, q.Answer = board.QuestionAnswered, "yes"
		f.write(func(tx board.Tx) error { return tx.UpdateQuestion(q) })
		again := q
		again.Answer = "no"
		f.is("UpdateQuestion of an answered one", f.store.Write(f.ctx, func(tx board.Tx) error { return tx.UpdateQuestion(again) }), board.ErrConflict)
		got, err := f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("answer", got.Answer, "yes")
	}},
	{"ErrConflict of UpdateQuestion leaves the transaction usable", func(f *fixture) {
		q := f.question("?")
		q.State = board.QuestionWithdrawn
		f.write(func(tx board.Tx) error { return tx.UpdateQuestion(q) })
		f.write(func(tx board.Tx) error {
			f.is("UpdateQuestion", tx.UpdateQuestion(q), board.ErrConflict)
			return tx.PutProject(board.Project{Slug: "api"})
		})
		_, err := f.board.Project(f.ctx, "api")
		f.ok(err)
	}},
	{"questions are filtered and paged", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		q1 := x.ask(h)
		q2 := f.question("two")
		q3 := f.question("three")
		var q4 board.Question
		f.write(func(tx board.Tx) (err error) {
			q4 = board.Question{Project: "api", Text: "four", State: board.QuestionOpen}
			q4.ID, err = tx.InsertQuestion(q4)
			return err
		})
		_, err := f.board.Answer(f.ctx, ada, q2.ID, "yes")
		f.ok(err)
		for _, tc := range []struct {
			f    board.QuestionFilter
			want []board.QuestionID
		}{
			{board.QuestionFilter{}, []board.QuestionID{q1.ID, q2.ID, q3.ID, q4.ID}},
			{board.QuestionFilter{State: board.QuestionOpen}, []board.QuestionID{q1.ID, q3.ID, q4.ID}},
			{board.QuestionFilter{Projects: []string{"api"}}, []board.QuestionID{q4.ID}},
			{board.QuestionFilter{Projects: []string{project}, State: board.QuestionOpen}, []board.QuestionID{q1.ID, q3.ID}},
			{board.QuestionFilter{Task: id}, []board.QuestionID{q1.ID}},
			{board.QuestionFilter{Limit: 2}, []board.QuestionID{q1.ID, q2.ID}},
			{board.QuestionFilter{Limit: 2, After: q2.ID}, []board.QuestionID{q3.ID, q4.ID}},
			{board.QuestionFilter{After: q4.ID}, nil},
		} {
			got, err := f.board.Questions(f.ctx, tc.f)
			f.ok(err)
			var have []board.QuestionID
			for _, q := range got {
				have = append(have, q.ID)
			}
			f.equal(fmt.Sprintf("Questions(%+v)", tc.f), have, tc.want)
		}
	}},
}}

// question stores an open question that belongs to no task.
func (f *fixture) question(text string) (q board.Question) {
	f.Helper()
	f.write(func(tx board.Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		q = board.Question{Project: project, Text: text, State: board.QuestionOpen, AskedAt: now, Owner: "someone"}
		q.ID, err = tx.InsertQuestion(q)
		return err
	})
	return q
}

func (f *fixture) sameQuestion(want board.Question) {
	f.Helper()
	got, err := f.board.Question(f.ctx, want.ID)
	f.ok(err)
	text := func(q board.Question) string {
		for _, at := range []*time.Time{&q.NeededBy, &q.AskedAt, &q.AnsweredAt} {
			if !at.IsZero() {
				*at = at.UTC().Truncate(time.Microsecond)
			}
		}
		return fmt.Sprintf("%+v", q)
	}
	if g, w := text(got), text(want); g != w {
		f.Errorf("question\n got %s\nwant %s", g, w)
	}
}
