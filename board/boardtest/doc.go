// Package boardtest tests implementations of board.Store: a suite of tests, a check of the
// invariants of the stored data, and a random walk that compares a board with a small
// model of the rules.
//
//	func TestBoard(t *testing.T) {
//		boardtest.Run(t, func(t *testing.T) board.Store { return openNew(t) })
//	}
//
//	Run ── store level: each method of board.Store does what its comment says
//	    ├─ rule level:  each rule of board, through board.New(store)
//	    ├─ model:       random operations, compared with a model after each
//	    └─ controls:    broken stores that Check and Linearizable must report
//
// Tests write past times into the store instead of waiting for time to pass. So the suite
// needs no clock of its own and can run with a database's.
package boardtest
