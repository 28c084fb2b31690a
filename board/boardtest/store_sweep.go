package boardtest

import (
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var storeSweep = group{"sweep", []test{
	{"nothing is stale on a new board", func(f *fixture) {
		f.create("a")
		f.claim(board.Want{For: claimants("w")})
		f.stale(false)
		f.write(func(tx board.Tx) error {
			expired, err := tx.Expired(10)
			f.equal("Expired", len(expired), 0)
			f.ok(err)
			due, err := tx.Due(10)
			f.equal("Due", len(due), 0)
			f.ok(err)
			overdue, err := tx.Overdue(10)
			f.equal("Overdue", len(overdue), 0)
			return err
		})
	}},
	{"Expired returns expired claims, up to a limit", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		f.claim(board.Want{For: claimants("u", "v", "w")})
		f.expireLease(a)
		f.expireLease(c)
		f.stale(true)
		f.write(func(tx board.Tx) error {
			ts, err := tx.Expired(10)
			f.equal("Expired", taskIDs(ts), a.String()+" "+c.String())
			return err
		})
		f.write(func(tx board.Tx) error {
			ts, err := tx.Expired(1)
			f.equal("Expired(1)", len(ts), 1)
			return err
		})
		f.status(b, board.InProgress)
	}},
	{"a lease expires by the store's clock", func(f *fixture) {
		id := f.create("a")
		f.claim(board.Want{For: claimants("w"), Lease: 30 * time.Millisecond})
		f.eventually("the claim has expired", func() bool {
			stale := false
			f.read(func(r board.Reader) (err error) {
				stale, err = r.Stale()
				return err
			})
			return stale
		})
		d := f.get(id)
		if d.Now.Before(d.Claim.LeaseUntil) {
			f.Errorf("stale at %v, before the lease's end at %v", d.Now, d.Claim.LeaseUntil)
		}
	}},
	{"Due returns tasks whose cool-down or reservation is over", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		x := f.agent("x")
		x.fail(x.take(a), board.FailEnvironment)
		x.fail(x.take(b), board.FailEnvironment)
		f.stale(false)
		f.endCooldown(b)
		f.stale(true)
		f.write(func(tx board.Tx) error {
			ts, err := tx.Due(10)
			f.equal("Due", taskIDs(ts), b)
			return err
		})
	}},
	{"Overdue returns questions with a default whose deadline has passed", func(f *fixture) {
		insert := func(q board.Question) board.QuestionID {
			f.write(func(tx board.Tx) error {
				now, err := tx.Now()
				if err != nil {
					return err
				}
				q.Project, q.Text, q.State, q.AskedAt = project, "?", board.QuestionOpen, now
				if q.NeededBy.IsZero() {
					q.NeededBy = now.Add(-time.Minute)
				}
				q.ID, err = tx.InsertQuestion(q)
				return err
			})
			return q.ID
		}
		want := insert(board.Question{Default: "yes"})
		insert(board.Question{}) // overdue, without a default
		insert(board.Question{Default: "yes", NeededBy: time.Now().Add(24 * time.Hour)})
		f.stale(true)
		f.write(func(tx board.Tx) error {
			qs, err := tx.Overdue(10)
			if len(qs) != 1 || qs[0].ID != want {
				f.Errorf("Overdue = %v, want %v alone", qs, want)
			}
			return err
		})
		f.sweep()
		f.stale(false) // the one without a default does not keep it busy
	}},
	{"after a gap between sweeps, leases that were live when it began are extended", func(f *fixture) {
		live, full, over, gone, short := f.create("live"), f.create("full"), f.create("over"), f.create("gone"), f.create("short")
		f.claim(board.Want{For: claimants("u", "v", "w"), Lease: board.MinProtected})
		parting := f.claim(board.Want{For: []board.Claimant{{Worker: board.WorkerID{Principal: "local", Name: "z"}, Owner: "process-z"}}, Lease: board.MinProtected})
		f.equal("the task of the one that leaves", parting[0].Task, gone)
		f.claim(board.Want{For: claimants("x"), Lease: time.Second})
		const left = 3 * time.Second
		f.leaseLeft(live, left)
		f.leaseLeft(gone, left)
		f.write(func(tx board.Tx) error { return tx.Disown("process-z") })
		f.sweep()
		f.leaseLeft(over, -time.Minute) // before the gap
		began := f.get(live).Now
		f.eventually("the gap is over", func() bool { return f.get(live).Now.Sub(began) > 6*time.Second })
		f.sweep()
		for _, id := range []board.ID{live, full} {
			f.status(id, board.InProgress)
			f.equal("failures", f.get(id).Task.Failures, 0)
		}
		if d := f.get(live); d.Claim.LeaseUntil.Sub(d.Now) <= 0 || d.Claim.LeaseUntil.Sub(d.Now) > left {
			f.Errorf("%v are left of the lease, want at most the %v from before the gap", d.Claim.LeaseUntil.Sub(d.Now), left)
		}
		if d := f.get(full); d.Claim.LeaseUntil.Sub(d.Now) > d.Claim.Lease {
			f.Errorf("%v are left of a lease of %v", d.Claim.LeaseUntil.Sub(d.Now), d.Claim.Lease)
		}
		f.status(over, board.Pending)
		f.status(gone, board.Pending) // its process has left: it did not have to renew
		f.status(short, board.Pending)
		// Nobody renews it, and sweeps go on: it is ended now.
		f.running()
		f.eventually("the claim of a dead holder has ended", func() bool { return f.get(live).Task.Status == board.Pending })
		f.status(full, board.InProgress)
	}},
	{"SweepDue is false without claims", func(f *fixture) {
		f.create("a")
		f.read(func(r board.Reader) error {
			due, err := r.SweepDue()
			f.equal("SweepDue", due, false)
			return err
		})
	}},
	{"Lapsed lists the expired claims of an owner that nobody else was given", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		x, y := f.agent("x"), f.agent("y")
		lapsed := func() string {
			var hs []board.Handle
			f.read(func(r board.Reader) (err error) {
				hs, err = r.Lapsed("x")
				return err
			})
			return words(hs)
		}
		h := x.take(a)
		f.equal("a live one", lapsed(), "[]")
		f.expire(a)
		y.take(b, wishing(b))
		f.expire(b)
		f.equal("an expired one", lapsed(), words([]board.Handle{h}))
		f.agent("z").take(a, wishing(a))
		f.equal("given to somebody else", lapsed(), "[]")
		f.status(c, board.Pending)
	}},
	{"two concurrent sweeps end a claim once", func(f *fixture) {
		for range 10 {
			f.claimOne(f.create("t"))
		}
		all, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}})
		f.ok(err)
		for _, t := range all {
			f.expireLease(t.ID)
		}
		f.project(board.Project{Slug: "nowhere"})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				b := board.New(f.store, nil)
				b.Next(f.ctx, board.Actor{Principal: "s", Owner: "s"}, board.Wish{Projects: []string{"nowhere"}})
			})
		}
		wg.Wait()
		f.sweep()
		for _, t := range all {
			d := f.get(t.ID)
			f.equal("failures", d.Task.Failures, 1)
			f.equal("events", f.kinds(t.ID), "created claimed expired")
		}
	}},
}}

func (f *fixture) stale(want bool) {
	f.Helper()
	f.read(func(r board.Reader) error {
		got, err := r.Stale()
		if got != want {
			f.Errorf("Stale = %v, want %v", got, want)
		}
		return err
	})
}

// claimOne claims a task for a new worker.
func (f *fixture) claimOne(id board.ID) board.Handle {
	f.Helper()
	cs := f.claim(board.Want{For: claimants("w-" + id.String())})
	if cs[0].Task != id {
		f.Fatalf("got %v, want %v", cs[0].Task, id)
	}
	return cs[0].Handle
}

// leaseLeft sets how much is left of the lease of a task's claim.
func (f *fixture) leaseLeft(id board.ID, left time.Duration) {
	f.Helper()
	f.write(func(tx board.Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		if _, err := tx.Lock(id); err != nil {
			return err
		}
		c, err := tx.LiveClaim(id)
		if err != nil {
			return err
		}
		c.LeaseUntil = now.Add(left)
		return tx.UpdateClaim(c)
	})
}
