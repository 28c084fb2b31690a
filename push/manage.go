package push

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/permission"
)

// maxTargets is how many targets a person has, and how many webhooks a project.
const maxTargets = 20

// PublicKey returns the key that browsers subscribe with.
func (s *Sender) PublicKey() string { return s.vapid.public }

// Add stores a target.
func (s *Sender) Add(ctx context.Context, t Target) (Target, error) {
	if err := t.check(); err != nil {
		return t, err
	}
	if s.egress.Check(t.URL) != nil {
		return t, invalid("%.200q is not allowed: want an address that begins with https://", t.URL)
	}
	have, err := s.o.Store.Targets(ctx, t.Key)
	if err != nil {
		return t, err
	}
	n := 0
	for _, x := range have {
		n += toInt(x.Project == t.Project && (x.Kind != Browser || x.URL != t.URL))
	}
	if n >= maxTargets {
		return t, invalid("there are %d already; remove one", n)
	}
	return s.o.Store.InsertTarget(ctx, t)
}

// Targets lists the targets of a person's key, or all webhooks if key is empty.
func (s *Sender) Targets(ctx context.Context, key string) ([]Target, error) {
	return s.o.Store.Targets(ctx, key)
}

// Target reads a target.
func (s *Sender) Target(ctx context.Context, id TargetID) (Target, error) {
	return s.o.Store.Target(ctx, id)
}

// Disable disables a target until it is enabled.
func (s *Sender) Disable(ctx context.Context, id TargetID, reason string) error {
	return s.o.Store.Disable(ctx, id, reason)
}

// Enable enables a webhook, for which a person is responsible from now on. It gets what happens from now on.
func (s *Sender) Enable(ctx context.Context, id TargetID, owner string) error {
	return s.o.Store.Enable(ctx, id, owner)
}

// Remove deletes a target.
func (s *Sender) Remove(ctx context.Context, id TargetID) error {
	return s.o.Store.DeleteTarget(ctx, id)
}

// Dead lists dead letters of projects' webhooks, or of all if projects is nil.
func (s *Sender) Dead(ctx context.Context, projects []string, limit int) ([]Claimed, error) {
	return s.o.Store.Dead(ctx, projects, limit)
}

// DeadLetter reads a dead letter.
func (s *Sender) DeadLetter(ctx context.Context, id string) (Claimed, error) {
	return s.o.Store.DeadLetter(ctx, id)
}

// SendAgain makes a dead letter due, with all its tries.
func (s *Sender) SendAgain(ctx context.Context, id string) error { return s.o.Store.Revive(ctx, id) }

// Discard deletes a dead letter.
func (s *Sender) Discard(ctx context.Context, id string) error { return s.o.Store.Drop(ctx, id) }

// Test sends a target a message now. It returns why it did not arrive, or "".
func (s *Sender) Test(ctx context.Context, id TargetID) (string, error) {
	t, err := s.o.Store.Target(ctx, id)
	if err != nil {
		return "", err
	}
	now := time.Now()
	if t.Personal() {
		r, err := s.personal(&t, &message{Title: "Bossman", Body: "Notifications arrive here.", URL: s.o.URL + "/inbox", Tag: "test", until: now.Add(time.Minute)}, now)
		if err != nil {
			return "", err
		}
		return reason(s.send(ctx, r)), nil
	}
	p := payload{Type: "test", Timestamp: now.UTC(), Data: payloadData{URL: s.o.URL + "/"}}
	if t.Project != auth.EveryProject {
		p.Data.Project = t.Project
	}
	r, err := webhookRequest(&t, "msg_"+rand.Text(), p, now)
	if err != nil {
		return "", err
	}
	return reason(s.send(ctx, r)), nil
}

// An Offer is what a link would do.
type Offer struct {
	Question board.Question
	Answer   string
	// Caller is the person, with the rights of this moment.
	Caller *access.Caller
}

// Offer returns what a link would do, if it may: ErrLink, ErrExpired and ErrChanged say that
// the link is of no use, a board.ErrConflict that the question is closed, and a
// board.ErrDenied that the person may not answer any more.
func (s *Sender) Offer(ctx context.Context, link string) (o Offer, err error) {
	t, err := s.links.Open(ctx, link)
	if err != nil {
		return o, err
	}
	k, err := s.o.Keys.Key(ctx, t.Key)
	if err != nil {
		if errors.Is(err, auth.ErrNotFound) {
			err = board.ErrDenied
		}
		return o, err
	}
	q, err := s.o.Board.Question(ctx, t.Question)
	if err != nil {
		return o, err
	}
	p, err := s.o.Board.Project(ctx, q.Project)
	if err != nil {
		return o, err
	}
	o = Offer{Question: q, Caller: callerOf(&k, &p, time.Now())}
	if o.Caller.May(access.Answer, q.Project) != nil {
		return Offer{Caller: o.Caller}, board.ErrDenied
	}
	if err := q.CheckOpen(); err != nil {
		return o, err
	}
	if versionOf(&q) != t.Version || t.Option < 0 || t.Option >= len(q.Options) {
		return o, ErrChanged
	}
	if p, ok := permission.In(&q); ok && p.Risky {
		return o, ErrLink
	}
	o.Answer = q.Options[t.Option]
	return o, nil
}

// Answer answers as a link says.
func (s *Sender) Answer(ctx context.Context, link string) (Offer, error) {
	o, err := s.Offer(ctx, link)
	if err != nil {
		return o, err
	}
	q, err := s.o.Board.Answer(ctx, o.Caller.Actor, o.Question.ID, o.Answer)
	if err == nil {
		o.Question = q
	}
	return o, err
}

// KeyOf returns the key with which a caller has signed in: a browser's session is a key that
// was made from it.
func (s *Sender) KeyOf(ctx context.Context, c *access.Caller) (auth.Key, error) {
	id, ok := strings.CutPrefix(c.Principal, auth.KeyPrincipal(""))
	if !ok {
		return auth.Key{}, board.ErrNotFound
	}
	k, err := s.o.Keys.Key(ctx, id)
	if err == nil && k.Parent != "" {
		k, err = s.o.Keys.Key(ctx, k.Parent)
	}
	if errors.Is(err, auth.ErrNotFound) {
		err = board.ErrNotFound
	}
	return k, err
}
