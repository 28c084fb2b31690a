package streamable

import (
	"math/bits"
	"sync"
)

// A bodyBuffer holds the body of a request. Large ones are half of the cost of a
// call if they are new each time.
type bodyBuffer struct {
	text   []byte
	memory []byte
	pool   *sync.Pool // nil if the memory is not reused
}

const (
	minBuffer = 512
	maxBuffer = 1 << 20 // larger ones are not reused
)

// bufferPools holds unused buffers by size: 512 bytes, 768, 1024, 1536 and so on.
var bufferPools [2*(20-9) + 1]sync.Pool

// newBodyBuffer returns an empty buffer for size bytes.
func newBodyBuffer(size int) *bodyBuffer {
	if size > maxBuffer {
		return &bodyBuffer{text: make([]byte, 0, size)}
	}
	i, fits := bufferSize(size)
	b, ok := bufferPools[i].Get().(*bodyBuffer)
	if !ok {
		b = &bodyBuffer{memory: make([]byte, fits), pool: &bufferPools[i]}
	}
	b.text = b.memory[:0:size]
	return b
}

// bufferSize returns the pool of buffers that size bytes fit in, and their size.
func bufferSize(size int) (pool, fits int) {
	size = max(size, minBuffer)
	k := bits.Len(uint(size - 1)) // size fits in 1<<k bytes
	if pool = 2 * (k - 9); pool > 0 && size <= 3<<(k-2) {
		return pool - 1, 3 << (k - 2)
	}
	return pool, 1 << k
}

// grown returns a buffer for size bytes with the same text. The old one must not
// be used afterwards.
func (b *bodyBuffer) grown(size int) *bodyBuffer {
	c := newBodyBuffer(size)
	c.text = append(c.text, b.text...)
	b.free()
	return c
}

// onFree is called with memory that may be reused, by tests.
var onFree func(memory []byte)

// free lets the memory be reused. Nothing may refer to it.
func (b *bodyBuffer) free() {
	if b.pool == nil {
		return
	}
	if onFree != nil {
		onFree(b.memory)
	}
	b.text = nil
	b.pool.Put(b)
}
