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
	{"Extend restores leases", func(f *fixture) {
		full, low, over := f.create("full"), f.create("low"), f.create("over")
		f.claim(board.Want{For: claimants("u", "v", "w"), Lease: time.Hour})
		before := f.get(full).Claim.LeaseUntil
		f.shortenLease(low)
		f.expireLease(over)
		f.write(func(tx board.Tx) error { return tx.Extend() })
		f.equal("a full lease is left alone", f.get(full).Claim.LeaseUntil.Equal(before), true)
		for _, id := range []board.ID{low, over} {
			if d := f.get(id); d.Claim.LeaseUntil.Sub(d.Now) < 59*time.Minute {
				f.Errorf("%s has %v left, want an hour", d.Task.Title, d.Claim.LeaseUntil.Sub(d.Now))
			}
		}
		f.stale(false)
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
