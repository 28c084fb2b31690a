package push

import (
	"slices"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// verbOf returns what a person must be allowed to do to be told of something: those who
// cannot answer a question are not asked.
func verbOf(typ string) *access.Verb {
	switch typ {
	case asked:
		return access.Answer
	case "task." + string(board.EventReview):
		return access.Review
	}
	return access.Get
}

// allowed reports whether the holder of a key may use a verb in a project.
func allowed(k *auth.Key, v *access.Verb, p *board.Project, now time.Time) bool {
	return callerOf(k, p, now).May(v, p.Slug) == nil
}

// administers reports whether the holder of some key may administer a webhook of a project, or of auth.EveryProject.
func administers(keys []auth.Key, project string, now time.Time) bool {
	return slices.ContainsFunc(keys, func(k auth.Key) bool {
		return !k.Ended(now) && (k.Project == auth.EveryProject || k.Project == project) && access.SetProject.Allows(k.Role, k.Person)
	})
}

// ownerless says why a webhook is disabled whose owner may not administer it.
func ownerless(owner string) string {
	if owner == "" {
		return "It is not known who is responsible for it: an administrator enables it again."
	}
	return owner + " is responsible for it, and may not administer its project any more: an administrator enables it again."
}

// callerOf returns the holder of a person's key as a caller in a project. Without the right to
// anything there it is a caller who may do nothing.
func callerOf(k *auth.Key, p *board.Project, now time.Time) *access.Caller {
	if !k.Person || k.Ended(now) || p.Archived || k.Project != auth.EveryProject && k.Project != p.Slug {
		return &access.Caller{}
	}
	id := auth.KeyPrincipal(k.ID)
	return &access.Caller{
		Actor: board.Actor{Principal: id, Owner: id, Name: k.Owner, Person: true},
		Roles: map[string]auth.Role{p.Slug: k.Role}, Role: k.Role, Project: p.Slug,
	}
}
