package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	// relayEvery is the least time between two sendings of a process; what comes
	// meanwhile goes together, in one short transaction of its own.
	relayEvery = 10 * time.Millisecond
	// relayTime bounds a sending. What could not be sent by then is lost.
	relayTime = 5 * time.Second

	// What NOTIFY carries is shorter than 8,000 bytes; a message that is longer than
	// this, or no text, goes through a table.
	maxNotify = 7_000
	// maxRelayed bounds a message, the others what waits to be sent and what is sent at
	// once.
	maxRelayed    = 8 << 20
	maxQueued     = 10_000
	maxQueuedSize = 32 << 20
	maxTogether   = 1_000

	allChannel = "bossman_all"
)

// A Relay carries messages between replicas that share the database: at most once, in
// the sender's order, or not at all. It works while Run or Watch does.
type Relay struct {
	store *Store
	wake  chan struct{}

	mu     sync.Mutex
	queue  []relayed
	size   int             // of the queue's bodies
	events map[string]bool // those of the bus that are in the queue
	number uint64          // of the last message
	stats  RelayStats
}

// RelayStats counts what went through a relay, and the bus over it.
type RelayStats struct {
	Sent     uint64 // messages that were sent
	Together uint64 // transactions that they were sent in
	Received uint64
	Lost     uint64 // messages that were given up, here
}

// relayed is a message that waits to be sent.
type relayed struct {
	channel string
	number  uint64
	body    []byte
}

// Relay gives the relay to the other replicas.
func (s *Store) Relay() *Relay { return s.relay }

func newRelay(s *Store) *Relay {
	return &Relay{store: s, wake: make(chan struct{}, 1), events: map[string]bool{}}
}

// Stats tells what happened so far.
func (r *Relay) Stats() RelayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Send sends a message to those who receive by a name, or to all other processes if
// the name is empty. It does not wait, and the message may be lost. If more is to be
// sent than the database takes, the oldest messages are lost first.
func (r *Relay) Send(_ context.Context, to string, message []byte) error {
	if len(message) > maxRelayed {
		return fmt.Errorf("%w: a message of %d bytes; the relay takes %d", board.ErrInvalid, len(message), maxRelayed)
	}
	channel := allChannel
	if to != "" {
		channel = channelOf(to)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.postLocked(channel, bytes.Clone(message))
	return nil
}

// Receive hears messages to a name and those to all. Hear must not wait, and owns
// what it is given.
func (r *Relay) Receive(name string, hear func(message []byte)) (stop func()) {
	one := r.hear(channelOf(name), true, hear)
	all := r.hear(allChannel, false, hear)
	return func() {
		one()
		all()
	}
}

// channelOf gives the channel of a name, which may be any text.
func channelOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "bossman_to_" + hex.EncodeToString(sum[:16])
}

// postLocked puts a message into the queue.
func (r *Relay) postLocked(channel string, body []byte) {
	r.number++
	r.queue = append(r.queue, relayed{channel, r.number, body})
	r.size += len(body)
	for len(r.queue) > maxQueued || r.size > maxQueuedSize {
		r.size -= len(r.queue[0].body)
		r.forgetLocked(r.queue[0])
		r.queue[0] = relayed{}
		r.queue = r.queue[1:]
		r.stats.Lost++
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// postEvent puts an event of the bus into the queue, unless it is there.
func (r *Relay) postEvent(e mcp.Event) {
	text := string(e.Kind) + " " + e.Name
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(text) > maxRelayed:
		r.stats.Lost++
	case !r.events[text]:
		r.events[text] = true
		r.postLocked(busChannel, []byte(text))
	}
}

// forgetLocked lets an event of the bus be queued again.
func (r *Relay) forgetLocked(m relayed) {
	if m.channel == busChannel {
		delete(r.events, string(m.body))
	}
}

// takeLocked takes what is to be sent together.
func (r *Relay) takeLocked() []relayed {
	n, size := 0, 0
	for n < min(len(r.queue), maxTogether) && (n == 0 || size+len(r.queue[n].body) <= maxRelayed) {
		size += len(r.queue[n].body)
		r.forgetLocked(r.queue[n])
		n++
	}
	taken := r.queue[:n:n]
	r.queue, r.size = r.queue[n:], r.size-size
	if len(r.queue) == 0 {
		r.queue = nil
	}
	return taken
}

// run sends what is queued until ctx ends.
func (r *Relay) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for {
			r.mu.Lock()
			messages := r.takeLocked()
			r.mu.Unlock()
			if len(messages) == 0 {
				break
			}
			err := r.send(ctx, messages)
			r.mu.Lock()
			if err == nil {
				r.stats.Sent += uint64(len(messages))
				r.stats.Together++
			} else {
				r.stats.Lost += uint64(len(messages))
			}
			r.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-time.After(relayEvery):
			}
		}
	}
}

// send sends messages in one statement, which does not wait for the disk or a
// standby: while it commits, no other transaction with a NOTIFY can. A sending that
// fails is not repeated, since it may have arrived.
func (r *Relay) send(ctx context.Context, messages []relayed) error {
	const query = `
WITH r AS (INSERT INTO relay (id, body) SELECT * FROM unnest($1::text[], $2::bytea[]))
SELECT pg_notify(m.channel, m.payload)
FROM set_config('synchronous_commit', 'off', true), unnest($3::text[], $4::text[]) m(channel, payload)`
	var ids, channels, payloads []string
	var bodies [][]byte
	for _, m := range messages {
		id := r.store.name + "." + strconv.FormatUint(m.number, 10)
		text := " " + string(m.body)
		if len(m.body) > maxNotify || !utf8.Valid(m.body) || bytes.IndexByte(m.body, 0) >= 0 {
			ids, bodies, text = append(ids, id), append(bodies, m.body), ""
		}
		channels, payloads = append(channels, m.channel), append(payloads, id+text)
	}
	ctx, cancel := context.WithTimeout(ctx, relayTime)
	defer cancel()
	return r.store.Read(ctx, func(on board.Reader) error {
		_, err := on.(*reader).exec(query, ids, bodies, channels, payloads)
		return err
	})
}

// hear calls f with the messages of a channel; those that we sent only if own is set.
func (r *Relay) hear(channel string, own bool, f func([]byte)) (stop func()) {
	const query = `SELECT body FROM relay WHERE id = $1`
	return r.store.line.hear(channel, func(ctx context.Context, conn *pgx.Conn, payload string) {
		id, text, inside := strings.Cut(payload, " ")
		if sender, _, _ := strings.Cut(id, "."); sender == r.store.name && !own {
			return
		}
		body := []byte(text)
		if !inside {
			ctx, cancel := context.WithTimeout(ctx, lineTime)
			defer cancel()
			if err := conn.QueryRow(ctx, query, id).Scan(&body); err != nil {
				r.mu.Lock()
				r.stats.Lost++
				r.mu.Unlock()
				return
			}
		}
		r.mu.Lock()
		r.stats.Received++
		r.mu.Unlock()
		f(body)
	})
}
