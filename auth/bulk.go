package auth

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// bulkEvery is the least time between two queries of a bulk.
	bulkEvery = 100 * time.Millisecond
	// bulkSize is the maximum number of keys in one query.
	bulkSize = 4096
)

// A bulk reads keys for callers that have used up their queries, many with one query: after
// 10^5 wrong keys from an office, a good one from there that is not cached is still found,
// a little later, and the wrong ones do not cost a query each.
type bulk struct {
	read func(ctx context.Context, ids []string) ([]Key, error)

	mu   sync.Mutex
	next *bulkQuery // collects ids until it is sent; nil if nobody waits
	sent time.Time  // when the last query was sent
}

// A bulkQuery is one query for several keys.
type bulkQuery struct {
	ids  map[string]bool
	done chan struct{} // closed when keys and err are set
	keys map[string]Key
	err  error
}

// key reads a key by its id; ErrNotFound if there is none. The first caller sends the query
// for all that come while it waits.
func (b *bulk) key(ctx context.Context, id string) (Key, error) {
	q, first, err := b.join(id)
	if err != nil {
		return Key{}, err
	}
	if first {
		b.send(ctx, q)
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		return Key{}, ctx.Err()
	}
	if q.err != nil {
		return Key{}, q.err
	}
	k, ok := q.keys[id]
	if !ok {
		return Key{}, ErrNotFound
	}
	return k, nil
}

// join adds an id to the next query. first is set if the caller must send it.
func (b *bulk) join(id string) (q *bulkQuery, first bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next, first = &bulkQuery{ids: map[string]bool{}, done: make(chan struct{})}, true
	}
	if len(b.next.ids) >= bulkSize && !b.next.ids[id] {
		return nil, false, &LimitError{After: bulkEvery}
	}
	b.next.ids[id] = true
	return b.next, first, nil
}

// send sends a query when it is time. Others wait for it, so it does not end with the ctx
// of its caller.
func (b *bulk) send(ctx context.Context, q *bulkQuery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	b.mu.Lock()
	wait := bulkEvery - time.Since(b.sent)
	b.mu.Unlock()
	time.Sleep(wait)
	b.mu.Lock()
	b.next, b.sent = nil, time.Now()
	b.mu.Unlock()
	keys, err := b.read(ctx, slices.Collect(maps.Keys(q.ids)))
	q.keys, q.err = make(map[string]Key, len(keys)), err
	for _, k := range keys {
		q.keys[k.ID] = k
	}
	close(q.done)
}
