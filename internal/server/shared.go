package server

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/store/postgres"
	"golang.org/x/sync/errgroup"
)

// shared is what the replicas of a server share. A server on a file is alone, and
// has none of it.
type shared struct {
	seal     *mcp.Keyring
	tasks    mcp.TaskStore
	bus      mcp.Bus
	sessions streamable.Store
	relay    streamable.Relay
	run      func(context.Context) error
}

// share prepares what is shared.
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
	ring, err := mcp.NewKeyring(secrets...)
	if err != nil {
		return err
	}
	s.shared = shared{
		seal: ring, tasks: db.DurableCalls(), bus: serverBus{own: mcp.NewBus(), all: db.Bus()}, sessions: db.Sessions(), relay: db.Relay(),
		run: func(ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { return db.Run(ctx) })
			g.Go(func() error { return keys.Run(ctx, ring) })
			return g.Wait()
		},
	}
	return nil
}

// A serverBus tells the listeners of all replicas. Each replica follows the board by
// itself, so what it sees there it tells its own; only what happens in one replica
// alone is told to the others.
type serverBus struct{ own, all mcp.Bus }

var _ mcp.Bus = serverBus{}

func (b serverBus) Publish(e mcp.Event) {
	if e.Kind == mcp.EventResource {
		b.own.Publish(e)
		return
	}
	b.all.Publish(e) // this one included
}

func (b serverBus) Subscribe(hear func(mcp.Event)) (stop func()) {
	stopOwn, stopAll := b.own.Subscribe(hear), b.all.Subscribe(hear)
	return func() {
		stopOwn()
		stopAll()
	}
}
