package board

import (
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
		if err := c.lock(h.Claim.Task); err != nil {
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
	newest.Where.Ordered, h.Claim.Where.Ordered = branch, branch
	if h.Dossier.Claim != nil {
		h.Dossier.Claim.Where.Ordered = branch
	}
}

// branchFor returns the branch for the worker of a hand-out: the newest one that an earlier
// attempt made for the task, unless another worker is on it, else a new name.
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
		if plainBranch(branch) && !taken(branch) {
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
