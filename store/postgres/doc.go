// Package postgres keeps a board in PostgreSQL, for teams: any number of processes
// may share one database.
//
// # Two roles
//
// Migrate creates and changes tables and needs a role that may. Open never does,
// and its role needs no more than
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO bossman;
//
// after each Migrate, since that may add tables.
//
// Events are never updated: a trigger refuses it to everyone, and deletes too unless
// the session says that it archives.
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
// # Time
//
// The database's clock is the only one. Processes take no time of their own.
package postgres
