// Package bare has servers that know the wire format of one tool and nothing
// else. They say what the transport and the JSON cost by themselves, so that a
// real server has something to be compared with.
//
//	Bare   the envelope by encoding/json, no checks
//	Bare2  the envelope by go-json-experiment, no checks: the limit
//	Lean   every check an honest server owes, encoding/json
//
// A call takes the same way in each of them:
//
//	line or body ─ decode the envelope ─ answer ─ write ─ flush when nothing waits
package bare
