package boardtest

import (
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleQuestions = group{"questions", []test{
	{"only the first answer is accepted", func(f *fixture) {
		q, err := f.board.Ask(f.ctx, f.agent("x").actor, board.NewQuestion{Project: project, Text: " which? ", Options: []string{"Red", "Blue"}})
		f.ok(err)
		f.equal("question", words(q.Text, q.Blocking, q.State), "which? true open")
		got, err := f.board.Answer(f.ctx, ada, q.ID, " blue ")
		f.ok(err)
		f.equal("answer", words(got.Answer, got.AnsweredBy, got.State), "Blue ada answered")
		_, err = f.board.Answer(f.ctx, ada, q.ID, "Red")
		f.is("a second answer", err, board.ErrConflict)
		got, err = f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("the answer that counts", got.Answer, "Blue")
	}},
	{"an answer means an option also without its punctuation", func(f *fixture) {
		for answer, want := range map[string]string{"keep it.": "Keep it", "drop it": "Drop it!", "C.": "C.", "c": "C", "keep": "keep"} {
			q, err := f.board.Ask(f.ctx, f.agent("x").actor, board.NewQuestion{Project: project, Text: "which?", Options: []string{"Keep it", "Drop it!", "C", "C."}})
			f.ok(err)
			got, err := f.board.Answer(f.ctx, ada, q.ID, answer)
			f.ok(err)
			f.equal(answer, got.Answer, want)
		}
	}},
	{"an answer tells a person from an agent", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		h := x.take(id)
		for _, by := range []struct {
			actor board.Actor
			want  board.ActorKind
		}{{ada, board.ByPerson}, {y.actor, board.ByAgent}} {
			q := x.ask(h)
			_, err := f.board.Answer(f.ctx, by.actor, q.ID, "yes")
			f.ok(err)
			got, err := f.board.Question(f.ctx, q.ID)
			f.ok(err)
			f.equal("answered as", got.AnsweredAs, by.want)
			f.equal("event", f.last(id).Detail.By, by.want)
		}
		q := x.ask(h, func(n *board.NewQuestion) { n.Default, n.Within = "no", time.Hour })
		f.overdue(q.ID)
		f.sweep()
		got, err := f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("the default", words(got.AnsweredBy, got.AnsweredAs == ""), "default true")
		_, err = f.board.Answer(f.ctx, ada, q.ID, "yes")
		f.is("an answer after the default", err, board.ErrConflict)
		f.equal("says", strings.Contains(err.Error(), "has its default as the answer, because nobody answered in time"), true)
	}},
	{"of several concurrent answers one is accepted", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id))
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for i := range 6 {
			wg.Go(func() {
				_, err := f.board.Answer(f.ctx, board.Actor{Principal: "p", Owner: words("p", i)}, q.ID, words(i))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					taken++
				}
			})
		}
		wg.Wait()
		f.equal("answers taken", taken, 1)
	}},
	{"the asker cannot answer", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id))
		_, err := f.board.Answer(f.ctx, x.actor, q.ID, "red")
		f.is("an answer of the asker", err, board.ErrDenied)
		// Nor can a worker with the same name in a new process.
		x.park(q.ID)
		again := x.actor
		again.Owner = "x, restarted"
		_, err = f.board.Answer(f.ctx, again, q.ID, "red")
		f.is("an answer of the asker, restarted", err, board.ErrDenied)
		free, err := f.board.Ask(f.ctx, x.actor, board.NewQuestion{Project: project, Text: "?"})
		f.ok(err)
		_, err = f.board.Answer(f.ctx, x.actor, free.ID, "red")
		f.is("an answer to a question without a task", err, board.ErrDenied)
		lead := board.Actor{Principal: "local", Owner: "lead"}
		nameless, err := f.board.Ask(f.ctx, lead, board.NewQuestion{Project: project, Text: "?"})
		f.ok(err)
		_, err = f.board.Answer(f.ctx, lead, nameless.ID, "red")
		f.is("an answer of an asker without a name", err, board.ErrDenied)
		_, err = f.board.Answer(f.ctx, f.agent("y").actor, q.ID, "red")
		f.ok(err)
	}},
	{"a worker that held the task cannot answer", func(f *fixture) {
		id := f.create("a")
		x, y := f.agent("x"), f.agent("y")
		x.fail(x.take(id), board.FailOther)
		q := y.ask(y.take(id))
		_, err := f.board.Answer(f.ctx, x.actor, q.ID, "red")
		f.is("an answer of an earlier holder", err, board.ErrDenied)
	}},
	{"a human_only question needs a person", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id), func(n *board.NewQuestion) { n.HumanOnly = true })
		_, err := f.board.Answer(f.ctx, f.agent("lead").actor, q.ID, "red")
		f.is("an answer of an agent", err, board.ErrDenied)
		_, err = f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
	}},
	{"the default is the answer when the deadline has passed", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		q := x.ask(h, func(n *board.NewQuestion) { n.Default, n.Within = "red", time.Hour })
		f.equal("blocking", q.Blocking, false)
		f.sweep()
		got, err := f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("before its time", got.State, board.QuestionOpen)
		f.overdue(q.ID)
		f.sweep()
		got, err = f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("after its time", words(got.State, got.Answer, got.AnsweredBy), "answered red default")
		f.status(id, board.InProgress)
		n := x.note(h, "going on")
		if len(n.Answers) != 1 || n.Answers[0].Answer != "red" {
			f.Errorf("the holder's notice has %v, want the answer", n.Answers)
		}
	}},
	{"without a default a question stays open", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		q := x.ask(x.take(id), func(n *board.NewQuestion) { n.Within = time.Hour })
		f.overdue(q.ID)
		f.sweep()
		got, err := f.board.Question(f.ctx, q.ID)
		f.ok(err)
		f.equal("state", got.State, board.QuestionOpen)
	}},
	{"an invalid question or answer is refused", func(f *fixture) {
		for name, n := range map[string]board.NewQuestion{
			"no text": {Project: project, Text: " "}, "too late": {Project: project, Text: "?", Within: 31 * 24 * time.Hour},
			"too many options": {Project: project, Text: "?", Options: make([]string, 21)},
		} {
			_, err := f.board.Ask(f.ctx, ada, n)
			f.is(name, err, board.ErrInvalid)
		}
		q := f.question("?")
		_, err := f.board.Answer(f.ctx, ada, q.ID, " ")
		f.is("no answer", err, board.ErrInvalid)
		_, err = f.board.Answer(f.ctx, ada, 99, "x")
		f.is("no question", err, board.ErrNotFound)
	}},
	{"people still get a question whose worker reports done without the answer", func(f *fixture) {
		x := f.agent("x")
		id := f.create("a")
		h := x.take(id)
		q := x.ask(h, func(n *board.NewQuestion) { n.Blocking = new(false) })
		x.done(h)
		in, err := f.board.Inbox(f.ctx, project)
		f.ok(err)
		f.equal("questions", len(in.Open), 1)
		f.equal("question", words(in.Open[0].Question.ID, in.Open[0].Reported == board.Done), words(q.ID, true))
		got, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		f.equal("state", got.State, board.QuestionAnswered)
		f.status(id, board.Done)
	}},
	{"the questions of a task that people end are withdrawn", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		x, y := f.agent("x"), f.agent("y")
		ha, hb := x.take(a), y.take(b)
		qa := x.ask(ha, func(n *board.NewQuestion) { n.Blocking = new(false) })
		qb := y.ask(hb)
		y.park(qb.ID)
		_, err := f.board.MarkDone(f.ctx, ada, a, "", false)
		f.ok(err)
		_, err = f.board.Cancel(f.ctx, ada, b, "", board.DependentsKeep)
		f.ok(err)
		for _, id := range []board.QuestionID{qa.ID, qb.ID} {
			q, err := f.board.Question(f.ctx, id)
			f.ok(err)
			f.equal("state", q.State, board.QuestionWithdrawn)
			_, err = f.board.Answer(f.ctx, ada, id, "red")
			f.is("an answer", err, board.ErrConflict)
		}
	}},
	{"Await sees the answer", func(f *fixture) {
		f.running()
		q := f.question("?")
		var wg sync.WaitGroup
		wg.Go(func() {
			got, err := f.board.Await(f.ctx, q.ID, 10*time.Second)
			if err != nil || got.Answer != "red" {
				f.Errorf("Await = %+v, %v, want red", got, err)
			}
		})
		_, err := f.board.Answer(f.ctx, ada, q.ID, "red")
		f.ok(err)
		wg.Wait()
		open := f.question("??")
		got, err := f.board.Await(f.ctx, open.ID, time.Millisecond)
		f.ok(err)
		f.equal("state", got.State, board.QuestionOpen)
	}},
	{"a question whose asker has left says so", func(f *fixture) {
		left := func(id board.QuestionID) bool {
			f.Helper()
			q, err := f.board.Question(f.ctx, id)
			f.ok(err)
			return q.AskerLeft()
		}
		x := f.agent("x")
		actor := x.actor
		actor.Owner = "p-one"
		alone, err := f.board.Ask(f.ctx, actor, board.NewQuestion{Project: project, Text: "alone"})
		f.ok(err)
		h, err := f.board.Next(f.ctx, actor, board.Wish{Projects: []string{project}})
		if err == nil {
			f.Fatalf("got %v", h.Claim)
		}
		ids := []board.ID{f.create("expires"), f.create("parks")}
		var asked []board.QuestionID
		var workers []string
		for _, id := range ids {
			h, err := f.board.Next(f.ctx, actor, board.Wish{Projects: []string{project}, Task: id})
			f.ok(err)
			q, err := f.board.Ask(f.ctx, actor, board.NewQuestion{Claim: h.Claim.Handle, Text: "about " + id.String()})
			f.ok(err)
			asked, workers = append(asked, q.ID), append(workers, h.Claim.Worker.Name)
		}
		actor.Worker = workers[1]
		_, parked, err := f.board.Park(f.ctx, actor, asked[1])
		f.ok(err)
		f.equal("parked", parked, true)
		f.equal("while it is here", words(left(alone.ID), left(asked[0]), left(asked[1])), "false false false")
		f.ok(f.board.Leave(f.ctx, "p-one"))
		f.equal("after it left", words(left(alone.ID), left(asked[0]), left(asked[1])), "true true true")
		// Its agent comes back from another process.
		actor.Owner, actor.Worker = "p-two", ""
		_, err = f.board.Next(f.ctx, actor, board.Wish{Projects: []string{project}, Worker: workers[0]})
		f.ok(err)
		f.equal("when it is back", words(left(alone.ID), left(asked[0]), left(asked[1])), "true false true")
		f.expire(ids[0])
		f.equal("after its lease expired", left(asked[0]), true)
		// The answer still counts.
		_, err = f.board.Answer(f.ctx, ada, asked[1], "yes")
		f.ok(err)
		f.status(ids[1], board.Pending)
		f.equal("answered", left(asked[1]), false)
	}},
	{"the same question in the same conversation is taken over from an asker that left", func(f *fixture) {
		x := f.agent("x").actor
		x.Owner = "p-one"
		n := board.NewQuestion{Project: project, ChatID: "chat-1", Text: "why", Blocking: new(false)}
		first, err := f.board.Ask(f.ctx, x, n)
		f.ok(err)
		second, err := f.board.Ask(f.ctx, x, n)
		f.ok(err)
		if first.ID == second.ID {
			f.Error("a question whose asker is here was taken over")
		}
		f.ok(f.board.Leave(f.ctx, "p-one"))
		x.Owner = "p-two"
		again, err := f.board.Ask(f.ctx, x, n)
		f.ok(err)
		f.equal("taken over", words(again.ID, again.AskerLeft()), words(first.ID, false))
		other := n
		other.ChatID = "chat-2"
		third, err := f.board.Ask(f.ctx, x, other)
		f.ok(err)
		if third.ID <= second.ID {
			f.Errorf("a question of another conversation is %v", third.ID)
		}
		chat, err := board.Chat(f.ctx, f.board, second, 5)
		f.ok(err)
		f.equal("earlier", len(chat), 1)
		f.equal("the first of them", chat[0].ID, first.ID)
		none, err := board.Chat(f.ctx, f.board, third, 5)
		f.ok(err)
		f.equal("of another conversation", len(none), 0)
		byChat, err := f.board.Questions(f.ctx, board.QuestionFilter{ChatID: "chat-2"})
		f.ok(err)
		f.equal("by chat", len(byChat), 1)
	}},
}}
