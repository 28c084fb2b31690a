package boardtest

import (
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var rulePresence = group{"presence", []test{
	{"after Leave another process can use the name, and the lease has two minutes left", func(f *fixture) {
		id := f.create("a")
		x, heir := f.agent("x"), f.agent("heir")
		h := x.take(id)
		f.ok(f.board.Leave(f.ctx, "x"))
		if d := f.get(id); d.Claim.LeaseUntil.Sub(d.Now) > 2*time.Minute || d.Claim.LeaseUntil.Before(d.Now) {
			f.Errorf("after Leave the lease has %v left, want 2 min", d.Claim.LeaseUntil.Sub(d.Now))
		}
		f.status(id, board.InProgress)
		heir.name = x.name
		f.equal("handle", heir.take(id), h)
		d := f.get(id)
		f.equal("owner", d.Claim.Owner, "heir")
		if d.Claim.LeaseUntil.Sub(d.Now) < 9*time.Minute {
			f.Errorf("after the return the lease has %v left, want 10 min", d.Claim.LeaseUntil.Sub(d.Now))
		}
		heir.done(h)
	}},
	{"Leave neither extends a lease nor changes other claims", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		x, y := f.agent("x"), f.agent("y")
		x.take(a)
		y.take(b)
		f.expireLease(a)
		f.ok(f.board.Leave(f.ctx, "x"))
		f.ok(f.board.Leave(f.ctx, ""))
		if d := f.get(a); d.Claim.LeaseUntil.After(d.Now) {
			f.Error("Leave extended an expired lease")
		}
		if d := f.get(b); d.Claim.LeaseUntil.Sub(d.Now) < 9*time.Minute {
			f.Error("Leave shortened the lease of another process")
		}
	}},
	{"a crashed process loses the name when its lease has expired", func(f *fixture) {
		id := f.create("a")
		x, heir := f.agent("x"), f.agent("heir")
		h := x.take(id)
		f.expireLease(id)
		f.write(func(tx board.Tx) error {
			st, err := tx.Standing(x.worker())
			if err != nil {
				return err
			}
			st.Worker.LastSeen = st.Worker.LastSeen.Add(-time.Hour)
			return tx.PutWorker(st.Worker)
		})
		heir.name = x.name
		f.equal("handle", heir.take(id), h)
	}},
	{"Renew renews claims with less than half of their lease left", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		x, x2, y := f.agent("x"), f.agent("x"), f.agent("y")
		x.take(a)
		x2.take(b)
		y.take(c)
		for _, id := range []board.ID{a, c} {
			f.shortenLease(id)
		}
		before := f.get(b).Claim.LeaseUntil
		held, err := f.board.Renew(f.ctx, "x", false)
		f.ok(err)
		f.equal("claims", len(held), 2)
		if d := f.get(a); d.Claim.LeaseUntil.Sub(d.Now) < 9*time.Minute {
			f.Errorf("the lease has %v left, want 10 min", d.Claim.LeaseUntil.Sub(d.Now))
		}
		f.equal("the full lease is left alone", f.get(b).Claim.LeaseUntil.Equal(before), true)
		if d := f.get(c); d.Claim.LeaseUntil.Sub(d.Now) > 5*time.Minute {
			f.Error("the claim of another process was renewed")
		}
	}},
	{"a call makes the lease whole again, whatever is left of it", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		call := func(what string, whole bool, do func() error) {
			f.Helper()
			f.write(func(tx board.Tx) error {
				c, err := tx.LiveClaim(id)
				if err != nil {
					return err
				}
				c.LeaseUntil = c.LeaseUntil.Add(-c.Lease / 4)
				return tx.UpdateClaim(c)
			})
			f.ok(do())
			d := f.get(id)
			if left := d.Claim.LeaseUntil.Sub(d.Now); left > d.Claim.Lease-time.Minute != whole {
				f.Errorf("%s: %v of %v are left", what, left, d.Claim.Lease)
			}
		}
		call("a note", true, func() error {
			_, err := f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "on it"})
			return err
		})
		call("a call", true, func() error { _, err := f.board.Renew(f.ctx, "x", true); return err })
		call("presence alone", false, func() error { _, err := f.board.Renew(f.ctx, "x", false); return err })
	}},
	{"Renew without an owner renews nothing", func(f *fixture) {
		a := f.create("a")
		x := f.agent("x")
		x.take(a)
		f.shortenLease(a)
		held, err := f.board.Renew(f.ctx, "", false)
		f.equal("claims", words(len(held), err), "0 <nil>")
		if d := f.get(a); d.Claim.LeaseUntil.Sub(d.Now) > 5*time.Minute {
			f.Error("Renew without an owner renewed a claim")
		}
	}},
	{"Renew revives an expired claim, also after the sweep unless somebody else was given it", func(f *fixture) {
		a, b, c := f.create("a"), f.create("b"), f.create("c")
		x, y, z := f.agent("x"), f.agent("y"), f.agent("z")
		x.take(a)
		h := y.take(b)
		z.take(c)
		f.expireLease(a)
		_, err := f.board.Renew(f.ctx, "x", false)
		f.ok(err)
		f.equal("events", f.kinds(a), "created claimed revived")
		f.expire(b)
		held, err := f.board.Renew(f.ctx, "y", false)
		f.ok(err)
		f.equal("events", f.kinds(b), "created claimed expired revived")
		f.equal("claims", words(len(held), held[0].Handle), words(1, h))
		f.equal("failures", f.get(b).Task.Failures, 0)
		f.expire(c)
		f.agent("u").take(c, wishing(c))
		held, err = f.board.Renew(f.ctx, "z", false)
		f.ok(err)
		f.equal("claims", len(held), 0)
		f.equal("events", f.kinds(c), "created claimed expired claimed")
	}},
	{"a claim knows when its worker last called, and whether it has left", func(f *fixture) {
		id := f.create("a")
		x := f.agent("x")
		h := x.take(id)
		quiet := func() { // for an hour
			f.write(func(tx board.Tx) error {
				st, err := tx.Standing(x.worker())
				if err != nil {
					return err
				}
				st.Worker.LastSeen = st.Worker.LastSeen.Add(-time.Hour)
				return tx.PutWorker(st.Worker)
			})
		}
		silent := func(what string, want bool) {
			f.Helper()
			s, err := f.board.Summary(f.ctx, project)
			f.ok(err)
			if c := s.Claims[0]; c.Silent(s.Now) > 0 != want || !c.Alive(s.Now) {
				f.Errorf("%s: the last call was %v ago, alive %v", what, s.Now.Sub(c.LastCall), c.Alive(s.Now))
			}
		}
		silent("at first", false)
		quiet()
		silent("after an hour", true)
		_, err := f.board.Renew(f.ctx, "x", false)
		f.ok(err)
		silent("presence alone", true)
		if _, reasons, err := f.board.Why(f.ctx, id); err != nil || !strings.Contains(reasons[0].Text, "its connection is open but silent, without a call for 60 min") {
			f.Errorf("why: %v, %v", reasons, err)
		}
		_, err = f.board.Renew(f.ctx, "x", true)
		f.ok(err)
		silent("a call that reads", false)
		quiet()
		_, err = f.board.Progress(f.ctx, x.actor, h, board.Note{Text: "on it"})
		f.ok(err)
		silent("a note", false)

		f.ok(f.board.Leave(f.ctx, "x"))
		s, err := f.board.Summary(f.ctx, project)
		f.ok(err)
		f.equal("left, alive", words(s.Claims[0].Left, s.Claims[0].Alive(s.Now)), "true false")
		if _, reasons, err := f.board.Why(f.ctx, id); err != nil || !strings.Contains(reasons[0].Text, "has disconnected; unless it comes back, the task is free in") {
			f.Errorf("why: %v, %v", reasons, err)
		}
		x.take(id)
		f.equal("came back", f.get(id).Claim.Left, false)
	}},
	{"a call for one claim of a process says nothing about another", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		x := f.agent("x")
		x.take(a)
		y := f.agent("y")
		y.actor.Owner = "x" // on the same connection
		h := y.take(b)
		quiet := func(by time.Duration) {
			f.write(func(tx board.Tx) error {
				st, err := tx.Standing(x.worker())
				if err != nil {
					return err
				}
				st.Worker.LastSeen = st.Worker.LastSeen.Add(-by)
				return tx.PutWorker(st.Worker)
			})
		}
		quiet(time.Hour)
		_, err := f.board.Renew(f.ctx, "x", true)
		f.ok(err)
		_, err = f.board.Progress(f.ctx, y.actor, h, board.Note{Text: "on it"})
		f.ok(err)
		if _, reasons, err := f.board.Why(f.ctx, a); err != nil || !strings.Contains(reasons[0].Text, "without a call for 60 min") {
			f.Errorf("why: %v, %v", reasons, err)
		}
		f.expireLease(a)
		f.expireLease(b)
		quiet(time.Hour + time.Minute)
		_, err = f.board.Renew(f.ctx, "x", true)
		f.ok(err)
		f.equal("the one that is absent", f.kinds(a), "created claimed")
		f.equal("the one that calls", f.kinds(b), "created claimed note revived")
		f.expire(a)
		held, err := f.board.Renew(f.ctx, "x", true)
		f.ok(err)
		f.equal("claims", words(len(held), held[0].Handle), words(1, h))
		f.equal("the one that is absent", f.kinds(a), "created claimed expired")
	}},
	{"Renew is no sign of work", func(f *fixture) {
		id := f.create("a", atMost(1))
		x := f.agent("x")
		x.take(id)
		for range 5 {
			x.take(id)
			f.expireLease(id)
			_, err := f.board.Renew(f.ctx, "x", false)
			f.ok(err)
		}
		x.nothing()
		f.status(id, board.Failed)
	}},
}}
