package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// order chooses the branch that the worker of a new hand-out is told to work on if another
// one works in its directory, and notes it with the attempt: its work is looked at there,
// and handed on from there. It is the branch that an earlier attempt left, if there is one.
func (b *Board) order(ctx context.Context, a Actor, h *Handout) {
	here := slices.ContainsFunc(h.Neighbours, func(n Neighbour) bool { return n.Dir != "" })
	if h.Again || !here || len(h.Attempts) == 0 {
		return
	}
	newest := &h.Attempts[len(h.Attempts)-1]
	if newest.Handle != h.Claim.Handle || newest.Where.Branch == "" && newest.Where.Head == "" {
		return
	}
	branch := ""
	err := b.change(ctx, a, func(c *change) error {
		if err := c.lockHeld(h.Claim.Handle); err != nil {
			return err
		}
		others, err := c.tx.Claims(ClaimFilter{Principal: h.Claim.Worker.Principal})
		if err != nil {
			return err
		}
		held, err := c.inForce(h.Claim.Handle)
		if err != nil {
			return err
		}
		branch = branchFor(h, others)
		held.attempt.Where.Ordered = branch
		return c.tx.UpdateAttempt(held.attempt)
	})
	if err != nil {
		b.o.Logger.Warn("the branch of an attempt could not be noted", "task", h.Claim.Task, "err", err) // the claim holds all the same
		return
	}
	h.Order(branch)
}

// Order changes the branch that a hand-out orders.
func (h *Handout) Order(branch string) {
	h.Claim.Where.Ordered = branch
	if h.Dossier.Claim != nil {
		h.Dossier.Claim.Where.Ordered = branch
	}
	if n := len(h.Attempts); n > 0 && h.Attempts[n-1].Handle == h.Claim.Handle {
		h.Attempts[n-1].Where.Ordered = branch
	}
}

// Locate notes where the work of a claim is, before anything depends on it: a report that
// is refused, or whose worker dies during its check, has said where the work is all the
// same. If w.Ordered is set, it is the branch that the worker is told to work on from now
// on. What a parked attempt left may be stored after its claim has ended: its place may be
// noted until the task is handed out again.
func (b *Board) Locate(ctx context.Context, a Actor, h Handle, w Where) error {
	if err := checkWhere(&w); err != nil {
		return err
	}
	return b.change(ctx, a, func(c *change) error {
		if err := c.lockHeld(h); err != nil {
			return err
		}
		held, err := c.parked(h)
		if held == nil && err == nil {
			held, err = c.reporter(h)
		}
		if err != nil {
			return err
		}
		c.saw(held, w)
		held.attempt.Where.Ordered = cmp.Or(w.Ordered, held.attempt.Where.Ordered)
		return c.tx.UpdateAttempt(held.attempt)
	})
}

// parked returns the holding of the last attempt at a locked task, nil if that is not parked.
func (c *change) parked(h Handle) (*holding, error) {
	t := c.tasks[h.Task]
	if t.Attempt != h.Attempt || t.Nonce != h.Nonce {
		return nil, nil
	}
	a, err := c.attempt(h)
	if err != nil || a.Cause != CauseParked {
		return nil, err
	}
	return &holding{task: t, attempt: a}, nil
}

// branchFor returns the branch for the worker of a hand-out: the newest one that an earlier
// attempt of the same principal made for the task, unless another worker is on it, else a new name.
func branchFor(h *Handout, others []Claim) string {
	taken := func(branch string) bool {
		return branch == h.Claim.Where.Branch || slices.ContainsFunc(others, func(c Claim) bool {
			return c.Task != h.Claim.Task && (c.Where.Branch == branch || c.Where.Ordered == branch)
		})
	}
	for _, a := range slices.Backward(h.Attempts[:len(h.Attempts)-1]) {
		branch := a.Where.Ordered
		if a.Where.Named {
			branch = a.Where.Branch
		}
		if a.Own(h.Claim.Worker.Principal) && plainBranch(branch) && !taken(branch) {
			return branch
		}
	}
	if h.Claim.Attempt > 1 {
		return fmt.Sprintf("%v-%d", h.Claim.Task, h.Claim.Attempt)
	}
	return h.Claim.Task.String()
}

// plainBranch reports whether a branch's name, which may be any client's word, is fit for a
// command.
func plainBranch(s string) bool {
	return s != "" && len(s) <= 100 && s[0] != '-' &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == ""
}
