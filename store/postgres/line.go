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
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 5 * time.Second

	// aliveEvery is how often a line on which nothing is heard is tried.
	aliveEvery = 15 * time.Second
	// lineTime bounds a statement on the line.
	lineTime = 5 * time.Second
)

// A line is the one connection on which this process hears others. Whoever wants to
// hear something says so whether the line is up or not; one of those who keep the
// line up has its turn. Nothing that is called from it may wait.
type line struct {
	turn chan struct{}

	mu      sync.Mutex
	up      bool
	listens map[string]bool              // the channels that the server tells us of
	hears   map[string]map[*hearing]bool // by channel
	greets  map[*func()]bool             // called whenever the line comes up
	restart context.CancelFunc           // ends a wait: there are other channels to listen on
}

// A hearing gets what is said on a channel. It may look something up on conn.
type hearing func(ctx context.Context, conn *pgx.Conn, payload string)

func newLine() *line {
	return &line{turn: make(chan struct{}, 1), hears: map[string]map[*hearing]bool{}, greets: map[*func()]bool{}}
}

// hear calls f with what is said on a channel, from soon on.
func (l *line) hear(channel string, f hearing) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hears[channel] == nil {
		l.hears[channel] = map[*hearing]bool{}
		l.listenAgainLocked()
	}
	l.hears[channel][&f] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.hears[channel], &f)
		if len(l.hears[channel]) == 0 {
			delete(l.hears, channel)
			l.listenAgainLocked()
		}
	}
}

func (l *line) listenAgainLocked() {
	if l.restart != nil {
		l.restart()
	}
}

// greet calls f whenever the line has come up, and now if it is: what was said before
// is lost.
func (l *line) greet(f func()) (stop func()) {
	l.mu.Lock()
	l.greets[&f] = true
	up := l.up
	l.mu.Unlock()
	if up {
		f()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.greets, &f)
	}
}

// keep has the line up until ctx ends, and sends what this process has to say. If
// another already does it, it waits for its turn.
func (s *Store) keep(ctx context.Context) {
	select {
	case s.line.turn <- struct{}{}:
		defer func() { <-s.line.turn }()
	case <-ctx.Done():
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.notify(ctx) })
	wg.Go(func() { s.relay.run(ctx) })
	defer wg.Wait()
	wait := reconnectFirst
	for ctx.Err() == nil {
		began := time.Now()
		_ = s.listen(ctx) // whatever it was, we connect again
		if time.Since(began) > reconnectMost {
			wait = reconnectFirst
		}
		if pause(ctx, wait) != nil {
			break
		}
		wait = min(2*wait, reconnectMost)
	}
}

// listen has the line up as long as the connection holds.
func (s *Store) listen(ctx context.Context) error {
	config := s.config.Copy()
	newLink(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		s.line.setUp(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		conn.Close(ctx)
	}()
	have := map[string]bool{}
	for first := true; ; first = false {
		wait, cancel := context.WithTimeout(ctx, aliveEvery)
		statements := s.line.changes(have, cancel)
		for _, statement := range statements {
			if err := onLine(ctx, conn, statement); err != nil {
				cancel()
				return err
			}
		}
		if len(statements) > 0 {
			s.line.setListens(have)
		}
		if first {
			for _, greet := range s.line.setUp(true) {
				greet()
			}
		}
		n, err := conn.WaitForNotification(wait)
		tired := errors.Is(wait.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case err == nil:
			for _, hear := range s.line.hearings(n.Channel) {
				hear(ctx, conn, n.Payload)
			}
		case ctx.Err() != nil, conn.IsClosed():
			return err
		case tired:
			if err := onLine(ctx, conn, `SELECT`); err != nil {
				return err
			}
		}
	}
}

func onLine(ctx context.Context, conn *pgx.Conn, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, lineTime)
	defer cancel()
	_, err := conn.Exec(ctx, statement)
	return err
}

// changes gives the statements that make of the channels in have those that somebody
// hears, and changes have. Restart is called when that is to be done again.
func (l *line) changes(have map[string]bool, restart context.CancelFunc) (statements []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restart = restart
	for channel := range l.hears {
		if !have[channel] {
			have[channel] = true
			statements = append(statements, `LISTEN `+pgx.Identifier{channel}.Sanitize())
		}
	}
	for channel := range have {
		if l.hears[channel] == nil {
			delete(have, channel)
			statements = append(statements, `UNLISTEN `+pgx.Identifier{channel}.Sanitize())
		}
	}
	return statements
}

func (l *line) setListens(channels map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listens = maps.Clone(channels)
}

// ready reports whether all is heard that somebody wants to hear.
func (l *line) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for channel := range l.hears {
		if !l.listens[channel] {
			return false
		}
	}
	return l.up
}

func (l *line) hearings(channel string) []hearing {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []hearing
	for hear := range l.hears[channel] {
		all = append(all, *hear)
	}
	return all
}

// setUp says whether the line is up, and gives those who are to be greeted.
func (l *line) setUp(up bool) (greets []func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = up
	if !up {
		l.restart, l.listens = nil, nil
		return nil
	}
	for greet := range l.greets {
		greets = append(greets, *greet)
	}
	return greets
}
