// Package access decides who may do what on a board.
//
//	tools      remote      telemetry  the packages that expose a board
//	   │         │          │
//	   └─────────┼──────────┘
//	             ▼
//	          access                  Caller: who asks, and the role in each project
//	             │                    Verb: what can be asked for, and the role it takes
//	             ▼
//	       board     auth
//
// A [Caller] travels in the context of a request: the middleware that authorizes a request
// stores it with [WithCaller], and handlers read it with [CallerFrom]. A request without
// one may do nothing.
//
// The table of verbs in verb.go is the only list of what can be done. Tools and
// remote operations name a verb and get everything else from its row: who may call
// them, whether they write, whether a call may be repeated, which rate limit applies,
// and what they are called in metrics and audit lines. [Board] has a method for each
// verb of the board.
package access
