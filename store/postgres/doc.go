// Package postgres keeps a board in PostgreSQL, for teams: any number of processes
// may share one database. It also keeps what replicas of a server share beside it.
//
// # Two roles
//
// Migrate creates and changes tables, and its role owns them. Open's role needs no
// more than Grant gives it: to read and write rows. It cannot change tables, nor what
// an event says: it may only add events. A trigger refuses changes of events to
// everyone, and deletes too unless the session says that it archives.
//
// # A write
//
//	BEGIN → statements of f → COMMIT
//	  │            │             ├─ answered: done
//	  │            │             ├─ answered with a warning: ErrUnknown (not replicated)
//	  │            │             └─ no answer: ErrUnknown
//	  │            ├─ deadlock, serialization: all of it again, three times
//	  │            └─ connection lost: ErrUnavailable, nothing happened
//	  └─ no connection: ErrUnavailable
//
// COMMIT runs on when the caller has gone, within a time of its own, and the driver
// does not send a cancel request meanwhile: PostgreSQL would stop waiting for its
// standby and report success.
//
// # The hand-out
//
// Claim is one statement and one round trip, whose cost does not grow with the
// queue. Tasks of a project that want the same skills form a lane; a partial index
// has the ready tasks of each lane in the order of their hand-out. The statement
// looks at the head of each lane that fits, locks the first task that nobody else
// has locked, and writes the claim and all that belongs to it.
//
// # Replicas
//
//	process 1                         process 2
//	Bus.Publish   Relay.Send          Bus, Relay: hear
//	   └──── queue ────┘                    ▲
//	          │ every 10 ms                 │
//	          ▼                             │
//	   one short transaction: NOTIFY ──► the line: one connection that listens
//	          └─ long messages: table relay ┘
//
// What is said on the line may be lost, and after each new connection whoever listens
// is told to read again. DurableCalls, Sessions and SealKeys are rows like any other:
// what was acknowledged lasts. Run keeps the line up and sweeps.
//
// # Time
//
// For the board the database's clock is the only one; processes take no time of their
// own. The times of durable calls and sessions are those of the processes that set
// them, and are swept five minutes late.
package postgres
