// Package board implements the task board of a crew of agents: tasks, exclusive claims
// on them, questions to people, and the history of all of it. The rules are in this
// package; a Store persists the data.
//
// # The states of a task
//
//	        create                claim                     report done
//	(new) ─────────► pending ───────────► in_progress ─────────────────────► done
//	                  ▲ ▲ │                 │ │ │  └─ policy review or person ─► review ─accept─► done
//	                  │ │ └─cancel─► cancelled │ │                          └─reject ─┐
//	  answer arrives  │ └─ lease expired, released, failed ◄───┘ ◄───────────────────┘
//	waiting ──────────┘                      │ └─ budget used up, or wrong spec ──► failed ──retry──► pending
//	   ▲                                     │
//	   └──── blocking question unanswered ───┘
//
// In a project that lands its work (Project.Land), a task whose work was accepted and has changed
// something in git is not done yet. It waits in a queue until a lander, a process with the lease of
// the target, has put the work there:
//
//	in_progress ──report done, or review ─accept─► landing ──landed──► done
//	   pending ◄──conflict, red check, returned──────┘  └─cancel─► cancelled
//
// Before a lander moves the target, it announces that as an Intent, which names the commits and the
// tasks. If it dies, the next one finds out whether the target was moved, and ends the intent.
//
// Not every pending task can be handed out. A task with open blockers or open children,
// a draft, one that is cooling down after a failure and one that is reserved for
// a worker are pending as well. Task.Ready reports whether a task can be handed out.
//
// # Claims
//
// A claim is the exclusive right of one worker to work on a task. Its handle, such as
// web-142/3.k7f2q, names the task, the attempt and a nonce. The attempt is a fence: it
// grows with each grant, and every write of a worker must name the newest grant. A
// worker that was presumed dead and comes back therefore cannot change a task that was
// granted to another worker: its call fails with ErrLeaseLost, and the text that it
// sent is kept as a note.
//
//	grant                     Renew, or any call               no sign of life
//	  │                       that names the claim                   │
//	  ├── lease ──────────────┤── lease ──────────────┤── lease ─────┤ sweep: expired,
//	  │                                                              │ a failure is counted,
//	  └───────────────────── one holder ─────────────────────────────┘ the next attempt may begin
//
// A call that names a claim whose lease has expired revives the claim. After the sweep it
// does so as long as nobody else was given the task, and takes back the failure.
//
// Holders cannot renew while the database is away or the machine is suspended. The store
// therefore keeps the time of the last sweep: if that is long ago, the next one extends the
// leases that were live then before it ends any.
//
// # Stores and the board
//
// A method of Board is one transaction: it locks the tasks that it concerns, applies the
// rules, and writes tasks, claims and events together. The time is the store's. On
// PostgreSQL that is the database's clock, so processes do not need synchronized clocks.
package board
