package boardtest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var storeHandOut = group{"the hand-out", []test{
	{"goes by priority, then age", func(f *fixture) {
		n1 := f.create("n1")
		l1 := f.create("l1", priority(board.Low))
		u1 := f.create("u1", priority(board.Urgent))
		n2 := f.create("n2")
		h1 := f.create("h1", priority(board.High))
		u2 := f.create("u2", priority(board.Urgent))
		f.order(board.Want{}, u1, u2, h1, n1, n2, l1)
	}},
	{"goes by age also between skill sets", func(f *fixture) {
		a := f.create("a", needing("go"))
		b := f.create("b", needing("sql"))
		c := f.create("c")
		d := f.create("d", needing("go", "sql"))
		f.order(board.Want{Skills: []string{"go", "sql"}}, a, b, c, d)
	}},
	{"gives a worker only tasks for its skills", func(f *fixture) {
		f.create("a", needing("go", "sql"))
		b := f.create("b", needing("go"))
		c := f.create("c")
		f.create("d", needing("gpu"))
		f.order(board.Want{Skills: []string{"css", "go"}}, b, c)
	}},
	{"gives a worker that declares no skills any task", func(f *fixture) {
		a := f.create("a", needing("go", "sql"))
		b := f.create("b", needing("gpu"))
		f.order(board.Want{}, a, b)
	}},
	{"skips tasks that are blocked, on hold, cooling down, have children, or are not pending", func(f *fixture) {
		first := f.create("first")
		f.create("blocked", after(first))
		f.create("on hold", held)
		parent := f.create("parent")
		part := f.create("part", within(parent))
		f.order(board.Want{}, first, part)
	}},
	{"skips paused and archived projects", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		f.project(board.Project{Slug: "old"})
		a := f.create("a")
		f.create("b", func(n *board.NewTask) { n.Project = "api" })
		f.create("c", func(n *board.NewTask) { n.Project = "old" })
		f.project(board.Project{Slug: "old", Archived: true})
		f.ok(f.board.Pause(f.ctx, ada, "api"))
		f.order(board.Want{Projects: []string{"api", "old", project}}, a)
	}},
	{"is limited to the given projects", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		f.create("a")
		b := f.create("b", func(n *board.NewTask) { n.Project = "api" })
		f.order(board.Want{Projects: []string{"api"}}, b)
		f.order(board.Want{Projects: []string{"nothere"}})
	}},
	{"chooses one of several projects with fitting work at random", func(f *fixture) {
		f.project(board.Project{Slug: "api", Skills: []string{"gpu"}})
		f.project(board.Project{Slug: "empty"})
		for range 20 {
			f.create("a")
			f.create("b", func(n *board.NewTask) { n.Project = "api" })
		}
		seen := map[string]int{}
		for i := range 20 { // all in one project: once in a million runs
			c := f.claim(board.Want{Projects: []string{"api", "empty", project}, For: claimants(words("w", i))})
			seen[c[0].Task.Project]++
		}
		if seen["api"] == 0 || seen[project] == 0 {
			f.Errorf("20 hand-outs of two projects: %v, want both", seen)
		}
	}},
	{"takes the only project with fitting work", func(f *fixture) {
		f.project(board.Project{Slug: "api", Skills: []string{"gpu"}})
		for range 3 {
			f.create("b", func(n *board.NewTask) { n.Project, n.Skills = "api", []string{"gpu"} })
		}
		var want []board.ID
		for range 8 {
			want = append(want, f.create("a"))
		}
		f.order(board.Want{Projects: []string{"api", project}, Skills: []string{"go"}}, want...)
	}},
	{"puts overlapping areas last, within a priority", func(f *fixture) {
		taken := f.create("taken", in("web/login"), priority(board.Urgent))
		under := f.create("under", in("web/login/form"))
		above := f.create("above", in("web"))
		same := f.create("same", in("doc", "web/login"))
		beside := f.create("beside", in("web/logins"))
		none := f.create("none")
		low := f.create("low", in("api"), priority(board.Low))
		all := f.create("all", in(""))
		f.equal("first", f.claim(board.Want{For: claimants("first")})[0].Task, taken)
		f.equal("second", f.claim(board.Want{For: claimants("second")})[0].Task, beside)
		f.equal("third", f.claim(board.Want{For: claimants("third")})[0].Task, none)
		// The remaining task of this priority overlaps, and still comes before lower ones.
		f.order(board.Want{}, under, above, same, all, low)
	}},
	{"ignores the areas of a claim that has ended", func(f *fixture) {
		a := f.create("a", in("web"))
		b := f.create("b", in("web/x"))
		c := f.create("c")
		x := f.agent("x")
		x.done(x.take(a))
		f.order(board.Want{}, b, c)
	}},
	{"gives several claimants one task each", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		cs := f.claims(board.Want{For: claimants("w", "v")})
		f.equal("claims", len(cs), 2)
		seen := map[board.ID]bool{}
		for _, c := range cs {
			seen[c.Task] = true
		}
		if !seen[a] || !seen[b] || cs[0].Worker == cs[1].Worker || cs[0].Nonce == cs[1].Nonce {
			f.Errorf("Claim = %v, want %v and %v for different workers", cs, a, b)
		}
		cs = f.claims(board.Want{For: claimants("u", "t", "s")})
		if len(cs) != 1 || cs[0].Task != c {
			f.Errorf("Claim for three, one being left = %v, want %v", cs, c)
		}
	}},
	{"does not offer a declined task until the time is over", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		decline := func(d time.Duration) {
			f.write(func(tx board.Tx) error {
				now, err := tx.Now()
				if err != nil {
					return err
				}
				return tx.Decline(claimants("w")[0].Worker, a, now.Add(d))
			})
		}
		decline(time.Minute)
		decline(time.Hour) // again is no error
		cs := f.claims(board.Want{For: claimants("w")})
		if len(cs) != 1 || cs[0].Task != b {
			f.Fatalf("Claim for who declined %v = %v, want %v", a, cs, b)
		}
		f.undo(b)
		cs = f.claims(board.Want{For: claimants("v")})
		if len(cs) != 1 || cs[0].Task != a {
			f.Fatalf("Claim for another = %v, want %v", cs, a)
		}
		f.undo(a)
		decline(-time.Second)
		cs = f.claims(board.Want{For: claimants("w")})
		if len(cs) != 1 || cs[0].Task != a {
			f.Errorf("Claim after that time = %v, want %v", cs, a)
		}
	}},
	{"gives a declined task to the other of two claimants", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			return tx.Decline(claimants("w")[0].Worker, a, now.Add(time.Hour))
		})
		for _, c := range f.claims(board.Want{For: claimants("w", "v")}) {
			if want := map[string]board.ID{"w": b, "v": a}[c.Worker.Name]; c.Task != want {
				f.Errorf("%s got %v, want %v", c.Worker.Name, c.Task, want)
			}
		}
	}},
	{"finds work behind many declined tasks", func(f *fixture) {
		var last board.ID
		for range 40 {
			last = f.create("t")
		}
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			for no := int64(1); no < last.No; no++ {
				if err := tx.Decline(claimants("w")[0].Worker, board.ID{Project: project, No: no}, now.Add(time.Hour)); err != nil {
					return err
				}
			}
			return nil
		})
		cs := f.claims(board.Want{For: claimants("w")})
		if len(cs) != 1 || cs[0].Task != last {
			f.Errorf("Claim = %v, want %v", cs, last)
		}
	}},
	{"grants each task once to many concurrent callers", func(f *fixture) {
		const tasks, workers = 20, 8
		for range tasks {
			f.create("t")
		}
		var mu sync.Mutex
		granted := map[board.ID]int{}
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := 0; ; i++ {
					cs, err := f.store.Claim(f.ctx, board.Want{
						Projects: []string{project}, For: claimants(words("w", w, "-", i)), Lease: time.Minute,
					})
					if err != nil {
						f.Errorf("Claim: %v", err)
						return
					}
					mu.Lock()
					for _, c := range cs {
						granted[c.Task]++
					}
					all := len(granted) >= tasks
					mu.Unlock()
					if all {
						return
					}
				}
			})
		}
		wg.Wait()
		for id, n := range granted {
			if n != 1 {
				f.Errorf("%v was granted %d times", id, n)
			}
		}
	}},
	{"gives nothing to a worker that was stopped", func(f *fixture) {
		id := f.create("a")
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			return tx.PutWorker(board.Worker{WorkerID: claimants("w")[0].Worker, Owner: "process", LastSeen: now, StoppedBy: "ada"})
		})
		cs := f.claims(board.Want{For: claimants("w", "v")})
		if len(cs) != 1 || cs[0].Worker.Name != "v" || cs[0].Task != id {
			f.Errorf("Claim for w, who was stopped, and v = %v, want %v for v", cs, id)
		}
		f.read(func(r board.Reader) error {
			st, err := r.Standing(claimants("w")[0].Worker)
			f.equal("w was stopped by", st.Worker.StoppedBy, "ada")
			return err
		})
	}},
	{"gives nothing to a new worker whose name is taken", func(f *fixture) {
		id := f.create("a")
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			return tx.PutWorker(board.Worker{WorkerID: claimants("w")[0].Worker, Owner: "another", LastSeen: now})
		})
		who := claimants("w", "v")
		who[0].New, who[1].New = true, true
		cs := f.claims(board.Want{For: who})
		if len(cs) != 1 || cs[0].Worker.Name != "v" || cs[0].Task != id {
			f.Errorf("Claim for w, whose name is taken, and v = %v, want %v for v", cs, id)
		}
		f.read(func(r board.Reader) error {
			st, err := r.Standing(who[0].Worker)
			f.equal("owner of w", st.Worker.Owner, "another")
			return err
		})
	}},
}}

// order claims tasks until there are none left, and checks their order.
func (f *fixture) order(w board.Want, want ...board.ID) {
	f.Helper()
	var got, wanted []string
	for i := 0; ; i++ {
		w.For = claimants(fmt.Sprintf("%s-%d", f.Name(), i))
		w.For[0].Worker.Name = fmt.Sprintf("w%d-%d", len(want), i)
		cs := f.claims(w)
		if len(cs) == 0 {
			break
		}
		got = append(got, cs[0].Task.String())
	}
	for _, id := range want {
		wanted = append(wanted, id.String())
	}
	f.equal("order of the hand-out", strings.Join(got, " "), strings.Join(wanted, " "))
}

// undo releases a claimed task.
func (f *fixture) undo(id board.ID) {
	f.Helper()
	_, err := f.board.Release(f.ctx, ada, id, "")
	f.ok(err)
}
