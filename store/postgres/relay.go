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
	// relayEvery is the minimum interval between two batches of a process. Each batch is
	// one short transaction.
	relayEvery = 10 * time.Millisecond
	// relayTimeout is the timeout of a batch. A batch that was not sent by then is lost.
	relayTimeout = 5 * time.Second

	// maxNotify is the largest message in the payload of a NOTIFY, which is limited to
	// 8,000 bytes. Larger messages, and those that are not text, go through a table.
	maxNotify = 7_000
	// maxRelayed is the largest message, in bytes.
	maxRelayed = 8 << 20
	// maxQueued and maxQueuedSize limit the queue, in messages and in bytes.
	maxQueued     = 10_000
	maxQueuedSize = 32 << 20
	// maxBatch is the largest number of messages in a batch.
	maxBatch = 1_000

	allChannel = "bossman_all"
)

// A Relay carries messages between replicas that share the database. Delivery is at most
// once, in the order of the sender. It works while Run or Watch runs.
type Relay struct {
	store *Store
	wake  chan struct{}

	mu     sync.Mutex
	queue  []relayed
	size   int             // of the queue, in bytes
	events map[string]bool // the events of the bus in the queue
	number uint64          // of the last message
	stats  RelayStats
}

// RelayStats counts the messages of a relay, including those of the bus.
type RelayStats struct {
	Sent     uint64 // messages sent
	Together uint64 // batches that they were sent in
	Received uint64
	Lost     uint64 // messages that this process could not send or read
}

// relayed is a message in the queue.
type relayed struct {
	channel string
	number  uint64
	body    []byte
}

// Relay returns the relay to the other replicas.
func (s *Store) Relay() *Relay { return s.relay }

func newRelay(s *Store) *Relay {
	return &Relay{store: s, wake: make(chan struct{}, 1), events: map[string]bool{}}
}

// Stats returns the counts so far.
func (r *Relay) Stats() RelayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Send sends a message to the receivers of a name, or to all other processes if the name is
// empty. It does not block, and the message may be lost. If the queue is full, the oldest
// messages are lost first.
func (r *Relay) Send(_ context.Context, to string, message []byte) error {
	if len(message) > maxRelayed {
		return fmt.Errorf("%w: message of %d bytes is too long: want at most %d", board.ErrInvalid, len(message), maxRelayed)
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

// Receive calls f with each message to a name and each message to all processes. f must not
// block, and owns the message.
func (r *Relay) Receive(name string, f func(message []byte)) (stop func()) {
	one := r.handle(channelOf(name), true, f)
	all := r.handle(allChannel, false, f)
	return func() {
		one()
		all()
	}
}

// channelOf returns the channel of a name, which may be any text.
func channelOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "bossman_to_" + hex.EncodeToString(sum[:16])
}

// postLocked adds a message to the queue, and drops the oldest ones if it is full.
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

// postEvent adds an event of the bus to the queue, unless it is queued already.
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

// forgetLocked allows an event of the bus to be queued again.
func (r *Relay) forgetLocked(m relayed) {
	if m.channel == busChannel {
		delete(r.events, string(m.body))
	}
}

// takeLocked removes the next batch from the queue.
func (r *Relay) takeLocked() []relayed {
	n, size := 0, 0
	for n < min(len(r.queue), maxBatch) && (n == 0 || size+len(r.queue[n].body) <= maxRelayed) {
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

// run sends the queue in batches until ctx ends.
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

// send sends a batch in one statement. Its commit does not wait for the disk or a standby,
// because commits with a NOTIFY are serialized. A failed batch is not repeated, since it
// may have been delivered.
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
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	return r.store.Read(ctx, func(on board.Reader) error {
		_, err := on.(*reader).exec(query, ids, bodies, channels, payloads)
		return err
	})
}

// handle calls f with the messages of a channel; with those of this process only if own is
// set.
func (r *Relay) handle(channel string, own bool, f func([]byte)) (stop func()) {
	const query = `SELECT body FROM relay WHERE id = $1`
	return r.store.listener.handle(channel, func(ctx context.Context, conn *pgx.Conn, payload string) {
		id, text, inside := strings.Cut(payload, " ")
		if sender, _, _ := strings.Cut(id, "."); sender == r.store.name && !own {
			return
		}
		body := []byte(text)
		if !inside {
			ctx, cancel := context.WithTimeout(ctx, listenTimeout)
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
