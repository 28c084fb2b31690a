// Package harness starts real clients against our servers and tells what they
// said to each other.
//
// [Install] brings the clients, [Build] our programs, [Command] and [Run] start
// a client in a scratch home and end all of it, and [Record] reads what the tee
// between client and server wrote down.
package harness
