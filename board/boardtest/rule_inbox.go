package boardtest

import (
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var ruleInbox = group{"inbox", []test{
	{"the inbox has what waits for people, with what they need to know", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		reviewed, failed, dead := f.create("reviewed"), f.create("failed"), f.create("dead")
		stuck := f.create("stuck", after(failed, dead))
		f.create("draft", func(n *board.NewTask) { n.Hold = true })
		x := f.agent("x")
		x.done(x.take(reviewed), func(r *board.Report) {
			r.Summary, r.FollowUps = "It is there.", []board.NewTask{{Title: "follow-up"}}
		})
		y := f.agent("y")
		y.fail(y.take(failed), board.FailWrongSpec)
		_, err := f.board.Cancel(f.ctx, ada, dead, "not needed", board.DependentsKeep)
		f.ok(err)

		in, err := f.board.Inbox(f.ctx, project)
		f.ok(err)
		var tasks []string
		for _, list := range []struct {
			name  string
			tasks []board.OutlinedTask
		}{{"review", in.Review}, {"failed", in.Failed}, {"stuck", in.Stuck}, {"proposed", in.Proposed}} {
			for _, t := range list.tasks {
				o := t.Outline
				tasks = append(tasks, words(list.name, t.Task.Title, "by", o.Created.Actor, o.Created.Detail.Worker == x.name, !o.EndedAt.IsZero(),
					o.Summary, o.Reason, o.DeadBlocker, o.DeadBlockerStatus))
			}
		}
		f.equal("tasks", strings.Join(tasks, "\n"), strings.Join([]string{
			"review reviewed by ada false true It is there.   ",
			"failed failed by ada false true  It does not work.  ",
			words("stuck stuck by ada false false  ", failed, "failed"),
			words("proposed follow-up by", x.name, "true false    "),
		}, "\n"))
		if now := f.get(stuck).Now; in.Now.IsZero() || now.Before(in.Now) || now.Sub(in.Now) > time.Minute {
			f.Errorf("the inbox is of %v, and it is %v", in.Now, now)
		}
	}},
	{"a task that an agent makes a draft of is in the inbox", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		bot := board.Actor{Principal: "bot", Name: "bot"}
		draft := func(by board.Actor, id board.ID, hold bool) {
			_, err := f.board.Update(f.ctx, by, id, board.Edit{Hold: &hold})
			f.ok(err)
		}
		proposed := func() string {
			in, err := f.board.Inbox(f.ctx, project)
			f.ok(err)
			var list []string
			for _, t := range in.Proposed {
				list = append(list, words(t.Task.ID, t.Outline.Drafted.Actor))
			}
			return strings.Join(list, ", ")
		}
		draft(ada, a, true)
		f.equal("a person's draft", proposed(), "")
		draft(bot, b, true)
		f.equal("an agent's draft", proposed(), words(b, "bot"))
		draft(ada, b, false)
		f.equal("started again", proposed(), "")
	}},
	{"a task of the inbox names who reviews it", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		id := f.create("a")
		x := f.agent("x")
		x.done(x.take(id))
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			c := board.Claim{Worker: board.WorkerID{Principal: "lead", Name: "otter-1"}, Owner: "p", GrantedAt: now, LeaseUntil: now.Add(time.Hour), Lease: time.Hour}
			c.Task, c.Nonce = id, "n1234"
			return tx.InsertReview(c)
		})
		in, err := f.board.Inbox(f.ctx, project)
		f.ok(err)
		f.equal("in review", len(in.Review), 1)
		f.equal("reviewer", in.Review[0].Outline.Reviewer, "otter-1")
	}},
	{"a question of the inbox has what its asker asked before", func(f *fixture) {
		x, other := board.Actor{Principal: "local", Owner: "p-x"}, board.Actor{Principal: "else", Owner: "p-y"}
		ask := func(a board.Actor, chat, text string) board.QuestionID {
			q, err := f.board.Ask(f.ctx, a, board.NewQuestion{Project: project, Text: text, ChatID: chat})
			f.ok(err)
			return q.ID
		}
		for _, text := range []string{"0", "1", "2", "3", "4", "5"} {
			_, err := f.board.Answer(f.ctx, ada, ask(x, "chat", text), "yes "+text)
			f.ok(err)
		}
		ask(other, "chat", "another's")
		ask(x, "chat", "6")
		ask(x, "", "alone")
		ask(x, "chat", "7")
		in, err := f.board.Inbox(f.ctx, project)
		f.ok(err)
		var got []string
		for _, q := range in.Open {
			row := []string{q.Question.Text + ":"}
			for _, e := range q.Earlier {
				row = append(row, e.Text+e.Answer)
			}
			got = append(got, strings.Join(row, " "))
		}
		f.equal("questions", strings.Join(got, "; "), "another's:; 6: 1yes 1 2yes 2 3yes 3 4yes 4 5yes 5; alone:; 7: 2yes 2 3yes 3 4yes 4 5yes 5 6")
	}},
	{"lists of named tasks, and of claims on them", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		x, y := f.agent("x"), f.agent("y")
		x.take(a)
		y.take(b)
		list := func(filter board.TaskFilter) string {
			ts, err := f.board.List(f.ctx, filter)
			f.ok(err)
			var titles []string
			for _, t := range ts {
				titles = append(titles, t.Title)
			}
			return strings.Join(titles, " ")
		}
		strangers := []board.ID{{Project: project, No: 99}, {Project: "none", No: a.No}}
		f.equal("named", list(board.TaskFilter{IDs: append(strangers, c, a)}), "a c")
		f.equal("named, in progress", list(board.TaskFilter{IDs: []board.ID{a, c}, Statuses: []board.Status{board.InProgress}}), "a")
		f.equal("named, with a text", list(board.TaskFilter{IDs: []board.ID{a, c}, Query: "c"}), "c")
		f.equal("none named", list(board.TaskFilter{IDs: []board.ID{}}), "")
		held := func(ids ...board.ID) string {
			cs, err := f.board.Claims(f.ctx, board.ClaimFilter{Project: project, Tasks: ids})
			f.ok(err)
			var tasks []string
			for _, c := range cs {
				tasks = append(tasks, c.Task.String())
			}
			return strings.Join(tasks, " ")
		}
		f.equal("claims", held(append(strangers, b, c)...), b)
		f.equal("claims on none", held([]board.ID{}...), "")
		f.equal("all claims", held(), words(a, b))
	}},
	{"tasks that rest are listed by when they are ready", func(f *fixture) {
		f.project(board.Project{Slug: "ops"})
		var want []string
		now := f.get(f.create("first")).Now
		for _, minutes := range []int{3, 1, 2} {
			id := f.create("rests")
			want = append(want, id.String())
			f.write(func(tx board.Tx) error {
				ts, err := tx.Lock(id)
				if err != nil {
					return err
				}
				t := ts[0]
				t.NotBefore, t.Seq = now.Add(time.Duration(minutes)*time.Minute), t.Seq+1
				if err := tx.UpdateTask(t, t.Seq-1); err != nil {
					return err
				}
				return tx.Append(board.Event{Task: id, Seq: t.Seq, Actor: "ada", Kind: board.EventEdited, From: t.Status, To: t.Status})
			})
		}
		rests := func(n int, projects ...string) string {
			var ids []string
			f.read(func(r board.Reader) error {
				ts, err := r.Resting(projects, n)
				for _, t := range ts {
					ids = append(ids, t.ID.String())
				}
				return err
			})
			return strings.Join(ids, " ")
		}
		f.equal("resting", rests(9, project), words(want[1], want[2], want[0]))
		f.equal("the next of both", rests(2, "ops", project), words(want[1], want[2]))
		f.equal("of another project", rests(9, "ops"), "")
		last, err := board.ParseID(want[0])
		f.ok(err)
		_, err = f.board.Update(f.ctx, ada, last, board.Edit{Hold: new(true)})
		f.ok(err)
		f.equal("without a draft", rests(9, project), words(want[1], want[2]))
	}},
}}
