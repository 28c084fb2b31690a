package mcp

import (
	"errors"
	"sync/atomic"
)

// memory says who may use the memory of the message that a request came in. A
// transport reuses it for other messages if the program has not seen it, which
// most programs do not: typed arguments are copies.
type memory uint32

const (
	memoryPrivate  memory = iota // only this package has seen it
	memoryKept                   // the program has, and may keep it
	memoryReleased               // it has other contents
)

var errRequestEnded = errors.New("mcp: the request has ended")

// keep is called before the program is given a part of the message. It returns
// false if the request has ended and the message is gone.
func (r *Request) keep() bool {
	m := (*uint32)(&r.memory)
	return atomic.CompareAndSwapUint32(m, uint32(memoryPrivate), uint32(memoryKept)) || atomic.LoadUint32(m) == uint32(memoryKept)
}

// release ends the use of the message. It reports whether nothing refers to it any
// more. That is known of calls of tools, which may be large; what other requests
// leave behind is not worth the care.
func (r *Request) release() bool {
	return r.Method == "tools/call" && !r.isRetry &&
		atomic.CompareAndSwapUint32((*uint32)(&r.memory), uint32(memoryPrivate), uint32(memoryReleased))
}
