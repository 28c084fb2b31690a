package board

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// LeaseTime is how long the lease of a landing target lasts. Holders renew it.
const LeaseTime = 2 * time.Minute

// A Lease is the exclusive right of one process to land work on a target.
type Lease struct {
	Project string
	// Target is the target, as the project's Land has it.
	Target string
	// Holder is what the process calls itself, for people. Who it really belongs to, Note.Leader says.
	Holder string
	// Nonce identifies it. It is a name and not a credential: the principal is checked as well.
	Nonce string
	// Left is how long it lasts.
	Left time.Duration
	// Note is what the lander tells others. Lead leaves what it told before if it is nil.
	Note *LandNote
}

// A Lander is who has the lease of a target, or had it last.
type Lander struct {
	Lease
	// Principal and Owner are those of the process that has it.
	Principal, Owner string
	Until            time.Time
}

// Author is who has the lease, or had it last.
func (l Lander) Author() Author {
	switch {
	case l.Note != nil && l.Note.Leader != Author{}:
		return l.Note.Leader
	case l.Principal == localPrincipal:
		return Author{}
	}
	return Author{By: l.Principal}
}

// Lead takes the lease of a target, if l has no nonce, or renews it. If another process has it,
// the error is a *LedError, unless that process is known to have been killed. If the lease that l names is no longer the newest, it is ErrLeaseLost:
// another process may have landed since. A lease that is over can be renewed as long as nobody else
// has taken it.
func (b *Board) Lead(ctx context.Context, a Actor, l Lease) (Lease, error) {
	if err := cmp.Or(checkTexts(text{"holder", l.Holder, 200}), checkNote(l.Note, l.Project)); err != nil {
		return Lease{}, err
	}
	if l.Holder == "" {
		return Lease{}, invalid("a lease has a holder")
	}
	var out Lease
	err := b.change(ctx, a, func(c *change) error {
		if err := cmp.Or(c.tx.LockProject(l.Project), c.clock()); err != nil {
			return err
		}
		p, err := c.tx.Project(l.Project)
		if err != nil {
			return err
		}
		if p.Land == "" || p.Land != l.Target {
			return conflict("%s does not land its work on %.80q", p.Slug, l.Target)
		}
		if l.Nonce != "" {
			now, err := c.leads(l)
			if err != nil {
				return err
			}
			if now.Note, err = c.note(l, now.Note); err != nil {
				return err
			}
			out, err = c.lead(now, l.Holder)
			return err
		}
		now, err := c.tx.Lander(l.Project, l.Target)
		if err != nil {
			return err
		}
		same := now.Owner == a.Owner && ownerHas(a.Owner, ProcessPrefix) && now.Principal == a.Principal
		gone, err := c.tx.Gone()
		if err != nil {
			return err
		}
		if now.Nonce != "" && now.Until.After(c.now) && !same && !slices.Contains(gone, now.Owner) {
			return &LedError{Target: l.Target, Holder: now.Holder, Author: now.Author(), Left: now.Until.Sub(c.now)}
		}
		l.Note = nil // the first call has none
		note, err := c.note(l, now.Note)
		if err != nil {
			return err
		}
		out, err = c.lead(Lander{Lease: Lease{Project: l.Project, Target: l.Target, Nonce: NewNonce(), Note: note}, Principal: a.Principal, Owner: a.Owner}, l.Holder)
		return err
	})
	if err == nil && a.hasEnded() {
		return Lease{}, cmp.Or(b.StepDown(context.WithoutCancel(ctx), a, out), errEnded)
	}
	return out, err
}

// StepDown gives a lease back. One that is over already is left alone.
func (b *Board) StepDown(ctx context.Context, a Actor, l Lease) error {
	return b.change(ctx, a, func(c *change) error {
		if err := cmp.Or(c.tx.LockProject(l.Project), c.clock()); err != nil {
			return err
		}
		now, err := c.leads(l)
		if errors.Is(err, ErrLeaseLost) {
			return nil
		}
		if err != nil {
			return err
		}
		c.freed = true
		now.Nonce, now.Until = "", c.now
		return c.tx.PutLander(now)
	})
}

// leads returns the lander whose lease l is; ErrLeaseLost if it is not the newest. The project is
// locked.
func (c *change) leads(l Lease) (Lander, error) {
	now, err := c.tx.Lander(l.Project, l.Target)
	if err != nil {
		return Lander{}, err
	}
	if now.Nonce == "" || now.Nonce != l.Nonce || now.Principal != c.actor.Principal {
		return Lander{}, &unled{target: l.Target}
	}
	return now, nil
}

// An unled is the ErrLeaseLost of a lander.
type unled struct{ target string }

func (e *unled) Error() string { return ErrLeaseLost.Error() + ": that of the target " + e.target }
func (e *unled) Unwrap() error { return ErrLeaseLost }

// note returns the note of the lander that has the lease l, and before it had another one: that of l if there is one.
func (c *change) note(l Lease, before *LandNote) (*LandNote, error) {
	if l.Note == nil {
		n := LandNote{}
		if before != nil {
			n = *before
		}
		n.Leader = c.actor.author()
		return &n, nil
	}
	n := l.Note.sign(c.actor, before)
	return n, c.current(n, l.Project)
}

// lead gives a lander the full lease.
func (c *change) lead(l Lander, holder string) (Lease, error) {
	l.Holder, l.Until, l.Left = holder, c.now.Add(LeaseTime), LeaseTime
	return l.Lease, c.tx.PutLander(l)
}
