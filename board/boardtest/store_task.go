package boardtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var storeTasks = group{"tasks", []test{
	{"what does not exist is not found", func(f *fixture) {
		none := board.ID{Project: project, No: 99}
		f.read(func(r board.Reader) error {
			_, err := r.Project("nothere")
			f.is("Project", err, board.ErrNotFound)
			_, err = r.Task(none)
			f.is("Task", err, board.ErrNotFound)
			_, err = r.Task(board.ID{Project: "nothere", No: 1})
			f.is("Task of no project", err, board.ErrNotFound)
			_, err = r.Dossier(none, 5)
			f.is("Dossier", err, board.ErrNotFound)
			_, err = r.Question(99)
			f.is("Question", err, board.ErrNotFound)
			st, err := r.Standing(board.WorkerID{Principal: "p", Name: "n"})
			if err != nil || !st.Worker.IsZero() || st.Claim != nil || !st.Reserved.IsZero() {
				f.Errorf("Standing of an unknown worker = %+v, %v, want nothing and no error", st, err)
			}
			return nil
		})
		id := f.create("one")
		f.write(func(tx board.Tx) error {
			_, err := tx.Lock(id, none)
			f.is("Lock", err, board.ErrNotFound)
			return nil
		})
		f.write(func(tx board.Tx) error {
			_, err := tx.Doc(none)
			f.is("Doc", err, board.ErrNotFound)
			_, err = tx.LiveClaim(id)
			f.is("LiveClaim", err, board.ErrNotFound)
			_, err = tx.Attempt(id, 1)
			f.is("Attempt", err, board.ErrNotFound)
			held, err := tx.Held(id, board.Claimant{Owner: "nobody"})
			f.equal("Held", words(held, err), "false <nil>")
			return nil
		})
	}},
	{"a number out of range identifies no task of any project", func(f *fixture) {
		// A store that packs an ID into 64 bits must not let the number overflow into the
		// project.
		slugs := []string{project}
		for _, slug := range []string{"bound", "bounded", "boundless", "bounds"} {
			f.project(board.Project{Slug: slug})
			slugs = append(slugs, slug)
		}
		for _, slug := range slugs {
			f.create("of "+slug, func(n *board.NewTask) { n.Project = slug })
		}
		for _, slug := range slugs {
			for high := range int64(17) {
				for _, no := range []int64{(high+1)<<40 | 1, -((high + 1) << 40) + 1, -high - 1} {
					id := board.ID{Project: slug, No: no}
					f.read(func(r board.Reader) error {
						_, err := r.Task(id)
						f.is("Task", err, board.ErrNotFound)
						_, err = r.Dossier(id, 5)
						f.is("Dossier", err, board.ErrNotFound)
						events, _ := r.Events(id, 0, 5)
						f.equal("Events", len(events), 0)
						return nil
					})
					f.write(func(tx board.Tx) error {
						_, err := tx.Lock(id)
						f.is("Lock", err, board.ErrNotFound)
						return nil
					})
				}
			}
		}
	}},
	{"every field of a task comes back", func(f *fixture) {
		parent := f.create("parent")
		var want board.Task
		f.write(func(tx board.Tx) error {
			no, err := tx.Numbers(project, 1)
			if err != nil {
				return err
			}
			now, err := tx.Now()
			if err != nil {
				return err
			}
			want = board.Task{
				ID: board.ID{Project: project, No: no}, Title: "Ünïcode ☃ '\"", Priority: board.Urgent,
				Skills: []string{"css", "go"}, Areas: []string{"", "a/b"}, Wants: []board.EvidenceKind{"pr", "tests"},
				Parent: parent, Redoes: parent, Hold: true, Status: board.Pending, MaxFailures: 7, Lease: 90 * time.Second, SpecVersion: 1,
				NotBefore: now.Add(time.Hour), QueuedAt: now.Add(-time.Minute),
				ReservedFor: board.WorkerID{Principal: "local", Name: "otter-1"},
				Seq:         1, CreatedBy: "ada", CreatedAt: now, OpenChildren: 0,
			}
			if err := tx.PutWorker(board.Worker{WorkerID: want.ReservedFor, Owner: "p", LastSeen: now}); err != nil {
				return err
			}
			if err := tx.InsertTask(want, board.Doc{Description: "long", Acceptance: "when"}); err != nil {
				return err
			}
			ps, err := tx.Lock(parent)
			if err != nil {
				return err
			}
			ps[0].OpenChildren, ps[0].Seq = 1, ps[0].Seq+1
			if err := tx.UpdateTask(ps[0], ps[0].Seq-1); err != nil {
				return err
			}
			return tx.Append(
				board.Event{Task: want.ID, Seq: 1, Actor: "ada", Kind: board.EventCreated, To: board.Pending},
				board.Event{Task: parent, Seq: ps[0].Seq, Actor: "ada", Kind: board.EventEdited, From: board.Pending, To: board.Pending})
		})
		f.sameTask(want)
		f.write(func(tx board.Tx) error {
			ts, err := tx.Lock(want.ID)
			if err != nil {
				return err
			}
			t := ts[0]
			t.Title, t.Priority, t.Skills, t.Areas, t.Wants, t.Hold = "other", board.Low, nil, []string{"c"}, nil, false
			t.Failures, t.MaxFailures, t.Lease, t.SpecVersion, t.Seq = 1, 2, 0, 2, 2
			t.NotBefore, t.ReservedFor, t.QueuedAt = time.Time{}, board.WorkerID{}, t.QueuedAt.Add(time.Second)
			t.Status, t.EndedAt, t.DoneChildren = board.Failed, t.CreatedAt, 3
			want = t
			if err := tx.UpdateTask(t, 1); err != nil {
				return err
			}
			if err := tx.PutDoc(t.ID, board.Doc{Description: "longer", Result: &board.Result{
				Summary: "s", Evidence: []board.Evidence{{Kind: "pr", Ref: "31", Detail: "merged", Observed: true}}, Artifacts: []string{"a"}, Branch: "b", Worker: "w",
				Uncommitted: 2, Tip: board.Tip{Commit: "x", Tree: "y", Base: "z"}, NoChanges: true, Includes: []board.Included{{Task: board.ID{Project: "web", No: 7}, Commit: "v", Attempt: 2, Files: []string{"g"}}}, Loose: board.Loose{LeftOut: []string{"o"}, More: 3, Mixed: []string{"m"}, MoreMixed: 5, Rest: 6, Written: []string{"w"}, MoreWritten: 4, Inside: []string{"i"}, Unknown: true}, Comments: []board.Comment{{File: "f", Line: 3, Text: "t", By: "b", As: "person"}}, Landed: "l", Check: "c", ObservedBy: "k", ObservedOn: "h", Import: "i",
			}}); err != nil {
				return err
			}
			return tx.Append(board.Event{Task: t.ID, Seq: 2, Kind: board.EventFailed, From: board.Pending, To: board.Failed, Actor: "ada"})
		})
		f.sameTask(want)
		d := f.get(want.ID)
		f.equal("doc", d.Doc.Description+"|"+d.Doc.Acceptance, "longer|")
		f.equal("result", fmt.Sprintf("%+v", *d.Doc.Result), "{Summary:s Evidence:[{Kind:pr Ref:31 Detail:merged Observed:true}] Artifacts:[a] Branch:b Uncommitted:2 Worker:w Tip:{Commit:x Tree:y Base:z} NoChanges:true Includes:[{Task:web-7 Commit:v Attempt:2 Files:[g]}] Loose:{LeftOut:[o] More:3 Mixed:[m] MoreMixed:5 Rest:6 Written:[w] MoreWritten:4 Inside:[i] Unknown:true} Comments:[{File:f Line:3 Text:t By:b As:person}] Landed:l Check:c ObservedBy:k ObservedOn:h Import:i}")
		f.unchecked = true // the board would not have written this
	}},
	{"a project comes back as it was put", func(f *fixture) {
		p := board.Project{
			Slug: "shop", Name: "The shop", Policy: board.PolicyPerson, Lease: time.Minute,
			Skills: []string{"a", "b"}, PausedBy: "ada", Archived: true,
		}
		f.write(func(tx board.Tx) error { return tx.PutProject(p) })
		got, err := f.board.Project(f.ctx, "shop")
		f.ok(err)
		f.equal("project", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", p))
		p.Name, p.Skills, p.PausedBy, p.Archived, p.Lease = "Shop", nil, "", false, 0
		f.write(func(tx board.Tx) error { return tx.PutProject(p) })
		got, err = f.board.Project(f.ctx, "shop")
		f.ok(err)
		f.equal("changed project", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", p))
		for _, policy := range []board.Policy{board.PolicyReview, board.PolicyPerson, board.PolicyReview, board.PolicyTrust} {
			p.Policy = policy
			f.write(func(tx board.Tx) error { return tx.PutProject(p) })
			got, err = f.board.Project(f.ctx, "shop")
			f.ok(err)
			f.equal("policy", got.Policy, policy)
		}
		all, err := f.board.Projects(f.ctx)
		f.ok(err)
		f.equal("projects", len(all), 2)
	}},
	{"projects are listed by name, or all", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		f.project(board.Project{Slug: "cli"})
		f.read(func(r board.Reader) error {
			for _, test := range []struct {
				names []string
				want  string
			}{
				{nil, "api cli " + project},
				{[]string{"cli", "nothere", "api", "cli"}, "api cli"},
				{[]string{"nothere"}, ""},
			} {
				ps, err := r.Projects(test.names...)
				if err != nil {
					return err
				}
				var slugs []string
				for _, p := range ps {
					slugs = append(slugs, p.Slug)
				}
				f.equal(fmt.Sprintf("projects of %v", test.names), strings.Join(slugs, " "), test.want)
			}
			return nil
		})
	}},
	{"UpdateTask requires the Seq that was read", func(f *fixture) {
		id := f.create("one")
		for _, seq := range []int64{0, 2, 7} {
			err := f.store.Write(f.ctx, func(tx board.Tx) error {
				ts, err := tx.Lock(id)
				if err != nil {
					return err
				}
				ts[0].Title = "stolen"
				return tx.UpdateTask(ts[0], seq)
			})
			f.is(fmt.Sprintf("UpdateTask at seq %d", seq), err, board.ErrConflict)
		}
		f.equal("title", f.get(id).Task.Title, "one")
	}},
	{"numbers do not repeat", func(f *fixture) {
		seen := map[int64]bool{}
		for _, n := range []int{1, 3, 1, 10, 1} {
			f.write(func(tx board.Tx) error {
				first, err := tx.Numbers(project, n)
				for i := range int64(n) {
					if first < 1 || seen[first+i] {
						f.Errorf("Numbers(%d) = %d, given before", n, first)
					}
					seen[first+i] = true
				}
				return err
			})
		}
	}},
	{"Lock returns tasks in ascending order, each once", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		var all []board.ID
		for range 12 { // numbers of one and of two digits
			all = append(all, f.create("t"))
		}
		other := f.create("t", func(n *board.NewTask) { n.Project = "api" })
		f.write(func(tx board.Tx) error {
			ts, err := tx.Lock(all[10], all[1], other, all[1])
			f.equal("locked", taskIDs(ts), words(other, all[1], all[10]))
			return err
		})
	}},
	{"Link and Unlink are idempotent", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		f.unchecked = true // links without a count
		f.write(func(tx board.Tx) error {
			for range 2 {
				f.ok(tx.Link(c, a))
				f.ok(tx.Link(c, b))
			}
			blockers, _, err := tx.Links(c)
			f.equal("blockers of c", ids(blockers), words(a, b))
			f.ok(err)
			_, dependents, err := tx.Links(a)
			f.equal("dependents of a", ids(dependents), c)
			for range 2 {
				f.ok(tx.Unlink(c, a))
			}
			blockers, dependents, err2 := tx.Links(a)
			f.equal("links of a", words(blockers, dependents), "[] []")
			f.ok(err2)
			return err
		})
	}},
	{"lists are filtered and paged", listsAreFiltered},
	{"filters of lists combine", filtersCombine},
	{"a search finds what was edited", func(f *fixture) {
		id := f.create("Paint the door")
		f.create("b", func(n *board.NewTask) { n.Description = "a hinge" })
		finds := func(text string, want ...any) {
			f.Helper()
			for _, limit := range []int{0, 1} {
				got, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}, Query: text, Limit: limit})
				f.ok(err)
				f.equal("List "+text, taskIDs(got), words(want...))
			}
		}
		_, err := f.board.Update(f.ctx, ada, id, board.Edit{Title: new("Mend the GATE"), Description: new("with a hammer")})
		f.ok(err)
		finds("door")
		finds("the gate", id)
		finds("Hammer", id)
		finds("ate with") // the one ends, and the other begins
		finds("a ha", id)
		finds("ga", id)
		x := f.agent("x")
		x.done(x.take(id, wishing(id)))
		finds("gate", id)
		_, err = f.board.Update(f.ctx, ada, f.create("c"), board.Edit{Description: new(`50\% _of_ it`)})
		f.ok(err)
		finds("xyz")
		got, err := f.board.List(f.ctx, board.TaskFilter{Query: `0\% _OF`})
		f.ok(err)
		f.equal("a search for other signs", len(got), 1)
	}},
	{"Counts splits the pending tasks", func(f *fixture) {
		a := f.create("ready")
		f.create("blocked", after(a))
		f.create("draft", held)
		f.create("a draft that is blocked, too", held, after(a))
		later := f.create("later")
		gone := f.create("gone")
		_, err := f.board.Cancel(f.ctx, ada, gone, "", board.DependentsKeep)
		f.ok(err)
		x := f.agent("x")
		x.fail(x.take(later, wishing(later)), board.FailEnvironment)
		parent := f.create("parent")
		f.create("part", within(parent))
		f.reserve(f.create("reserved"), f.agent("y"))
		s, err := f.board.Summary(f.ctx, project)
		f.ok(err)
		f.equal("counts", words(s.Counts.Ready, s.Counts.Blocked, s.Counts.Held, s.Counts.Later, s.Counts.Reserved), "2 2 2 2 1")
		byState := map[board.State]int{}
		all, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}})
		f.ok(err)
		for _, t := range all {
			byState[t.State()]++
		}
		for _, state := range board.States {
			f.equal("counted "+string(state), s.Counts.In(state), byState[state])
		}
		f.equal("statuses", words(s.Counts.Status[board.Pending], s.Counts.Status[board.Cancelled], s.Counts.Total()), "8 1 9")
		f.read(func(r board.Reader) error {
			none, err := r.Counts([]string{"nothere"})
			f.equal("tasks of no project", none.Total(), 0)
			return err
		})
	}},
}}

// sameTask fails the test unless a task is stored as it is given.
func (f *fixture) sameTask(want board.Task) {
	f.Helper()
	f.read(func(r board.Reader) error {
		got, err := r.Task(want.ID)
		if err != nil {
			return err
		}
		if g, w := taskText(got), taskText(want); g != w {
			f.Errorf("task\n got %s\nwant %s", g, w)
		}
		return nil
	})
}

// taskText shows every field, times to the microsecond.
func taskText(t board.Task) string {
	for _, at := range []*time.Time{&t.NotBefore, &t.QueuedAt, &t.CreatedAt, &t.EndedAt} {
		if !at.IsZero() {
			*at = at.UTC().Truncate(time.Microsecond)
		}
	}
	return fmt.Sprintf("%+v", t)
}

// filtersCombine compares what a store lists with what the list of all tasks has.
func filtersCombine(f *fixture) {
	f.project(board.Project{Slug: "api", Policy: board.PolicyTrust})
	f.project(board.Project{Slug: "gate", Policy: board.PolicyPerson})
	parent := f.create("the parent")
	x := f.agent("x")
	var busy board.ID
	for i := range 24 {
		n := []func(*board.NewTask){func(n *board.NewTask) {
			n.Project = []string{project, "api", "gate"}[i%3]
			n.Description = []string{"a red one", "", "a Blue one"}[i/3%3]
			if n.Project == project && i%2 == 0 {
				n.Parent = parent
			}
			n.Hold = i%8 == 7
		}}
		if i%4 > 1 {
			n = append(n, needing([]string{"go", "sql"}[i%2]))
		}
		id := f.create(fmt.Sprintf("Task %d", i), n...)
		switch task := f.get(id).Task; {
		case i%5 == 1:
			_, err := f.board.Cancel(f.ctx, ada, id, "", board.DependentsKeep)
			f.ok(err)
		case i%5 > 2 && task.Ready():
			h := x.take(id, wishing(id), func(w *board.Wish) { w.Projects = []string{id.Project} })
			if i < 20 {
				x.done(h)
			} else {
				busy, x = id, f.agent(fmt.Sprint("y", i))
			}
		}
	}
	all, err := f.board.List(f.ctx, board.TaskFilter{})
	f.ok(err)
	holders := map[board.ID]string{}
	claims, err := f.board.Claims(f.ctx, board.ClaimFilter{})
	f.ok(err)
	for _, c := range claims {
		holders[c.Task] = c.Worker.Name
	}
	blue := map[board.ID]bool{}
	for _, t := range all {
		blue[t.ID] = strings.Contains(strings.ToLower(f.get(t.ID).Doc.Description), "blue")
	}
	var filters []board.TaskFilter
	for _, statuses := range [][]board.Status{nil, {}, board.Open, board.Statuses, {board.Done}, {board.Cancelled, board.InReview}, {board.Pending}, {board.InProgress, board.Done}} {
		for _, skill := range []string{"", "go", "none"} {
			for _, projects := range [][]string{nil, {project}, {"gate", "api"}} {
				for i := range 1 << 6 {
					g := board.TaskFilter{Statuses: statuses, Skill: skill, Projects: projects, Hold: i&1 > 0, Ready: i&2 > 0}
					if i&4 > 0 {
						g.Query = "BLUE"
					}
					if i&8 > 0 {
						g.Worker = holders[busy]
					}
					if i&16 > 0 {
						g.Parent = parent
					}
					if i&32 > 0 {
						g.Limit = 2
					}
					filters = append(filters, g)
				}
			}
		}
	}
	rand.Shuffle(len(filters), func(i, j int) { filters[i], filters[j] = filters[j], filters[i] })
	filters = filters[:1000] // others each time
	for _, g := range filters {
		var want []board.Task
		for _, t := range all {
			if (g.Statuses == nil || slices.Contains(g.Statuses, t.Status)) && (g.Skill == "" || slices.Contains(t.Skills, g.Skill)) &&
				(g.Projects == nil || slices.Contains(g.Projects, t.ID.Project)) && (!g.Hold || t.State() == board.StateDraft) && (!g.Ready || t.Ready()) &&
				(g.Query == "" || blue[t.ID]) && (g.Worker == "" || holders[t.ID] == g.Worker) && (g.Parent.IsZero() || t.Parent == g.Parent) {
				want = append(want, t)
			}
		}
		if g.Limit > 0 {
			want = want[:min(len(want), g.Limit)]
		}
		got, err := f.board.List(f.ctx, g)
		f.ok(err)
		f.equal(fmt.Sprintf("List %+v", g), taskIDs(got), taskIDs(want))
	}
}

func listsAreFiltered(f *fixture) {
	f.project(board.Project{Slug: "api", Skills: []string{"go"}})
	a := f.create("Paint the Door", needing("go", "sql"))
	b := f.create("b", func(n *board.NewTask) { n.Description = "a 100% RED_door" })
	parent := f.create("parent")
	c := f.create("c", within(parent), held)
	other := f.create("d", func(n *board.NewTask) { n.Project = "api" })
	x := f.agent("x")
	x.take(a, wishing(a))
	for _, tc := range []struct {
		name string
		f    board.TaskFilter
		want string
	}{
		{"all", board.TaskFilter{}, words(a, b, parent, c, other)},
		{"of a project", board.TaskFilter{Projects: []string{"api"}}, other.String()},
		{"of no project", board.TaskFilter{Projects: []string{"nothere"}}, ""},
		{"in progress", board.TaskFilter{Statuses: []board.Status{board.InProgress}}, a.String()},
		{"of two statuses", board.TaskFilter{Projects: []string{project}, Statuses: []board.Status{board.InProgress, board.Pending}}, words(a, b, parent, c)},
		{"ready", board.TaskFilter{Projects: []string{project}, Ready: true}, b.String()},
		{"by a word of the title, any case", board.TaskFilter{Query: "DOOR"}, words(a, b)},
		{"by a percent sign", board.TaskFilter{Query: "100%"}, b.String()},
		{"a percent sign is no wildcard", board.TaskFilter{Query: "a%d"}, ""},
		{"an underscore is no wildcard", board.TaskFilter{Query: "d_or"}, ""},
		{"by skill", board.TaskFilter{Skill: "sql"}, a.String()},
		{"by worker", board.TaskFilter{Worker: x.name}, a.String()},
		{"by parent", board.TaskFilter{Parent: parent}, c.String()},
		{"first page", board.TaskFilter{Projects: []string{project}, Limit: 2}, words(a, b)},
		{"second page", board.TaskFilter{Projects: []string{project}, Limit: 2, After: b}, words(parent, c)},
		{"last page", board.TaskFilter{Projects: []string{project}, Limit: 2, After: c}, ""},
	} {
		got, err := f.board.List(f.ctx, tc.f)
		f.ok(err)
		if tc.name == "all" {
			f.equal("List all", len(got), 5)
			continue
		}
		f.equal("List "+tc.name, taskIDs(got), tc.want)
	}
	// Pages over two projects have every task once.
	seen := map[board.ID]int{}
	for after := (board.ID{}); ; {
		page, err := f.board.List(f.ctx, board.TaskFilter{Limit: 2, After: after})
		f.ok(err)
		if len(page) == 0 {
			break
		}
		for _, t := range page {
			if seen[t.ID]++; seen[t.ID] > 1 {
				f.Fatalf("pages show %v twice", t.ID)
			}
		}
		after = page[len(page)-1].ID
	}
	f.equal("tasks on all pages", len(seen), 5)
}
