package mcp

import (
	"encoding/json"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
)

// wires keeps the JSON of something that is listed again and again, for each
// revision.
type wires[T any] [Newest + 1]atomic.Pointer[json.RawMessage]

func (w *wires[T]) get(r Revision, shaped func() *T) (json.RawMessage, error) {
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
