// Package jsonrpc is JSON-RPC 2.0 between two equal peers: each may ask, tell and
// answer. It knows nothing of what is asked.
//
// # A message's way through a Peer
//
//	        the other side
//	   writes |      ^ reads
//	          v      |
//	+- Transport ----+-------------------------------------------------+
//	|  Receive            Send; hold and flush, where it can hold back |
//	+----+---------------------------------------------------^---------+
//	     | one line, one POST, ...                           |
//	     v                                                   |
//	 Decode: one scan of the text checks that it is JSON,    |
//	 within the limits, and finds id, method, params, ...    |
//	     |                                                   |
//	     +- Malformed ----- told to Refused ------ error --->+
//	     |                                                   |
//	     +- response -+                                      |
//	     |            +-> the lane, in order:                |
//	     +- notice ---+   Notified, or whoever waits in Call |
//	     |                                                   |
//	     +- request --+- Urgent: before the next read ------>+
//	     |            |                                      |
//	     |            +- handled by the goroutine that read  |
//	     |            |  it; after a millisecond another --->+
//	     |            |  goroutine takes over the reading    |
//	     |            |                                      |
//	     |            +- just after a slow one: in a ------->+
//	     |            |  goroutine of its own                |
//	     |            |                                      |
//	     |            +- InFlight reached: waits in the     >+
//	     |               queue; queue full: "busy"           |
//	     |                                                   |
//	     +- batch ----- each request in a goroutine of its  >+
//	                    own; one batch of answers at the end
//
// Receive gives one packet: a message, or a batch of them. A transport made by
// [Lines] cuts a stream at line ends, and [Pipe] connects two peers in memory;
// whoever writes another proves it with package transporttest.
//
// [Decode] is strict, because a message is often read twice, here and by whoever
// it is passed on to, and both must read the same. It builds nothing but the
// message: params and results stay the text they came as, and [Members] walks
// them. What is refused is a [Malformed]; the peer answers it where an answer is
// due, and reads on.
//
// A request is handled at once, by the goroutine that has read it. Most are done
// in microseconds, and waking another goroutine costs more than that. The price
// is that a handler could keep the peer from reading, so a timer stands by: a
// handler that is still busy after a millisecond or two keeps its goroutine, and the
// timer's goroutine reads on. The next few requests then get goroutines of their
// own, since slow ones come in company. The same holds for all that the reading
// goroutine writes: two peers that both wait to be read would wait for ever.
//
// While more lines are at hand, answers are held back and go out in one write
// when there is nothing more to read, or enough to write.
//
// # The lane
//
// Notifications are handled one after the other, in the order they came, and a
// response that came behind a notification is delivered behind it: a caller that
// has its answer has seen what was told before. Requests do not wait for the
// lane. A notification's handler may call the other side with the context it was
// given; the answer to that call passes the lane by.
//
// # Cancelling and waiting
//
// [Peer.Cancel] takes a request of the other side back: its context ends, and it
// is not answered. How the other side says so is not JSON-RPC's business; a
// protocol on top calls Cancel from a notification it has declared Urgent.
//
// A handler that only waits, for a person or for something to happen, says so
// with [Idle]: it gives its place to another request, and does not hold up the
// end.
//
// # The end
//
//	EOF, or ctx ends --> calls of ours fail, requests that are idle end at once,
//	                     the others get Grace to finish and answer
//	                           |
//	the transport fails ------>+- contexts end with ErrClosed; a second more
//	                           v
//	                     the transport is closed, and Run returns
//
// [Peer.Run] returns nil when the other side ended in the ordinary way, and
// otherwise what went wrong. Nothing that it began is left behind then, as long
// as handlers heed their context and closing the transport wakes its reader.
package jsonrpc
