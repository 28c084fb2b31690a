package mcp

import (
	"encoding/json"
	"sync"
)

// buffers holds result buffers for reuse. A sync.Pool stores pointers, so
// pointers holds the unused ones.
var buffers, pointers sync.Pool // of *[]byte

// newBuffer returns a buffer for a result, reused if possible.
func newBuffer(size int) []byte {
	if p, ok := buffers.Get().(*[]byte); ok {
		b := *p
		*p = nil
		pointers.Put(p)
		if cap(b) >= size {
			return b[:0]
		}
	}
	return make([]byte, 0, max(size, 512))
}

// reuse releases the memory of a result of Handle after it was sent. The caller
// must not use the result afterwards.
func reuse(result json.RawMessage) {
	const maxPooled = 1 << 20 // do not retain one large result for ever
	if cap(result) > maxPooled {
		return
	}
	p, ok := pointers.Get().(*[]byte)
	if !ok {
		p = new([]byte)
	}
	*p = result
	buffers.Put(p)
}
