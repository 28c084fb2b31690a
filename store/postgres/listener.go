package postgres

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// The delay between two connection attempts starts at minReconnect and doubles up to
	// maxReconnect.
	minReconnect = 100 * time.Millisecond
	maxReconnect = 5 * time.Second

	// keepAlive is how often an idle connection is checked with a statement.
	keepAlive = 15 * time.Second
	// listenTimeout is the timeout of a statement on the connection.
	listenTimeout = 5 * time.Second
)

// A listener receives the notifications of other processes over one connection, with
// LISTEN. Handlers can be added and removed at any time, also while it is not connected.
// Several goroutines may want to run it; one of them does, and the others wait for their
// turn. Handlers must not block.
type listener struct {
	turn chan struct{}

	mu        sync.Mutex
	connected bool
	listening map[string]bool              // the channels that the server notifies us about
	handlers  map[string]map[*handler]bool // by channel
	onConnect map[*func()]bool
	restart   context.CancelFunc // interrupts the wait, because the channels have changed
}

// A handler receives the notifications of a channel. It may run queries on conn.
type handler func(ctx context.Context, conn *pgx.Conn, payload string)

func newListener() *listener {
	return &listener{turn: make(chan struct{}, 1), handlers: map[string]map[*handler]bool{}, onConnect: map[*func()]bool{}}
}

// handle adds a handler for a channel, and returns the function that removes it. The
// server is told asynchronously.
func (l *listener) handle(channel string, f handler) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handlers[channel] == nil {
		l.handlers[channel] = map[*handler]bool{}
		l.restartLocked()
	}
	l.handlers[channel][&f] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.handlers[channel], &f)
		if len(l.handlers[channel]) == 0 {
			delete(l.handlers, channel)
			l.restartLocked()
		}
	}
}

// restartLocked makes the listener update the channels that it listens on.
func (l *listener) restartLocked() {
	if l.restart != nil {
		l.restart()
	}
}

// connects calls f after each connect, and now if the listener is connected:
// notifications may have been lost before. It returns the function that ends this.
func (l *listener) connects(f func()) (stop func()) {
	l.mu.Lock()
	l.onConnect[&f] = true
	connected := l.connected
	l.mu.Unlock()
	if connected {
		f()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.onConnect, &f)
	}
}

// runListener keeps the listener connected, and sends the hints and messages of this
// process, until ctx ends. If another goroutine already does that, it waits for its turn.
func (s *Store) runListener(ctx context.Context) {
	select {
	case s.listener.turn <- struct{}{}:
		defer func() { <-s.listener.turn }()
	case <-ctx.Done():
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.notify(ctx) })
	wg.Go(func() { s.relay.run(ctx) })
	defer wg.Wait()
	wait := minReconnect
	for ctx.Err() == nil {
		began := time.Now()
		_ = s.listen(ctx) // on any error it connects again
		if time.Since(began) > maxReconnect {
			wait = minReconnect
		}
		if sleep(ctx, wait) != nil {
			break
		}
		wait = min(2*wait, maxReconnect)
	}
}

// listen connects, and calls the handlers until the connection fails.
func (s *Store) listen(ctx context.Context) error {
	config := s.config.Copy()
	newConnState(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		s.listener.setConnected(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		conn.Close(ctx)
	}()
	have := map[string]bool{}
	for first := true; ; first = false {
		wait, cancel := context.WithTimeout(ctx, keepAlive)
		statements := s.listener.changes(have, cancel)
		for _, statement := range statements {
			if err := listenExec(ctx, conn, statement); err != nil {
				cancel()
				return err
			}
		}
		if len(statements) > 0 {
			s.listener.setListening(have)
		}
		if first {
			for _, f := range s.listener.setConnected(true) {
				f()
			}
		}
		n, err := conn.WaitForNotification(wait)
		idle := errors.Is(wait.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case err == nil:
			for _, f := range s.listener.handlersOf(n.Channel) {
				f(ctx, conn, n.Payload)
			}
		case ctx.Err() != nil, conn.IsClosed():
			return err
		case idle:
			if err := listenExec(ctx, conn, `SELECT`); err != nil {
				return err
			}
		}
	}
}

// listenExec runs a statement on the listener's connection.
func listenExec(ctx context.Context, conn *pgx.Conn, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, statement)
	return err
}

// changes returns the statements that change the channels in have to those that have
// handlers, and updates have. restart is called when the channels change again.
func (l *listener) changes(have map[string]bool, restart context.CancelFunc) (statements []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restart = restart
	for channel := range l.handlers {
		if !have[channel] {
			have[channel] = true
			statements = append(statements, `LISTEN `+pgx.Identifier{channel}.Sanitize())
		}
	}
	for channel := range have {
		if l.handlers[channel] == nil {
			delete(have, channel)
			statements = append(statements, `UNLISTEN `+pgx.Identifier{channel}.Sanitize())
		}
	}
	return statements
}

func (l *listener) setListening(channels map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listening = maps.Clone(channels)
}

// ready reports whether the listener is connected and listens on all channels that have
// handlers.
func (l *listener) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for channel := range l.handlers {
		if !l.listening[channel] {
			return false
		}
	}
	return l.connected
}

func (l *listener) handlersOf(channel string) []handler {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []handler
	for f := range l.handlers[channel] {
		all = append(all, *f)
	}
	return all
}

// setConnected records whether the listener is connected, and returns the functions to
// call if it is.
func (l *listener) setConnected(connected bool) (onConnect []func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connected = connected
	if !connected {
		l.restart, l.listening = nil, nil
		return nil
	}
	for f := range l.onConnect {
		onConnect = append(onConnect, *f)
	}
	return onConnect
}
