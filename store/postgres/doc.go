// Package postgres stores a board in PostgreSQL, for teams: any number of processes may
// share one database. It also stores what the replicas of a server share.
//
// # Two roles
//
// Migrate creates and changes tables, and its role owns them. The role of Open needs only
// the privileges that Grant gives it: to read and write rows. It can append events, but
// neither change them nor change tables. A trigger rejects updates of events for all
// roles, and deletes unless the session archives.
//
// # A write
//
//	BEGIN, what Ahead locks and reads → reads that Ahead did not name → writes, COMMIT
//	  │            │                                                      ├─ succeeded: done
//	  │            │                                                      ├─ not replicated: settled
//	  │            │                                                      └─ no answer: settled
//	  │            ├─ deadlock, serialization failure: retried up to six times
//	  │            └─ connection lost: ErrUnavailable, no effect
//	  └─ no connection: ErrUnavailable
//
// Each arrow is the end of a round trip, so that most transactions take two. Reads are
// answered from what was read under the locks. Writes wait for COMMIT; if something must be
// read that is not known, the writes so far go before it. A write that must affect a row
// fails if it does not, and COMMIT after it is not reached.
//
// A transaction whose COMMIT was not answered is settled: the store ends the session that ran
// it, and looks for an event of it. So the outcome is ErrUnknown only if the database, or its
// standby, stays away for CommitTimeout, if the caller leaves, or if there was no event.
//
// COMMIT has a timeout of its own and is not cancelled with the caller's context. The
// driver must not send a cancel request during it: PostgreSQL would stop waiting for its
// standby and report success.
//
// # The hand-out
//
// Claim is one statement and one round trip, and its cost does not grow with the queue.
// The tasks of a project that require the same skills form a lane. A partial index has the
// ready tasks of each lane in the order of their hand-out. The statement reads the head of
// each lane that fits, locks the first task that is not locked, and writes the claim and
// everything that belongs to it.
//
// If its answer is lost, Claim ends the session that ran it, so that nothing comes of it
// later, and reads the claims with the nonces it had sent: the statement has written all of
// them or none. If none, it sends the statement again. So the outcome is unknown only if the
// database, or its standby, stays away for CommitTimeout, or if a claim has ended meanwhile.
//
// # Replicas
//
//	process 1                         process 2
//	Bus.Publish   Relay.Send          Bus.Subscribe   Relay.Receive
//	   └──── queue ────┘                    ▲
//	          │ every 10 ms                 │
//	          ▼                             │
//	   one short transaction: NOTIFY ──► listener: one connection with LISTEN
//	          └─ large messages: table relay ┘
//
// Notifications may be lost. After each reconnect, subscribers are told to read again.
// DurableCalls, Sessions and SealKeys are ordinary rows: acknowledged writes are durable.
// Run keeps the listener connected and sweeps expired rows.
//
// # Time
//
// The board uses only the database's clock. The times of durable calls and sessions come
// from the processes that set them, so their rows are swept five minutes late.
package postgres
