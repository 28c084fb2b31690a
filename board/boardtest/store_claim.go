package boardtest

import (
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var storeClaims = group{"claims", []test{
	{"a grant writes the claim, the attempt, the task, the worker and an event", func(f *fixture) {
		id := f.create("one", func(n *board.NewTask) { n.Lease = 90 * time.Second })
		who := claimants("otter-1")
		who[0].Where = board.Where{Host: "h", Dir: "/d", Branch: "b", Head: "abc", Uncommitted: 2}
		c := f.claim(board.Want{For: who})[0]
		d := f.get(id)
		f.equal("task", words(d.Task.Status, d.Task.Attempt, d.Task.Nonce, d.Task.Seq), words("in_progress", 1, c.Nonce, 2))
		f.equal("claim", d.Claim.Handle, c.Handle)
		f.equal("claim's worker", words(d.Claim.Worker, d.Claim.Owner, d.Claim.Session, d.Claim.Lease), words(who[0].Worker, "process", "s-otter-1", 90*time.Second))
		f.equal("lease", d.Claim.LeaseUntil.Sub(d.Claim.GrantedAt), 90*time.Second)
		f.equal("attempts", len(d.Attempts), 1)
		a := d.Attempts[0]
		f.equal("attempt", fmt.Sprintf("%v %v %v %v %v %v", a.Handle, a.Worker, a.Owner, a.Where, a.Cause, a.SpecVersion), fmt.Sprintf("%v %v %v %v  1", c.Handle, who[0].Worker, "process", who[0].Where))
		if !a.EndedAt.IsZero() || !a.GrantedAt.Equal(d.Claim.GrantedAt) {
			f.Errorf("attempt granted %v, ended %v, want %v and zero", a.GrantedAt, a.EndedAt, d.Claim.GrantedAt)
		}
		e := f.last(id)
		f.equal("event", words(e.Kind, e.Seq, e.Actor, e.From, e.To, e.Detail.Attempt, e.Detail.Nonce, e.Detail.Worker, e.Detail.LeaseSecs, e.Detail.Where),
			words(board.EventClaimed, 2, "otter-1", board.Pending, board.InProgress, 1, c.Nonce, "otter-1", 90, who[0].Where))
		f.read(func(r board.Reader) error {
			st, err := r.Standing(who[0].Worker)
			if err != nil {
				return err
			}
			f.equal("worker", words(st.Worker.Name, st.Worker.Owner, st.Worker.StoppedBy), "otter-1 process ")
			if st.Claim == nil || st.Claim.Handle != c.Handle {
				f.Errorf("Standing's claim = %v, want %v", st.Claim, c.Handle)
			}
			ws, err := r.Workers(d.Now.Add(-time.Minute))
			f.equal("workers of the last minute", len(ws), 1)
			if err != nil {
				return err
			}
			ws, err = r.Workers(d.Now.Add(time.Minute))
			f.equal("workers of the next minute", len(ws), 0)
			return err
		})
	}},
	{"a lease is the task's, else the project's, else the caller's", func(f *fixture) {
		f.project(board.Project{Slug: "api", Lease: 3 * time.Minute})
		f.create("web, none")
		f.create("api, none", func(n *board.NewTask) { n.Project = "api" })
		f.create("api, own", func(n *board.NewTask) { n.Project, n.Lease, n.Priority = "api", 5*time.Minute, board.Low })
		for i, tc := range []struct {
			project string
			want    time.Duration
		}{{project, 7 * time.Minute}, {"api", 3 * time.Minute}, {"api", 5 * time.Minute}} {
			c := f.claim(board.Want{Projects: []string{tc.project}, For: claimants(words("w", i)), Lease: 7 * time.Minute})[0]
			f.equal(fmt.Sprintf("lease of %v", c.Task), words(c.Lease, c.LeaseUntil.Sub(c.GrantedAt)), words(tc.want, tc.want))
		}
	}},
	{"a worker has at most one claim", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		c := f.claim(board.Want{For: claimants("w")})[0]
		f.equal("first", c.Task, a)
		err := f.store.Write(f.ctx, func(tx board.Tx) error {
			ts, err := tx.Lock(b)
			if err != nil {
				return err
			}
			_, err = board.Grant(tx, ts[0], claimants("w")[0], time.Minute)
			return err
		})
		f.is("a second grant", err, board.ErrConflict)
		f.equal("claims for one that holds something", len(f.claims(board.Want{For: claimants("w")})), 0)
		f.status(b, board.Pending)
		// Other claimants of the same call get theirs.
		cs := f.claims(board.Want{For: claimants("w", "v")})
		if len(cs) != 1 || cs[0].Task != b || cs[0].Worker.Name != "v" {
			f.Errorf("Claim for w, who holds one, and v = %v, want %v for v", cs, b)
		}
	}},
	{"the same name under another principal is another worker", func(f *fixture) {
		f.create("a")
		f.create("b")
		f.claim(board.Want{For: claimants("w")})
		other := claimants("w")
		other[0].Worker.Principal = "bob"
		f.claim(board.Want{For: other})
	}},
	{"a claim is updated and deleted", func(f *fixture) {
		id := f.create("a")
		c := f.claim(board.Want{For: claimants("w")})[0]
		c.LeaseUntil, c.Lease = c.LeaseUntil.Add(time.Minute), 3*time.Minute
		c.Deliveries, c.Owner, c.Session = 4, "other", "s2"
		f.write(func(tx board.Tx) error { return tx.UpdateClaim(c) })
		got := *f.get(id).Claim
		f.equal("changed claim", claimText(got), claimText(c))
		f.write(func(tx board.Tx) error { return tx.DeleteClaim(id) })
		if got := f.get(id).Claim; got != nil {
			f.Errorf("claim after DeleteClaim = %+v", got)
		}
		f.unchecked = true // in progress without a claim
	}},
	{"an attempt is updated", func(f *fixture) {
		id := f.create("a")
		c := f.claim(board.Want{For: claimants("w")})[0]
		var want board.Attempt
		f.write(func(tx board.Tx) error {
			a, err := tx.Attempt(id, 1)
			if err != nil {
				return err
			}
			a.EndedAt, a.Cause, a.Reason, a.DoNotRepeat = a.GrantedAt.Add(time.Second), board.CauseFailed, "r", "d"
			a.Where, a.SpecVersion, a.Created, a.ReportHash, a.ReportAnswer = board.Where{Branch: "b"}, 4, 2, "h", "{}"
			a.Owner, a.Actors = "other", "\nothers\np-1\n"
			want = a
			return tx.UpdateAttempt(a)
		})
		f.write(func(tx board.Tx) error {
			a, err := tx.Attempt(id, 1)
			a.GrantedAt, a.EndedAt = want.GrantedAt, want.EndedAt.Add(a.EndedAt.Sub(want.EndedAt))
			f.equal("attempt", fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", want))
			held, err2 := tx.Held(id, board.Claimant{Owner: "other"})
			f.equal("Held(other)", words(held, err2), "true <nil>")
			for owner, want := range map[string]bool{"others": true, "p-1": true, "p-": false, "": false} {
				held, err := tx.Held(id, board.Claimant{Owner: owner})
				f.equal("Held("+owner+")", words(held, err), words(want, nil))
			}
			return err
		})
		f.equal("handle", want.Handle, c.Handle)
		f.unchecked = true
	}},
	{"Renew renews only the named handle, and not after it has expired", func(f *fixture) {
		id := f.create("a")
		c := f.claim(board.Want{For: claimants("w"), Lease: time.Hour})[0]
		renew := func(h board.Handle) (ok bool) {
			f.Helper()
			ok, err := f.store.Renew(f.ctx, h)
			if err != nil {
				f.Fatal(err)
			}
			return ok
		}
		f.write(func(tx board.Tx) error {
			short := c
			short.LeaseUntil = c.GrantedAt.Add(time.Minute)
			return tx.UpdateClaim(short)
		})
		wrong := c.Handle
		wrong.Nonce = "zzzzz"
		f.equal("Renew of another nonce", renew(wrong), false)
		wrong = c.Handle
		wrong.Attempt++
		f.equal("Renew of another attempt", renew(wrong), false)
		f.equal("Renew", renew(c.Handle), true)
		if d := f.get(id); d.Claim.LeaseUntil.Sub(d.Now) < 59*time.Minute {
			f.Errorf("the lease has %v left, want an hour", d.Claim.LeaseUntil.Sub(d.Now))
		}
		f.expireLease(id)
		f.equal("Renew after the end", renew(c.Handle), false)
	}},
	{"claims are filtered", func(f *fixture) {
		f.project(board.Project{Slug: "api"})
		f.create("a")
		f.create("b", func(n *board.NewTask) { n.Project = "api" })
		a := f.claim(board.Want{For: claimants("w")})[0]
		b := f.claim(board.Want{Projects: []string{"api"}, For: []board.Claimant{{
			Worker: board.WorkerID{Principal: "bob", Name: "v"}, Owner: "o", Session: "s",
		}}})[0]
		for _, tc := range []struct {
			f    board.ClaimFilter
			want string
		}{
			{board.ClaimFilter{Project: "api"}, b.String()},
			{board.ClaimFilter{Principal: "local"}, a.String()},
			{board.ClaimFilter{Owner: "o"}, b.String()},
			{board.ClaimFilter{Worker: "w"}, a.String()},
			{board.ClaimFilter{Session: "s"}, b.String()},
			{board.ClaimFilter{Session: "s", Owner: "process"}, ""},
		} {
			got, err := f.board.Claims(f.ctx, tc.f)
			f.ok(err)
			text := ""
			for _, c := range got {
				text += c.String()
			}
			f.equal(fmt.Sprintf("Claims(%+v)", tc.f), text, tc.want)
		}
		all, err := f.board.Claims(f.ctx, board.ClaimFilter{})
		f.ok(err)
		f.equal("all claims", len(all), 2)
	}},
	{"claims tell where they work and are found by their areas", func(f *fixture) {
		place := board.Where{Host: "h", Dir: "/d", Branch: "b", Client: "c 1"}
		var handles []string
		for i, areas := range [][]string{{"tools/doc"}, {"web"}, {}, {"."}} {
			id := f.create(fmt.Sprint(i), func(n *board.NewTask) { n.Areas = areas })
			who := claimants(fmt.Sprint("w", i))
			who[0].Where = place
			c := f.claim(board.Want{For: who})[0]
			f.equal("claimed", c.Task, id)
			f.equal("place of the grant", c.Where, place)
			handles = append(handles, c.String())
		}
		for _, tc := range []struct {
			areas []string
			want  []int
		}{
			{[]string{"tools"}, []int{0, 3}},
			{[]string{"tools/doc/a", "x"}, []int{0, 3}},
			{[]string{"tools/docs"}, []int{3}},
			{[]string{"web", "tools/doc"}, []int{0, 1, 3}},
			{[]string{"."}, []int{0, 1, 3}},
			{nil, []int{0, 1, 2, 3}},
		} {
			got, err := f.board.Claims(f.ctx, board.ClaimFilter{Project: "web", Areas: tc.areas})
			f.ok(err)
			var have, want []string
			for _, c := range got {
				have = append(have, c.String())
				f.equal("place", c.Where, place)
			}
			for _, i := range tc.want {
				want = append(want, handles[i])
			}
			f.equal(fmt.Sprintf("Claims(%q)", tc.areas), fmt.Sprint(have), fmt.Sprint(want))
		}
	}},
	{"Disown frees the names of one owner", func(f *fixture) {
		f.write(func(tx board.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			for _, w := range []board.Worker{
				{WorkerID: board.WorkerID{Principal: "p", Name: "a"}, Owner: "one", LastSeen: now},
				{WorkerID: board.WorkerID{Principal: "p", Name: "b"}, Owner: "two", LastSeen: now, StoppedBy: "ada"},
			} {
				if err := tx.PutWorker(w); err != nil {
					return err
				}
			}
			return tx.Disown("one")
		})
		f.read(func(r board.Reader) error {
			for name, want := range map[string]string{"a": "", "b": "two"} {
				st, err := r.Standing(board.WorkerID{Principal: "p", Name: name})
				if err != nil {
					return err
				}
				f.equal("owner of "+name, st.Worker.Owner, want)
			}
			st, err := r.Standing(board.WorkerID{Principal: "p", Name: "b"})
			f.equal("b was stopped by", st.Worker.StoppedBy, "ada")
			return err
		})
	}},
}}

func claimText(c board.Claim) string {
	c.GrantedAt = c.GrantedAt.UTC().Truncate(time.Microsecond)
	c.LeaseUntil = c.LeaseUntil.UTC().Truncate(time.Microsecond)
	return fmt.Sprintf("%+v", c)
}

// claims hands out tasks, by default of the first project.
func (f *fixture) claims(w board.Want) []board.Claim {
	f.Helper()
	if w.Projects == nil {
		w.Projects = []string{project}
	}
	if w.Lease == 0 {
		w.Lease = 10 * time.Minute
	}
	cs, err := f.store.Claim(f.ctx, w)
	f.ok(err)
	return cs
}

// claim is claims, and each claimant must get a task.
func (f *fixture) claim(w board.Want) []board.Claim {
	f.Helper()
	cs := f.claims(w)
	if len(cs) != len(w.For) {
		f.Fatalf("Claim = %v, want one for each of %d", cs, len(w.For))
	}
	return cs
}
