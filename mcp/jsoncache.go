package mcp

import (
	"encoding/json"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
)

// A jsonCache caches the JSON encoding of a listed item, for each revision.
type jsonCache[T any] [LatestRevision + 1]atomic.Pointer[json.RawMessage]

// fill sets the encoding for all revisions.
func (w *jsonCache[T]) fill(b json.RawMessage) {
	for i := range w {
		w[i].Store(&b)
	}
}

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
