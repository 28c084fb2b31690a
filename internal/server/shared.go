package server

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/store/postgres"
	"golang.org/x/sync/errgroup"
)

// shared is what the replicas of a server share. It is zero for a server on a file, which
// has no replicas.
type shared struct {
	seal     *replica.Keyring
	tasks    replica.TaskStore
	bus      replica.Bus
	sessions replica.SessionStore
	relay    replica.Relay
	run      func(context.Context) error
}

// share sets s.shared if the store is a database.
func (s *Server) share(ctx context.Context) error {
	db, ok := s.store.(*postgres.Store)
	if !ok {
		return nil
	}
	keys := db.SealKeys()
	secrets, err := keys.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the sealing keys: %w", err)
	}
	ring, err := replica.NewKeyring(secrets...)
	if err != nil {
		return err
	}
	s.shared = shared{
		seal: ring, tasks: db.DurableCalls(), bus: serverBus{own: replica.NewBus(), all: db.Bus()}, sessions: db.Sessions(), relay: db.Relay(),
		run: func(ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { return db.Run(ctx) })
			g.Go(func() error { return keys.Run(ctx, ring) })
			return g.Wait()
		},
	}
	return nil
}

// A serverBus publishes events to the listeners of all replicas. Each replica follows the
// board itself, so events about resources go to its own listeners only; other events happen
// in one replica and go to all.
type serverBus struct{ own, all replica.Bus }

var _ replica.Bus = serverBus{}

func (b serverBus) Publish(kind, name string) {
	if kind == string(mcp.EventResource) {
		b.own.Publish(kind, name)
		return
	}
	b.all.Publish(kind, name) // to this replica too
}

func (b serverBus) Subscribe(hear func(kind, name string)) (stop func()) {
	stopOwn, stopAll := b.own.Subscribe(hear), b.all.Subscribe(hear)
	return func() {
		stopOwn()
		stopAll()
	}
}
