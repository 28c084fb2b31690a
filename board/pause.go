package board

import (
	"context"
	"strings"
)

// Pause stops the hand-out of a project's tasks. Workers keep the claims they hold. An agent
// does not take over the pause of somebody else.
func (b *Board) Pause(ctx context.Context, a Actor, slug string) error {
	return b.change(ctx, a, func(c *change) error {
		p, err := c.writable(slug)
		if err != nil || p.PausedBy != "" && !a.Person {
			return err
		}
		p.PausedBy = pauser(a)
		return c.tx.PutProject(p)
	})
}

// Resume ends a pause. An agent can end only its own.
func (b *Board) Resume(ctx context.Context, a Actor, slug string) error {
	return b.change(ctx, a, func(c *change) error {
		p, err := c.writable(slug)
		if err != nil {
			return err
		}
		if p.PausedBy != "" && !a.Person && p.PausedBy != pauser(a) {
			return denied("%s was paused by %q, and an agent cannot resume it", slug, p.PausedBy)
		}
		p.PausedBy = ""
		c.freed = true
		return c.tx.PutProject(p)
	})
}

// pauser is the name under which an actor pauses. That of an agent is never a person's, also
// if the agent uses the person's key.
func pauser(a Actor) string {
	if a.Person {
		return a.String()
	}
	return strings.TrimSuffix(a.String(), "'s agent") + "'s agent"
}
