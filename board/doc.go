// Package board is the work of a crew of agents: tasks, claims on them, questions
// to people, and the history of it all. It holds the rules, once; a Store keeps
// what must last.
//
// # The way of a task
//
//	        create                claim                     report done
//	(new) ─────────► pending ───────────► in_progress ─────────────────────► done
//	                  ▲ ▲ │                 │ │ │  └─ policy "person" ─► review ─accept─► done
//	                  │ │ └─cancel─► cancelled │ │                          └─reject ─┐
//	  answer arrives  │ └─ lease ran out, given back, failed ◄─┘ ◄───────────────────┘
//	waiting ──────────┘                      │ └─ budget used up, or wrong text ─► failed ──retry──► pending
//	   ▲                                     │
//	   └──── blocking question unanswered ───┘
//
// Pending is not enough to be handed out: a task with open blockers or open parts,
// one on hold, one that rests after a failure and one that is kept for somebody
// are pending too. Task.Ready says it.
//
// # Claims
//
// A claim is the right of one worker to work on a task now. Its handle, such as
// web-142/3.k7f2q, names the task, the attempt and a nonce. The attempt is a fence:
// it grows with each grant, and whatever a worker writes must name the newest
// grant. So a worker that was thought dead and comes back cannot touch what is in
// other hands by now; it gets ErrLeaseLost, and its words are kept as a note.
//
//	grant                     Renew, or any call               no sign of life
//	  │                       that names the claim                   │
//	  ├── lease ──────────────┤── lease ──────────────┤── lease ─────┤ sweep: expired,
//	  │                                                              │ a failure is counted,
//	  └───────────────────── one holder ─────────────────────────────┘ the next attempt may begin
//
// A claim that ran out and was not swept yet is revived by a call that names it.
// After the sweep only a report of done is taken, and only while nobody else was
// given the task and its text is unchanged.
//
// # Stores and the board
//
// A method of Board is one transaction: it locks the tasks it is about, applies the
// rules and writes tasks, claims and events together. The time is the store's, and
// on PostgreSQL that is the database's: processes need not agree on the hour.
package board
