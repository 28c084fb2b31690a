// Package jsonrpc implements JSON-RPC 2.0 between two equal peers: each end can
// make calls, send notifications and handle requests. The package knows nothing
// about the methods.
//
// # The path of a message through a Peer
//
//	        the other end
//	   writes |      ^ reads
//	          v      |
//	+- Transport ----+-------------------------------------------------+
//	|  Receive            Send; buffer and flush, if it can buffer     |
//	+----+---------------------------------------------------^---------+
//	     | one line, one POST, ...                           |
//	     v                                                   |
//	 Decode: one scan checks that the text is JSON within    |
//	 the limits, and finds id, method, params, ...           |
//	     |                                                   |
//	     +- Malformed ----- reported to Refused -- error --->+
//	     |                                                   |
//	     +- response ------+                                 |
//	     |                 +-> in order of arrival:          |
//	     +- notification --+   Notified, or the waiting Call |
//	     |                                                   |
//	     +- request --+- Urgent: before the next read ------>+
//	     |            |                                      |
//	     |            +- handled by the reading goroutine;   |
//	     |            |  after a millisecond, another ------>+
//	     |            |  goroutine takes over reading        |
//	     |            |                                      |
//	     |            +- soon after a slow request: -------->+
//	     |            |  in its own goroutine                |
//	     |            |                                      |
//	     |            +- Ordered: when the ordered one ----->+
//	     |            |  before it has returned or waits     |
//	     |            |                                      |
//	     |            +- InFlight reached: waits in the ---->+
//	     |               queue; queue full: "busy"           |
//	     |                                                   |
//	     +- batch ----- each request in its own goroutine; ->+
//	                    one batch of responses at the end
//
// Receive returns one packet: a message, or a batch of messages. [Lines] is the
// transport for streams with one packet per line, and [Pipe] connects two peers
// in memory. Package transporttest tests other implementations.
//
// [Decode] is strict, because a message is often read twice, here and by a
// server that it is forwarded to, and both must read the same. It builds only
// the message; params and results stay raw JSON, and [Members] iterates over
// them. Input that Decode refuses is a [Malformed] error. The peer sends an error
// response where one is due, and continues reading.
//
// A request is handled by the goroutine that read it. Most handlers return within
// microseconds, and waking another goroutine would cost more. So that a slow
// handler does not keep the peer from reading, a timer watches: after one to two
// milliseconds the timer's goroutine takes over reading, and the handler continues
// on its own. The next few requests then start in their own goroutines, because
// slow requests tend to come together. The same applies to everything the reading
// goroutine writes: two peers that both wait for the other to read would
// deadlock.
//
// While more input is available, responses are buffered. They are written
// together when there is nothing more to read, or enough to write.
//
// # Order
//
// Notifications are handled one at a time, in order of arrival. A response that
// arrives after a notification is delivered after it was handled, so a caller
// that has its response has seen the notifications before it. Requests do not
// wait for notifications. A notification handler may make calls with the context
// it was given; their responses are delivered at once.
//
// Requests are handled concurrently, and their effects may come in any order,
// except for those that [PeerOptions] declares Ordered: the handler of one starts
// when the handler of the one before has returned, or waits.
//
// # Cancelling and waiting
//
// [Peer.Cancel] cancels an incoming request: its context ends, and no response is
// sent. JSON-RPC does not define how the other end asks for that; a protocol on
// top calls Cancel from a notification that it declares Urgent.
//
// A handler that waits, for a person or for an event, calls [Idle]. It then gives
// up its concurrency slot and its turn, and does not delay shutdown. [Yield] is for
// a wait that shutdown should not cut short, and [Finish] for a request that should
// run to its end although the other end sends nothing more.
//
// # Shutdown
//
//	EOF, or ctx done ---> pending calls fail, idle requests are cancelled,
//	                      the others get Grace to finish and respond
//	                           |
//	                           | after EOF, those that called Finish get
//	                           | more, while somebody can read responses
//	                           |
//	transport fails ---------->+- contexts end with ErrClosed; one more second
//	                           v
//	                      the transport is closed, and Run returns
//
// [Peer.Run] returns nil if the other end closed the connection normally, and
// otherwise the error. All goroutines have ended then, provided that handlers
// return when their context ends and that closing the transport unblocks its
// reader.
package jsonrpc
