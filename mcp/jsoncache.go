package mcp

import (
	"encoding/json"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
)

// A jsonCache caches the JSON encoding of a listed item, for each revision.
type jsonCache[T any] [Newest + 1]atomic.Pointer[json.RawMessage]

func (w *jsonCache[T]) get(r Revision, shaped func() *T) (json.RawMessage, error) {
	if b := w[r].Load(); b != nil {
		return *b, nil
	}
	out, err := jsonv2.Marshal(shaped(), jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	b := json.RawMessage(out)
	w[r].Store(&b)
	return b, nil
}
