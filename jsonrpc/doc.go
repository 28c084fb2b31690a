// Package jsonrpc implements JSON-RPC 2.0 between two equal peers: each end can
// make calls, send notifications and handle requests. The package knows nothing
// about the methods.
//
// A [Peer] works on a [Transport]. This one reads and writes one message per line:
//
//	p := jsonrpc.NewPeer(jsonrpc.Lines(os.Stdin, os.Stdout, jsonrpc.Limits{}), &jsonrpc.PeerOptions{
//		Handle: func(ctx context.Context, r *jsonrpc.Message) (json.RawMessage, error) {
//			switch r.Method {
//			case "greet":
//				return json.Marshal("hello")
//			}
//			return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q not found", r.Method)
//		},
//	})
//	err := p.Run(ctx) // until the other end closes, or ctx is done
//
// While Run runs, calls can be made in the other direction:
//
//	result, err := p.Call(ctx, "add", []int{1, 2})
//
// [Pipe] connects two peers in memory. Package transporttest tests other
// implementations of Transport.
//
// # Input that is not trusted
//
// [Decode] is strict, because a message is often read twice, here and by a program
// that it is forwarded to, and both must read the same: duplicate names, invalid
// UTF-8 and unknown members of a request are refused. [Limits] bounds size, depth
// and number of values before anything is allocated. Params and results stay raw
// JSON. Input that Decode refuses is a [Malformed] error; the peer sends an error
// response where one is due, and continues reading.
//
// Requests are handled concurrently, up to PeerOptions.InFlight. More of them wait
// in a queue, and when that is full they are refused as busy. A slow handler keeps
// nothing else from being read.
//
// # Order
//
// Notifications are handled one at a time, in order of arrival. A response that
// arrives after a notification is delivered after it was handled, so a caller
// that has its response has seen the notifications before it. Requests do not
// wait for notifications. A notification handler may make calls: the response to
// a call that was sent while a notification was handled is delivered at once.
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
