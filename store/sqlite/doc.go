// Package sqlite stores a board and its keys in one SQLite file, which several processes
// can share without a server.
//
//	process 1            process 2            process 3
//	Write  Read Read     Write  Read          Read Watch
//	  │      │   │         │      │             │    │
//	  │ one at a time             │ concurrently│    │ polls for changes four
//	  ▼      │   │         ▼      │             │    │ times a second
//	board.db.queue ── held by the next writer   │    │
//	board.db.lock  ── held by the writer        │    │
//	  │      │   │                │             │    │
//	  ▼      ▼   ▼                ▼             ▼    ▼
//	board.db, board.db-wal, board.db-shm
//
// A process that holds claims also locks a file of its own in board.db.alive, as long as
// it runs. So the others know at once when it was killed.
//
// Reading creates nothing: if there is no file, the board is empty. The first Write that
// stores something creates the directory, the file and its tables. An older program
// continues to work after a newer one has changed the schema, unless the new schema
// requires a newer program; then every call returns [board.ErrTooNew].
//
// A process that may read the directory and not write it reads the board, and every write
// returns [board.ErrReadOnly].
//
// A damaged file is never repaired automatically. Every call returns SQLite's error.
package sqlite
