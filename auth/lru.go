package auth

import "container/list"

// An lru is a map that holds at most max entries, and forgets what was not used for
// the longest time. It wants a lock.
type lru[K comparable, V any] struct {
	max     int
	order   list.List // of item[K, V], the last used in front
	entries map[K]*list.Element
	gone    func(K, V) // told of what is forgotten; may be nil
}

type item[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](max int, gone func(K, V)) *lru[K, V] {
	return &lru[K, V]{max: max, entries: map[K]*list.Element{}, gone: gone}
}

// get finds a value and counts as its use.
func (l *lru[K, V]) get(k K) (v V, ok bool) {
	e, ok := l.entries[k]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(item[K, V]).value, true
}

// put adds a value; one that was there under the key is gone.
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
	if l.gone != nil {
		l.gone(k, v)
	}
}

// removeIf removes what f chooses.
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
