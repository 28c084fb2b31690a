// Package boardtest holds what every board.Store must show before it keeps a
// board: one suite of tests, a check of the invariants over what is stored, and a
// random walk against a small model of the rules.
//
//	func TestBoard(t *testing.T) {
//		boardtest.Run(t, func(t *testing.T) board.Store { return openNew(t) })
//	}
//
//	Run ── store level: each method of board.Store keeps its promise
//	    ├─ rule level:  each rule of board, through board.New(store)
//	    ├─ model:       random operations, compared with a model after each
//	    └─ controls:    broken stores that Check and Linearizable must report
//
// No test waits for time to pass: what should be old is written as old. So the
// suite needs no clock of its own and runs on a database's.
package boardtest
