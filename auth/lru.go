package auth

import "container/list"

// An lru is a map with at most max entries that evicts the least recently used one. It is
// not safe for concurrent use.
type lru[K comparable, V any] struct {
	max     int
	order   list.List // of item[K, V], the most recently used first
	entries map[K]*list.Element
	evicted func(K, V) // called for each removed entry; may be nil
}

type item[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](max int, evicted func(K, V)) *lru[K, V] {
	return &lru[K, V]{max: max, entries: map[K]*list.Element{}, evicted: evicted}
}

// get returns a value, and marks it as used.
func (l *lru[K, V]) get(k K) (v V, ok bool) {
	e, ok := l.entries[k]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(item[K, V]).value, true
}

// put adds a value, and removes the previous one of the key.
func (l *lru[K, V]) put(k K, v V) {
	l.remove(k)
	l.entries[k] = l.order.PushFront(item[K, V]{k, v})
	if l.order.Len() > l.max {
		l.remove(l.order.Back().Value.(item[K, V]).key)
	}
}

func (l *lru[K, V]) remove(k K) {
	e, ok := l.entries[k]
	if !ok {
		return
	}
	delete(l.entries, k)
	v := l.order.Remove(e).(item[K, V]).value
	if l.evicted != nil {
		l.evicted(k, v)
	}
}

// removeIf removes the entries for which f returns true.
func (l *lru[K, V]) removeIf(f func(K, V) bool) {
	for e := l.order.Front(); e != nil; {
		next := e.Next()
		if it := e.Value.(item[K, V]); f(it.key, it.value) {
			l.remove(it.key)
		}
		e = next
	}
}

func (l *lru[K, V]) len() int { return l.order.Len() }
