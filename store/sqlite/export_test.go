package sqlite

// Unflushed is for tests that commit much and do not end the process: what they commit
// need not be on disk.
var Unflushed = &Options{synchronous: "OFF"}
