// Package sqlite keeps a board and its keys in one SQLite file. Several processes share
// it; nothing else has to run.
//
//	process 1            process 2            process 3
//	Write  Read Read     Write  Read          Read Watch
//	  │      │   │         │      │             │    │
//	  │ one after the other       │ at any time │    │ four times a second:
//	  ▼      │   │         ▼      │             │    │ has anything changed?
//	board.db.queue ── the next one's place      │    │
//	board.db.lock  ── who writes now            │    │
//	  │      │   │                │             │    │
//	  ▼      ▼   ▼                ▼             ▼    ▼
//	board.db, board.db-wal, board.db-shm
//
// Reading creates nothing: where there is no file the board is empty, and the first
// Write that has something to store makes the folder, the file and its tables. A process whose program is older
// goes on working after a newer one has changed the schema, unless that one says
// that it cannot; then everything answers [board.ErrTooNew].
//
// Nothing is repaired on its own. A file that SQLite finds broken gives its error
// to every call.
package sqlite
